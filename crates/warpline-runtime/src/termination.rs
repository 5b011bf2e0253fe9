//! Termination detection: a run is over when no worker has an eligible thread and no message is in
//! transit.
//!
//! Called by `idle`, for a worker that has nothing else to do.
//!
//! The root asks all workers, in waves, how many messages they have sent and received. A worker
//! answers when it is idle. A wave begins after the one before it has ended. Suppose that the
//! messages received by the first of two waves are as many as those sent by the second. Then none
//! was in transit between the waves, so no worker can have become active since: the run is over.
//!
//! # Invariants
//!
//! - **END-B.** The messages of a run carry its phase, which is one bit. No worker can finish a run
//!   that another has not begun, so one bit distinguishes the messages of the next run from those
//!   of this one.
//!
//! # References
//!
//! F. Mattern, *Algorithms for distributed termination detection*, 1987: the four-counter method.

use warpline_net::Malformed;

use super::message::{Message, PHASE, malformed};

/// The counts of one worker, or their sums over all workers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Suspended threads.
    pub(super) waiting: u64,
}

/// What a worker knows of termination detection.
#[derive(Debug, Default)]
pub(super) struct Termination {
    /// 0 or [`PHASE`].
    pub(super) phase: u8,
    sent: u64,
    received: u64,
    /// The last wave that began.
    wave: u64,
    /// A wave that waits for this worker's report.
    probed: Option<u64>,
    /// At the root: how many have not reported, the sums of the others, and those of the wave
    /// before.
    missing: usize,
    sum: Option<Counts>,
    before: Option<Counts>,
    /// Once the run is over: how many threads are suspended for ever.
    outcome: Option<u64>,
}

impl Termination {
    /// Counts a message that is sent, and returns its phase.
    pub(super) fn post(&mut self, message: &Message<'_>) -> u8 {
        self.sent += u64::from(!message.is_control());
        self.phase
    }

    /// Counts a message that has arrived.
    pub(super) fn accept(&mut self, message: &Message<'_>) {
        self.received += u64::from(!message.is_control());
    }

    /// Begins the next run.
    pub(super) fn next_phase(&mut self) {
        self.phase ^= PHASE;
        (self.probed, self.sum, self.before, self.outcome) = (None, None, None, None);
    }
    /// The worker's counts, with those of its suspended threads.
    pub(super) fn counts(&self, waiting: u64) -> Counts {
        Counts { sent: self.sent, received: self.received, waiting }
    }

    /// If the run is over: how many threads are suspended for ever.
    pub(super) fn outcome(&self) -> Option<u64> {
        self.outcome
    }

    /// The wave that waits for this worker's report, which it now gets.
    pub(super) fn take_probed(&mut self) -> Option<u64> {
        self.probed.take()
    }

    /// At the root: ends a complete wave, and begins the next one unless the run is over. What all
    /// other workers are told, if anything.
    pub(super) fn next_wave(&mut self, own: Counts, workers: usize) -> Option<Message<'static>> {
        if self.missing > 0 {
            return None;
        }
        if let Some(now) = self.sum.take() {
            let before = self.before.replace(now);
            if before.is_some_and(|before| before.received == now.sent) {
                self.outcome = Some(now.waiting);
                return Some(Message::Stop { waiting: now.waiting });
            }
        }
        self.wave += 1;
        (self.missing, self.sum) = (workers - 1, Some(own));
        Some(Message::Probe { wave: self.wave })
    }

    /// The root asks for the report of a wave.
    pub(super) fn probe(&mut self, wave: u64) {
        self.probed = Some(wave);
    }

    /// The root says that the run is over.
    pub(super) fn stop(&mut self, waiting: u64) {
        self.outcome = Some(waiting);
    }

    /// At the root: whether this is the wave that goes on.
    pub(super) fn is_in_wave(&self, wave: u64) -> bool {
        wave == self.wave
    }

    /// At the root: a worker reports.
    pub(super) fn add(&mut self, counts: Counts) -> Result<(), Malformed> {
        let sum = self.sum.as_mut().zip(self.missing.checked_sub(1));
        let (sum, missing) =
            sum.ok_or_else(|| malformed("a worker has reported twice in a wave"))?;
        sum.sent = sum.sent.saturating_add(counts.sent);
        sum.received = sum.received.saturating_add(counts.received);
        sum.waiting = sum.waiting.saturating_add(counts.waiting);
        self.missing = missing;
        Ok(())
    }
}
