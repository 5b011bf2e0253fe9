//! Pictures of a result: numbers that have a place each, as data.
//!
//! A model makes them ([`Results::pictures`](crate::Results::pictures)); whoever shows a report
//! draws them.

mod numbers;

pub use numbers::{label, round_numbers};
pub use warpline_core::{Picture, Shape};
