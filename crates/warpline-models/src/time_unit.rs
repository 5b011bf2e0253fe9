//! Units of virtual time: how a model says what its numbers are, and how times with units are read.
//!
//! A model names its unit in [`Parameters::TIME`](crate::catalog::Parameters::TIME), and those of
//! its parameters in their [domains](crate::catalog::Domain). The command reads `24h`, `10n` and
//! `90 s` with it.

use std::fmt;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit {
    /// How it is written first; with the other ways to write it.
    names: &'static [&'static str],
    /// How long it is: this number of seconds, times a power of ten.
    seconds: u32,
    power: i32,
}

impl TimeUnit {
    /// Seconds.
    pub const SECOND: Self = Self::new(&["s", "sec", "seconds"], 1, 0);
    /// Minutes.
    pub const MINUTE: Self = Self::new(&["min", "minutes"], 60, 0);
    /// Hours.
    pub const HOUR: Self = Self::new(&["h", "hours"], 3600, 0);
    /// Days.
    pub const DAY: Self = Self::new(&["d", "days"], 86_400, 0);
    /// Nanoseconds.
    pub const NANOSECOND: Self = Self::new(&["ns", "n", "nanoseconds"], 1, -9);
    /// Picoseconds.
    pub const PICOSECOND: Self = Self::new(&["ps", "p"], 1, -12);

    const ALL: [Self; 9] = [
        Self::new(&["fs", "f"], 1, -15),
        Self::PICOSECOND,
        Self::NANOSECOND,
        Self::new(&["us", "u", "µs", "μs"], 1, -6),
        Self::new(&["ms"], 1, -3),
        Self::SECOND,
        Self::MINUTE,
        Self::HOUR,
        Self::DAY,
    ];

    const fn new(names: &'static [&'static str], seconds: u32, power: i32) -> Self {
        Self { names, seconds, power }
    }

    /// The unit with this name, if it is one of time.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.names.contains(&name))
    }
}

/// A time as people write it, in the unit `own` of a model: a number in that unit, or a number with
/// a unit of its own (`24h`, `10 ns`, and `10n` as SPICE has it).
///
/// # Errors
///
/// What is no time, and a unit where the model has none.
pub fn time(text: &str, own: Option<TimeUnit>) -> Result<f64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let is_unit = |c: char| c.is_alphabetic();
    let digits = text.trim_end_matches(is_unit);
    let (name, digits) = (&text[digits.len()..], digits.trim_end());
    let Ok(number) = digits.parse::<f64>() else {
        return Err("expected a time: a number, or one with a unit, such as 90s or 24h".to_owned());
    };
    let Some(unit) = TimeUnit::named(name) else {
        let hint =
            if name == "m" { "write `min` for minutes, and `ms` for milliseconds" } else { "" };
        let known: Vec<_> = TimeUnit::ALL.iter().map(|unit| unit.names[0]).collect();
        let known = format!("use {}", known.join(", "));
        let remedy = if hint.is_empty() { &known } else { hint };
        return Err(format!("`{name}` is no unit of time: {remedy}"));
    };
    let Some(own) = own else {
        return Err(format!("the model has no unit of time, so write {digits} without `{name}`"));
    };
    // Decimal as far as that goes, so that 10n of seconds is the number 1e-8.
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent: i64 = exponent.parse().unwrap_or_default();
    let power = exponent.saturating_add((unit.power - own.power).into());
    let scaled = format!("{mantissa}e{power}").parse().unwrap_or(number);
    Ok(scaled * f64::from(unit.seconds) / f64::from(own.seconds))
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_unit_of_the_model() {
        for (text, own, value) in [
            ("24h", TimeUnit::SECOND, 86_400.0),
            ("24h", TimeUnit::MINUTE, 1440.0),
            ("90 s", TimeUnit::MINUTE, 1.5),
            ("10n", TimeUnit::SECOND, 1e-8),
            ("1.1ns", TimeUnit::SECOND, 1.1e-9),
            ("1e3ns", TimeUnit::SECOND, 1e-6),
            ("2us", TimeUnit::NANOSECOND, 2000.0),
            ("1e9223372036854775807s", TimeUnit::NANOSECOND, f64::INFINITY),
            ("1.5d", TimeUnit::HOUR, 36.0),
            ("300ms", TimeUnit::SECOND, 0.3),
            ("-1min", TimeUnit::SECOND, -60.0),
            ("7.25", TimeUnit::MINUTE, 7.25),
            ("inf", TimeUnit::MINUTE, f64::INFINITY),
        ] {
            assert_eq!(time(text, Some(own)), Ok(value), "{text} in {own}");
        }
        assert_eq!(time("1e3", None), Ok(1000.0));
    }

    #[test]
    fn what_is_no_time_is_told() {
        let error = |text, own| time(text, own).expect_err(text);
        assert!(error("10s", None).contains("the model has no unit of time"));
        assert!(error("5m", Some(TimeUnit::SECOND)).contains("`min` for minutes"));
        assert!(error("5weeks", Some(TimeUnit::SECOND)).contains("`weeks` is no unit of time"));
        for text in ["", "h", "1 2 s", "s10", "1e", "--1s", "1.2.3s"] {
            time(text, Some(TimeUnit::SECOND)).expect_err(text);
        }
    }
}
