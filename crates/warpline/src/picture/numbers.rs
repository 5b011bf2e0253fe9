//! Round numbers for the axes of drawings, and their texts: for the page of a run, and for plots of
//! the laboratory.

/// The text of a number: three digits, without zeros at the end.
#[must_use]
pub fn label(number: f64) -> String {
    // A number this small would be mostly zeros.
    if number != 0.0 && number.abs() < 1e-4 {
        let text = format!("{number:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let digits = (2.0 - number.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0);
    let text = format!("{number:.0$}", digits as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Five to ten multiples of 1, 2 or 5 times a power of ten, from 0 to just beyond `most`.
#[must_use]
pub fn round_numbers(most: f64) -> Vec<f64> {
    if most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let power = 10.0_f64.powi((most / 5.0).log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    let step = step.into_iter().find(|step| most / step <= 10.0).unwrap_or(most);
    (0..=(most / step).ceil() as u32).map(|n| f64::from(n) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_reach_beyond_the_data() {
        for most in [0.003, 0.7, 1.0, 9.99, 10.0, 17.3, 123_456.0] {
            let numbers = round_numbers(most);
            assert!((4..=12).contains(&numbers.len()), "{most}: {numbers:?}");
            let last = numbers.last().copied().unwrap_or_default();
            assert!(last >= most && last <= most * 1.5, "{most}: {numbers:?}");
        }
    }

    #[test]
    fn labels_are_short() {
        for (number, text) in
            [(0.0, "0"), (0.5, "0.5"), (1250.0, "1250"), (0.1 + 0.2, "0.3"), (3e-8, "3e-8")]
        {
            assert_eq!(label(number), text);
        }
    }
}
