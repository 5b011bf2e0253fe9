//! Termination detection: a run is over when no worker has an eligible thread and no message is in
//! transit.
//!
//! Called by the main loop of `Runtime` when a worker is idle, and by `handlers`.
//!
//! The root asks all workers, in waves, how many messages they have sent and received. A worker
//! answers when it is idle. A wave begins after the one before it has ended. Suppose that the
//! messages received by the first of two waves are as many as those sent by the second. Then none
//! was in transit between the waves, so no worker can have become active since: the run is over.
//!
//! # Invariants
//!
//! - **END-A.** Only an idle worker reports, and only within a run.
//! - **END-B.** The messages of a run carry its phase, which is one bit. No worker can finish a run
//!   that another has not begun, so one bit distinguishes the messages of the next run from those
//!   of this one.
//!
//! # References
//!
//! F. Mattern, *Algorithms for distributed termination detection*, 1987: the four-counter method.

use warpline_net::{Address, Malformed};

use super::{
    ROOT, RuntimeError, Worker,
    message::{Message, PHASE, malformed},
};

/// The counts of one worker, or their sums over all workers.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent: u64,
    received: u64,
    /// Suspended threads.
    waiting: u64,
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
}

impl Worker<'_> {
    /// Takes part in termination detection; called by an idle worker.
    pub(super) fn detect_termination(&self) {
        debug_assert!(self.outcome().is_none(), "END-A: a worker reports after the run is over");
        if self.0.here == ROOT {
            self.next_wave();
            return;
        }
        let probed = self.0.termination.borrow_mut().probed.take();
        if let Some(wave) = probed {
            let Counts { sent, received, waiting } = self.counts();
            self.post(ROOT, &Message::Report { wave, sent, received, waiting });
        }
    }

    /// If the run is over: how many threads are suspended for ever.
    pub(super) fn outcome(&self) -> Option<u64> {
        self.0.termination.borrow().outcome
    }

    fn counts(&self) -> Counts {
        let (termination, waiting) =
            (self.0.termination.borrow(), self.0.tasks.borrow().len() as u64);
        Counts { sent: termination.sent, received: termination.received, waiting }
    }

    /// Ends a complete wave, and begins the next one unless the run is over.
    fn next_wave(&self) {
        if self.0.termination.borrow().missing > 0 {
            return;
        }
        let (own, workers) = (self.counts(), self.workers().len());
        let mut termination = self.0.termination.borrow_mut();
        if let Some(now) = termination.sum.take() {
            let before = termination.before.replace(now);
            if before.is_some_and(|before| before.received == now.sent) {
                termination.outcome = Some(now.waiting);
                drop(termination);
                return self.tell_all(&Message::Stop { waiting: now.waiting });
            }
        }
        termination.wave += 1;
        (termination.missing, termination.sum) = (workers - 1, Some(own));
        let wave = termination.wave;
        drop(termination);
        self.tell_all(&Message::Probe { wave });
    }

    /// Sends a message to all other workers.
    pub(super) fn tell_all(&self, message: &Message<'_>) {
        let others = self.workers().into_iter().filter(|&worker| worker != self.0.here);
        others.for_each(|worker| self.post(worker, message));
    }

    /// Handles a message of termination detection.
    pub(super) fn control(&self, from: Address, message: &Message<'_>) -> Result<(), Malformed> {
        let mut termination = self.0.termination.borrow_mut();
        let (root, from_root) = (self.0.here == ROOT, from == ROOT);
        match *message {
            Message::Probe { wave } if from_root && !root => termination.probed = Some(wave),
            Message::Stop { waiting } if from_root && !root => termination.outcome = Some(waiting),
            Message::Report { wave, sent, received, waiting }
                if root && wave == termination.wave =>
            {
                let missing = termination.missing.checked_sub(1);
                let sum = termination.sum.as_mut().zip(missing);
                let (sum, missing) =
                    sum.ok_or_else(|| malformed("a worker has reported twice in a wave"))?;
                sum.sent = sum.sent.saturating_add(sent);
                sum.received = sum.received.saturating_add(received);
                sum.waiting = sum.waiting.saturating_add(waiting);
                termination.missing = missing;
            }
            Message::Failed { what } => {
                let what = String::from_utf8_lossy(what).into_owned();
                self.fail(RuntimeError::Elsewhere { worker: from, what });
            }
            Message::Left => self.fail(RuntimeError::Left { worker: from }),
            _ => {
                return Err(malformed(
                    "a termination message that its sender may not send to this worker",
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::Mutex};

    use warpline_net::{Aggregation, NetError, Parcel, Received, Transport};

    use super::*;
    use crate::runtime::{Runtime, worker::KIND};

    /// What two other workers have sent and received when they report, wave by wave. In the first
    /// wave the sums are equal, and yet a message is in transit: its sender reported before it
    /// sent.
    const REPORTS: [[(u64, u64); 2]; 4] =
        [[(1, 0), (0, 1)], [(2, 0), (0, 1)], [(2, 0), (0, 2)], [(2, 0), (0, 2)]];

    /// The root's end of a network whose other ranks report what is written above.
    #[derive(Debug, Default)]
    struct Script {
        reports: Mutex<VecDeque<Received>>,
        /// The numbers of probes and of stops sent to the two others.
        seen: Mutex<(usize, usize)>,
    }

    impl Transport for Script {
        fn rank(&self) -> usize {
            0
        }

        fn ranks(&self) -> usize {
            3
        }

        fn ports(&self) -> usize {
            1
        }

        fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError> {
            let (bytes, mut seen) = (parcel.seal(), self.seen.lock().unwrap());
            match Message::read(0, &mut Parcel::open(&bytes).unwrap().body) {
                Ok(Message::Probe { wave }) => {
                    let (sent, received) = REPORTS[wave as usize - 1][to.rank - 1];
                    let mut body = Vec::new();
                    Message::Report { wave, sent, received, waiting: 0 }.write(0, &mut body);
                    let bytes = Parcel::with_body(KIND, 0, &body).seal();
                    self.reports.lock().unwrap().push_back(Received { from: to.rank, bytes });
                    seen.0 += 1;
                }
                message => seen.1 += usize::from(message == Ok(Message::Stop { waiting: 0 })),
            }
            Ok(())
        }

        fn receive(&self, _port: usize) -> Result<Option<Received>, NetError> {
            Ok(self.reports.lock().unwrap().pop_front())
        }

        fn abandon(&self) {
            panic!("nothing goes wrong here");
        }
    }

    /// END-A: the run is over when a wave counts as many messages sent as the wave before counted
    /// received, and only then.
    #[test]
    fn equal_sums_of_one_wave_do_not_end_a_run() {
        let script = Script::default();
        assert_eq!(Runtime::new(&script, 0, Aggregation::Adaptive).run(), Ok(()));
        assert_eq!(*script.seen.lock().unwrap(), (2 * REPORTS.len(), 2));
    }
}
