//! The state that the workers of one rank share about the other ranks.
//!
//! Made with [`TimeWarpShared`](crate::timewarp::shared::TimeWarpShared), if there are other ranks.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use warpline_core::Wire;
use warpline_net::NetError;

use super::message::Color;
use crate::timewarp::gvt::Bound;

/// Requests, flags and counts that all workers of a rank share.
pub(in crate::timewarp) struct RemoteShared<T> {
    pub(in crate::timewarp) wire: Wire<T>,
    /// Whether a worker requests GVT.
    requested: AtomicBool,
    /// Whether the run cannot go on, not even to the next GVT.
    abandoned: AtomicBool,
    barrier: Mutex<TimeBarrier>,
    ledger: Mutex<Ledger>,
}

/// The simulated time barrier as the model set it last: the round after which it did, and the time
/// as ordered bits. Only the event that GVT has reached may set it, so there is one for each round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::timewarp) struct TimeBarrier {
    pub(in crate::timewarp) round: u64,
    pub(in crate::timewarp) bits: u64,
}

/// How many messages were sent to other ranks and received from them, for the rounds of GVT.
#[derive(Debug)]
struct Ledger {
    /// Those sent between the last two cuts, by rank.
    sent: Vec<u64>,
    /// Those received, by the parity of their color.
    received: [u64; 2],
    /// The least key of those that crossed the last cut.
    late: Bound,
}

impl<T> fmt::Debug for RemoteShared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, abandoned, barrier, ledger, .. } = self;
        f.debug_struct("RemoteShared")
            .field("requested", requested)
            .field("abandoned", abandoned)
            .field("barrier", barrier)
            .field("ledger", ledger)
            .finish_non_exhaustive()
    }
}

impl<T> RemoteShared<T> {
    pub(in crate::timewarp) fn new(ranks: usize, wire: Wire<T>) -> Self {
        let ledger = Ledger { sent: vec![0; ranks], received: [0; 2], late: Bound::NEVER };
        Self {
            wire,
            requested: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            barrier: Mutex::default(),
            ledger: Mutex::new(ledger),
        }
    }

    /// Requests a computation of GVT.
    pub(in crate::timewarp) fn request_gvt(&self) {
        // Ordering: Relaxed; a request that is overlooked once is found the next time, here and
        // below.
        if !self.requested.load(Ordering::Relaxed) {
            self.requested.store(true, Ordering::Relaxed);
        }
    }

    pub(in crate::timewarp) fn is_requested(&self) -> bool {
        // Ordering: Relaxed, see `request_gvt`.
        self.requested.load(Ordering::Relaxed)
    }

    pub(in crate::timewarp) fn clear_request(&self) {
        // Ordering: Relaxed, see `request_gvt`.
        self.requested.store(false, Ordering::Relaxed);
    }

    /// Ends the run of this rank: every worker leaves in its next turn.
    pub(in crate::timewarp) fn abandon(&self) {
        // Ordering: Relaxed; the flag publishes nothing but itself, here and below.
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(in crate::timewarp) fn is_abandoned(&self) -> bool {
        // Ordering: Relaxed, see `abandon`.
        self.abandoned.load(Ordering::Relaxed)
    }

    /// The time barrier as far as this rank knows.
    pub(in crate::timewarp) fn barrier(&self) -> TimeBarrier {
        self.update_barrier(TimeBarrier::default())
    }

    /// Notes that the time barrier was set, here or at another rank. Returns the one set last.
    pub(in crate::timewarp) fn update_barrier(&self, set: TimeBarrier) -> TimeBarrier {
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        *barrier = set.max(*barrier);
        *barrier
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Nothing in here panics, so the ledger is whole.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the messages that a worker has sent between its last two cuts, by rank, and clears
    /// them.
    pub(in crate::timewarp) fn note_sent(&self, sent: &mut [u64]) {
        let mut ledger = self.ledger();
        debug_assert_eq!(ledger.sent.len(), sent.len(), "ROUND-A: a rank is not counted");
        for (all, mine) in ledger.sent.iter_mut().zip(sent) {
            *all += std::mem::take(mine);
        }
    }

    /// The messages that this rank has sent between its last two cuts, by rank. Counting begins
    /// anew.
    pub(in crate::timewarp) fn take_sent(&self) -> Vec<u64> {
        let mut ledger = self.ledger();
        let none = vec![0; ledger.sent.len()];
        std::mem::replace(&mut ledger.sent, none)
    }

    /// Adds messages that have arrived, by the parity of their color; `late` is the least key of
    /// those that crossed the receiver's cut.
    pub(in crate::timewarp) fn note_received(&self, received: [u64; 2], late: Bound) {
        let mut ledger = self.ledger();
        for (all, more) in ledger.received.iter_mut().zip(received) {
            *all += more;
        }
        ledger.late = ledger.late.min(late);
    }

    /// If all messages of the color before the cut have arrived, the least key of those that
    /// crossed it. Counting begins anew, for the color after the next (ROUND-A).
    ///
    /// # Errors
    ///
    /// When more have arrived than the other ranks say they have sent.
    pub(in crate::timewarp) fn take_received(
        &self,
        old: Color,
        expected: u64,
    ) -> Result<Option<Bound>, NetError> {
        let mut ledger = self.ledger();
        let received = &mut ledger.received[old.parity()];
        if *received > expected {
            let what = format!("{received} remote events arrived, but only {expected} were sent");
            return Err(NetError::Failed(what));
        }
        if *received < expected {
            return Ok(None);
        }
        *received = 0;
        Ok(Some(std::mem::replace(&mut ledger.late, Bound::NEVER)))
    }
}
