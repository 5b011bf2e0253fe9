//! The laboratory: what it takes to repeat the experiments of the papers.
//!
//! [`machine`] replays a trace of memory accesses through the caches of a machine that is no longer
//! built, or not at hand, and counts what that machine's hardware monitors would have counted.

#![forbid(unsafe_code)]

pub mod machine;
