//! The mailboxes of one rank's workers, and whether all of them rest.
//!
//! One per rank and event graph. There is a mailbox for each sender and receiver, so that a batch
//! is swapped in and out as a whole, and their memory goes back and forth between the two.
//!
//! # Invariants
//!
//! - **HUB-A.** `in_flight` is never below the number of batches that were posted and whose
//!   receiver has not stopped resting. So when nobody works and nothing is in flight, nobody will
//!   work until something comes from another rank. Who asks may see the counts at different
//!   moments; it is a reason to freeze and look, no more.
//!
//! # Happens-before edges
//!
//! The locks publish the mail. The counters publish nothing: who misses mail comes again.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use crossbeam_utils::CachePadded;

use crate::item::Item;

/// What one worker has for another one.
#[derive(Debug)]
pub(crate) struct Mail<E> {
    pub(crate) items: Vec<Item<E>>,
    /// How many batches they were posted in.
    pub(crate) batches: usize,
}

/// Items that went to other ranks, and that came from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RemoteItems {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Hub<E> {
    ports: usize,
    /// By receiver, and then by sender.
    mail: Box<[CachePadded<Mutex<Mail<E>>>]>,
    /// By receiver: batches posted so far.
    posted: Box<[CachePadded<AtomicU64>]>,
    in_flight: CachePadded<AtomicUsize>,
    idle: CachePadded<AtomicUsize>,
    sent: CachePadded<AtomicU64>,
    received: CachePadded<AtomicU64>,
}

impl<E> Hub<E> {
    /// For so many workers.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        let mail = || CachePadded::new(Mutex::new(Mail { items: Vec::new(), batches: 0 }));
        Self {
            ports,
            mail: (0..ports * ports).map(|_| mail()).collect(),
            posted: (0..ports).map(|_| CachePadded::default()).collect(),
            in_flight: CachePadded::default(),
            idle: CachePadded::default(),
            sent: CachePadded::default(),
            received: CachePadded::default(),
        }
    }

    /// Posts all these items.
    pub(crate) fn post(&self, from: usize, to: usize, items: &mut Vec<Item<E>>) {
        // Ordering: Relaxed; the lock comes after it, and the receiver subtracts after the lock
        // (HUB-A).
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let mail = &self.mail[to * self.ports + from];
        let mut mail = mail.lock().unwrap_or_else(PoisonError::into_inner);
        mail.batches += 1;
        if mail.items.is_empty() {
            std::mem::swap(&mut mail.items, items);
        } else {
            mail.items.append(items);
        }
        drop(mail);
        // Ordering: Relaxed; who misses it comes again, and the lock publishes the mail.
        self.posted[to].fetch_add(1, Ordering::Relaxed);
    }

    /// How many batches were posted for a worker.
    #[inline]
    pub(crate) fn posted(&self, to: usize) -> u64 {
        // Ordering: Relaxed; see `post`.
        self.posted[to].load(Ordering::Relaxed)
    }

    /// Takes what one worker has posted for another one, into an empty list; gives back in how many
    /// batches.
    pub(crate) fn collect(&self, from: usize, to: usize, items: &mut Vec<Item<E>>) -> usize {
        let mail = &self.mail[to * self.ports + from];
        let mut mail = mail.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut mail.items, items);
        std::mem::take(&mut mail.batches)
    }

    /// So many batches have arrived, and their receiver does not rest any more.
    pub(crate) fn arrived(&self, batches: usize) {
        // Ordering: Release; who sees it in `is_quiet` also sees that the receiver works.
        self.in_flight.fetch_sub(batches, Ordering::Release);
    }

    /// One more worker is_idle, or one fewer.
    pub(crate) fn set_idle(&self, is_idle: bool) {
        // Ordering: Relaxed; `arrived` publishes that a receiver works, and a worker that rests
        // late is seen late.
        if is_idle {
            self.idle.fetch_add(1, Ordering::Relaxed);
        } else {
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether all workers rest and nothing is on its way between them.
    pub(crate) fn is_quiet(&self) -> bool {
        // Ordering: Acquire, see `arrived`; then Relaxed, it publishes nothing but itself.
        self.in_flight.load(Ordering::Acquire) == 0
            && self.idle.load(Ordering::Relaxed) == self.ports
    }

    /// Counts what has crossed to and from other ranks.
    pub(crate) fn count_remote(&self, more: RemoteItems) {
        // Ordering: Relaxed; counts that are looked at once all rest.
        self.sent.fetch_add(more.sent, Ordering::Relaxed);
        self.received.fetch_add(more.received, Ordering::Relaxed);
    }

    /// All that was counted.
    pub(crate) fn remote_items(&self) -> RemoteItems {
        // Ordering: Relaxed; see `count_remote`.
        let [sent, received] =
            [&self.sent, &self.received].map(|count| count.load(Ordering::Relaxed));
        RemoteItems { sent, received }
    }
}
