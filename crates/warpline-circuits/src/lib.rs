//! Timing of MOS circuits at the level of transistors, as a model for every engine of Warpline.
//!
//! A netlist (a SPICE deck or an ISCAS `.bench` file) is read into a flat [`Circuit`](circuit::Circuit).

pub mod circuit;
