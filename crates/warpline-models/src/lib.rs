//! Models shipped with Warpline.
//!
//! One file per model: its parameters (the same names on the command line, in configuration files
//! and here), its LPs, its results with units. [`ALL`] is the list of them.
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

#[cfg(feature = "shipped")]
mod branching;
pub mod catalog;
#[cfg(feature = "shipped")]
pub mod circuit;
mod domain;
#[cfg(feature = "shipped")]
pub mod epidemic;
#[cfg(feature = "shipped")]
mod grain;
#[cfg(feature = "shipped")]
pub mod hypercube;
#[cfg(feature = "shipped")]
pub mod network;
#[cfg(feature = "shipped")]
pub mod pcs;
#[cfg(feature = "shipped")]
pub mod phold;
mod prepared;
#[cfg(feature = "shipped")]
pub mod queues;
#[cfg(feature = "shipped")]
mod tables;
mod time_unit;
#[cfg(feature = "shipped")]
pub mod traffic;

#[cfg(feature = "shipped")]
use catalog::{Entry, entry};

/// The models that Warpline ships, in the order in which they are listed.
#[cfg(feature = "shipped")]
pub static ALL: &[&dyn Entry] = &[
    entry::<phold::PholdParams>(),
    entry::<hypercube::HypercubeParams>(),
    entry::<pcs::PcsParams>(),
    entry::<circuit::CircuitParams>(),
    entry::<traffic::TrafficParams>(),
    entry::<network::NetworkParams>(),
    entry::<queues::QueuesParams>(),
    entry::<epidemic::EpidemicParams>(),
];
