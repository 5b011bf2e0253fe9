//! Ranges of values in a sweep: `8:12`, `0.1:1:0.1`, `1h:3h:30min`.
//!
//! `--vary` makes lists of them before it is known what its key takes. So a unit stays as it was
//! typed, for the parser of the key: it knows those of time, of bytes and of SPICE. Only where
//! units differ, values are computed, in the unit of the step; that is possible with units of time.

use warpline_models::catalog::{TimeUnit, time};

/// The most values of a range.
const MOST: f64 = 100_000.0;

/// A part of a range: a number, and what follows it.
#[derive(Clone, Copy, Debug)]
struct Part<'t> {
    number: f64,
    is_whole: bool,
    unit: &'t str,
}

impl<'t> Part<'t> {
    /// Reads a finite number, with a unit or without.
    fn read(text: &'t str) -> Option<Self> {
        let digits = text.trim_end_matches(char::is_alphabetic);
        let (number, unit) = (digits.trim_end(), &text[digits.len()..]);
        let is_whole = number.parse::<i64>().is_ok();
        let number = number.parse().ok().filter(|number: &f64| number.is_finite())?;
        Some(Self { number, is_whole, unit })
    }

    /// The same in another unit of time; zero is the same in all of them.
    fn within(self, unit: &'t str) -> Option<Self> {
        let own = TimeUnit::named(unit)?;
        let number = match self {
            Self { unit: "", number: 0.0, .. } => Some(0.0),
            Self { unit: "", .. } => None,
            Self { number, unit, .. } => time(&format!("{number}{unit}"), Some(own)).ok(),
        };
        Some(Self { number: number?, is_whole: false, unit })
    }
}

/// The values of a range `FROM:TO` or `FROM:TO:STEP`, both ends included; nothing for another text,
/// as `chain:5`.
pub(super) fn values(text: &str) -> Result<Option<Vec<String>>, String> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let [from, rest @ ..] = &parts[..] else { return Ok(None) };
    if rest.is_empty() || Part::read(from).is_none() {
        return Ok(None);
    }
    let wrong = |what: &str| {
        format!(
            "`{text}` {what}; write FROM:TO or FROM:TO:STEP, such as 8:12 or 0.1:1:0.1 or \
             1h:3h:30min"
        )
    };
    let parts: Option<Vec<Part<'_>>> = parts.iter().map(|part| Part::read(part)).collect();
    let parts = parts.as_deref().and_then(|parts| match *parts {
        [from, to] => Some([from, to, Part { number: 1.0, is_whole: true, unit: to.unit }]),
        [from, to, step] => Some([from, to, step]),
        _ => None,
    });
    let parts = parts.ok_or_else(|| wrong("is no range of numbers"))?;
    let unit = parts[2].unit;
    let parts = match parts.iter().all(|part| part.unit == unit) {
        true => Some(parts.to_vec()),
        false => parts.iter().map(|part| part.within(unit)).collect(),
    };
    let parts = parts.ok_or_else(|| {
        wrong("has different units: give all its parts the same one, or each a unit of time")
    })?;
    let [from, to, step] = [0, 1, 2].map(|nth| parts[nth].number);
    // A step that does not divide the range by rounding alone reaches its end.
    let steps = ((to - from) / step + 1e-9).floor();
    if steps.is_nan() || steps < 0.0 {
        return Err(wrong("has no values: its step leads away from its end"));
    }
    if steps >= MOST {
        return Err(wrong("has more than 100000 values"));
    }
    let are_whole = parts.iter().all(|part| part.is_whole);
    let value = |number: u32| {
        let value = from + f64::from(number) * step;
        match are_whole {
            true => (value as i64).to_string(),
            // Twelve digits: 0.1 + 2 * 0.1 is 0.3.
            false if value.abs() < 1e-9 * step.abs() => "0".to_owned(),
            false => format!("{value:.11e}")
                .parse::<f64>()
                .map_or_else(|_| String::new(), |v| v.to_string()),
        }
    };
    Ok(Some((0..=steps as u32).map(|number| value(number) + unit).collect()))
}

#[cfg(test)]
mod tests {
    use crate::values::Vary;

    fn values(text: &str) -> Result<Vec<String>, String> {
        text.parse::<Vary>().map(|vary| vary.values)
    }

    #[test]
    fn ranges_have_both_their_ends() {
        for (text, expected) in [
            ("channels=8:12", "8 9 10 11 12"),
            ("remote=0.1:1:0.1", "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"),
            ("a=12:8:-2", "12 10 8"),
            ("a=0:10:4", "0 4 8"),
            ("a=-0.2:0.2:0.1", "-0.2 -0.1 0 0.1 0.2"),
            ("a=3:3", "3"),
            ("a=1, 4:5 ,9", "1 4 5 9"),
            ("a=1e-9:3e-9:1e-9", "0.000000001 0.000000002 0.000000003"),
            ("generate=chain:5,adder:8", "chain:5 adder:8"),
            ("pool=sender:quota=64,delta=8,receiver", "sender:quota=64,delta=8 receiver"),
            ("pool=receiver,sender:quota=64, delta=8", "receiver sender:quota=64,delta=8"),
            ("network=italy,a=1.csv", "italy a=1.csv"),
            ("width=from:2", "from:2"),
            ("a=9007199254740991:9007199254740991", "9007199254740991"),
        ] {
            let expected = expected.split(' ').map(str::to_owned).collect();
            assert_eq!(values(text), Ok(expected), "{text}");
        }
    }

    /// Red if a unit is lost, if all parts must have the same one, or if the numbers of parts with
    /// different units are taken as they are.
    #[test]
    fn ranges_have_units() {
        for (text, expected) in [
            ("end=1h:3h:1h", "1h 2h 3h"),
            ("warmup=1min:3min", "1min 2min 3min"),
            ("end=10n:30n:10n", "10n 20n 30n"),
            ("end=0.5 h:1.5 h:0.5 h", "0.5h 1h 1.5h"),
            ("memory=1MiB:3MiB", "1MiB 2MiB 3MiB"),
            ("end=30min:2h:30min", "30min 60min 90min 120min"),
            ("end=1ms:2us:-499us", "1000us 501us 2us"),
            ("end=0:1h:20min", "0min 20min 40min 60min"),
            ("end=1:3,1h:2h", "1 2 3 1h 2h"),
        ] {
            let expected = expected.split(' ').map(str::to_owned).collect();
            assert_eq!(values(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_range_is_told() {
        for (text, says) in [
            ("a=12:8", "leads away"),
            ("a=8:12:0", "values"),
            ("a=8:x", "is no range of numbers"),
            ("a=1:2:3:4", "is no range of numbers"),
            ("a=8:", "is no range of numbers"),
            ("a=0:1:1e-9", "more than 100000 values"),
            ("a=1:inf", "is no range of numbers"),
            ("a=3h:1h:1h", "leads away"),
            ("a=1h:soon", "is no range of numbers"),
            ("a=1:3h:1h", "has different units"),
            ("a=1h:3h:1", "has different units"),
            ("a=1MiB:2GiB:1MiB", "has different units"),
        ] {
            let text = values(text).expect_err(text);
            assert!(text.contains(says) && text.contains("such as 8:12"), "{text}");
        }
    }
}
