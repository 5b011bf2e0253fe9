//! The keywords of calls from another language: which there are, and what their values may be, as
//! its type checker wants to know it.
//!
//! All is read from the flags. Whether a flag takes numbers, its own parser is asked.

use std::{any::TypeId, path::PathBuf};

use clap::{Args, Command, error::ErrorKind};
use serde_json::{Value, json};

use crate::{
    Application,
    args::RunArgs,
    call::refused,
    configuration::{is_on_or_off, long_flags, may_be_alone},
};

impl Application {
    /// The keywords of all calls: by the name of the call and, for `run` and `sweep`, that of the
    /// model, a list of objects with `name`, `types`, `words`, `is_own` (of the model) and `help`.
    #[must_use]
    pub fn keywords(&self) -> Value {
        let command = self.command();
        let of_models = |call: &str, more: &[&str]| -> Value {
            let call = command.find_subcommand(call);
            let models = self.models.iter().filter_map(|model| {
                let flags = call?.find_subcommand(model.name())?;
                let own = model.parameters().into_iter().map(|parameter| parameter.name);
                Some((
                    model.name().to_owned(),
                    keywords(flags, &refused(more), &own.collect::<Vec<_>>()),
                ))
            });
            Value::Object(models.collect())
        };
        let made = RunArgs::augment_args(Command::new("made"));
        json!({
            "run": of_models("run", &[]),
            "sweep": of_models("sweep", &["from", "resume"]),
            "made": keywords(&made, &refused(&["replications"]), &[]),
            "lab": of_laboratory(),
        })
    }
}

/// Those of the laboratory, if there is one.
fn of_laboratory() -> Value {
    #[cfg(feature = "shipped")]
    return keywords(&crate::shipped::lab_command(), &crate::args::PRINTING_SWITCHES, &[]);
    #[cfg(not(feature = "shipped"))]
    return Value::Null;
}

/// The flags of a command, of which some are refused and some are a model's own.
fn keywords(command: &Command, refused: &[&str], own: &[String]) -> Value {
    let describe = |flag: clap::Arg| {
        let name = flag.get_long().filter(|name| !refused.contains(name))?;
        let words: Vec<_> =
            flag.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
        Some(json!({
            "name": name.replace('-', "_"),
            "types": types(command, &flag),
            "words": if flag.get_action().takes_values() { words } else { Vec::new() },
            "is_own": own.iter().any(|own| own == name),
            "help": flag.get_help().map(ToString::to_string),
        }))
    };
    long_flags(command).into_iter().filter_map(describe).collect()
}

/// The types of a flag's values beside its words: `switch`, `false`, `integer`, `number`, `path`,
/// `text`, `list`.
fn types(command: &Command, flag: &clap::Arg) -> Vec<&'static str> {
    if !flag.get_action().takes_values() {
        return vec!["switch"];
    }
    let words = flag.get_possible_values();
    if !words.is_empty() {
        let is_switch = words.iter().any(|word| word.get_name() == "on");
        let takes_parameters =
            flag.get_value_names().into_iter().flatten().any(|name| name.contains("[:"));
        let mut types = match is_on_or_off(flag) {
            true if is_switch => vec!["switch"],
            true => vec!["false"],
            false if may_be_alone(flag) => vec!["switch"],
            false => Vec::new(),
        };
        types.extend(takes_parameters.then_some("text"));
        return types;
    }
    let parsed = flag.get_value_parser().type_id();
    let is = |ids: &[TypeId]| ids.iter().any(|id| parsed == *id);
    let mut types = Vec::new();
    if is(&[TypeId::of::<f64>()]) {
        types.push("number");
        // Times may have a unit, which is a text.
        types.extend(takes(command, flag, "1s").then_some("text"));
    } else if is(&[TypeId::of::<usize>(), TypeId::of::<u32>(), TypeId::of::<u64>()]) {
        types.push("integer");
    } else if is(&[TypeId::of::<PathBuf>()]) {
        types.push("path");
    } else {
        types.push("text");
        // Some have a range; any word is no number.
        let takes = |values: &[&str]| values.iter().any(|value| takes(command, flag, value));
        if !is(&[TypeId::of::<String>()]) {
            let number = takes(&["0.5", "2.5"]).then_some("number");
            types.extend(number.or_else(|| takes(&["2"]).then_some("integer")));
        }
    }
    let named =
        |part: &str| flag.get_value_names().into_iter().flatten().any(|name| name.contains(part));
    let says_file = flag.get_help().is_some_and(|help| help.to_string().contains(" file"));
    if types[0] == "text" && (named("FILE") || says_file) {
        types.push("path");
    }
    if flag.get_value_delimiter().is_some() || named(",") {
        types.push("list");
    }
    if may_be_alone(flag) {
        types.push("switch");
    }
    types
}

/// Whether a flag's parser takes a value.
fn takes(command: &Command, flag: &clap::Arg, value: &str) -> bool {
    let word = format!("--{}={value}", flag.get_long().unwrap_or_default());
    let outcome = command.clone().try_get_matches_from([command.get_name(), &word]);
    let refuses = |kind| matches!(kind, ErrorKind::InvalidValue | ErrorKind::ValueValidation);
    !outcome.is_err_and(|error| refuses(error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types of a keyword of a call for a model.
    fn types_of(call: &str, model: &str, name: &str) -> Option<Value> {
        let keywords = Application::warpline().keywords();
        let all = keywords[call].get(model).unwrap_or(&keywords[call]).as_array()?.clone();
        Some(all.into_iter().find(|keyword| keyword["name"] == name)?["types"].clone())
    }

    #[test]
    fn parsers_tell_the_types() {
        for (model, name, types) in [
            ("pcs", "channels", json!(["integer"])),
            ("pcs", "end", json!(["number", "text"])),
            ("pcs", "warmup", json!(["number", "text"])),
            ("phold", "end", json!(["number"])),
            ("pcs", "find_warmup", json!(["integer", "switch"])),
            ("pcs", "verify", json!(["switch"])),
            ("pcs", "engine", json!([])),
            ("pcs", "critical_path", json!(["switch"])),
            ("pcs", "memory", json!(["text", "integer"])),
            ("pcs", "trace", json!(["path"])),
            ("circuit", "period", json!(["text", "number"])),
            ("circuit", "generate", json!(["text"])),
            ("pcs", "placement_weights", json!(["text", "path"])),
            ("pcs", "throttle", json!(["switch"])),
            ("pcs", "memory_placement", json!(["false", "text"])),
            ("pcs", "pool", json!(["text"])),
            ("pcs", "flow", json!(["text"])),
            ("traffic", "network", json!(["text", "path"])),
            ("pcs", "placement", json!(["text", "integer", "path", "list"])),
            ("circuit", "save", json!(["text", "list"])),
        ] {
            assert_eq!(types_of("run", model, name), Some(types), "{name}");
        }
    }

    /// What a call refuses is no keyword of it.
    #[test]
    fn refused_flags_are_no_keywords() {
        for (call, name) in
            [("run", "quiet"), ("run", "vary"), ("sweep", "vary"), ("sweep", "trace")]
        {
            assert_eq!(types_of(call, "pcs", name), None, "{call} {name}");
        }
        assert_eq!(types_of("made", "", "replications"), None);
        assert!(types_of("lab", "", "quick").is_some() && types_of("lab", "", "quiet").is_none());
    }
}
