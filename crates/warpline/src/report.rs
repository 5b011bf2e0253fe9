//! The report of a run: how it went, and the model's result.

use std::{mem::needs_drop, ops::Deref, time::Duration};

use serde::{Deserialize, Serialize};
use warpline_core::{CommitDigest, LogicalProcess, Model, VirtualTime};

use crate::{EngineKind, Profile};

/// The outcome of a run: how it went, and the model's own result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report<O> {
    /// The model's name.
    pub model: String,
    /// The engine that ran it.
    pub engine: EngineKind,
    /// The number of ranks.
    pub ranks: usize,
    /// The number of workers of all ranks.
    pub workers: usize,
    /// The seed of the random streams.
    pub seed: u64,
    /// The virtual time up to which the model ran: the given end; or the time of the last event if
    /// no end was given; or where the run was interrupted.
    pub end_time: VirtualTime,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// Wall time from before the first LP is made until the last one has finished, and what the run
    /// has left is dropped.
    pub wall: Duration,
    /// Counts over all ranks, and the digest. They can be read as fields of the report:
    /// `report.committed_events`.
    pub totals: Totals,
    /// More about how the run went, for engines with several workers.
    pub details: Details,
    /// The model's own result.
    pub output: O,
    /// The results of equal intervals of virtual time, in order: only of a run with
    /// [`Intervals`](crate::Intervals); of an interrupted run, those that it has reached.
    pub intervals: Vec<O>,
}

impl<O> Report<O> {
    /// The same report with other results, made from its own.
    #[must_use]
    pub fn map<P>(self, mut make: impl FnMut(O) -> P) -> Report<P> {
        Report {
            model: self.model,
            engine: self.engine,
            ranks: self.ranks,
            workers: self.workers,
            seed: self.seed,
            end_time: self.end_time,
            interrupted: self.interrupted,
            wall: self.wall,
            totals: self.totals,
            details: self.details,
            output: make(self.output),
            intervals: self.intervals.into_iter().map(make).collect(),
        }
    }

    /// Committed events by processed events; 1 for a run without any.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        ratio_or(self.committed_events, self.processed_events as f64, 1.0)
    }

    /// Committed events per second of wall time.
    #[must_use]
    pub fn events_per_second(&self) -> f64 {
        ratio_or(self.committed_events, self.wall.as_secs_f64(), 0.0)
    }
}

impl<O> Deref for Report<O> {
    type Target = Totals;

    fn deref(&self) -> &Totals {
        &self.totals
    }
}

/// What a run counts, on one rank or on all of them: its numbers are sums over ranks, unless a
/// field says otherwise.
///
/// To add a number to reports, add it here, and fill it in where an engine knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Totals {
    /// Events that took effect.
    pub committed_events: u64,
    /// Events that were handled, including those that were rolled back.
    pub processed_events: u64,
    /// Events that were handled and undone.
    pub rolled_back_events: u64,
    /// How often some LP was rolled back.
    pub rollbacks: u64,
    /// How often global virtual time was computed, by the rank that did so most often; with the
    /// conservative engine, how often all workers synchronized.
    pub gvt_rounds: u64,
    /// The most bytes that event buffers took at one time.
    pub peak_buffer_bytes: u64,
    /// Stands for all committed events, in order, of every LP.
    #[serde(with = "digest_as_bits")]
    pub digest: CommitDigest,
}

impl Totals {
    /// The numbers by their names in reports.
    #[must_use]
    pub fn numbers(&self) -> Vec<(&'static str, u64)> {
        let &Self {
            committed_events,
            processed_events,
            rolled_back_events,
            rollbacks,
            gvt_rounds,
            peak_buffer_bytes,
            digest: _,
        } = self;
        vec![
            ("committed_events", committed_events),
            ("processed_events", processed_events),
            ("rolled_back_events", rolled_back_events),
            ("rollbacks", rollbacks),
            ("gvt_rounds", gvt_rounds),
            ("peak_buffer_bytes", peak_buffer_bytes),
        ]
    }

    /// Adds those of the next part of the same run, whose digest is that of all parts.
    pub(crate) fn append(&mut self, next: &Self) {
        debug_assert!(
            next.processed_events >= next.committed_events,
            "A8: more is committed than was handled"
        );
        let peak = self.peak_buffer_bytes.max(next.peak_buffer_bytes);
        let rounds = self.gvt_rounds + next.gvt_rounds;
        self.add(next);
        (self.peak_buffer_bytes, self.gvt_rounds, self.digest) = (peak, rounds, next.digest);
    }

    /// Adds those of another rank.
    pub(crate) fn add(&mut self, other: &Self) {
        let &Self {
            committed_events,
            processed_events,
            rolled_back_events,
            rollbacks,
            gvt_rounds,
            peak_buffer_bytes,
            digest,
        } = other;
        debug_assert!(
            committed_events <= processed_events,
            "{committed_events} events are committed, and {processed_events} were processed"
        );
        self.committed_events += committed_events;
        self.processed_events += processed_events;
        self.rolled_back_events += rolled_back_events;
        self.rollbacks += rollbacks;
        self.gvt_rounds = self.gvt_rounds.max(gvt_rounds);
        self.peak_buffer_bytes += peak_buffer_bytes;
        self.digest = self.digest.combine(digest);
    }
}

/// What the parts of a run have counted, one after the other: the stages of several engines, or the
/// warm-up and what follows it.
#[derive(Default)]
pub(crate) struct PartSums {
    pub(crate) totals: Totals,
    counters: Vec<(&'static str, u64)>,
    /// Nanoseconds by part of the engine.
    costs: Vec<(&'static str, f64)>,
    /// Remarks of the part with the most events.
    remarks: Vec<String>,
    heap_memory: HeapMemory,
    most: u64,
    /// How many events the parts have committed that know how many messages were local, and how
    /// many of that would be local.
    local: (f64, f64),
}

impl PartSums {
    /// Adds the next one.
    pub(crate) fn add(&mut self, totals: &Totals, details: Details) {
        let events = totals.committed_events;
        self.totals.append(totals);
        for (name, count) in details.counters {
            match self.counters.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => self.counters.push((name, count)),
            }
        }
        for (name, each) in details.costs {
            let spent = each * events as f64;
            match self.costs.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += spent,
                None => self.costs.push((name, spent)),
            }
        }
        self.heap_memory = self.heap_memory.max(details.heap_memory);
        if let Some(share) = details.local_share {
            let (all, local) = &mut self.local;
            (*all, *local) = (*all + events as f64, *local + share * events as f64);
        }
        if events >= self.most {
            (self.most, self.remarks) = (events, details.remarks);
        }
        debug_assert!(
            self.most <= self.totals.committed_events,
            "a part has more events than the run that it is of"
        );
    }

    /// What all of them tell.
    pub(crate) fn details(&self) -> Details {
        let events = self.totals.committed_events.max(1) as f64;
        let costs = self.costs.iter().map(|&(name, spent)| (name, spent / events)).collect();
        let (counters, remarks) = (self.counters.clone(), self.remarks.clone());
        let heap_memory = self.heap_memory;
        let (all, local) = self.local;
        let local_share = (all > 0.0).then(|| local / all);
        Details { counters, remarks, costs, heap_memory, local_share, ..Details::default() }
    }
}

/// How a digest travels between ranks.
mod digest_as_bits {
    use serde::{Deserialize, Deserializer, Serializer};
    use warpline_core::CommitDigest;

    pub(super) fn serialize<S: Serializer>(
        digest: &CommitDigest,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(digest.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<CommitDigest, D::Error> {
        u64::deserialize(deserializer).map(CommitDigest::from_bits)
    }
}

/// What engines with several workers report beyond the common numbers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Details {
    /// Counters, with their names in reports.
    pub counters: Vec<(&'static str, u64)>,
    /// Why the run was slow, if it was, and what to change: the most important first. Or how it was
    /// run, where the settings leave that open.
    pub remarks: Vec<String>,
    /// Nanoseconds per committed event, over all workers, by part of the engine; empty unless they
    /// are measured ([`measure_costs`](crate::settings::Instrumentation::measure_costs)).
    pub costs: Vec<(&'static str, f64)>,
    /// Time Warp with several workers on one rank: the part of the events that the sender's own
    /// worker has handled.
    pub local_share: Option<f64>,
    /// How fast the model could run in parallel: only of a run with [`Profile`].
    pub critical_path: Option<CriticalPath>,
    /// What the memory of events, and a limit of it, includes of the heap.
    pub heap_memory: HeapMemory,
}

/// What [`peak_buffer_bytes`](Totals::peak_buffer_bytes), and a memory limit, include of what
/// messages and saved states own on the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeapMemory {
    /// Nothing was there to count: the types have no destructor, or states that are saved by
    /// field have saved nothing on the heap.
    #[default]
    None,
    /// All that the model and the fields of its states say; this many bytes at the peak.
    Counted(u64),
    /// Nothing: the model says nothing of it, and yet its types may own some.
    NotSaid,
    /// Nothing: without a memory limit the engine does not count it, and the model's types may own
    /// some.
    NotCounted,
}

impl HeapMemory {
    /// For an engine that counts so many bytes at the peak, and that `saves_states` or does not.
    /// A state that is saved by field says itself what it owns.
    pub(crate) const fn counted<M: Model>(saves_states: bool, peak: u64) -> Self {
        let by_field = <M::Lp as LogicalProcess>::SAVING.is_by_field();
        let states = saves_states && !by_field && needs_drop::<M::Lp>();
        let may_own = states || needs_drop::<<M::Lp as LogicalProcess>::Message>();
        debug_assert!(peak == 0 || saves_states || may_own, "bytes that nothing owns");
        match peak {
            0 if may_own => Self::NotSaid,
            0 => Self::None,
            peak => Self::Counted(peak),
        }
    }

    /// For an engine that counts nothing of it, and that `saves_states` or does not.
    pub(crate) const fn not_counted<M: Model>(saves_states: bool) -> Self {
        let states = saves_states && needs_drop::<M::Lp>();
        if states || needs_drop::<<M::Lp as LogicalProcess>::Message>() {
            Self::NotCounted
        } else {
            Self::None
        }
    }
}

/// How fast a model could run in parallel, by the events of one run.
///
/// Costs and times are in nanoseconds, or in events if an event costs 1
/// ([`Cost`](crate::settings::Cost)).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CriticalPath {
    /// What an event costs, and what a message between LPs takes.
    pub settings: Profile,
    /// How many events there were.
    pub events: u64,
    /// The sum of their costs: the time that one worker needs.
    pub work: u64,
    /// The length of the longest chain in which each event follows the one before it: they are at
    /// the same LP, or the one sent the other. The time that no number of workers can beat, unless
    /// it handles an event before it knows all events before it, and is right.
    pub length: u64,
    /// What 1, 2, 4 … 1024 workers could gain.
    pub speedups: Vec<Speedup>,
}

/// What a number of workers could gain.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Speedup {
    /// How many workers.
    pub workers: usize,
    /// The time that one worker needs by the time that these need, if any of them handles any
    /// event, the least ready one first, and nothing but events takes time.
    pub speedup: f64,
    /// The same if each LP is placed on a worker, in blocks of neighbors of the same number
    /// ([`Placement::Blocks`](crate::settings::Placement::Blocks)), and messages between LPs of a
    /// worker take no time.
    pub placed: f64,
}

impl CriticalPath {
    /// How many events can be handled at one time, on average, with any number of workers: the work
    /// by the length; 1 for a run without events.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        Self::ratio(self.work, self.length)
    }

    /// The work by the time it takes.
    pub(crate) fn ratio(work: u64, time: u64) -> f64 {
        ratio_or(work, time as f64, 1.0)
    }
}

fn ratio_or(events: u64, by: f64, otherwise: f64) -> f64 {
    if by > 0.0 { events as f64 / by } else { otherwise }
}
