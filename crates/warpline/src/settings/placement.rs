//! Which worker has which LPs, and where the memory of workers is, as settings.

use std::{fmt, sync::Arc};

use crate::names::names;

names! {
    /// Where the memory of workers is, on a machine with several NUMA nodes.
    #[non_exhaustive]
    pub enum MemoryPlacement as "memory-placement", default Off;
    /// Where the system puts it: on the node of the worker that touches a page first.
    Off = "off";
    /// What a worker allocates, its LPs too, is in memory of its own, on the node of its core. For
    /// programs that install [`NodeAllocator`](crate::nodes::NodeAllocator), as the command does.
    Worker = "worker";
    /// As `Worker`, and in Time Warp each LP has memory of its own, for its state and all that its
    /// code allocates. It follows the LP to the node of its worker
    /// ([`Numa::migration_daemons`](crate::settings::Numa::migration_daemons)).
    Lp = "lp";
    /// As `Worker` on a machine with several nodes, and as `Off` on others.
    Auto = "auto";
}

/// How LPs are assigned to the workers of all ranks.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// As the model says ([`Model::placement`](warpline_core::Model::placement)); equal blocks if
    /// it says nothing.
    #[default]
    Model,
    /// Blocks of consecutive LPs of equal weight.
    Blocks(Weights),
    /// In turn.
    RoundRobin,
    /// As the graph partitioner METIS finds it, so that few of the model's
    /// [`links`](warpline_core::Model::links) lead from one worker to another, and all workers have
    /// LPs of about equal weight. All links count alike. An error unless this crate is built with
    /// the cargo feature `metis`.
    Graph(Weights),
    /// A worker for every LP, in the order of the LPs: what graph partitioners write.
    Table(Arc<[u32]>),
}

/// How much LPs weigh when they are dealt to workers.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Weights {
    /// All alike.
    #[default]
    Equal,
    /// As many as the LP has events in a trial at the beginning of the run, on the sequential
    /// engine ([`events_by_lp`](crate::Simulation::events_by_lp)). On several ranks, each makes all
    /// LPs for it.
    Trial {
        /// How many events the trial has at most; `None` for 256 for each LP, and 2^16 at least.
        events: Option<u64>,
    },
    /// These, in the order of the LPs.
    Table(Arc<[u64]>),
}

/// FNV-1a: ranks compare what they have been given by text.
fn hash_of(numbers: impl Iterator<Item = u64>) -> u64 {
    let mix = |hash: u64, number: u64| (hash ^ number).wrapping_mul(0x100_0000_01b3);
    numbers.fold(0xcbf2_9ce4_8422_2325, mix)
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("Equal"),
            Self::Trial { events } => write!(f, "Trial({events:?})"),
            Self::Table(table) => {
                let hash = hash_of(table.iter().copied());
                write!(f, "Table({} LPs, {hash:x})", table.len())
            }
        }
    }
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("Model"),
            Self::Blocks(weights) => write!(f, "Blocks({weights:?})"),
            Self::RoundRobin => f.write_str("RoundRobin"),
            Self::Graph(weights) => write!(f, "Graph({weights:?})"),
            Self::Table(table) => {
                let hash = hash_of(table.iter().map(|worker| u64::from(*worker)));
                write!(f, "Table({} LPs, {hash:x})", table.len())
            }
        }
    }
}
