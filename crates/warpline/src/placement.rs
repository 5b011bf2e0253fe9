//! Placement: which worker of which rank has which LP.
//!
//! Every engine with several workers makes an [`LpDirectory`] once per run, from the user's
//! [`Placement`]. A worker has two numbers, and the types keep them apart:
//!
//! - a [`WorkerId`] counts the workers of all ranks, rank after rank;
//! - a `usize` counts the workers of this rank, and indexes what they share.
//!
//! [`LpDirectory::local`] and [`LpDirectory::global`] translate between the two. An LP has two,
//! too: an [`LpId`], its number in the model, and a [`LocalLp`], its index among those of its
//! worker; [`LpDirectory::place`] leads from the first to the second.
//!
//! # Invariants
//!
//! - **PLACE-A.** The LPs of one worker have the indices 0, 1, 2, ... in the order of their
//!   numbers, so an index finds the LP in a vector that was filled in that order.

use std::{borrow::Cow, fmt, mem, ops::Range, sync::Arc};

use warpline_core::{Link, LpId, Model};
use warpline_graph::weighted_blocks;
#[cfg(feature = "metis")]
use warpline_graph::{Topology, min_cut};
use warpline_memory::try_reserve_exact;
use warpline_net::Address;

use crate::{ConfigError, Placement, counted::counted, local_lp::LocalLp, settings::Weights};

/// A function from each LP to its worker.
fn worker_of<'a, M: Model>(
    placement: &'a Placement,
    model: &'a M,
    lp_count: usize,
    workers: usize,
) -> Result<Box<dyn Fn(LpId) -> usize + 'a>, ConfigError> {
    Ok(match placement {
        Placement::Model => Box::new(move |id| model.placement(id, workers)),
        Placement::Blocks(Weights::Equal) => Box::new(move |id| (id.index() * workers) / lp_count),
        Placement::Blocks(weights) => {
            let table = weighted_blocks(&weights_of(weights, lp_count)?, workers);
            debug_assert!(table.is_sorted(), "a block is not of neighbors");
            Box::new(move |id| table[id.index()])
        }
        Placement::RoundRobin => Box::new(move |id| id.index() % workers),
        Placement::Graph(weights) => {
            let weights = weights_of(weights, lp_count)?;
            let table = min_cut_of_links(model, &weights, workers)?;
            debug_assert_eq!(table.len(), lp_count, "PLACE-A: an LP is in no part of the graph");
            Box::new(move |id| table[id.index()])
        }
        Placement::Table(table) => {
            let allowed = "as many lines as the model has LPs";
            let (lines, lps) = (counted(table.len(), "line"), counted(lp_count, "LP"));
            let found = format!("a table of {lines} for {lps}");
            ConfigError::check(table.len() == lp_count, "placement", found, allowed)?;
            Box::new(|id| table[id.index()] as usize)
        }
    })
}

/// The weight of every LP.
fn weights_of(weights: &Weights, lp_count: usize) -> Result<Cow<'_, [u64]>, ConfigError> {
    match weights {
        Weights::Equal => Ok(vec![1; lp_count].into()),
        Weights::Trial { .. } => unreachable!("a trial was made before the run"),
        Weights::Table(table) => {
            let allowed = "as many lines as the model has LPs";
            let (lines, lps) = (counted(table.len(), "line"), counted(lp_count, "LP"));
            let found = format!("a table of {lines} for {lps}");
            ConfigError::check(table.len() == lp_count, "placement-weights", found, allowed)?;
            Ok(Cow::Borrowed(table))
        }
    }
}

/// The links that a model declares for an LP. If it declares none, the error says that the setting
/// needs them, and which values are allowed `instead`.
pub(crate) fn links_from<M: Model>(
    model: &M,
    from: LpId,
    (setting, value): (&str, &dyn fmt::Display),
    instead: &str,
) -> Result<Vec<Link>, ConfigError> {
    model.links(from).ok_or_else(|| {
        let allowed = format!(
            "{instead} for a model that does not declare where {from:?} sends to (to declare it, \
             give its Model `links`)"
        );
        ConfigError::new(setting, value, allowed)
    })
}

/// The worker of every LP, so that few links lead from one worker to another, and all workers have
/// LPs of about equal weight.
#[cfg(feature = "metis")]
fn min_cut_of_links<M: Model>(
    model: &M,
    weights: &[u64],
    workers: usize,
) -> Result<Vec<usize>, ConfigError> {
    let mut edges = Vec::new();
    for from in (0..weights.len()).map(LpId::from_index) {
        let links = links_from(
            model,
            from,
            ("placement", &"graph"),
            "model, blocks, round-robin or a file",
        )?;
        edges.extend(links.iter().map(|link| (from.index(), link.to.index())));
    }
    let parts = Topology::new(weights.len(), edges);
    let parts = parts.and_then(|graph| min_cut(&graph, weights, workers));
    parts.map_err(|error| ConfigError::new("links", error, "a graph that can be partitioned"))
}

/// The error of a build without METIS says how to get it.
#[cfg(not(feature = "metis"))]
fn min_cut_of_links<M: Model>(_: &M, _: &[u64], _: usize) -> Result<Vec<usize>, ConfigError> {
    let allowed = "model, blocks, round-robin or a file in a program that is built without the \
                   graph partitioner METIS (build it with `--features metis`)";
    Err(ConfigError::new("placement", "graph", allowed))
}

/// A worker, by its number among the workers of all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkerId(u32);

impl WorkerId {
    pub(crate) const fn new(number: usize) -> Self {
        debug_assert!(number <= u32::MAX as usize, "another worker has that number");
        Self(number as u32)
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where an LP is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LpPlace {
    pub(crate) worker: WorkerId,
    /// Its index among the LPs of that worker (PLACE-A).
    pub(crate) lp: LocalLp,
}

/// The places of all LPs, as one rank sees them.
#[derive(Debug)]
pub(crate) struct LpDirectory {
    /// By LP.
    places: Arc<Vec<LpPlace>>,
    /// The LPs of every worker of this rank, in ascending order.
    lps: Vec<Vec<LpId>>,
    /// How many workers all ranks have.
    workers: usize,
    /// This rank's workers among them.
    here: Range<usize>,
}

impl LpDirectory {
    /// Assigns the LPs to `workers` workers, of which those in `here` are this rank's.
    pub(crate) fn new<M: Model>(
        model: &M,
        lp_count: usize,
        placement: &Placement,
        workers: usize,
        here: Range<usize>,
    ) -> Result<Self, ConfigError> {
        assert!(here.end <= workers, "workers {here:?} of this rank are among {workers}");
        let worker_of = worker_of(placement, model, lp_count, workers)?;
        Self::by(&*worker_of, (lp_count, size_of::<M::Lp>()), workers, here)
    }

    /// Does so without the type of the model: each LP has this number of bytes.
    fn by(
        worker_of: &dyn Fn(LpId) -> usize,
        (lp_count, lp_bytes): (usize, usize),
        workers: usize,
        here: Range<usize>,
    ) -> Result<Self, ConfigError> {
        let mut places = Vec::new();
        // A table that does not fit is an error that says so, not an abort in the allocator.
        if !try_reserve_exact(&mut places, lp_count) {
            let bytes = lp_count.saturating_mul(size_of::<LpPlace>() + lp_bytes);
            let allowed = format!("less: the LPs would take {bytes} bytes of memory");
            return Err(ConfigError::new("lp_count", lp_count, allowed));
        }
        let mut lps = vec![Vec::new(); here.len()];
        let mut counts = vec![0; workers];
        for id in (0..lp_count).map(LpId::from_index) {
            let worker = worker_of(id);
            if worker >= workers {
                let allowed = format!("below {workers}, the number of workers, for {id:?}");
                return Err(ConfigError::new("placement", worker, allowed));
            }
            let (worker_id, lp) = (WorkerId::new(worker), LocalLp::new(counts[worker]));
            places.push(LpPlace { worker: worker_id, lp });
            counts[worker] += 1;
            if here.contains(&worker) {
                lps[worker - here.start].push(id);
            }
        }
        debug_assert_eq!(counts.iter().sum::<u32>() as usize, lp_count, "PLACE-A: an LP is lost");
        Ok(Self { places: Arc::new(places), lps, workers, here })
    }

    /// Where an LP of the model is.
    #[inline]
    pub(crate) fn place(&self, lp: LpId) -> LpPlace {
        debug_assert!(lp.index() < self.places.len(), "{lp} has no place");
        self.places[lp.index()]
    }

    /// Where all LPs are, for an engine in which they move.
    pub(crate) fn places(&self) -> Arc<Vec<LpPlace>> {
        Arc::clone(&self.places)
    }

    /// Where an LP is, if there is such an LP: for what other ranks say.
    pub(crate) fn find(&self, lp: LpId) -> Option<LpPlace> {
        self.places.get(lp.index()).copied()
    }

    /// The number among this rank's workers, if the worker is one of them.
    #[inline]
    pub(crate) fn local(&self, worker: WorkerId) -> Option<usize> {
        let local = worker.index().wrapping_sub(self.here.start);
        (local < self.here.len()).then_some(local)
    }

    /// Whether an LP is at this rank.
    pub(crate) fn is_here(&self, lp: LpId) -> bool {
        self.local(self.place(lp).worker).is_some()
    }

    /// The number among all workers of a worker of this rank.
    #[inline]
    pub(crate) fn global(&self, local: usize) -> WorkerId {
        debug_assert!(local < self.here.len(), "this rank has no worker {local}");
        WorkerId::new(self.here.start + local)
    }

    /// The rank of a worker, and its number there: with one port for each worker, its port.
    pub(crate) fn address(&self, worker: WorkerId) -> Address {
        debug_assert!(worker.index() < self.workers, "there is no worker {worker:?}");
        debug_assert_eq!(self.workers % self.here.len(), 0, "ranks have other numbers of workers");
        let (rank, port) = (worker.index() / self.here.len(), worker.index() % self.here.len());
        Address { rank, port }
    }

    /// The rank of an LP.
    pub(crate) fn rank(&self, lp: LpId) -> usize {
        self.address(self.place(lp).worker).rank
    }

    /// The LPs of a worker of this rank, in ascending order.
    pub(crate) fn lps_of(&self, local: usize) -> &[LpId] {
        &self.lps[local]
    }

    /// How many LPs the model has.
    pub(crate) fn lp_count(&self) -> usize {
        self.places.len()
    }

    /// How many workers all ranks have.
    pub(crate) const fn workers(&self) -> usize {
        self.workers
    }

    /// How many workers this rank has.
    pub(crate) fn workers_here(&self) -> usize {
        self.here.len()
    }

    /// The worker of every LP, in the order of the LPs.
    pub(crate) fn partition(&self) -> Vec<usize> {
        self.places.iter().map(|place| place.worker.index()).collect()
    }

    /// The LPs of this rank, in their order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = LpId> {
        let is_here = |(_, place): &(usize, &LpPlace)| self.local(place.worker).is_some();
        let here = self.places.iter().enumerate().filter(is_here);
        here.map(|(index, _)| LpId::from_index(index))
    }

    /// Whether each of this rank's workers has LPs behind all those of the one before.
    fn is_in_blocks(&self) -> bool {
        self.lps.windows(2).all(|pair| pair[0].last() < pair[1].first())
    }

    /// Merges what this rank's workers have for each of their LPs, in the order of all LPs.
    pub(crate) fn in_order<T>(&self, mut by_worker: Vec<Vec<T>>) -> Vec<T> {
        debug_assert_eq!(by_worker.len(), self.lps.len(), "a worker of another rank");
        if self.is_in_blocks() {
            // What the first one has stays where it is.
            let count = by_worker.iter().map(Vec::len).sum::<usize>();
            let mut parts = by_worker.iter_mut();
            let mut in_order = parts.next().map(mem::take).unwrap_or_default();
            in_order.reserve_exact(count - in_order.len());
            parts.for_each(|part| in_order.append(part));
            return in_order;
        }
        let mut left: Vec<_> = by_worker.into_iter().map(Vec::into_iter).collect();
        let mut in_order = Vec::with_capacity(left.iter().map(ExactSizeIterator::len).sum());
        let next = |place: &LpPlace| left.get_mut(self.local(place.worker)?)?.next();
        in_order.extend(self.places.iter().filter_map(next));
        debug_assert!(left.iter().all(|left| left.len() == 0), "PLACE-A: an LP has no place");
        in_order
    }

    /// Divides what this rank has for each of its LPs, in their order, among its workers.
    pub(crate) fn by_worker<T>(&self, mut in_order: Vec<T>) -> Vec<Vec<T>> {
        let mut parts: Vec<_> = self.lps.iter().map(|_| Vec::new()).collect();
        if self.is_in_blocks() {
            // What the first one has stays where it is.
            for (part, lps) in parts.iter_mut().zip(&self.lps).skip(1).rev() {
                *part = in_order.split_off(in_order.len() - lps.len());
            }
            in_order.shrink_to_fit();
            parts[0] = in_order;
        } else {
            for (part, lps) in parts.iter_mut().zip(&self.lps) {
                part.reserve_exact(lps.len());
            }
            let here = self.places.iter().filter_map(|place| self.local(place.worker));
            here.zip(in_order).for_each(|(worker, one)| parts[worker].push(one));
        }
        debug_assert!(
            parts.iter().zip(&self.lps).all(|(part, lps)| part.len() == lps.len()),
            "PLACE-A: a worker has not the LPs that are placed there"
        );
        parts
    }
}

#[cfg(test)]
mod tests {
    use warpline_core::{Context, LogicalProcess, VirtualTime};

    use super::*;

    struct Nine;

    #[derive(Clone, Debug)]
    struct Cell;

    impl Model for Nine {
        type Lp = Cell;
        type Output = ();

        fn name(&self) -> &'static str {
            "nine"
        }

        fn lp_count(&self) -> usize {
            9
        }

        fn make_lp(&self, _: LpId) -> Cell {
            Cell
        }

        fn reduce(&self, _: impl Iterator<Item = ()>) {}
    }

    impl LogicalProcess for Cell {
        type Model = Nine;
        type Message = ();
        type Summary = ();

        fn start(&mut self, _: &Nine, _: &mut impl Context<()>) {}

        fn handle(&mut self, _: &Nine, (): &(), _: &mut impl Context<()>) {}

        fn finish(self, _: &Nine, _: VirtualTime) {}
    }

    /// PLACE-A, seen from the second of two ranks with two workers each.
    #[test]
    fn an_index_finds_the_lp() {
        let directory = LpDirectory::new(&Nine, 9, &Placement::RoundRobin, 4, 2..4).unwrap();
        for id in (0..9).map(LpId::from_index) {
            let place = directory.place(id);
            assert_eq!(place.worker.index(), id.index() % 4);
            let local = directory.local(place.worker);
            assert_eq!(local, (id.index() % 4).checked_sub(2));
            if let Some(local) = local {
                assert_eq!(directory.lps_of(local)[place.lp.index()], id);
                assert_eq!(directory.global(local), place.worker);
            }
        }
        assert_eq!(directory.find(LpId::new(9)), None);
        let ids = vec![directory.lps_of(0).to_vec(), directory.lps_of(1).to_vec()];
        assert_eq!(directory.in_order(ids), [2, 3, 6, 7].map(LpId::new));
    }

    /// In blocks and in any other order, what is divided among workers is put together again.
    #[test]
    fn what_is_divided_is_put_together() {
        let table = [2, 0, 0, 0, 0, 0, 2, 2, 0].into();
        for placement in [Placement::default(), Placement::RoundRobin, Placement::Table(table)] {
            for (workers, here) in [(1, 0..1), (3, 0..3), (9, 0..9), (12, 0..12), (4, 2..4)] {
                if workers < 3 && matches!(placement, Placement::Table(_)) {
                    continue;
                }
                let directory = LpDirectory::new(&Nine, 9, &placement, workers, here).unwrap();
                let ids: Vec<_> = directory.ids().collect();
                let parts = directory.by_worker(ids.clone());
                for (worker, part) in parts.iter().enumerate() {
                    assert_eq!(part, directory.lps_of(worker), "{placement:?}, {workers}");
                }
                assert_eq!(directory.in_order(parts), ids, "{placement:?}, {workers}");
            }
        }
    }
}
