//! What is said of the parameters of a model: units and ranges, in words, and what of that can be
//! checked.
//!
//! Used by the [list of models](crate::catalog).

use std::any::TypeId;

use clap::builder::ValueParser;
use serde::Serialize;
use serde_json::Value;
use warpline::ConfigError;

use crate::time_unit::{TimeUnit, time};

/// The values that a parameter may have.
///
/// A range in these words is checked, one part after the other, where X and Y are numbers: `above
/// X`, `below X`, `at least X`, `at most X`, `X or more`, `X to Y`, `from X to Y`, `from X to below
/// Y` and `a probability`, with commas between them. What else it says is for people, and
/// [`Parameters::model`](crate::catalog::Parameters::model) has to check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The parameter's flag, without the dashes.
    pub flag: &'static str,
    /// The unit, or an empty string for a count or a probability.
    pub unit: &'static str,
    /// The allowed values, in words.
    pub range: &'static str,
}

impl Domain {
    /// The values of the parameter with this flag.
    #[must_use]
    pub const fn new(flag: &'static str, unit: &'static str, range: &'static str) -> Self {
        Self { flag, unit, range }
    }
}

/// A parameter of a model, as [`Entry::parameters`](crate::catalog::Entry::parameters) describes
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name: a flag without the dashes, and a key of configuration files and reports.
    pub name: String,
    /// The type of its values: `integer`, `number`, `text`, or the allowed words.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its default value.
    pub default: Option<String>,
    /// The allowed values, in words.
    pub range: String,
    /// The unit, or an empty string.
    pub unit: String,
    /// Its meaning.
    pub meaning: String,
}

/// A command whose parameters that are times may be typed with units.
pub(crate) fn with_units(command: clap::Command, domains: &[Domain]) -> clap::Command {
    command.mut_args(|arg| {
        let domain = domains.iter().find(|domain| arg.get_long() == Some(domain.flag));
        match domain.and_then(|domain| TimeUnit::named(domain.unit)) {
            Some(unit) if arg.get_value_parser().type_id() == TypeId::of::<f64>() => {
                arg.value_parser(move |text: &str| time(text, Some(unit)))
            }
            _ => arg,
        }
    })
}

/// Describes a parameter by its flag and its domain.
pub(crate) fn parameter(arg: &clap::Arg, domains: &[Domain]) -> Parameter {
    let name = arg.get_long().unwrap_or_else(|| arg.get_id().as_str()).to_owned();
    let domain = domains.iter().find(|domain| domain.flag == name);
    let words = arg.get_possible_values();
    let words: Vec<_> = words.iter().map(|value| value.get_name()).collect();
    let default = arg.get_default_values().first();
    Parameter {
        kind: if words.is_empty() {
            kind(arg.get_value_parser()).to_owned()
        } else {
            words.join(" | ")
        },
        default: default.map(|value| value.to_string_lossy().into_owned()),
        range: domain.map_or("", |domain| domain.range).to_owned(),
        unit: domain.map_or("", |domain| domain.unit).to_owned(),
        meaning: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        name,
    }
}

/// The type of the values that a parser reads, by name.
fn kind(parser: &ValueParser) -> &'static str {
    let id = parser.type_id();
    if id == TypeId::of::<f64>() {
        "number"
    } else if id == TypeId::of::<usize>() || id == TypeId::of::<u32>() || id == TypeId::of::<u64>()
    {
        "integer"
    } else {
        "text"
    }
}

/// Compares parameters with their domains, and these with the flags of the command.
pub(crate) fn check(
    params: &Value,
    command: &clap::Command,
    domains: &[Domain],
) -> Result<(), ConfigError> {
    let flags: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    for (nth, Domain { flag, range, .. }) in domains.iter().enumerate() {
        let is_known = flags.contains(flag);
        let of_parameter = format!("a flag of the model, one of {}", flags.join(", "));
        ConfigError::check(is_known, "domains", flag, &of_parameter)?;
        let is_first = domains[..nth].iter().all(|other| other.flag != *flag);
        let once = "told once: two domains are of this flag";
        ConfigError::check(is_first, "domains", flag, once)?;
        if let Some(value) = params.get(*flag).and_then(Value::as_f64) {
            let is_inside = range.split(", ").all(|part| holds(part, value));
            ConfigError::check(is_inside, flag, &params[*flag], range)?;
        }
    }
    Ok(())
}

/// Whether a part of a range holds; one that is not understood does.
fn holds(part: &str, value: f64) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    let behind = |words: &str| part.strip_prefix(words).and_then(number);
    let held = behind("above ")
        .map(|low| value > low)
        .or_else(|| behind("below ").map(|high| value < high))
        .or_else(|| behind("at least ").map(|low| value >= low))
        .or_else(|| behind("at most ").map(|high| value <= high))
        .or_else(|| part.strip_suffix(" or more").and_then(number).map(|low| value >= low))
        .or_else(|| (part == "a probability").then(|| (0.0..=1.0).contains(&value)));
    held.unwrap_or_else(|| {
        let Some((low, high)) = part.trim_start_matches("from ").split_once(" to ") else {
            return true;
        };
        let is_below = |high: &str| match high.strip_prefix("below ") {
            Some(high) => number(high).map(|high| value < high),
            None => number(high).map(|high| value <= high),
        };
        let bounds = number(low).map(|low| value >= low).zip(is_below(high));
        bounds.is_none_or(|(is_above, is_below)| is_above && is_below)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Red if a range is for people only.
    #[test]
    fn ranges_in_words_are_checked() {
        for (range, inside, outside) in [
            ("above 0", 0.5, 0.0),
            ("below 1", 0.5, 1.0),
            ("1 or more", 1.0, 0.0),
            ("at least 2", 2.0, 1.0),
            ("at most 2", 2.0, 3.0),
            ("0 to 1", 1.0, 1.5),
            ("from 1 to 16", 1.0, 17.0),
            ("from 0 to below 1", 0.0, 1.0),
            ("a probability, below 1", 0.0, 1.0),
            ("a probability", 1.0, -0.5),
            ("above 0, at most the mean", 7.0, -1.0),
        ] {
            let check = |value: f64| {
                let command = clap::Command::new("shop").arg(clap::Arg::new("way").long("way"));
                check(&json!({ "way": value }), &command, &[Domain::new("way", "", range)])
            };
            assert_eq!(check(inside), Ok(()), "{range}");
            let error = check(outside).expect_err(range).to_string();
            assert!(error.starts_with("`way` is ") && error.ends_with(range), "{error}");
        }
        let people = ["below --blocks", "each side 1 or more", "1 to the number of people"];
        assert!(people.iter().all(|range| holds(range, -1.0)));
    }

    /// Red if a domain of no parameter, or a second one, is not found.
    #[test]
    fn domains_are_of_parameters() {
        let command = clap::Command::new("shop").arg(clap::Arg::new("way").long("way"));
        let error = |domains: &[Domain]| {
            check(&json!({ "way": 1 }), &command, domains).expect_err("refused").to_string()
        };
        let way = Domain::new("way", "minutes", "0 or more");
        let other = error(&[way, Domain::new("ways", "", "0 or more")]);
        assert!(other.contains("`domains` is ways, but must be a flag of the model"), "{other}");
        let twice = error(&[way, way]);
        assert!(twice.contains("`domains` is way, but must be told once"), "{twice}");
    }
}
