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
use warpline_graph::{Control, NodeId};
use warpline_net::NetError;

use super::{
    super::algorithm::Ended,
    channel_time::ChannelTime,
    reports::{
        DECISION, END, FAIL, FINISH, GO_ON, INTERRUPT, OUTPUTS_MAX, QUIESCENT, REPORT, REQUEST,
        Report,
    },
    worker::NullMessageWorker,
};
use crate::{
    event::{Buffer, Message},
    local_lp::LocalLp,
    run::{FailureOrder, KeyBound, NEVER, ProgressMonitor},
};

impl<M, B> NullMessageWorker<'_, M, B>
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
        for local in (0..self.lps.len()).map(LocalLp::from_index) {
            let lp = &self.lps[local.index()];
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
