//! Where the processes of a model live: which worker has which, and at which place.
//!
//! Made once per run by the engines with several workers. Workers are numbered over all ranks, rank
//! after rank.

use std::{fmt, ops::Range};

use warpline_core::{Link, LpId, Model};
use warpline_net::graph::{Topology, min_cut};

use crate::{ConfigError, Placement};

/// Says where each process is.
fn dealer<'a, M: Model>(
    placement: &'a Placement,
    model: &'a M,
    lp_count: usize,
    workers: usize,
) -> Result<Box<dyn Fn(LpId) -> usize + 'a>, ConfigError> {
    Ok(match placement {
        Placement::Model => Box::new(move |id| model.placement(id, workers)),
        Placement::Blocks => Box::new(move |id| (id.index() * workers) / lp_count),
        Placement::RoundRobin => Box::new(move |id| id.index() % workers),
        Placement::Graph => {
            let table = min_cut_of_links(model, lp_count, workers)?;
            Box::new(move |id| table[id.index()])
        }
        Placement::Table(table) => {
            let allowed = "as many lines as the model has LPs";
            let found = format!("a table of {} lines for {lp_count} LPs", table.len());
            ConfigError::check(table.len() == lp_count, "placement", found, allowed)?;
            Box::new(|id| table[id.index()] as usize)
        }
    })
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
        let worker_of = dealer(placement, model, lp_count, workers)?;
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
