//! The LPs with their places and what they counted, as tables and maps show them.

use crate::{
    network::{Coordinates, Network},
    params::HOUR,
    results::{Map, Tally},
    roads::{Kind, Roads},
};

/// All LPs, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    pub(super) segments: Vec<Segment>,
    /// Whether positions are degrees.
    pub(super) geographic: bool,
}

/// An LP: a junction, or a portion of a route.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    pub(super) name: String,
    /// Of a route: which portion it is, from 1, and of how many.
    pub(super) portion: Option<(usize, usize)>,
    pub(super) km: f64,
    /// The cars that the road holds.
    pub(super) capacity: f64,
    /// Its beginning and its end, the same for a junction.
    pub(super) ends: [Coordinates; 2],
    pub(super) tally: Tally,
}

impl Survey {
    pub(crate) fn new(network: &Network, roads: &Roads) -> Self {
        let positions = positions(network);
        let segment = |place: &crate::roads::Place| {
            let common = Segment { km: place.km, capacity: place.capacity, ..Segment::default() };
            match place.kind {
                Kind::Junction(n) => {
                    let name = network.junctions[n].name.clone();
                    Segment { name, ends: [positions[n]; 2], ..common }
                }
                Kind::Portion { route, nth, of } => {
                    let route = &network.routes[route];
                    let (from, to) = (positions[route.from], positions[route.to]);
                    let at = |nth: usize| between(from, to, nth as f64 / of as f64);
                    Segment {
                        name: route.name.clone(),
                        portion: Some((nth + 1, of)),
                        ends: [at(nth), at(nth + 1)],
                        ..common
                    }
                }
            }
        };
        Self {
            segments: roads.places.iter().map(segment).collect(),
            geographic: network.geographic,
        }
    }

    /// The map of all LPs.
    pub(crate) fn map(&self) -> Map {
        let count = self.segments.len() as f64;
        let north = self.segments.iter().map(|segment| segment.middle().y).sum::<f64>() / count;
        // A degree to the east is shorter than one to the north.
        let east = if self.geographic { libm::cos(north.to_radians()) } else { 1.0 };
        let line = |segment: &Segment| {
            let [from, to] = segment.ends;
            [from.x * east, from.y, to.x * east, to.y]
        };
        Map {
            lines: self.segments.iter().map(line).collect(),
            names: self.segments.iter().map(Segment::title).collect(),
        }
    }

    /// Adds what the LPs counted.
    pub(super) fn count(&mut self, tallies: Vec<Tally>) {
        for (segment, tally) in self.segments.iter_mut().zip(tallies) {
            segment.tally = tally;
        }
    }
}

impl Segment {
    /// The mean number of cars here.
    pub(super) fn cars(&self) -> f64 {
        self.tally.cars()
    }

    /// The mean number of cars per kilometer.
    pub(super) fn density(&self) -> f64 {
        self.tally.density(self.km)
    }

    /// The part of the road that is taken.
    pub(super) fn load(&self) -> f64 {
        self.cars() / self.capacity
    }

    /// The mean time that a car takes (s), if any passed.
    pub(super) fn travel_time(&self) -> Option<f64> {
        let passed = self.tally.passed;
        (passed > 0).then(|| self.tally.stay_seconds / passed as f64)
    }

    /// The mean speed (km/h), if any car passed.
    pub(super) fn speed(&self) -> Option<f64> {
        self.travel_time().map(|seconds| self.km / seconds * HOUR)
    }

    /// The middle.
    pub(super) fn middle(&self) -> Coordinates {
        between(self.ends[0], self.ends[1], 0.5)
    }

    /// The name, with the portion of a route.
    pub(super) fn title(&self) -> String {
        match self.portion {
            Some((nth, of)) if of > 1 => format!("{} ({nth}/{of})", self.name),
            _ => self.name.clone(),
        }
    }
}

fn between(from: Coordinates, to: Coordinates, part: f64) -> Coordinates {
    Coordinates { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }
}

/// Where the junctions lie: on a circle, if the network does not say it of all.
fn positions(network: &Network) -> Vec<Coordinates> {
    let known: Option<Vec<_>> = network.junctions.iter().map(|junction| junction.at).collect();
    let count = network.junctions.len();
    let on_circle = |n: usize| {
        let angle = std::f64::consts::TAU * n as f64 / count as f64;
        Coordinates { x: libm::cos(angle), y: libm::sin(angle) }
    };
    known.unwrap_or_else(|| (0..count).map(on_circle).collect())
}
