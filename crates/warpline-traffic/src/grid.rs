//! A generated network: a grid of junctions, with a route between neighbors.
//!
//! For experiments that need a network of any size, and for tests.

use crate::network::{Coordinates, DEFAULT_INTERARRIVAL, DEFAULT_LEAVE, Junction, Network, Route};

/// The length of a route (km).
const KM: f64 = 20.0;

/// A grid of `width` by `height` junctions, row by row from the south.
///
/// # Panics
///
/// When it has more parts than a network can have.
#[must_use]
pub fn network(width: u32, height: u32) -> Network {
    let mut grid = Network::default();
    let number = |x: u32, y: u32| (y * width + x) as usize;
    for y in 0..height {
        for x in 0..width {
            let added = grid.add_junction(Junction {
                name: format!("{x},{y}"),
                at: Some(Coordinates { x: f64::from(x) * KM, y: f64::from(y) * KM }),
                interarrival: Some(DEFAULT_INTERARRIVAL),
                leave: DEFAULT_LEAVE,
            });
            added.expect("a grid that is not too large");
        }
    }
    let mut join = |from: (u32, u32), to: (u32, u32)| {
        let name = format!("{},{} - {},{}", from.0, from.1, to.0, to.1);
        let (from, to) = (number(from.0, from.1), number(to.0, to.1));
        let added = grid.add_route(Route { name, from, to, km: KM, one_way: false });
        added.expect("a grid that is not too large");
    };
    for y in 0..height {
        for x in 0..width {
            if x + 1 < width {
                join((x, y), (x + 1, y));
            }
            if y + 1 < height {
                join((x, y), (x, y + 1));
            }
        }
    }
    grid
}
