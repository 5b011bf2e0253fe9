//! Numbers of SPICE: `2.5`, `1e-9`, `10n`, `3Meg`, `5pF`.
//!
//! Called by the [expressions](super::expression) and for every value on a card. Letters after the
//! suffix are a unit, which SPICE does not read; so `1F` is a femto and not a farad.

/// The suffixes and their powers of ten; the longer ones come first.
const SUFFIXES: &[(&str, i32)] = &[
    ("meg", 6),
    ("t", 12),
    ("g", 9),
    ("k", 3),
    ("m", -3),
    ("u", -6),
    ("n", -9),
    ("p", -12),
    ("f", -15),
    ("a", -18),
];
/// A thousandth of an inch (m).
const MIL: f64 = 25.4e-6;

/// The number at the begin of a text in lower case, and its length with suffix and unit.
pub(super) fn prefix(text: &str) -> Option<(f64, usize)> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits(length + 1);
        if whole + fraction == 0 {
            return None;
        }
        length += 1 + fraction;
    }
    if length == 0 {
        return None;
    }
    let mantissa = &text[..length];
    let mut exponent = 0;
    if bytes.get(length) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let count = digits(length + 1 + sign);
        if count > 0 {
            let end = length + 1 + sign + count;
            exponent = text[length + 1..end].parse().unwrap_or(i32::MAX / 2);
            length = end;
        }
    }
    let letters = bytes[length..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let unit = &text[length..length + letters];
    length += letters;
    if unit.starts_with("mil") {
        return Some((decimal(mantissa, exponent)? * MIL, length));
    }
    let suffix = SUFFIXES.iter().find(|(suffix, _)| unit.starts_with(suffix));
    let shift = suffix.map_or(0, |(_, power)| *power);
    Some((decimal(mantissa, exponent.saturating_add(shift))?, length))
}

/// The decimal number, rounded once: so `1.5n` and `1.5e-9` are the same number.
fn decimal(mantissa: &str, exponent: i32) -> Option<f64> {
    format!("{mantissa}e{exponent}").parse().ok()
}

/// The number that a whole word is, with its sign.
pub(super) fn whole(word: &str) -> Option<f64> {
    let (sign, rest) = match word.as_bytes().first()? {
        b'-' => (-1.0, &word[1..]),
        b'+' => (1.0, &word[1..]),
        _ => (1.0, word),
    };
    let (value, length) = prefix(rest)?;
    (length == rest.len() && value.is_finite()).then_some(sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_scale_and_units_do_not() {
        for (word, value) in [
            ("10", 10.0),
            ("-1.5n", -1.5e-9),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("3meg", 3e6),
            ("3megohm", 3e6),
            ("3m", 3e-3),
            ("1f", 1e-15),
            ("20fF".to_lowercase().as_str(), 20e-15),
            ("1e-9s", 1e-9),
            ("1e3k", 1e6),
            ("3.3v", 3.3),
            ("1e", 1.0),
            ("2mil", 2.0 * MIL),
            ("1t", 1e12),
            ("4a", 4e-18),
        ] {
            assert_eq!(whole(word), Some(value), "{word}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for word in ["", "-", ".", "k", "4k7", "1.2.3", "1e999", "0x10", "1_000", "é", "--1"] {
            assert_eq!(whole(word), None, "{word}");
        }
    }
}
