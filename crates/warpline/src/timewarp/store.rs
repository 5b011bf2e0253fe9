//! The event buffers of a worker, and when they are given back.
//!
//! Called by whatever makes, undoes or commits an event.

use warpline_memory::Buffers;

/// The buffers of one worker.
pub(super) struct Store<'r, T> {
    pub(super) buffers: Buffers<'r, T>,
    /// Whether memory is limited.
    pub(super) is_limited: bool,
    /// Whether the pool asks for the sender of the event in a buffer.
    pub(super) wants_sender: bool,
    /// Whether buffers are returned early, and how many records have one that was: on-the-fly
    /// fossil collection (Fujimoto and Panesar 1995, section 6).
    pub(super) is_on_the_fly: bool,
    pub(super) returned: usize,
}

impl<'r, T: Send + Sync> Store<'r, T> {
    pub(super) fn new(buffers: Buffers<'r, T>, is_limited: bool, is_on_the_fly: bool) -> Self {
        let wants_sender = buffers.wants_sender();
        Self { buffers, is_limited, wants_sender, is_on_the_fly, returned: 0 }
    }
}
