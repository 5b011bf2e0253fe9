//! What every transport does: it carries parcels from rank to rank.
//!
//! Implemented by `threads` and `mpi`, and by `faulty` around another one; called by the outboxes
//! and engines.
//!
//! # Invariants
//!
//! - **NET-A.** What one thread sends to one address arrives there in the order in which it was
//!   sent, once each. Nothing is said about parcels of different senders, or to different
//!   addresses.
//! - **NET-B.** A send does not wait for its receiver.
//! - **NET-C.** Who receives from any port sees to it that the parcels of all ports of its rank go
//!   on.

use std::fmt;

use crate::{Malformed, Parcel};

/// A worker: its rank, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The rank.
    pub rank: usize,
    /// The worker's number at its rank.
    pub port: usize,
}

/// What has arrived, not yet looked at.
#[derive(Debug)]
pub struct Received {
    /// The rank that has sent it.
    pub from: usize,
    /// A parcel, if all is well: see [`Parcel::open`].
    pub bytes: Vec<u8>,
}

/// One rank's end of a network.
pub trait Transport: Send + Sync + fmt::Debug {
    /// This rank.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// How many ports every rank has.
    fn ports(&self) -> usize;

    /// Sends a parcel on its way; `to` may be any port of any rank, this one included.
    ///
    /// # Errors
    ///
    /// When the network fails, or the receiver is known to be lost.
    fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError>;

    /// Takes the next parcel that has arrived at a port of this rank, if there is one.
    ///
    /// # Errors
    ///
    /// When the network fails, or nothing has arrived and a rank is known to be lost.
    fn receive(&self, port: usize) -> Result<Option<Received>, NetError>;

    /// Leaves the network for good and without a word, as a rank does that dies: all others find it
    /// lost, or are ended with it. What it has sent may still arrive.
    fn abandon(&self);

    /// A buffer whose parcel has been sent and which can be used again, if there is one.
    fn reclaim(&self) -> Option<Vec<u8>> {
        None
    }
}

/// Why ranks cannot talk any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A rank has ended without a word.
    #[error("rank {rank} is gone: it ended without saying why")]
    Lost {
        /// Which one.
        rank: usize,
    },
    /// A parcel is not what it should be.
    #[error("rank {from} sent what cannot be read: {what}")]
    Malformed {
        /// Its sender.
        from: usize,
        /// What is wrong with it.
        what: Malformed,
    },
    /// Another rank has ended, and has said why.
    #[error("rank {rank} ended: {error}")]
    Ended {
        /// Which one.
        rank: usize,
        /// Why.
        error: String,
    },
    /// The library below failed.
    #[error("the network failed: {0}")]
    Failed(String),
}
