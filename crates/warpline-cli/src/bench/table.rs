//! The benchmark's table, for people.

use std::fmt::Write;

use super::{Row, Workload, median, ratio, yardstick_of};
use crate::{
    report::{align_right, grouped, table},
    system,
};

pub(super) fn to_text(rows: &[Row], memory: &[(Workload, Option<u64>)]) -> String {
    let mut text = format!("{}\n", system::processor());
    for &(workload, bytes) in memory {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{} {}", workload.name(), workload.title());
        let mut table = table();
        table.set_header(["", "M events/s: median", "min", "max", "ratio to *"]);
        let best = yardstick_of(rows, workload).map(|row| row.variant);
        for row in rows.iter().filter(|row| row.workload == workload) {
            let mark = if Some(row.variant) == best { " *" } else { "" };
            let low = row.rates.iter().copied().fold(f64::INFINITY, f64::min);
            let high = row.rates.iter().copied().fold(0.0, f64::max);
            table.add_row([
                format!("{}{mark}", row.variant.name()),
                format!("{:.2}", median(&row.rates)),
                format!("{low:.2}"),
                format!("{high:.2}"),
                format!("{:.2}", ratio(rows, row)),
            ]);
        }
        align_right(&mut table, 1..5);
        let _ = writeln!(text, "{table}");
        if let Some(bytes) = bytes {
            let _ = writeln!(
                text,
                "memory of a process of its own: {:.1} MiB at the peak, {} bytes per pending event",
                bytes as f64 / f64::from(1 << 20),
                grouped(bytes / workload.population() as u64)
            );
        }
    }
    text + "\n* the yardstick: the fastest bare loop that handles events in their order\n"
}
