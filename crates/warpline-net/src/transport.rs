//! The trait of all transports, which carry parcels from rank to rank.
//!
//! Implemented by `threads` and `mpi`, and by `faulty` around another transport. Called by outboxes
//! and engines.
//!
//! # Invariants
//!
//! - **NET-A.** The parcels that one thread sends to one address arrive there once each, in the
//!   order in which they were sent. Parcels of different senders, or to different addresses, have
//!   no order.
//! - **NET-B.** A send does not wait for its receiver.
//! - **NET-C.** A call of `receive` for one port makes progress for all ports of its rank: what
//!   they send leaves, and what they are sent arrives.

use std::fmt;

use warpline_mpi::MpiError;

use crate::{Malformed, Parcel};

/// The address of a worker: its rank, and its number at that rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The rank.
    pub rank: usize,
    /// The worker's number at its rank.
    pub port: usize,
}

/// Bytes that have arrived and were not checked yet.
#[derive(Debug)]
pub struct Received {
    /// The rank that has sent them.
    pub from: usize,
    /// The bytes of a parcel, which [`Parcel::open`] checks.
    pub bytes: Vec<u8>,
}

/// One rank's end of a network.
pub trait Transport: Send + Sync + fmt::Debug {
    /// This rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// The number of ports of each rank.
    fn ports(&self) -> usize;

    /// Sends a parcel to any port of any rank, this one included.
    ///
    /// # Errors
    ///
    /// When the network fails, or the receiver is known to be lost.
    fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError>;

    /// Takes the next parcel that has arrived at a port of this rank, if there is one.
    ///
    /// # Errors
    ///
    /// When the network fails, or when nothing has arrived and a rank is known to be lost.
    fn receive(&self, port: usize) -> Result<Option<Received>, NetError>;

    /// Leaves the network for good without telling anybody why, like a rank that dies. All others
    /// find it lost, or are ended with it. What it has sent may still arrive.
    fn abandon(&self);

    /// The buffer of a parcel that has been sent, for use again, if there is one.
    fn reclaim(&self) -> Option<Vec<u8>> {
        None
    }
}

/// The reason why ranks cannot communicate any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A rank has ended without giving a reason.
    #[error("rank {rank} is lost: it ended without giving a reason")]
    Lost {
        /// The rank.
        rank: usize,
    },
    /// A parcel is malformed.
    #[error("rank {from} sent bytes that cannot be read: {what}")]
    Malformed {
        /// The rank that has sent it.
        from: usize,
        /// What is wrong with it.
        what: Malformed,
    },
    /// Another rank has ended, and has given the reason.
    #[error("rank {rank} ended: {error}")]
    Ended {
        /// The rank.
        rank: usize,
        /// The reason.
        error: String,
    },
    /// The network failed.
    #[error("the network failed: {0}")]
    Failed(String),
    /// MPI failed, or is not there.
    #[error("MPI: {0}")]
    Mpi(#[from] MpiError),
}
