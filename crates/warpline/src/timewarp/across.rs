//! What the workers of one rank share about the other ranks.
//!
//! Made with [`Shared`](super::shared::Shared), if there are other ranks.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use warpline_core::{LpId, Model};
use warpline_net::NetError;

use super::{
    gvt::Bound,
    letters::Color,
    worker::{Turn, Worker},
};
use crate::run::FailureOrder;

/// Turns between two looks whether another rank has ended the run.
const ALERT_TURNS: u64 = 16;

/// See the module.
#[derive(Debug)]
pub(super) struct Across {
    /// Whether a worker would like to know GVT.
    asked: AtomicBool,
    /// Whether the run cannot go on, not even to the next GVT.
    abandoned: AtomicBool,
    barrier: Mutex<Barrier>,
    ledger: Mutex<Ledger>,
}

/// What the model has set the time barrier to: the round after which it did, and the time as
/// ordered bits. Only the event that GVT has reached may do so: there is one for each round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Barrier {
    pub(super) round: u64,
    pub(super) bits: u64,
}

/// The letters that were sent and received, as the rounds of GVT want to know.
#[derive(Debug)]
struct Ledger {
    /// Those sent between the last two cuts, by rank.
    sent: Vec<u64>,
    /// Those received, by the parity of their color.
    received: [u64; 2],
    /// The least key of those that crossed the last cut.
    late: Bound,
}

impl Across {
    pub(super) fn new(ranks: usize) -> Self {
        let ledger = Ledger { sent: vec![0; ranks], received: [0; 2], late: Bound::NEVER };
        Self {
            asked: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            barrier: Mutex::default(),
            ledger: Mutex::new(ledger),
        }
    }

    /// Would like to know GVT.
    pub(super) fn ask(&self) {
        // Ordering: Relaxed; a wish that is overlooked once is found the next time, here and below.
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    pub(super) fn clear_wish(&self) {
        self.asked.store(false, Ordering::Relaxed);
    }

    /// Ends the run of this rank: every worker leaves in its next turn.
    pub(super) fn abandon(&self) {
        // Ordering: Relaxed; the flag publishes nothing but itself, here and below.
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// The last time that the barrier was set, as far as this rank knows, `or` at another rank,
    /// which says so.
    pub(super) fn barrier(&self, or: Barrier) -> Barrier {
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        *barrier = or.max(*barrier);
        *barrier
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Nothing in here panics, so the ledger is whole.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what a worker has sent up to its cut, by rank, and begins to count anew.
    pub(super) fn note_sent(&self, sent: &mut [u64]) {
        let mut ledger = self.ledger();
        for (all, mine) in ledger.sent.iter_mut().zip(sent) {
            *all += std::mem::take(mine);
        }
    }

    /// What this rank has sent up to its cut, by rank. Counting begins anew.
    pub(super) fn take_sent(&self) -> Vec<u64> {
        let mut ledger = self.ledger();
        let none = vec![0; ledger.sent.len()];
        std::mem::replace(&mut ledger.sent, none)
    }

    /// Counts letters that have arrived, by the parity of their color; the least key of those that
    /// crossed the receiver's cut is `late`.
    pub(super) fn note_received(&self, received: [u64; 2], late: Bound) {
        let mut ledger = self.ledger();
        for (all, more) in ledger.received.iter_mut().zip(received) {
            *all += more;
        }
        ledger.late = ledger.late.min(late);
    }

    /// If all letters of the color before the cut have arrived, the least key of those that crossed
    /// it. Counting begins anew, for the color after the next (ROUND-A).
    ///
    /// # Errors
    ///
    /// When there are more of them than the other ranks say.
    pub(super) fn take_received(
        &self,
        old: Color,
        expected: u64,
    ) -> Result<Option<Bound>, NetError> {
        let mut ledger = self.ledger();
        let received = &mut ledger.received[old.parity()];
        if *received > expected {
            let what = format!("{received} letters arrived, but only {expected} were sent");
            return Err(NetError::Failed(what));
        }
        if *received < expected {
            return Ok(None);
        }
        *received = 0;
        Ok(Some(std::mem::replace(&mut ledger.late, Bound::NEVER)))
    }
}

impl<M: Model> Worker<'_, M> {
    /// A worker's cut: all letters so far have the old color.
    pub(super) fn cut_off_letters(&mut self) {
        if let (Some(across), Some(away)) = (&self.shared.across, &mut self.desk.away) {
            away.flush();
            across.note_sent(away.sent_since_cut());
            self.flow.note_stash(away.stashed() == 0);
        }
    }

    /// Once a turn: goes on with the round of GVT, and looks whether the run has ended.
    pub(super) fn look_across(&mut self) -> Option<Turn> {
        let across = self.shared.across.as_ref()?;
        if let Err(error) = self.tend_rounds(across) {
            self.abandon(error);
        }
        if across.is_abandoned() {
            return Some(self.leave());
        }
        if self.shared.failure.is_known() {
            self.flow.fail();
        }
        if self.flow.has_failed() || self.is_closing() {
            across.ask();
        }
        None
    }

    fn tend_rounds(&mut self, across: &Across) -> Result<(), NetError> {
        let is_closing = self.is_closing();
        let Some(rounds) = &mut self.rounds else { return Ok(()) };
        if self.statistics.turns.is_multiple_of(ALERT_TURNS) && self.ranks.is_alerted()? {
            across.abandon();
        }
        rounds.step(&self.shared.gvt, across, is_closing)
    }

    /// Ranks cannot talk any more.
    pub(super) fn abandon(&self, error: NetError) {
        // It comes before anything that the model has done.
        self.shared.failure.note(FailureOrder::Start(LpId::new(0)), error.into());
        self.shared.across.iter().for_each(Across::abandon);
    }
}
