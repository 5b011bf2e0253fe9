//! Numbers and tables for people. Reports, pages, progress and benchmarks use them.

use comfy_table::{CellAlignment, Table, presets};
use warpline::replication::Estimate;

/// A table without frames, which survives being pasted anywhere.
pub(crate) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// Aligns columns of numbers.
pub(crate) fn align_right(table: &mut Table, columns: std::ops::Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A number with six significant digits, or a dash where there is none.
pub(crate) fn significant(value: f64) -> String {
    if value.is_nan() {
        return "-".to_owned();
    }
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        return grouped(value as u64);
    }
    if value.is_infinite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    if (-5.0..15.0).contains(&magnitude) {
        with_decimals(value, (5.0 - magnitude).clamp(0.0, 9.0) as usize)
    } else {
        format!("{value:.5e}")
    }
}

/// A mean and the half width of its interval, with as many digits as the interval allows: two of
/// the half width.
pub(crate) fn interval(mean: f64, half_width: f64) -> String {
    let last = half_width.log10().floor() - 1.0;
    if mean.is_finite() && half_width > 0.0 && (-9.0..15.0).contains(&last) {
        let decimals = (-last).max(0.0) as usize;
        let [mean, half_width] = [mean, half_width].map(|value| with_decimals(value, decimals));
        return format!("{mean} ± {half_width}");
    }
    format!("{} ± {}", significant(mean), significant(half_width))
}

/// An estimate: its interval, if there are enough samples for one. A difference has a sign.
pub(crate) fn estimate(estimate: &Estimate, is_difference: bool) -> String {
    let Estimate { mean, half_width, .. } = *estimate;
    let sign = if is_difference && mean > 0.0 { "+" } else { "" };
    let text = if half_width.is_finite() { interval(mean, half_width) } else { significant(mean) };
    format!("{sign}{text}")
}

/// A finite number with so many digits behind the point, its thousands set apart.
fn with_decimals(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let sign = if digits.len() < text.len() { "-" } else { "" };
    whole.parse().map_or(text.clone(), |whole| format!("{sign}{}{fraction}", grouped(whole)))
}

/// A whole number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 worker`, `2 workers`, `12 345 events`.
pub(crate) fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number of bytes, in a unit that fits.
pub(crate) fn bytes(number: u64) -> String {
    match number {
        0..10_000 => format!("{number} B"),
        10_000..10_000_000 => format!("{:.1} KiB", number as f64 / 1024.0),
        _ => format!("{:.1} MiB", number as f64 / (1024.0 * 1024.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, grouped, interval, significant};

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(12), "12");
        assert_eq!(counted(0_u64, "core"), "0 cores");
        assert_eq!(counted(1_usize, "worker"), "1 worker");
        assert_eq!(counted(12_345_u64, "event"), "12 345 events");
        assert_eq!(significant(f64::NAN), "-");
        assert_eq!(significant(0.012_345_678), "0.0123457");
        assert_eq!(significant(123_456_789.0), "123 456 789");
        assert_eq!(significant(f64::INFINITY), "inf");
        assert_eq!(significant(587_251.4), "587 251");
        assert_eq!(significant(-1234.5678), "-1 234.57");
    }

    #[test]
    fn intervals_have_the_digits_that_they_allow() {
        for (mean, half_width, text) in [
            (178_633.0, 241.451, "178 633 ± 241"),
            (587_251.3, 177.464, "587 251 ± 177"),
            (1.396_8, 0.014_92, "1.397 ± 0.015"),
            (0.025_126, 0.000_341, "0.02513 ± 0.00034"),
            (12.0, 0.0, "12 ± 0"),
            (3e-12, 2e-14, "3.00000e-12 ± 2.00000e-14"),
        ] {
            assert_eq!(interval(mean, half_width), text);
        }
        assert_eq!(interval(f64::NAN, f64::NAN), "- ± -");
        assert_eq!(interval(12.5, f64::INFINITY), "12.5000 ± inf");
    }
}
