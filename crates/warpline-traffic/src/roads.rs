//! The network cut into logical processes: an LP is a junction, or a portion of a route.
//!
//! Made once per model; handlers read it. Routes are cut into portions so that the longest portion
//! is as short as the number of LPs allows. LPs are numbered by their distance from the first
//! junction along the routes, so that LPs with close numbers lie close to each other: engines place
//! blocks of numbers.
//!
//! # Invariants
//!
//! - **ROADS-A.** There are as many LPs as were asked for, and the portions of a route add up to
//!   its length.

use std::{cmp::Reverse, collections::BinaryHeap};

use warpline::LpId;

use crate::network::Network;

/// The network as logical processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roads {
    pub(crate) places: Vec<Place>,
}

/// What an LP stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The length that a car drives here (km).
    pub(crate) km: f64,
    /// How many cars the road holds.
    pub(crate) capacity: f64,
    pub(crate) kind: Kind,
    /// The LPs that cars go to from here.
    pub(crate) exits: Vec<LpId>,
}

/// A junction, or a portion of a route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// The number of the junction.
    Junction(usize),
    Portion {
        /// The number of the route.
        route: usize,
        /// Which portion it is, from the beginning of the route.
        nth: usize,
        /// How many portions the route has.
        of: usize,
    },
}

impl Roads {
    /// Cuts a network into `lps` LPs, at least as many as the network has parts. A junction is
    /// `junction_km` long. A kilometer in both directions holds `cars_per_km` cars.
    pub(crate) fn new(
        network: &Network,
        lps: usize,
        (junction_km, cars_per_km): (f64, f64),
    ) -> Self {
        let portions = portions(network, lps - network.junctions.len());
        let distances = distances(network);
        let mut order: Vec<(f64, Kind)> =
            distances.iter().enumerate().map(|(n, &km)| (km, Kind::Junction(n))).collect();
        for (n, (route, &of)) in network.routes.iter().zip(&portions).enumerate() {
            for nth in 0..of {
                let middle = route.km * (nth as f64 + 0.5) / of as f64;
                let from = distances[route.from] + middle;
                let to = distances[route.to] + route.km - middle;
                order.push((from.min(to), Kind::Portion { route: n, nth, of }));
            }
        }
        // A stable sort: parts at the same distance stay in the order of the network.
        order.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let numbers = Numbers::new(network, &portions, &order);
        let places = order.iter().map(|&(_, kind)| {
            let (km, directions) = match kind {
                Kind::Junction(_) => (junction_km, 2.0),
                Kind::Portion { route, of, .. } => {
                    let route = &network.routes[route];
                    (route.km / of as f64, if route.one_way { 1.0 } else { 2.0 })
                }
            };
            let capacity = cars_per_km * km * directions / 2.0;
            Place { km, capacity, kind, exits: numbers.exits(network, kind) }
        });
        let places: Vec<_> = places.collect();
        debug_assert_eq!(places.len(), lps, "ROADS-A: as many LPs as were asked for");
        Self { places }
    }
}

/// The number of portions of each route: `count` in all, at least one each, and the longest portion
/// as short as possible.
fn portions(network: &Network, count: usize) -> Vec<usize> {
    let mut portions = vec![1; network.routes.len()];
    // Lengths are above 0, so their bits have the order of the numbers.
    let entry = |n: usize, of: usize| ((network.routes[n].km / of as f64).to_bits(), Reverse(n));
    let mut longest: BinaryHeap<_> = (0..portions.len()).map(|n| entry(n, 1)).collect();
    for _ in portions.len()..count {
        let Some((_, Reverse(n))) = longest.pop() else { break };
        portions[n] += 1;
        longest.push(entry(n, portions[n]));
    }
    portions
}

/// The distance of each junction from the first one, along the routes in both directions (km). What
/// cannot be reached is infinitely far away.
fn distances(network: &Network) -> Vec<f64> {
    let mut neighbors = vec![Vec::new(); network.junctions.len()];
    for route in &network.routes {
        neighbors[route.from].push((route.to, route.km));
        neighbors[route.to].push((route.from, route.km));
    }
    let mut distances = vec![f64::INFINITY; network.junctions.len()];
    let mut nearest = BinaryHeap::new();
    if let Some(first) = distances.first_mut() {
        *first = 0.0;
        nearest.push(Reverse((0_u64, 0)));
    }
    while let Some(Reverse((bits, junction))) = nearest.pop() {
        let here = f64::from_bits(bits);
        if here > distances[junction] {
            continue;
        }
        for &(to, km) in &neighbors[junction] {
            if here + km < distances[to] {
                distances[to] = here + km;
                nearest.push(Reverse((distances[to].to_bits(), to)));
            }
        }
    }
    distances
}

/// The numbers of the LPs.
struct Numbers {
    /// By junction.
    junctions: Vec<LpId>,
    /// By route, then by portion.
    portions: Vec<Vec<LpId>>,
    /// For each junction: the LPs that cars go to from there.
    exits: Vec<Vec<LpId>>,
}

impl Numbers {
    fn new(network: &Network, portions: &[usize], order: &[(f64, Kind)]) -> Self {
        let nowhere = LpId::new(0);
        let mut junctions = vec![nowhere; network.junctions.len()];
        let mut parts: Vec<_> = portions.iter().map(|&of| vec![nowhere; of]).collect();
        for (number, &(_, kind)) in order.iter().enumerate() {
            *match kind {
                Kind::Junction(n) => &mut junctions[n],
                Kind::Portion { route, nth, .. } => &mut parts[route][nth],
            } = LpId::from_index(number);
        }
        let mut exits = vec![Vec::new(); network.junctions.len()];
        for (route, lps) in network.routes.iter().zip(&parts) {
            exits[route.from].push(lps[0]);
            if !route.one_way {
                exits[route.to].push(lps[lps.len() - 1]);
            }
        }
        Self { junctions, portions: parts, exits }
    }

    fn exits(&self, network: &Network, kind: Kind) -> Vec<LpId> {
        let Kind::Portion { route: n, nth, of } = kind else {
            let Kind::Junction(n) = kind else { return Vec::new() };
            return self.exits[n].clone();
        };
        let (route, lps) = (&network.routes[n], &self.portions[n]);
        let next = if nth + 1 < of { lps[nth + 1] } else { self.junctions[route.to] };
        let last = if nth > 0 { lps[nth - 1] } else { self.junctions[route.from] };
        if route.one_way { vec![next] } else { vec![last, next] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{grid, italy, network::Route};

    /// ROADS-A, for every number of LPs.
    #[test]
    fn portions_add_up() {
        let italy = italy::network();
        for lps in [137, 138, 200, 1024, 5000] {
            let roads = Roads::new(&italy, lps, (1.0, 60.0));
            assert_eq!(roads.places.len(), lps);
            let km: f64 = roads.places.iter().map(|place| place.km).sum();
            assert!((km - italy.km() - 61.0).abs() < 1e-6, "{lps}: {km}");
            let portions =
                roads.places.iter().filter(|place| place.exits.len() == 2 && place.km != 1.0);
            let longest = portions.map(|place| place.km).fold(0.0, f64::max);
            assert!(
                longest < 2.0 * italy.km() / (lps - 61) as f64 || lps < 200,
                "{lps}: {longest}"
            );
        }
    }

    /// Every way has a way back, and leads to neighbors in the network.
    #[test]
    fn exits_lead_back() {
        for (network, lps) in [(italy::network(), 300), (grid::network(3, 2), 40)] {
            let roads = Roads::new(&network, lps, (1.0, 60.0));
            for (number, place) in roads.places.iter().enumerate() {
                let me = LpId::from_index(number);
                for exit in &place.exits {
                    assert!(roads.places[exit.index()].exits.contains(&me), "{number}: {place:?}");
                }
            }
        }
    }

    /// By hand: a route in one direction, one to where it begins, and a junction that nothing leads
    /// to.
    #[test]
    fn one_way_routes_by_hand() {
        let mut network = grid::network(3, 1);
        network.routes.clear();
        let route = |from, to, one_way| Route { name: String::new(), from, to, km: 4.0, one_way };
        network.routes = vec![route(0, 1, true), route(1, 1, false)];
        let roads = Roads::new(&network, 6, (1.0, 10.0));
        let exits: Vec<Vec<u32>> = roads
            .places
            .iter()
            .map(|place| place.exits.iter().map(|exit| exit.get()).collect())
            .collect();
        // Junction 0, both portions of the first route, junction 1, the loop, junction 2.
        assert_eq!(exits, [vec![1], vec![2], vec![3], vec![4, 4], vec![3, 3], vec![]]);
        let capacities: Vec<f64> = roads.places.iter().map(|place| place.capacity).collect();
        assert_eq!(capacities, [10.0, 10.0, 10.0, 10.0, 40.0, 10.0]);
    }
}
