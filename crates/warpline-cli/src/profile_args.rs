//! The flags of the engine `profile`, which finds the critical path of a model.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use warpline::{Profile, settings::Cost};

/// The flags that ask for a profile.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Analysis")]
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
