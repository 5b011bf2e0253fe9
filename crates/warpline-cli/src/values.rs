//! The values of flags: how they are written, and what is said of those that cannot be read.

mod range;

use std::{fmt, path::PathBuf, str::FromStr};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use warpline::{Width, replication::Precision, settings::EngineKind};
use warpline_models::catalog::{TimeUnit, time};

/// A number of bytes, as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            unit => {
                return Err(format!("unknown unit `{unit}`; use B, KiB, MiB, GiB, KB, MB or GB"));
            }
        };
        let number: u64 = digits.trim().parse().map_err(|_| {
            "expected a whole number of bytes with an optional unit, such as 64MiB".to_owned()
        })?;
        number.checked_mul(unit).map(Self).ok_or_else(|| "more than 2^64 bytes".to_owned())
    }
}

/// The width of the speculative engine's windows: `auto`, `from:WIDTH` or a width.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WindowWidth(pub(crate) Width);

impl FromStr for WindowWidth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::read(text, None)
    }
}

impl WindowWidth {
    /// Reads a width in virtual time with this unit.
    pub(crate) fn read(text: &str, unit: Option<TimeUnit>) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(Width::Auto));
        }
        let (number, make): (_, fn(f64) -> Width) = match text.strip_prefix("from:") {
            Some(number) => (number, Width::From),
            None => (text, Width::Fixed),
        };
        let says = "expected auto, from:WIDTH or WIDTH, a virtual time above 0";
        match time(number, unit) {
            Ok(width) if width.is_normal() && width > 0.0 => Ok(Self(make(width))),
            Err(error) if number.starts_with(|c: char| c.is_ascii_digit()) => Err(error),
            _ => Err(says.to_owned()),
        }
    }
}

impl fmt::Display for WindowWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Width::Auto => f.write_str("auto"),
            Width::From(width) => write!(f, "from:{width}"),
            Width::Fixed(width) => width.fmt(f),
        }
    }
}

/// A value, and the file that it was read from, if there was one.
#[derive(Clone, Debug)]
pub(crate) struct FromFile<T> {
    pub(crate) value: T,
    pub(crate) file: Option<PathBuf>,
}

impl<T> From<T> for FromFile<T> {
    fn from(value: T) -> Self {
        Self { value, file: None }
    }
}

/// A flag and the values that it takes in turn.
#[derive(Clone, Debug)]
pub(crate) struct Vary {
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, values) =
            text.split_once('=').ok_or("expected KEY=V1,V2,…, such as remote=0.1,0.5,1")?;
        let mut all: Vec<String> = Vec::new();
        for value in values.split(',') {
            match (value.trim(), all.last_mut()) {
                ("", _) => return Err("one of the values is empty".to_owned()),
                (more, Some(policy)) if policy.contains(':') && is_parameter(more) => {
                    *policy += &format!(",{more}");
                }
                (value, _) => {
                    all.extend(range::values(value)?.unwrap_or_else(|| vec![value.to_owned()]))
                }
            }
        }
        Ok(Self { key: key.trim().trim_start_matches("--").replace('_', "-"), values: all })
    }
}

/// Whether a text is a parameter of the policy before it: `delta=8` of `sender:quota=64,delta=8`.
fn is_parameter(text: &str) -> bool {
    let name = text.split_once('=').map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Parses a count of threads, ranks or the like: at least 1 and at most `MAX`.
pub(crate) fn one_to<const MAX: usize>(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be 1 or more".to_owned()),
        Ok(number) if number > MAX => Err(format!("must be at most {MAX}")),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("expected a whole number from 1 to {MAX}")),
    }
}

/// Parses how well a result is to be known.
pub(crate) fn precision(text: &str) -> Result<Precision, String> {
    let (figure, part) = match text.rsplit_once(':') {
        Some((figure, part)) => (Some(figure.to_owned()), part),
        None => (None, text),
    };
    let percent = part.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if percent > 0.0 && percent < 100.0 => {
            Ok(Precision { figure, relative: percent / 100.0 })
        }
        _ => Err("expected a percentage between 0 and 100, as in `5%` or `calls:5%`".to_owned()),
    }
}

/// Parses the virtual time at which a run ends.
pub(crate) fn end_time(text: &str, unit: Option<TimeUnit>) -> Result<f64, String> {
    match time(text, unit)? {
        end if end.is_finite() && end >= 0.0 => Ok(end),
        _ => Err("expected a virtual time: a finite number, 0 or more".to_owned()),
    }
}

/// What is typed for a run on this engine.
pub(crate) fn flag_of(engine: EngineKind) -> String {
    match engine {
        EngineKind::Profile => "--critical-path".to_owned(),
        EngineKind::Intervals => "--find-warmup".to_owned(),
        engine => format!("--engine {engine}"),
    }
}

/// Parses a name of an enum with names.
pub(crate) fn named<T>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync> + Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.iter().map(|&kind| name(kind))).try_map(|name| name.parse::<T>())
}

/// Parses `on` and `off`.
pub(crate) fn on_or_off() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(["on", "off"]).map(|word| word == "on")
}

/// Parses a length of virtual time.
pub(crate) fn window(text: &str, unit: Option<TimeUnit>) -> Result<f64, String> {
    match time(text, unit)? {
        window if window.is_finite() && window >= 0.0 => Ok(window),
        _ => Err("expected a finite number, 0 or more".to_owned()),
    }
}

/// A time of the clock, in seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (1e-3..=1e6).contains(seconds));
    seconds.ok_or_else(|| "expected seconds, from 0.001 to 1000000".to_owned())
}

/// Parses a fraction.
pub(crate) fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err("expected a fraction, from 0 to 1".to_owned()),
    }
}
