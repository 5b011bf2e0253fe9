//! Deadlock detection and recovery, and the end of a run.
//!
//! All workers freeze the event graph, so that nothing is on its way. Each reports the earliest
//! time at which one of its LPs can still cause anything to the first worker of all. That worker
//! decides how the run goes on, and sends its decision to all.
//!
//! A freeze begins when the workers of all ranks rest and nothing is on its way between them, when
//! a handler has failed, when the run is to stop, or when a worker keeps too many I/O events. A
//! freeze that begins too early does no harm, because what is decided holds in any case.

use warpline_core::{EventKey, Model};
use warpline_graph::{CONTROL_WORDS, Control, NodeId};
use warpline_net::NetError;

use super::{super::algorithm::Ended, channel_time::ChannelTime, worker::Worker};
use crate::{
    event::{Buffer, Message},
    run::{FailureOrder, KeyBound, NEVER, ProgressMonitor},
};

/// The first word of a control message: an LP requests a null message.
pub(super) const REQUEST: u64 = 1;
/// A worker reports what it has left to do, in a freeze.
const REPORT: u64 = 2;
/// The first worker of all says how the run goes on.
const DECISION: u64 = 3;
/// A rank is quiescent.
pub(super) const QUIESCENT: u64 = 4;

/// The decision: the graph is unfrozen.
const GO_ON: u64 = 0;
/// The decision: no event is left before the end.
const END: u64 = 1;
/// The decision: the run stops early.
const INTERRUPT: u64 = 2;
/// The decision: a handler has failed, and all events before it are handled.
const FAIL: u64 = 3;
/// The decision: the run stops where the first LP is, once all are there.
const FINISH: u64 = 4;

/// With more non-blocking I/O events than this, a worker wants to know which of them can be
/// written.
const OUTPUTS_MAX: usize = 4096;

/// What one worker reports in a freeze.
#[derive(Clone, Copy, Debug)]
struct Report {
    /// The least null-message time of its LPs that have anything to do before the end and before
    /// the first failure.
    least: ChannelTime,
    failure: FailureOrder,
    stops: bool,
    /// The numbers of events sent, committed, and pending.
    counts: [u64; 3],
    /// The bits of the time of the last event that was handled.
    farthest: u64,
}

/// A worker's part in freezes.
#[derive(Debug)]
pub(super) struct DeadlockDetection {
    has_reported: bool,
    /// The first failure that all workers know of.
    failure: FailureOrder,
    decision: Option<Control>,
    outputs_max: usize,
    /// The number of freezes that are over.
    pub(super) freezes: u64,
    /// The first worker of all: the reports of workers.
    reports: Vec<Report>,
    /// Whether this freeze began because all ranks were quiescent.
    is_deadlock: bool,
}

impl DeadlockDetection {
    pub(super) const fn new() -> Self {
        Self {
            has_reported: false,
            failure: FailureOrder::End,
            decision: None,
            outputs_max: OUTPUTS_MAX,
            freezes: 0,
            reports: Vec::new(),
            is_deadlock: false,
        }
    }
}

impl<M, B> Worker<'_, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    /// Takes part in a freeze if there is one; returns how the run ends, if it does.
    pub(super) fn detect(
        &mut self,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> Result<Option<Ended>, NetError> {
        if !self.graph.is_freezing() && (self.graph.is_freeze_requested() || self.wants_freeze()) {
            self.graph.freeze();
        }
        if !self.graph.is_frozen() {
            return Ok(None);
        }
        if !self.detection.has_reported {
            // LPs may still have to take what arrived last.
            self.settle();
            self.detection.has_reported = true;
            self.report();
            self.graph.flush();
        }
        let decision = self.detection.decision.take();
        Ok(decision.and_then(|decision| self.follow(&decision, monitor)))
    }

    fn wants_freeze(&mut self) -> bool {
        let failure = &self.shared.common.failure;
        let fails = failure.is_known()
            && failure.order().is_some_and(|order| order < self.detection.failure);
        fails
            || self.is_stopping()
            || self.outputs.len() > self.detection.outputs_max
            || self.is_first() && self.is_quiescent()
    }

    /// Whether no LP can go on and nothing is on its way, as far as this worker knows.
    fn is_quiescent(&mut self) -> bool {
        let Some(crossings) = self.graph.quiescent() else { return false };
        let is_quiescent = self.remote.is_none() || self.are_ranks_quiescent(crossings);
        self.detection.is_deadlock = is_quiescent;
        is_quiescent
    }

    /// Reports what this worker has left to do to the first worker of all.
    fn report(&mut self) {
        debug_assert!(
            self.detection.decision.is_none(),
            "a worker reports while a decision waits for it"
        );
        self.check();
        let counts = [self.send_buffer.count, self.tally.committed, self.tally.pending];
        let failure = self.shared.common.failure.order().unwrap_or(FailureOrder::End);
        let farthest = self.tally.last_time.get().to_bits();
        let (least, stops) = (self.least(), self.is_stopping());
        let report = Report { least, failure, stops, counts, farthest };
        // The first worker of the rank writes them after the decision.
        self.shared.common.lock_outputs().append(&mut self.outputs);
        self.graph.send_control(0, report.to_words());
    }

    /// While the graph is frozen: what was counted is what is there. In a release build, this is
    /// nothing.
    fn check(&self) {
        if !cfg!(debug_assertions) || self.shared.common.failure.is_known() {
            return;
        }
        let waiting = self.lps.iter().map(|lp| lp.pending.len() + lp.outbox.len());
        debug_assert_eq!(waiting.sum::<usize>() as u64, self.tally.pending, "CMB-D: miscounted");
        let in_review = self.lps.iter().filter(|lp| lp.is_in_review).count();
        debug_assert_eq!(in_review, self.review.len(), "an LP is reviewed twice, or never again");
        let least_bound = |edge| self.channel_bounds[self.shared.plan.place(edge)];
        debug_assert!(
            self.lps.iter().all(|lp| lp.lowest.is_none_or(|edge| least_bound(edge) <= lp.eit)),
            "CMB-A: an LP may handle less than its channels allow"
        );
    }

    /// The least null-message time of all LPs that have anything to do.
    fn least(&self) -> ChannelTime {
        let times = self.lps.iter().filter(|lp| !lp.has_failed).map(|lp| {
            if !lp.outbox.is_empty() {
                return lp.outbox_cause;
            }
            let first = lp.pending.peek().map(|first| first.0.event.key);
            let counts =
                |key: &EventKey| key.time_value() < self.end && self.is_before_failure(key);
            let time = |key| ChannelTime::of(&key).as_cause();
            first.filter(counts).map_or(ChannelTime::NEVER, time)
        });
        times.min().unwrap_or(ChannelTime::NEVER)
    }

    /// Takes a control message.
    pub(super) fn hear(&mut self, from: usize, words: &Control) {
        // Reports are for the first worker of all, and decisions come from it.
        let is_expected = match words[0] {
            REQUEST => true,
            DECISION => from == 0,
            QUIESCENT | REPORT => self.me == 0,
            _ => false,
        };
        if !is_expected {
            let (me, kind) = (self.me, words[0]);
            return self.abandon(NetError::Failed(format!(
                "worker {from} sent worker {me} a control message of kind {kind}, which it must \
                 not send: perhaps the ranks run different builds"
            )));
        }
        match words[0] {
            REQUEST => {
                let node = u32::try_from(words[1]).ok().map(NodeId);
                let lps = self.shared.common.directory.lp_count();
                let node = node.filter(|node| node.index() < lps);
                node.into_iter().for_each(|node| self.hear_request(node));
            }
            QUIESCENT => {
                let remote = self.remote.as_mut();
                remote.into_iter().for_each(|remote| remote.hear_quiescence(words));
            }
            DECISION => self.detection.decision = Some(*words),
            _ => {
                self.detection.reports.push(Report::from_words(words));
                let (reports, workers) = (&self.detection.reports, self.shared.plan.workers());
                debug_assert!(reports.len() <= workers, "a worker reports twice in a freeze");
                if reports.len() == workers {
                    self.decide();
                }
            }
        }
    }

    /// The first worker of all decides how the run goes on.
    fn decide(&mut self) {
        debug_assert!(self.me == 0, "worker {} decides, which only the first one does", self.me);
        debug_assert!(self.graph.is_frozen(), "a decision while events are on their way");
        let mut all = Report::IDENTITY;
        for report in self.detection.reports.drain(..) {
            all = all.combine(&report);
        }
        let decision = match all.failure {
            // All workers have tried to start their LPs before they report.
            FailureOrder::Start(_) => FAIL,
            FailureOrder::Event(key)
                if all.stops || all.least > ChannelTime::of(&key).as_cause() =>
            {
                FAIL
            }
            FailureOrder::Event(_) => GO_ON,
            FailureOrder::End if all.stops && self.shared.common.settings.leaves_cut => FINISH,
            FailureOrder::End if all.stops => INTERRUPT,
            FailureOrder::End if all.least.is_before(self.end) => GO_ON,
            FailureOrder::End if self.is_finishing => INTERRUPT,
            FailureOrder::End => {
                let [sent, committed, pending] = all.counts;
                assert_eq!(sent, committed + pending, "CMB-D: events were lost or doubled");
                END
            }
        };
        self.tally.deadlocks += u64::from(decision == GO_ON && self.detection.is_deadlock);
        let mut words = all.to_words();
        (words[0], words[7]) = (DECISION, decision);
        for worker in 0..self.shared.plan.workers() {
            self.graph.send_control(worker, words);
        }
        self.graph.flush();
    }

    /// Does what was decided; returns how the run ends, if it does.
    fn follow(&mut self, words: &Control, monitor: &mut ProgressMonitor<'_, '_>) -> Option<Ended> {
        let Report { least, failure, farthest, .. } = Report::from_words(words);
        let mut decision = words[7];
        if decision == FINISH {
            debug_assert!(!self.is_finishing, "CUT-A: a run that ends is to end once more");
            // Events at that time itself, too.
            self.end = self.end.min(f64::from_bits(farthest).next_up());
            (self.is_finishing, decision) = (true, GO_ON);
        }
        self.tally.freezes += 1;
        self.limit = self.limit.min(failure);
        debug_assert!(failure <= self.detection.failure, "a failure was forgotten");
        self.detection.failure = failure;
        if self.is_first() {
            let until = if decision == GO_ON { least.bound_of_causes() } else { NEVER };
            self.write_outputs(until);
        }
        match decision {
            GO_ON => {
                self.graph.unfreeze();
                self.graph.set_active();
                let detection = &mut self.detection;
                detection.has_reported = false;
                detection.is_deadlock = false;
                detection.freezes += 1;
                self.recover(least);
                least.time().into_iter().for_each(|time| monitor.reaches(time));
                None
            }
            END => Some(Ended::AtEnd),
            INTERRUPT => Some(Ended::Interrupted),
            _ => Some(Ended::Failed),
        }
    }

    /// Ends a deadlock. Nothing in the whole model has a cause before `least` any more, so every
    /// EIT can rise, and the LP that can go on first does.
    fn recover(&mut self, least: ChannelTime) {
        self.renew_allowance();
        for local in 0..self.lps.len() {
            let lp = &self.lps[local];
            let eit = least.after(lp.lookahead);
            if !lp.outbox.is_empty() {
                // Other outboxes may have places on their edges since the graph was frozen.
                let exceeds_capacity = lp.outbox_cause == least;
                self.guard(|worker| worker.send_outbox(local, exceeds_capacity));
                self.note_for_review(local);
            }
            self.raise_eit(local, eit);
            self.enqueue(local);
        }
    }

    /// Writes the non-blocking I/O events that are final, those before `until`, in the order of
    /// their keys and up to the first failure; or ships them to the rank that does.
    fn write_outputs(&mut self, until: KeyBound) {
        let until = self.collect_outputs(until);
        let mut outputs = self.shared.common.lock_outputs();
        let mut kept = std::mem::take(&mut *outputs);
        let due: Vec<_> = kept.extract_if(.., |event| event.key.words() < until).collect();
        // A model with much output keeps much of it, and must not freeze the graph for each event.
        self.detection.outputs_max = OUTPUTS_MAX.max(2 * kept.len());
        *outputs = kept;
        drop(outputs);
        if self.ships_outputs() {
            self.ship_outputs(due, until);
            return;
        }
        let (common, here, limit) = (&self.shared.common, self.here, self.limit);
        let failed = common.write_outputs(here, self, due, limit);
        self.limit = failed.map_or(limit, |order| order.min(limit));
    }
}

impl Report {
    /// The report of a worker that has nothing to do and nothing to say.
    const IDENTITY: Self = Self {
        least: ChannelTime::NEVER,
        failure: FailureOrder::End,
        stops: false,
        counts: [0; 3],
        farthest: 0,
    };

    /// Reduces the reports of two workers to one.
    fn combine(self, other: &Self) -> Self {
        let mut counts = self.counts;
        counts.iter_mut().zip(other.counts).for_each(|(sum, more)| *sum += more);
        Self {
            least: self.least.min(other.least),
            failure: self.failure.min(other.failure),
            stops: self.stops || other.stops,
            counts,
            farthest: self.farthest.max(other.farthest),
        }
    }

    /// The words of a report. Those of a decision have the decision in place of `stops`.
    fn to_words(self) -> Control {
        let mut words = [0; CONTROL_WORDS];
        words[0] = REPORT;
        words[1..3].copy_from_slice(&self.least.to_words());
        words[3..7].copy_from_slice(&FailureOrder::to_words(Some(self.failure)));
        words[7] = u64::from(self.stops);
        words[8..11].copy_from_slice(&self.counts);
        words[11] = self.farthest;
        words
    }

    fn from_words(words: &Control) -> Self {
        let order = FailureOrder::from_words([words[3], words[4], words[5], words[6]]);
        let failure = order.flatten().unwrap_or(FailureOrder::End);
        Self {
            least: ChannelTime::from_words([words[1], words[2]]),
            failure,
            stops: words[7] != 0,
            counts: [words[8], words[9], words[10]],
            farthest: words[11],
        }
    }
}
