//! The clock of a worker: GVT as it knows it, and when it asks for it anew.
//!
//! Called by the main loop at each turn, and by whatever must not go below GVT.

use super::gvt::Bound;

/// The clock of one worker. Its part in a computation of GVT is with the
/// [`TimeWarpSender`](super::sending::TimeWarpSender), which knows what it sends.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) gvt: Bound,
    /// Whether this worker has not looked yet whether an LP waits for the event at GVT.
    pub(super) is_new: bool,
    /// Events processed when this worker last requested GVT.
    pub(super) requested_at: u64,
    /// How many events later it requests GVT again.
    pub(super) interval: u64,
    /// Turns without an event since the last one with events.
    pub(super) idle_turns: u32,
}

impl Clock {
    pub(super) const fn new(interval: u64) -> Self {
        debug_assert!(interval > 0, "GVT would be requested at every event");
        Self { gvt: Bound::ZERO, is_new: false, requested_at: 0, interval, idle_turns: 0 }
    }
}
