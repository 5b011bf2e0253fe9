//! Models shipped with Warpline.
//!
//! One file per model: its parameters (the same names on the command line, in configuration files
//! and here), its LPs, its results with units. Each is a feature of this crate, and `shipped` is
//! all of them. [`ALL`] is the list of those that were compiled.
//!
//! | model | what it is | source |
//! |---|---|---|
//! | [`phold`] | a fixed population of events | Fujimoto 1990; buffer paper, 3.4 and 4 |
//! | [`hypercube`] | messages routed through a binary hypercube | buffer paper, 7.1 |
//! | [`pcs`] | a wireless network with moving portables | GTW paper, 4; buffer paper, 7.2 |
//! | [`circuit`] | the timing of MOS circuits | runtime paper, 4 |
//! | [`traffic`] | cars on motorways | NUMA paper, 4 |
//! | [`network`] | packets through switches with queues | ns-3, at link level |
//! | [`queues`] | customers at stations, in a circle or a chain | Gordon and Newell 1967; Burke 1956 |
//! | [`epidemic`] | people in regions who infect each other | Kermack and McKendrick 1927 |
//!
//! The *buffer paper* is Fujimoto and Panesar, *Buffer Management in Shared-Memory Time Warp
//! Systems*, 1995; the *GTW paper* is Das, Fujimoto, Panesar, Allison and Hybinette, *GTW: A Time
//! Warp System for Shared Memory Multiprocessors*, 1994; the *runtime paper* is Wen and Yelick,
//! *Portable Runtime Support for Asynchronous Simulation*, 1995; the *NUMA paper* is Pellegrini and
//! Quaglia, *NUMA Time Warp*, 2015.

#![forbid(unsafe_code)]

#[cfg(any(feature = "epidemic", feature = "pcs", feature = "phold", feature = "queues"))]
mod branching;
pub mod catalog;
#[cfg(feature = "circuit")]
pub mod circuit;
mod domain;
#[cfg(feature = "epidemic")]
pub mod epidemic;
#[cfg(any(feature = "pcs", feature = "phold"))]
mod grain;
#[cfg(feature = "hypercube")]
pub mod hypercube;
#[cfg(feature = "network")]
pub mod network;
#[cfg(feature = "pcs")]
pub mod pcs;
#[cfg(feature = "phold")]
pub mod phold;
mod prepared;
#[cfg(feature = "queues")]
pub mod queues;
#[cfg(any(feature = "network", feature = "traffic"))]
mod tables;
mod time_unit;
#[cfg(feature = "traffic")]
pub mod traffic;

use catalog::Entry;

/// The models that this crate was compiled with, in the order in which they are listed.
pub static ALL: &[&dyn Entry] = &[
    #[cfg(feature = "phold")]
    catalog::entry::<phold::PholdParams>(),
    #[cfg(feature = "hypercube")]
    catalog::entry::<hypercube::HypercubeParams>(),
    #[cfg(feature = "pcs")]
    catalog::entry::<pcs::PcsParams>(),
    #[cfg(feature = "circuit")]
    catalog::entry::<circuit::CircuitParams>(),
    #[cfg(feature = "traffic")]
    catalog::entry::<traffic::TrafficParams>(),
    #[cfg(feature = "network")]
    catalog::entry::<network::NetworkParams>(),
    #[cfg(feature = "queues")]
    catalog::entry::<queues::QueuesParams>(),
    #[cfg(feature = "epidemic")]
    catalog::entry::<epidemic::EpidemicParams>(),
];
