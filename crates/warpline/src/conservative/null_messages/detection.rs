//! Deadlock detection and recovery, and the end of a run.
//!
//! All workers freeze the event graph, so that nothing is on its algorithm. Each reports the first moment
//! at which a process of its own may do anything, to the first worker of all; that one decides, and
//! tells all.
//!
//! A freeze begins when the workers of all ranks rest and nothing is on its way between them; or
//! when a handler has failed, the run is to stop, or there are too many I/O events to keep. Whether
//! it was begun too early does not matter: what is decided holds in any case.

use std::sync::PoisonError;

use warpline_core::{EventKey, Model};
use warpline_graph::{CONTROL_WORDS, Control, NodeId};
use warpline_net::NetError;

use super::{
    super::{algorithm::Ended, lookout::Lookout},
    channel_time::ChannelTime,
    shared::Shared,
    worker::Worker,
};
use crate::{
    event::{Buffer, Message},
    run::FailureOrder,
};

/// What workers tell each other, by the first word.
pub(super) const ASK: u64 = 1;
const REPORT: u64 = 2;
const VERDICT: u64 = 3;
const QUIET: u64 = 4;

/// What the first worker decides.
const GO_ON: u64 = 0;
const END: u64 = 1;
const INTERRUPT: u64 = 2;
const FAIL: u64 = 3;

/// So many non-blocking I/O events a worker keeps before it wants to know which of them can be
/// written.
const OUTPUTS_MAX: usize = 4096;

/// What one worker says when all are frozen.
#[derive(Clone, Copy, Debug)]
struct Report {
    /// The first clock of a process that can do anything before the end and before the first
    /// failure.
    floor: ChannelTime,
    failure: FailureOrder,
    stops: bool,
    /// Events sent, committed, and pending.
    counts: [u64; 3],
}

/// What a worker knows of freezes.
#[derive(Debug)]
pub(super) struct Detection {
    /// The first worker of this rank.
    pub(super) first: usize,
    has_reported: bool,
    /// The first failure that all workers know of.
    failure: FailureOrder,
    verdict: Option<Control>,
    outputs_max: usize,
    /// How many freezes there were.
    epoch: u64,
    /// The first worker of a rank: what it has said last of its rank being quiet.
    told: Option<[u64; 3]>,
    /// The first worker of all: what ranks have said last, and the reports of workers.
    quiet: Vec<Option<[u64; 3]>>,
    reports: Vec<Report>,
    /// Whether this freeze began because all was quiet.
    is_deadlock: bool,
}

impl Detection {
    pub(super) fn new<M: Model, B: Buffer<Message<M>>>(shared: &Shared<'_, M, B>) -> Self {
        Self {
            first: shared.common.directory.global(0).index(),
            has_reported: false,
            failure: FailureOrder::End,
            verdict: None,
            outputs_max: OUTPUTS_MAX,
            epoch: 0,
            told: None,
            quiet: vec![None; shared.common.ranks.count()],
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
    /// Takes part in a freeze if there is one; says whether the run has come to its end.
    pub(super) fn detect(
        &mut self,
        lookout: &mut Lookout<'_, '_>,
    ) -> Result<Option<Ended>, NetError> {
        if !self.graph.is_freezing() && (self.graph.is_freeze_requested() || self.wants_freeze()) {
            self.graph.freeze();
        }
        if !self.graph.is_frozen() {
            return Ok(None);
        }
        if !self.detection.has_reported {
            // What was the last to arrive may be for processes still.
            self.settle();
            self.detection.has_reported = true;
            self.report();
            self.graph.flush();
        }
        let verdict = self.detection.verdict.take();
        Ok(verdict.and_then(|verdict| self.follow(&verdict, lookout)))
    }

    fn wants_freeze(&mut self) -> bool {
        let shared = self.shared;
        let fails = shared.common.failure.is_known()
            && shared.common.failure.order().is_some_and(|order| order < self.detection.failure);
        fails
            || self.is_stopping()
            || self.outputs.len() > self.detection.outputs_max
            || self.me == self.detection.first && self.is_quiet()
    }

    /// The first worker of a rank: whether all ranks are quiet, as far as the first one of all
    /// knows.
    fn is_quiet(&mut self) -> bool {
        let Some([sent, received]) = self.graph.quiescent() else { return false };
        let now = [self.detection.epoch, sent, received];
        if self.shared.common.ranks.count() == 1 {
            self.detection.is_deadlock = true;
            return true;
        }
        if self.detection.told != Some(now) {
            self.detection.told = Some(now);
            let mut words = [0; CONTROL_WORDS];
            words[..2].copy_from_slice(&[QUIET, self.shared.common.ranks.me() as u64]);
            words[2..5].copy_from_slice(&now);
            self.graph.send_control(0, words);
            self.graph.flush();
        }
        let quiet = &self.detection.quiet;
        let sums = quiet.iter().try_fold([0u64; 2], |sums, rank| {
            let [epoch, sent, received] = (*rank)?;
            (epoch == self.detection.epoch).then(|| [sums[0] + sent, sums[1] + received])
        });
        self.detection.is_deadlock = sums.is_some_and(|[sent, received]| sent == received);
        self.detection.is_deadlock
    }

    /// Tells the first worker of all what this one has left to do.
    fn report(&mut self) {
        let counts = [self.send_buffer.count, self.tally.committed, self.tally.pending];
        let failure = self.shared.common.failure.order().unwrap_or(FailureOrder::End);
        let report = Report { floor: self.floor(), failure, stops: self.is_stopping(), counts };
        // The first worker of the rank writes them after the verdict.
        let mut outputs = self.shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.append(&mut self.outputs);
        drop(outputs);
        self.graph.send_control(0, report.to_words());
    }

    /// The first clock of a process that can do anything that counts.
    fn floor(&self) -> ChannelTime {
        let clocks = self.lps.iter().filter(|process| !process.has_failed).map(|process| {
            if !process.outbox.is_empty() {
                return process.outbox_cause;
            }
            let first = process.pending.peek().map(|first| first.0.event.key);
            let counts = |key: &EventKey| {
                key.time_value() < self.shared.common.end && FailureOrder::Event(*key) < self.limit
            };
            first.filter(counts).map_or(ChannelTime::NEVER, |key| ChannelTime::of(&key).as_cause())
        });
        clocks.min().unwrap_or(ChannelTime::NEVER)
    }

    /// Takes what a worker has said.
    pub(super) fn hear(&mut self, from: usize, words: &Control) {
        // Reports are for the first worker of all, and verdicts from it.
        let fits = match words[0] {
            ASK => true,
            VERDICT => from == 0,
            QUIET | REPORT => self.me == 0,
            _ => false,
        };
        if !fits {
            let what = format!("worker {from} has no business to say {}", words[0]);
            return self.lose(NetError::Failed(what));
        }
        match words[0] {
            ASK => {
                let known = u32::try_from(words[1]).ok().map(NodeId);
                let known =
                    known.filter(|node| node.index() < self.shared.common.directory.lp_count());
                known.into_iter().for_each(|node| self.hear_question(node));
            }
            QUIET => {
                let rank = self.detection.quiet.get_mut(words[1] as usize);
                rank.into_iter().for_each(|rank| *rank = Some([words[2], words[3], words[4]]));
            }
            VERDICT => self.detection.verdict = Some(*words),
            _ => {
                self.detection.reports.push(Report::from_words(words));
                if self.detection.reports.len() == self.shared.plan.workers() {
                    self.decide();
                }
            }
        }
    }

    /// The first worker of all: what becomes of the run.
    fn decide(&mut self) {
        let mut all = Report::NOTHING;
        for report in self.detection.reports.drain(..) {
            all = all.and(&report);
        }
        let decision = match all.failure {
            // All have tried to start their processes before they say anything.
            FailureOrder::Start(_) => FAIL,
            FailureOrder::Event(key)
                if all.stops || all.floor > ChannelTime::of(&key).as_cause() =>
            {
                FAIL
            }
            FailureOrder::Event(_) => GO_ON,
            FailureOrder::End if all.stops => INTERRUPT,
            FailureOrder::End if all.floor.is_before(self.shared.common.end) => GO_ON,
            FailureOrder::End => {
                let [sent, committed, pending] = all.counts;
                assert_eq!(sent, committed + pending, "CMB-D: events were lost or doubled");
                END
            }
        };
        self.tally.deadlocks += u64::from(decision == GO_ON && self.detection.is_deadlock);
        let mut words = all.to_words();
        (words[0], words[7]) = (VERDICT, decision);
        for worker in 0..self.shared.plan.workers() {
            self.graph.send_control(worker, words);
        }
        self.graph.flush();
    }

    /// Does what was decided; says whether the run has come to its end.
    fn follow(&mut self, verdict: &Control, lookout: &mut Lookout<'_, '_>) -> Option<Ended> {
        let Report { floor, failure, .. } = Report::from_words(verdict);
        let decision = verdict[7];
        self.tally.freezes += 1;
        self.limit = self.limit.min(failure);
        self.detection.failure = failure;
        if self.me == self.detection.first {
            self.write_outputs(|key| match decision {
                GO_ON => ChannelTime::of(key).as_cause() < floor,
                _ => true,
            });
        }
        match decision {
            GO_ON => {
                self.graph.unfreeze();
                self.graph.set_active();
                let detection = &mut self.detection;
                detection.has_reported = false;
                detection.is_deadlock = false;
                detection.epoch += 1;
                self.recover(floor);
                floor.time().into_iter().for_each(|time| lookout.reaches(time));
                None
            }
            END => Some(Ended::AtEnd),
            INTERRUPT => Some(Ended::Interrupted),
            _ => Some(Ended::Failed),
        }
    }

    /// Nothing in the whole model has a cause before this any more; and whoever could be the first
    /// to go on does.
    fn recover(&mut self, floor: ChannelTime) {
        self.renew_allowance();
        for local in 0..self.lps.len() {
            let process = &self.lps[local];
            let bound = floor.after(process.lookahead);
            if !process.outbox.is_empty() {
                // Those beyond the floor have perhaps got room while the graph was frozen.
                let over = process.outbox_cause == floor;
                self.guard(|worker| worker.send_outbox(local, over));
                self.note_for_review(local);
            }
            self.raise_bound(local, bound);
            self.enqueue(local);
        }
    }

    /// Writes what the processes of this rank have said, in the order of keys, up to the first
    /// mistake, as far as nothing else can come before it.
    fn write_outputs(&mut self, is_final: impl Fn(&EventKey) -> bool) {
        let mut outputs = self.shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = std::mem::take(&mut *outputs);
        let due = kept.extract_if(.., |event| is_final(&event.key)).collect();
        // A model that says much keeps much: it is not asked again for every event.
        self.detection.outputs_max = OUTPUTS_MAX.max(2 * kept.len());
        *outputs = kept;
        drop(outputs);
        let (common, limit) = (&self.shared.common, self.limit);
        let me = self.me - self.detection.first;
        let failed = common.write_outputs(
            me,
            self,
            |worker| &mut worker.send_buffer.error_context,
            due,
            limit,
        );
        self.limit = failed.map_or(limit, |order| order.min(limit));
    }
}

impl Report {
    const NOTHING: Self = Self {
        floor: ChannelTime::NEVER,
        failure: FailureOrder::End,
        stops: false,
        counts: [0; 3],
    };

    /// What two workers say together.
    fn and(self, other: &Self) -> Self {
        let mut counts = self.counts;
        counts.iter_mut().zip(other.counts).for_each(|(sum, more)| *sum += more);
        Self {
            floor: self.floor.min(other.floor),
            failure: self.failure.min(other.failure),
            stops: self.stops || other.stops,
            counts,
        }
    }

    /// The words of a report; those of a verdict have the decision at the eighth place.
    fn to_words(self) -> Control {
        let mut words = [0; CONTROL_WORDS];
        words[0] = REPORT;
        words[1..3].copy_from_slice(&self.floor.to_words());
        words[3..7].copy_from_slice(&FailureOrder::to_words(Some(self.failure)));
        words[7] = u64::from(self.stops);
        words[8..11].copy_from_slice(&self.counts);
        words
    }

    fn from_words(words: &Control) -> Self {
        let order = FailureOrder::from_words([words[3], words[4], words[5], words[6]]);
        let failure = order.flatten().unwrap_or(FailureOrder::End);
        Self {
            floor: ChannelTime::from_words([words[1], words[2]]),
            failure,
            stops: words[7] != 0,
            counts: [words[8], words[9], words[10]],
        }
    }
}
