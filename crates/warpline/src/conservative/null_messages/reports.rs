//! What deadlock detection knows: control messages, the reports of workers, and where a worker is.
//!
//! Called by [`deadlock_detection`](super::deadlock_detection), which says how a freeze goes on.

use warpline_graph::{CONTROL_WORDS, Control};

use super::channel_time::ChannelTime;
use crate::run::FailureOrder;

/// The first word of a control message: an LP requests a null message.
pub(super) const REQUEST: u64 = 1;
/// A worker reports what it has left to do, in a freeze.
pub(super) const REPORT: u64 = 2;
/// The first worker of all says how the run goes on.
pub(super) const DECISION: u64 = 3;
/// A rank is quiescent.
pub(super) const QUIESCENT: u64 = 4;

/// The decision: the graph is unfrozen.
pub(super) const GO_ON: u64 = 0;
/// The decision: no event is left before the end.
pub(super) const END: u64 = 1;
/// The decision: the run stops early.
pub(super) const INTERRUPT: u64 = 2;
/// The decision: a handler has failed, and all events before it are handled.
pub(super) const FAIL: u64 = 3;
/// The decision: the run stops where the first LP is, once all are there.
pub(super) const FINISH: u64 = 4;

/// With more non-blocking I/O events than this, a worker wants to know which of them can be
/// written.
pub(super) const OUTPUTS_MAX: usize = 4096;

/// What one worker reports in a freeze.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// The least null-message time of its LPs that have anything to do before the end and before
    /// the first failure.
    pub(super) least: ChannelTime,
    pub(super) failure: FailureOrder,
    pub(super) stops: bool,
    /// The numbers of events sent, committed, and pending.
    pub(super) counts: [u64; 3],
    /// The bits of the time of the last event that was handled.
    pub(super) farthest: u64,
}

/// A worker's part in freezes.
#[derive(Debug)]
pub(super) struct DeadlockDetection {
    pub(super) has_reported: bool,
    /// The first failure that all workers know of.
    pub(super) failure: FailureOrder,
    pub(super) decision: Option<Control>,
    pub(super) outputs_max: usize,
    /// The number of freezes that are over.
    pub(super) freezes: u64,
    /// The first worker of all: the reports of workers.
    pub(super) reports: Vec<Report>,
    /// Whether this freeze began because all ranks were quiescent.
    pub(super) is_deadlock: bool,
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

impl Report {
    /// The report of a worker that has nothing to do and nothing to say.
    pub(super) const IDENTITY: Self = Self {
        least: ChannelTime::NEVER,
        failure: FailureOrder::End,
        stops: false,
        counts: [0; 3],
        farthest: 0,
    };

    /// Reduces the reports of two workers to one.
    pub(super) fn combine(self, other: &Self) -> Self {
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
    pub(super) fn to_words(self) -> Control {
        let mut words = [0; CONTROL_WORDS];
        words[0] = REPORT;
        words[1..3].copy_from_slice(&self.least.to_words());
        words[3..7].copy_from_slice(&FailureOrder::to_words(Some(self.failure)));
        words[7] = u64::from(self.stops);
        words[8..11].copy_from_slice(&self.counts);
        words[11] = self.farthest;
        words
    }

    pub(super) fn from_words(words: &Control) -> Self {
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
