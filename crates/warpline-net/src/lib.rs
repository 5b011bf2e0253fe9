//! How the ranks of a run talk to each other: parcels of bytes, carried by a transport.
//!
//! A *rank* is a process, on this machine or another one; a *port* is one worker of a rank. Engines
//! gather small messages in an [`Outbox`], which makes [`Parcel`]s of them, and a [`Transport`]
//! carries those.
//!
//! | module | what it is |
//! |---|---|
//! | `transport` | The trait that all transports have, addresses, and what can go wrong. |
//! | `threads` | Ranks that are threads of one process: nothing to install, and what tests run on. |
//! | `mpi` | Ranks that are MPI processes, with the cargo feature `mpi`; the only module with unsafe code. |
//! | `faulty` | Around another transport: delays, reorders, and loses its rank; for tests of engines. |
//! | `launch` | Whether `mpirun` or the like has started this process. |
//! | `queue` | What has arrived at a port. |
//! | `parcel` | The frame around what is sent: kind, length, version; anything malformed is refused. |
//! | `outbox` | Message aggregation, with a threshold that adapts by itself. |
//!
//! # References
//!
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, section
//! 3.1: message aggregation.

#![deny(unsafe_code)]

mod faulty;
mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod outbox;
mod parcel;
mod queue;
mod threads;
mod transport;

pub use faulty::Faulty;
pub use launch::launched_by_mpi;
#[cfg(feature = "mpi")]
pub use mpi::MpiTransport;
pub use outbox::{Aggregation, Outbox, Threshold, Traffic, append};
pub use parcel::{HEADER_BYTES, Malformed, Opened, Parcel};
pub use threads::{ThreadTransport, network};
pub use transport::{Address, NetError, Received, Transport};
