//! Timing of MOS circuits at the level of transistors, as a model for every engine of Warpline.
//!
//! A netlist (a SPICE deck or an ISCAS `.bench` file) is read into a flat
//! [`Circuit`](circuit::Circuit).

pub mod bare;
pub mod bench;
mod builder;
mod capacitance;
mod cells;
pub mod circuit;
mod device;
mod drawing;
pub mod error;
pub mod export;
mod forest;
pub mod generate;
mod instant;
mod integration;
pub mod logic;
mod matrix;
mod message;
pub mod model;
pub mod netlist;
mod network;
mod operating_point;
pub mod output;
mod partition;
pub mod process;
mod results;
pub mod spice;
pub mod stimuli;
mod stimulus;
mod subcircuit;
mod tables;
mod template;
pub mod tolerance;
mod trace;
pub mod waveform;
pub mod workload;
