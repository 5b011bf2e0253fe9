//! Numbers and tables for people. Reports, pages, progress and benchmarks use them.

use comfy_table::{CellAlignment, Table, presets};

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
        format!("{value:.*}", (5.0 - magnitude).clamp(0.0, 9.0) as usize)
    } else {
        format!("{value:.5e}")
    }
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
    use super::{grouped, significant};

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(12), "12");
        assert_eq!(significant(f64::NAN), "-");
        assert_eq!(significant(0.012_345_678), "0.0123457");
        assert_eq!(significant(123_456_789.0), "123 456 789");
        assert_eq!(significant(f64::INFINITY), "inf");
    }
}
