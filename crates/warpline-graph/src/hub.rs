//! The mailboxes of one rank's workers, and whether all of them are idle.
//!
//! One per rank and event graph, shared by the handles of the rank's workers. There is a mailbox
//! for each pair of sender and receiver: a batch is swapped in and out as a whole, and its memory
//! goes back and forth between the two.
//!
//! # Invariants
//!
//! - **HUB-A.** `in_flight` is never below the number of batches that were posted to a worker that
//!   has not become active since. So when all workers are idle and nothing is in flight, all stay
//!   idle until something comes from another rank. A worker may read the two counts at different
//!   times; the answer is a reason to freeze and look, not a proof.
//!
//! # Happens-before edges
//!
//! The locks publish the mail. The counters publish nothing: a worker that misses new mail finds it
//! at its next poll.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use crossbeam_utils::CachePadded;

use crate::item::Item;

/// The items that one worker has posted for another one.
#[derive(Debug)]
pub(crate) struct Mail<E> {
    pub(crate) items: Vec<Item<E>>,
    /// The number of batches that they were posted in.
    pub(crate) batches: usize,
}

/// How many items went to other ranks, and how many came from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RemoteItems {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// The mailboxes of one rank, and its count of idle workers.
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
    /// A hub for a rank of `ports` workers.
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

    /// Posts these items, and leaves an empty list.
    pub(crate) fn post(&self, from: usize, to: usize, items: &mut Vec<Item<E>>) {
        // Ordering: Relaxed; the lock below orders this before the receiver's subtraction (HUB-A).
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
        // Ordering: Relaxed; the lock publishes the mail, and a receiver that misses the count
        // finds it at its next poll.
        self.posted[to].fetch_add(1, Ordering::Relaxed);
    }

    /// How many batches were posted to a worker so far.
    #[inline]
    pub(crate) fn posted(&self, to: usize) -> u64 {
        // Ordering: Relaxed; see `post`.
        self.posted[to].load(Ordering::Relaxed)
    }

    /// Takes what one worker has posted for another one, into an empty list, and returns the number
    /// of batches.
    pub(crate) fn collect(&self, from: usize, to: usize, items: &mut Vec<Item<E>>) -> usize {
        let mail = &self.mail[to * self.ports + from];
        let mut mail = mail.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut mail.items, items);
        std::mem::take(&mut mail.batches)
    }

    /// Notes that `batches` batches have arrived at a receiver that is active by now.
    pub(crate) fn arrived(&self, batches: usize) {
        // Ordering: Release; a reader that sees it in `is_quiescent` also sees that the receiver is
        // active.
        let before = self.in_flight.fetch_sub(batches, Ordering::Release);
        debug_assert!(before >= batches, "HUB-A: {batches} batches arrived, of {before}");
    }

    /// Counts one more idle worker, or one fewer.
    pub(crate) fn set_idle(&self, is_idle: bool) {
        // Ordering: Relaxed; `arrived` publishes that a receiver is active, and it does no harm if
        // a worker is seen idle late.
        if is_idle {
            self.idle.fetch_add(1, Ordering::Relaxed);
        } else {
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether all workers are idle and nothing is in transit between them.
    pub(crate) fn is_quiescent(&self) -> bool {
        // Ordering: Acquire, see `arrived`; then Relaxed, because it publishes only itself.
        self.in_flight.load(Ordering::Acquire) == 0
            && self.idle.load(Ordering::Relaxed) == self.ports
    }

    /// Counts items that went to or came from other ranks.
    pub(crate) fn count_remote(&self, more: RemoteItems) {
        // Ordering: Relaxed; the counts matter only when all workers are idle.
        self.sent.fetch_add(more.sent, Ordering::Relaxed);
        self.received.fetch_add(more.received, Ordering::Relaxed);
    }

    /// All items counted so far.
    pub(crate) fn remote_items(&self) -> RemoteItems {
        // Ordering: Relaxed; see `count_remote`.
        let [sent, received] =
            [&self.sent, &self.received].map(|count| count.load(Ordering::Relaxed));
        RemoteItems { sent, received }
    }
}
