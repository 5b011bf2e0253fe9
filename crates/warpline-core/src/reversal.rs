//! The event that a reverse handler undoes, as the handler sees it.
//!
//! # References
//!
//! Carothers, Perumalla, Fujimoto, *Efficient Optimistic Parallel Simulations using Reverse
//! Computation*, ACM TOMACS 9(3), 1999.

use crate::{EventKey, LpId, Stream, VirtualTime};

/// An event that is being undone by [`LogicalProcess::reverse`](crate::LogicalProcess::reverse).
#[derive(Clone, Debug)]
pub struct Reversal {
    key: EventKey,
    me: LpId,
    rng: Stream,
    note: u64,
}

impl Reversal {
    /// The event with key `key` at LP `me`. `rng` is the stream before the event, and `note` is the
    /// word that the handler saved. Only engines call this.
    #[must_use]
    pub const fn new(key: EventKey, me: LpId, rng: Stream, note: u64) -> Self {
        Self { key, me, rng, note }
    }

    /// The time of the event.
    #[must_use]
    pub fn now(&self) -> VirtualTime {
        self.key.time()
    }

    /// Its key.
    #[must_use]
    pub const fn event_key(&self) -> &EventKey {
        &self.key
    }

    /// The LP that handled it.
    #[must_use]
    pub const fn me(&self) -> LpId {
        self.me
    }

    /// The random numbers that the handler drew, in the same order.
    pub const fn rng(&self) -> &Stream {
        &self.rng
    }

    /// The last word that the handler saved with [`Context::note`](crate::Context::note), or 0.
    #[must_use]
    pub const fn note(&self) -> u64 {
        self.note
    }
}
