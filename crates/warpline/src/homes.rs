//! Where the processes of a model live: which worker has which, and at which place.
//!
//! Made once per run by the engines with several workers. Workers are numbered over all ranks, rank after rank.

use std::{fmt, ops::Range, sync::Arc};

use warpline_core::{LpId, Model};

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
    /// A worker for every process, in the order of the processes: what graph partitioners write.
    Table(Arc<[u32]>),
}

impl Placement {
    fn worker<M: Model>(&self, model: &M, id: LpId, lp_count: usize, workers: usize) -> usize {
        match self {
            Self::Model => model.placement(id, workers),
            Self::Blocks => (id.index() * workers) / lp_count,
            Self::RoundRobin => id.index() % workers,
            Self::Table(table) => table[id.index()] as usize,
        }
    }

    fn check(&self, lp_count: usize) -> Result<(), ConfigError> {
        let Self::Table(table) = self else { return Ok(()) };
        let allowed = "as many lines as the model has LPs";
        let found = format!("a table of {} lines for {lp_count} LPs", table.len());
        ConfigError::check(table.len() == lp_count, "placement", found, allowed)
    }
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("Model"),
            Self::Blocks => f.write_str("Blocks"),
            Self::RoundRobin => f.write_str("RoundRobin"),
            Self::Table(table) => write!(f, "Table({} LPs)", table.len()),
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
        placement.check(lp_count)?;
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
            let worker = placement.worker(model, id, lp_count, workers);
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
