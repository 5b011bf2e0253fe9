//! How the ranks of a run communicate: parcels of bytes, carried by a transport.
//!
//! A *rank* is one of the ends of a network: an MPI process, or a thread that stands for one. A
//! *port* is one worker of a rank. Engines gather small messages in an [`Outbox`], which makes
//! [`Parcel`]s of them, and a [`Transport`] carries those.
//!
//! | module | what it is |
//! |---|---|
//! | `transport` | The trait of all transports, addresses, and errors. |
//! | `threads` | Ranks as threads of one process: nothing to install, and what tests run on. |
//! | `mpi` | Ranks as MPI processes, by `warpline-mpi`. |
//! | `faulty` | Delays, reorders and loses parcels of another transport; for tests of engines. |
//! | `queue` | The parcels that have arrived at a port. |
//! | `parcel` | The frame around all bytes: kind, length, version. Malformed ones are refused. |
//! | `outbox` | Message aggregation, with a threshold that adapts to the traffic. |
//!
//! # References
//!
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, section
//! 3.1: message aggregation.

#![forbid(unsafe_code)]

mod faulty;
mod mpi;
mod outbox;
mod parcel;
mod queue;
mod threads;
mod transport;

pub use faulty::{Faulty, Flip};
pub use mpi::MpiTransport;
pub use outbox::{Aggregation, Outbox, Threshold, Traffic, append};
pub use parcel::{HEADER_BYTES, Malformed, Opened, Parcel};
pub use threads::{ThreadTransport, network};
pub use transport::{Address, NetError, Received, Transport};
pub use warpline_mpi::{MpiError, has_mpirun, launch_by, launched_by_mpi, mpirun};
