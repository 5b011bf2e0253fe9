//! The unit tests of private modules, which are compiled here a second time: a build of the whole
//! library for its unit tests would compile the model with every engine again.

#![expect(
    dead_code,
    unreachable_pub,
    reason = "these modules are written for the library, which uses and exports them"
)]

#[path = "../src/cars.rs"]
mod cars;
#[path = "../src/gaussian.rs"]
mod gaussian;
#[path = "../src/grid.rs"]
mod grid;
#[path = "../src/italy.rs"]
mod italy;
#[path = "../src/network.rs"]
mod network;
#[path = "../src/roads.rs"]
mod roads;
