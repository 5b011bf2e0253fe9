//! Timing of MOS circuits at the level of transistors, as a model for every engine of Warpline.
//!
//! A netlist (a SPICE deck or an ISCAS `.bench` file) is read into a flat [`Circuit`](circuit::Circuit).

pub mod bench;
mod builder;
mod cells;
pub mod circuit;
pub mod error;
pub mod generate;
pub mod logic;
pub mod process;
pub mod stimuli;
pub mod workload;
pub mod waveform;
