//! The benchmark's table, for people.

use std::fmt::Write;

use comfy_table::Table;

use super::{Memory, Row, Workload, median, ratio_to, yardstick_of};
use crate::{
    format::{align_right, grouped, table},
    system,
};

pub(super) fn to_text(rows: &[Row], memory: &[Memory]) -> String {
    let mut text = format!("{}\n", system::processor());
    let mut has_yardstick = false;
    for workload in Workload::all() {
        if rows.iter().all(|row| row.workload != workload) {
            continue;
        }
        has_yardstick |= yardstick_of(rows, workload).is_some();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{} {}", workload.name(), workload.title());
        let _ = writeln!(text, "{}", of_workload(rows, workload));
        let memory = memory.iter().filter(|memory| memory.workload == workload);
        text.extend(memory.filter_map(line_of));
    }
    if has_yardstick {
        text += "\n* the yardstick: the fastest bare loop that handles events in their order\n";
    }
    text
}

/// A column of ratios: its heading, and how to get a row's.
type Ratio<'a> = (&'static str, &'a dyn Fn(&Row) -> f64);

fn of_workload(rows: &[Row], workload: Workload) -> Table {
    let yardstick = yardstick_of(rows, workload);
    let to_yardstick = |row: &Row| ratio_to(yardstick, row);
    let to_sequential = |row: &Row| ratio_to(row.sequential_in(rows), row);
    let to_undisturbed = |row: &Row| ratio_to(row.undisturbed_in(rows), row);
    let mine: Vec<_> = rows.iter().filter(|row| row.workload == workload).collect();
    let ratios: [Ratio<'_>; 3] = [
        ("ratio to *", &to_yardstick),
        ("to sequential", &to_sequential),
        ("to undisturbed", &to_undisturbed),
    ];
    let is_known = |(_, of): &Ratio<'_>| mine.iter().any(|row| !of(row).is_nan());
    let ratios: Vec<_> = ratios.into_iter().filter(is_known).collect();

    let mut table = table();
    let header = ["", "M events/s: median", "min", "max"].into_iter();
    table.set_header(header.chain(ratios.iter().map(|(name, _)| *name)));
    for &row in &mine {
        let best = yardstick.is_some_and(|best| best.variant == row.variant);
        let name = format!("{}{}", row.name(), if best { " *" } else { "" });
        let rates = [median(&row.rates), row.least(), row.greatest()].into_iter();
        let numbers = rates.chain(ratios.iter().map(|(_, of)| of(row)));
        table.add_row([name].into_iter().chain(numbers.map(two_digits)));
    }
    align_right(&mut table, 1..4 + ratios.len());
    table
}

fn two_digits(number: f64) -> String {
    if number.is_nan() { "-".to_owned() } else { format!("{number:.2}") }
}

fn line_of(memory: &Memory) -> Option<String> {
    let bytes = memory.bytes?;
    let each = memory.workload.population().map_or_else(String::new, |population| {
        format!(", {} bytes per pending event", grouped(bytes / population as u64))
    });
    Some(format!(
        "memory of a separate process, {}: {:.1} MiB at the peak{each}\n",
        memory.variant.name(),
        bytes as f64 / f64::from(1 << 20),
    ))
}
