//! Packet networks as a model for every engine of Warpline.
//!
//! A [`Topology`](topology::Topology) of nodes and links is generated or read from a file; packets
//! come from a file or are drawn; the [model] passes them on from link to link, packet for packet
//! as ns-3 does at link level.

#![forbid(unsafe_code)]

pub mod error;
pub mod formats;
mod generators;
mod histogram;
pub mod model;
mod network;
mod node;
pub mod output;
mod packet;
pub mod params;
mod ports;
mod results;
mod routes;
mod sending;
pub mod source;
pub mod topology;
