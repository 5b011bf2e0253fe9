//! The critical path of a model: the flags that ask for it, and how it is told.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::{Value, json};
use warpline::{Profile, report::CriticalPath, settings::Cost};

use crate::report::{align_right, grouped, significant, table};

/// The flags that ask for a profile.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Critical path")]
pub(crate) struct ProfileArgs {
    /// Run on the engine `profile`: sequentially, and tell how fast the model could run on many
    /// workers; an event costs 1, or the time that its handler takes [default: events]
    #[arg(
        long,
        value_name = "COST",
        num_args = 0..=1,
        default_missing_value = Cost::Events.name(),
        value_parser = costs()
    )]
    pub(crate) critical_path: Option<Cost>,
    /// Time that a message between two LPs takes: in nanoseconds, or in events if one costs 1
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) message_latency: u64,
}

impl ProfileArgs {
    /// The settings of the engine.
    pub(crate) fn profile(&self) -> Profile {
        Profile { cost: self.critical_path.unwrap_or_default(), latency: self.message_latency }
    }
}

fn costs() -> impl TypedValueParser<Value = Cost> {
    PossibleValuesParser::new(Cost::ALL.iter().map(|cost| cost.name()))
        .try_map(|name| name.parse::<Cost>())
}

/// The object in the JSON report.
pub(crate) fn to_json(path: &CriticalPath) -> Value {
    let speedups = path.speedups.iter();
    let speedups = speedups.map(|at| json!({ "workers": at.workers, "speedup": at.speedup }));
    json!({
        "cost": path.settings.cost.name(),
        "latency": path.settings.latency,
        "events": path.events,
        "work": path.work,
        "length": path.length,
        "parallelism": path.parallelism(),
        "speedups": speedups.collect::<Vec<_>>(),
    })
}

/// The table in the report for people.
pub(crate) fn to_text(path: &CriticalPath) -> String {
    let told = |cost: u64| match path.settings.cost {
        Cost::Events => format!("{} events", grouped(cost)),
        Cost::Time => format!("{} ms", significant(cost as f64 / 1e6)),
    };
    let mut table = table();
    table.set_header(["workers", "speed-up at most"]);
    for at in &path.speedups {
        table.add_row([grouped(at.workers as u64), format!("{:.2}", at.speedup)]);
    }
    table.add_row(["any number".to_owned(), format!("{:.2}", path.parallelism())]);
    align_right(&mut table, 0..2);
    let latency = match path.settings.latency {
        0 => "no time".to_owned(),
        latency => told(latency),
    };
    format!(
        "critical path\n  work             {}\n  longest chain    {}\n  messages take    {latency}\n\
         {table}\n",
        told(path.work),
        told(path.length),
    )
}
