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
    /// ([`TimeWarp::migration_daemons`](crate::TimeWarp::migration_daemons)).
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
    /// Equal blocks of consecutive LPs.
    Blocks,
    /// In turn.
    RoundRobin,
    /// As the graph partitioner METIS finds it, so that few of the model's
    /// [`links`](warpline_core::Model::links) lead from one worker to another. All links count
    /// alike. An error unless this crate is built with the cargo feature `metis`.
    Graph,
    /// A worker for every LP, in the order of the LPs: what graph partitioners write.
    Table(Arc<[u32]>),
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("Model"),
            Self::Blocks => f.write_str("Blocks"),
            Self::RoundRobin => f.write_str("RoundRobin"),
            Self::Graph => f.write_str("Graph"),
            Self::Table(table) => {
                // FNV-1a: ranks compare what they have been given by this text.
                let mix = |hash: u64, worker: &u32| {
                    (hash ^ u64::from(*worker)).wrapping_mul(0x100_0000_01b3)
                };
                let hash = table.iter().fold(0xcbf2_9ce4_8422_2325, mix);
                write!(f, "Table({} LPs, {hash:x})", table.len())
            }
        }
    }
}
