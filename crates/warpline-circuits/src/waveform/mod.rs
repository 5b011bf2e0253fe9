//! Voltages over time: what a net does between two samples, and what a source does.
//!
//! The simulation reads [sources](crate::circuit::Waveform) by their straight [`Line`]s; the
//! writers of waveforms follow nets by their [`Cubic`]s and find crossings with a [`Detector`];
//! pictures show what they keep in [`Columns`].

mod columns;
mod crossing;
mod cubic;
mod source;

pub use columns::{Column, Columns};
pub use crossing::{Detector, Edge};
pub use cubic::Cubic;
pub use source::Line;
