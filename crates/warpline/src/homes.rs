//! Where the processes of a model live: which worker has which, and at which place.
//!
//! Made once per run by the engines with several workers. Workers are numbered over all ranks, rank
//! after rank.

use std::{fmt, ops::Range, sync::Arc};

use warpline_core::{Link, LpId, Model};
use warpline_net::graph::{Topology, min_cut};

use crate::ConfigError;

/// How processes are dealt to the workers of all ranks.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// As the model says ([`Model::placement`]); equal blocks if it says nothing.
    #[default]
    Model,
    /// Equal blocks of consecutive processes.
    Blocks,
    /// In turn.
    RoundRobin,
    /// So that few of the model's [`links`](Model::links) lead from one worker to another: what the
    /// graph partitioner METIS finds. All links count alike.
    Graph,
    /// A worker for every process, in the order of the processes: what graph partitioners write.
    Table(Arc<[u32]>),
}

impl Placement {
    /// Says where each process is.
    fn dealer<'a, M: Model>(
        &'a self,
        model: &'a M,
        lp_count: usize,
        workers: usize,
    ) -> Result<Box<dyn Fn(LpId) -> usize + 'a>, ConfigError> {
        Ok(match self {
            Self::Model => Box::new(move |id| model.placement(id, workers)),
            Self::Blocks => Box::new(move |id| (id.index() * workers) / lp_count),
            Self::RoundRobin => Box::new(move |id| id.index() % workers),
            Self::Graph => {
                let table = min_cut_of_links(model, lp_count, workers)?;
                Box::new(move |id| table[id.index()])
            }
            Self::Table(table) => {
                let allowed = "as many lines as the model has LPs";
                let found = format!("a table of {} lines for {lp_count} LPs", table.len());
                ConfigError::check(table.len() == lp_count, "placement", found, allowed)?;
                Box::new(|id| table[id.index()] as usize)
            }
        })
    }
}

/// The links that a model declares for a process; if it declares none, the setting that needs them
/// must be one of those `instead`.
pub(crate) fn links_from<M: Model>(
    model: &M,
    from: LpId,
    (setting, value): (&str, &dyn fmt::Display),
    instead: &str,
) -> Result<Vec<Link>, ConfigError> {
    model.links(from).ok_or_else(|| {
        let allowed = format!(
            "{instead} for a model that does not declare where {from:?} sends to (to declare it, give its \
             Model `links`)"
        );
        ConfigError::new(setting, value, allowed)
    })
}

/// The worker of every process, so that few links lead from one to another.
fn min_cut_of_links<M: Model>(
    model: &M,
    lp_count: usize,
    workers: usize,
) -> Result<Vec<usize>, ConfigError> {
    let mut edges = Vec::new();
    for from in (0..lp_count).map(LpId::from_index) {
        let links = links_from(
            model,
            from,
            ("placement", &"graph"),
            "model, blocks, round-robin or a file",
        )?;
        edges.extend(links.iter().map(|link| (from.index(), link.to.index())));
    }
    let parts = Topology::new(lp_count, edges).and_then(|graph| min_cut(&graph, workers));
    parts.map_err(|error| ConfigError::new("links", error, "a graph that can be partitioned"))
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

/// Where a process lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// Among the workers of all ranks.
    pub(crate) worker: u32,
    /// Its place among the processes of that worker.
    pub(crate) local: u32,
}

/// All homes.
#[derive(Debug)]
pub(crate) struct Homes {
    /// Of every process.
    pub(crate) directory: Vec<Home>,
    /// The processes of every worker of this rank, in ascending order.
    pub(crate) residents: Vec<Vec<LpId>>,
    /// How many workers all ranks have.
    pub(crate) workers: usize,
    /// This rank's workers.
    pub(crate) here: Range<usize>,
}

impl Homes {
    /// Places the processes on `workers` workers, of which those in `here` are this rank's.
    pub(crate) fn new<M: Model>(
        model: &M,
        lp_count: usize,
        placement: &Placement,
        workers: usize,
        here: Range<usize>,
    ) -> Result<Self, ConfigError> {
        let worker_of = placement.dealer(model, lp_count, workers)?;
        let mut directory = Vec::new();
        // A table that does not fit is an error that says so, not an abort in the allocator.
        if directory.try_reserve_exact(lp_count).is_err() {
            let bytes = lp_count.saturating_mul(size_of::<Home>() + size_of::<M::Lp>());
            let allowed = format!("less: the processes would take {bytes} bytes of memory");
            return Err(ConfigError::new("lp_count", lp_count, allowed));
        }
        let mut residents = vec![Vec::new(); here.len()];
        let mut counts = vec![0; workers];
        for index in 0..lp_count {
            let id = LpId::from_index(index);
            let worker = worker_of(id);
            if worker >= workers {
                let allowed = format!("below {workers}, the number of workers, for {id:?}");
                return Err(ConfigError::new("placement", worker, allowed));
            }
            directory.push(Home { worker: worker as u32, local: counts[worker] });
            counts[worker] += 1;
            if here.contains(&worker) {
                residents[worker - here.start].push(id);
            }
        }
        Ok(Self { directory, residents, workers, here })
    }

    /// What this rank's workers leave, one thing by process, in the order of the processes.
    pub(crate) fn in_order<T>(&self, by_worker: impl IntoIterator<Item = Vec<T>>) -> Vec<T> {
        let mut left: Vec<_> = by_worker.into_iter().map(Vec::into_iter).collect();
        let next = |home: &Home| {
            let worker = (home.worker as usize).checked_sub(self.here.start)?;
            left.get_mut(worker)?.next()
        };
        self.directory.iter().filter_map(next).collect()
    }
}
