//! What has arrived at one port and was not taken yet; the transports that keep parcels in memory
//! have one a port.
//!
//! # Invariants
//!
//! - Parcels come out in the order in which they were put in, once each.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::Received;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// How many parcels there are; a receiver that finds none does not take the lock.
    len: AtomicUsize,
    parcels: Mutex<VecDeque<Received>>,
}

impl Queue {
    /// Puts in a parcel, behind all others.
    pub(crate) fn push(&self, received: Received) {
        let mut parcels = self.parcels.lock().unwrap_or_else(PoisonError::into_inner);
        parcels.push_back(received);
        // Ordering: Relaxed; the lock publishes the parcel, and who misses the count comes again.
        self.len.store(parcels.len(), Ordering::Relaxed);
    }

    /// Takes the oldest parcel.
    pub(crate) fn pop(&self) -> Option<Received> {
        // Ordering: Relaxed; see `push`.
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut parcels = self.parcels.lock().unwrap_or_else(PoisonError::into_inner);
        let received = parcels.pop_front();
        self.len.store(parcels.len(), Ordering::Relaxed);
        received
    }
}
