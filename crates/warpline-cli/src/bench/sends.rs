//! `warpline bench --sends`: what a message between two workers costs, with each pool.

use serde_json::json;
use warpline_lab::sends::{self, SendCost};

use super::BenchArgs;
use crate::{
    format::{align_right, table},
    system,
};

/// Messages of 64 bytes that each worker sends in a round, at full length.
const MESSAGES: f64 = 2e6;

/// Measures.
pub(super) fn measure(args: &BenchArgs) -> Vec<SendCost> {
    sends::measure((MESSAGES * args.length) as usize, args.samples as usize)
}

/// What was measured, as a table or as JSON.
pub(super) fn report(costs: &[SendCost], args: &BenchArgs) -> String {
    if args.json { to_json(costs) } else { to_text(costs) }
}

/// Median, least and greatest (ns).
pub(super) fn spread(cost: &SendCost) -> [f64; 3] {
    let least = cost.nanoseconds.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = cost.nanoseconds.iter().copied().fold(0.0, f64::max);
    [cost.median(), least, greatest]
}

fn to_text(costs: &[SendCost]) -> String {
    let mut table = table();
    table.set_header(["message", "pool", "ns per message: median", "min", "max"]);
    for cost in costs {
        let numbers = spread(cost).map(|number| format!("{number:.1}"));
        let names = [format!("{} bytes", cost.bytes), cost.pool.to_string()];
        table.add_row(names.into_iter().chain(numbers));
    }
    align_right(&mut table, 2..5);
    format!(
        "{}\n\nMessages between two workers, filled, sent, received, read and freed\n{table}\n",
        system::processor()
    )
}

fn to_json(costs: &[SendCost]) -> String {
    let rows: Vec<_> = costs
        .iter()
        .map(|cost| {
            let [median, min, max] = spread(cost);
            json!({
                "pool": cost.pool.name(),
                "bytes": cost.bytes,
                "nanoseconds_per_message": cost.nanoseconds,
                "median": median,
                "min": min,
                "max": max,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "machine": system::processor(), "sends": rows }))
}
