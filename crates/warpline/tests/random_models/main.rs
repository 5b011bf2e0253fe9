//! Tests with random small models: one program, so that the engines are compiled once for them.
//!
//! Each module says what its models have to do, and which mutations of the engines turn it red.

mod checkpoints;
mod engines;
mod failing_ranks;
mod random;
#[path = "../rankwise/mod.rs"]
mod rankwise;
mod sessions;
#[path = "../watchdog/mod.rs"]
mod watchdog;
