//! What workers share for resizes, in which all of them begin again together, and why one is
//! requested.
//!
//! Called by [`resizing`](super::resizing), which says how a resize goes, and by whatever requests
//! one.

use std::sync::{Mutex, atomic::AtomicI32};

use warpline_core::Model;

use super::event::Event;
use crate::{
    cut::Cut,
    run::Barrier,
    sync::{AtomicU64, Ordering},
};

/// Why a resize is requested: a set of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reason(pub(super) u64);

impl Reason {
    /// The run begins.
    pub(super) const START: Self = Self(1);
    /// Too much was executed in vain.
    pub(super) const STORM: Self = Self(2);
    /// A window has too many events.
    pub(super) const SIZE: Self = Self(4);
    /// The next windows need another grid.
    pub(super) const GRID: Self = Self(8);
    /// An LP cannot go on in a window.
    pub(super) const STOPPED: Self = Self(16);
    /// The run is to end early.
    pub(super) const STOP: Self = Self(32);
    /// No window is left.
    pub(super) const END: Self = Self(64);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What workers share for resizes.
#[derive(Debug)]
pub(super) struct Resize<M: Model, B> {
    /// The number of resizes requested so far, and why the last one was.
    pub(super) requested: AtomicU64,
    pub(super) reasons: AtomicU64,
    pub(super) barrier: Barrier,
    /// By LP: how many events it has sent by the border.
    pub(super) sent: Vec<AtomicU64>,
    /// One more than the bits of a time up to which events have to be handled one by one; 0 if
    /// there is none, for 0 is a time.
    one_by_one_until: AtomicU64,
    pub(super) one_by_one_events: AtomicU64,
    /// A slot is the base width times 2 to this power.
    pub(super) exponent: AtomicI32,
    /// Pending events of all workers.
    pub(super) pending: AtomicU64,
    /// What their messages own, where it is counted.
    pub(super) owned: AtomicU64,
    pub(super) cuts: Vec<Mutex<Cut<M::Lp, Event<B>>>>,
}

impl<M: Model, B> Resize<M, B> {
    pub(super) fn new(workers: usize, lps: usize) -> Self {
        Self {
            requested: AtomicU64::new(0),
            reasons: AtomicU64::new(0),
            barrier: Barrier::new(workers),
            sent: (0..lps).map(|_| AtomicU64::new(0)).collect(),
            one_by_one_until: AtomicU64::new(0),
            one_by_one_events: AtomicU64::new(0),
            exponent: AtomicI32::new(0),
            pending: AtomicU64::new(0),
            owned: AtomicU64::new(0),
            cuts: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether a worker will not come any more.
    pub(super) fn is_broken(&self) -> bool {
        self.barrier.is_broken()
    }

    /// Releases all workers that wait, because one will not come any more.
    pub(super) fn set_broken(&self) {
        self.barrier.set_broken();
        // Ordering: Relaxed; the others leave at the barrier.
        self.requested.fetch_add(1, Ordering::Relaxed);
    }

    /// All events up to this time have to be handled one by one.
    pub(super) fn handle_one_by_one_until(&self, time: f64) {
        debug_assert!(time >= 0.0, "the bits of times compare as they do");
        // Ordering: Relaxed, here and below; barriers lie between.
        self.one_by_one_until.fetch_max(time.to_bits() + 1, Ordering::Relaxed);
    }

    /// The time up to which they have to be, below all times if there is none.
    pub(super) fn one_by_one_until(&self) -> f64 {
        let bits = self.one_by_one_until.load(Ordering::Relaxed).checked_sub(1);
        bits.map_or(f64::NEG_INFINITY, f64::from_bits)
    }

    /// They have been.
    pub(super) fn end_one_by_one(&self) {
        self.one_by_one_until.store(0, Ordering::Relaxed);
    }

    /// Whether all events that were sent are pending or among those that were committed.
    pub(super) fn is_complete(&self, committed: u64) -> bool {
        // Ordering: Relaxed; a barrier lies between.
        let sent: u64 = self.sent.iter().map(|sent| sent.load(Ordering::Relaxed)).sum();
        sent == committed + self.pending.load(Ordering::Relaxed)
    }

    /// Whether the event was sent before the border (RESIZE-B).
    pub(super) fn is_valid<E>(&self, event: &Event<E>) -> bool {
        // Ordering: Relaxed; a barrier lies between.
        event.key.sequence() < self.sent[event.key.sender().index()].load(Ordering::Relaxed)
    }
}
