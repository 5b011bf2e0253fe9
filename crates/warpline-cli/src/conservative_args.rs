//! The flags of the conservative engine.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use warpline::{Model, Simulation, Synchronization};

use crate::args::one_to;

/// How the conservative engine goes about it; others ignore it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Conservative engine")]
pub(crate) struct ConservativeArgs {
    /// How workers know what they may handle: in windows, for a model with a lookahead; or along its
    /// links, with null messages or without
    #[arg(long, value_name = "NAME", default_value_t, value_parser = synchronizations())]
    pub(crate) synchronization: Synchronization,
    /// Without windows: events that a link holds until they are handled
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = one_to::<1_073_741_824>)]
    pub(crate) edge_capacity: usize,
}

impl ConservativeArgs {
    /// The simulation with these settings.
    pub(crate) fn apply<'a, M: Model>(&self, simulation: Simulation<'a, M>) -> Simulation<'a, M> {
        simulation.synchronization(self.synchronization).edge_capacity(self.edge_capacity)
    }
}

fn synchronizations() -> impl TypedValueParser<Value = Synchronization> {
    PossibleValuesParser::new(Synchronization::ALL.iter().map(|one| one.name()))
        .try_map(|name| name.parse::<Synchronization>())
}
