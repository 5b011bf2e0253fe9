//! The parcels that have arrived at one port and were not taken yet. The transports `threads` and
//! `mpi` have one queue per port.
//!
//! # Invariants
//!
//! - Parcels come out once each, in the order in which they were put in.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::Received;

/// A first-in-first-out queue of parcels.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The number of parcels. A receiver that reads 0 does not take the lock.
    len: AtomicUsize,
    parcels: Mutex<VecDeque<Received>>,
}

impl Queue {
    /// Appends a parcel.
    pub(crate) fn push(&self, received: Received) {
        let mut parcels = self.parcels.lock().unwrap_or_else(PoisonError::into_inner);
        parcels.push_back(received);
        // Ordering: Relaxed; the lock publishes the parcel, and a receiver that misses the new
        // count polls again.
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
