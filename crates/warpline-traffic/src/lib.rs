//! Motorway traffic as a model for every engine of Warpline.
//!
//! A [`Network`](network::Network) of junctions and routes is built in, generated or read from a
//! file, and cut into logical processes; the [model] lets cars drive on them.

#![forbid(unsafe_code)]

mod cars;
pub mod error;
pub mod formats;
mod gaussian;
pub mod grid;
pub mod italy;
mod lp;
pub mod model;
pub mod network;
pub mod output;
pub mod params;
pub mod results;
mod roads;
pub mod source;
mod traffic;
