//! What holds for a worker between two of its turns, whatever it has done: looked up now and then,
//! when a new GVT is known, in debug builds.
//!
//! Called by [`new_gvt`](super::new_gvt). The invariants are those of the modules that keep them;
//! between any two steps, and of all workers together, the tests of seeded schedules check more.

use warpline_core::Model;

use super::{history::Record, worker::TimeWarpWorker};
use crate::{local_lp::LocalLp, pending::Entry, placement::LpPlace};

/// Once in this many rounds of GVT: all records and all LPs are looked at.
const EVERY: u64 = 8;

impl<M: Model> TimeWarpWorker<'_, M> {
    /// In a release build, this is nothing.
    #[inline]
    pub(super) fn check_consistency(&self) {
        if cfg!(debug_assertions) && self.sender.gvt.rounds().is_multiple_of(EVERY) {
            self.check_log();
            self.check_lps();
        }
    }

    /// The records of the log: what was counted is what is there.
    fn check_log(&self) {
        let (history, sent) = (&self.log.history, &self.sender.sent);
        let (mut uncommitted, mut returned, mut from) = (0, 0, None);
        for at in history.front()..history.back() {
            let &Record { event, sent_from, undone, copied, returned: ticket, .. } = &history[at];
            debug_assert!(from <= Some(sent_from), "HIST-B: record {at} sends before another");
            from = Some(sent_from);
            if !undone {
                debug_assert!(
                    event.lp().index() < self.lps.len(),
                    "MOVE-A: the record of {event:?} is left, and its LP is not here"
                );
                debug_assert!(
                    !copied || self.log.saving.has_copy(at),
                    "SAVE-A: {event:?} cannot be undone"
                );
                let sends = history.sends(at, sent);
                uncommitted += (sends.end - sends.start) as usize;
            }
            returned += usize::from(ticket.is_some());
        }
        debug_assert!(from <= Some(sent.back()), "HIST-B: notes of what was sent are lost");
        debug_assert_eq!(uncommitted, sent.uncommitted(), "HIST-D: of worker {}", self.me);
        debug_assert_eq!(returned, self.store.returned, "FOSSIL-B: of worker {}", self.me);
    }

    /// The LPs: each is where others look for it, and its last record is its own.
    fn check_lps(&self) {
        let history = &self.log.history;
        for (index, lp) in (0..).map(LocalLp::new).zip(&self.lps) {
            let place = self.sender.places[lp.id.index()];
            let here = LpPlace { worker: self.sender.id, lp: index };
            debug_assert_eq!(place, here, "MOVE-B: {} is at worker {}", lp.id, self.me);
            let waits = self.aside.waiting.holds(index);
            debug_assert_eq!(
                waits,
                lp.last_time == f64::INFINITY,
                "WAIT-A: events of {} would be handled, or never",
                lp.id
            );
            if history.is_live(lp.last) {
                let Record { event, undone, .. } = &history[lp.last];
                debug_assert!(event.lp() == index && !undone, "HIST-A: {event:?} of {}", lp.id);
                debug_assert!(
                    waits || lp.last_time.to_bits() == event.time().to_bits(),
                    "TW-A: a straggler of {} would not be noticed",
                    lp.id
                );
            }
        }
    }
}
