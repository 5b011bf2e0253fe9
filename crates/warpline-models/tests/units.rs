//! The unit tests of modules that are private to models, which are compiled here a second time: a
//! build of the whole library for its unit tests would compile every model with every engine again.

#![expect(
    dead_code,
    unreachable_pub,
    reason = "these modules are written for the library, which uses and exports them"
)]

#[path = "../src/pcs/grid.rs"]
mod grid;
#[path = "../src/hypercube/histogram.rs"]
mod histogram;
#[path = "../src/time_unit.rs"]
mod time_unit;
