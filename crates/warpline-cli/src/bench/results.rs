//! What a benchmark has measured, as a file of results ([`warpline_lab::results`]): a row for each
//! variant, with all its samples.

use serde_json::{Map, Value, json};
use warpline_lab::{results::Results, sends::SendCost};

use super::{
    BenchArgs, Memory,
    rows::{Row, median, ratio_to, yardstick_of},
    sends::spread,
};

/// The results of variants on workloads.
pub(super) fn of(rows: &[Row], memory: &[Memory], args: &BenchArgs) -> Results {
    let columns = [
        "workload",
        "variant",
        "million events/s",
        "least",
        "greatest",
        "by the yardstick",
        "by sequential",
        "by undisturbed",
        "peak resident bytes",
        "samples",
    ];
    let mut results = empty("Engines on the standard workloads", &columns, args);
    let bytes = |row: &Row| {
        let is_it = |memory: &&Memory| {
            (memory.workload, memory.variant, 0) == (row.workload, row.variant, row.busy)
        };
        memory.iter().find(is_it).and_then(|memory| memory.bytes)
    };
    let cells = |row: &Row| {
        vec![
            json!(row.workload.name()),
            json!(row.name()),
            json!(median(&row.rates)),
            json!(row.least()),
            json!(row.greatest()),
            json!(ratio_to(yardstick_of(rows, row.workload), row)),
            json!(ratio_to(row.sequential_in(rows), row)),
            json!(ratio_to(row.undisturbed_in(rows), row)),
            json!(bytes(row)),
            json!(row.rates),
        ]
    };
    results.rows = rows.iter().map(cells).collect();
    results
}

/// The results of messages between workers.
pub(super) fn of_sends(costs: &[SendCost], args: &BenchArgs) -> Results {
    let columns = ["bytes", "pool", "ns per message", "least", "greatest", "samples"];
    let mut results = empty("What a message between two workers costs", &columns, args);
    let cells = |cost: &SendCost| {
        let [median, least, greatest] = spread(cost);
        vec![
            json!(cost.bytes),
            json!(cost.pool.name()),
            json!(median),
            json!(least),
            json!(greatest),
            json!(cost.nanoseconds),
        ]
    };
    results.rows = costs.iter().map(cells).collect();
    results
}

/// Results without rows.
fn empty(title: &str, columns: &[&str], args: &BenchArgs) -> Results {
    let mut settings = Map::new();
    settings.insert("length".to_owned(), Value::from(args.length));
    settings.insert("workers".to_owned(), Value::from(args.workers()));
    let columns = columns.iter().map(|&name| name.to_owned()).collect();
    let mut results = Results::new(title, settings, columns);
    results.rounds = Some(args.samples as usize);
    results.how = "medians; ratios within rounds".to_owned();
    // The yardstick is there.
    results.sources.insert("crates/warpline-lab/src/yardstick.rs".to_owned(), None);
    results
}

#[cfg(test)]
mod tests {
    use warpline::{pending::PendingKind, settings::EngineKind};

    use super::super::{Variant, Workload, tests::arguments};
    use super::*;

    /// Each row has what the table shows, and its samples; numbers that there are not are empty.
    #[test]
    fn a_file_has_all_samples_and_ratios() {
        let workload = Workload::named("W1").expect("a workload");
        let time_warp = Variant::Parallel { engine: EngineKind::TimeWarp, workers: 2 };
        let row =
            |variant, rates: &[f64]| Row { rates: rates.to_vec(), ..Row::new(workload, variant) };
        let sequential = Variant::Sequential(PendingKind::default());
        let rows = [row(sequential, &[2.0, 4.0, 8.0]), row(time_warp, &[3.0, 6.0, 4.0])];
        let memory = Memory { workload, variant: time_warp, bytes: Some(1024) };
        let results = of(&rows, &[memory], &arguments("W1 --samples 3"));
        assert_eq!(results.rounds, Some(3));
        let cell = |row: usize, name: &str| {
            let column = results.columns.iter().position(|column| column == name);
            results.rows[row][column.expect("such a column")].clone()
        };
        assert_eq!(cell(1, "variant"), "timewarp, 2 workers");
        assert_eq!(cell(1, "million events/s"), 4.0);
        assert_eq!(cell(1, "by sequential"), 1.5);
        assert_eq!(cell(1, "samples"), json!([3.0, 6.0, 4.0]));
        assert_eq!(cell(1, "peak resident bytes"), 1024);
        assert!(cell(0, "peak resident bytes").is_null() && cell(0, "by the yardstick").is_null());
    }
}
