//! What an idle worker does: it takes part in termination detection.
//!
//! Called by the main loop of `Runtime` when a worker is idle, and by `handlers` for the messages.
//!
//! # Invariants
//!
//! - **END-A.** Only an idle worker reports, and only within a run.

use warpline_net::{Address, Malformed};

use super::{
    ROOT, RuntimeError, Worker,
    message::{Message, malformed},
    termination::Counts,
};

impl Worker<'_> {
    /// Takes part in termination detection; called by an idle worker.
    pub(super) fn detect_termination(&self) {
        debug_assert!(self.outcome().is_none(), "END-A: a worker reports after the run is over");
        let own = self.counts();
        if self.0.here == ROOT {
            let workers = self.workers().len();
            let message = self.0.termination.borrow_mut().next_wave(own, workers);
            if let Some(message) = message {
                self.tell_all(&message);
            }
            return;
        }
        let probed = self.0.termination.borrow_mut().take_probed();
        if let Some(wave) = probed {
            let Counts { sent, received, waiting } = own;
            self.post(ROOT, &Message::Report { wave, sent, received, waiting });
        }
    }

    /// If the run is over: how many threads are suspended for ever.
    pub(super) fn outcome(&self) -> Option<u64> {
        self.0.termination.borrow().outcome()
    }

    fn counts(&self) -> Counts {
        self.0.termination.borrow().counts(self.0.tasks.borrow().len() as u64)
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
            Message::Probe { wave } if from_root && !root => termination.probe(wave),
            Message::Stop { waiting } if from_root && !root => termination.stop(waiting),
            Message::Report { wave, sent, received, waiting }
                if root && termination.is_in_wave(wave) =>
            {
                termination.add(Counts { sent, received, waiting })?;
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
    use crate::{Runtime, worker::KIND};

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
