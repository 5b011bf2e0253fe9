//! The unit tests of modules that are private to the crate, which are compiled here a second time:
//! a build of the whole library for its unit tests would compile the model with every engine again.

#![expect(
    dead_code,
    unreachable_pub,
    reason = "these modules are written for the library, which uses and exports them"
)]

#[path = "../src/generators.rs"]
mod generators;
#[path = "../src/histogram.rs"]
mod histogram;
#[path = "../src/ports.rs"]
mod ports;
#[path = "../src/routes.rs"]
mod routes;
#[path = "../src/topology.rs"]
mod topology;
