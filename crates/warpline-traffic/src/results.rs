//! What LPs count, and the result of a run.
//!
//! Made by the model (`model.rs`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpline::{
    Figure, FigureKind, Results,
    picture::{Picture, Shape},
};

use crate::params::HOUR;

/// What an LP counts. Numbers of cars are counted from the start of a run, times from the end of
/// the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Cars that joined the network here.
    pub joined: u64,
    /// Cars that left the network here.
    pub left: u64,
    /// Cars that came from other LPs.
    pub received: u64,
    /// Cars that went to other LPs, those on the way there included.
    pub handed_over: u64,
    /// Cars that are here at the end, and that no other LP knows of.
    pub staying: u64,
    /// Accidents.
    pub accidents: u64,
    /// How often a car was held up by an accident.
    pub held: u64,
    /// How often a car was slowed down by a jam.
    pub jams: u64,
    /// How often a car stopped.
    pub stops: u64,
    /// The most cars that were ever here.
    pub longest: u32,
    /// The time that all cars spent here (car-seconds).
    pub car_seconds: f64,
    /// Cars that passed.
    pub passed: u64,
    /// The sum of the times that these cars took (s).
    pub stay_seconds: f64,
    /// From the end of the warm-up to the end of the run (s).
    pub seconds: f64,
    /// Trips that ended here.
    pub trips: u64,
    /// The sum of the times of these trips (s).
    pub trip_seconds: f64,
    /// The sum of the lengths of these trips (km).
    pub trip_km: f64,
}

impl Tally {
    /// The mean number of cars here; 0 where there was no time.
    pub(crate) fn cars(&self) -> f64 {
        if self.seconds > 0.0 { self.car_seconds / self.seconds } else { 0.0 }
    }

    /// The mean number of cars per kilometer, of this many.
    pub(crate) fn density(&self, km: f64) -> f64 {
        self.cars() / km
    }

    /// Forgets the times, and how many cars they are of.
    pub(crate) const fn begin_times(&mut self) {
        (self.car_seconds, self.passed, self.stay_seconds) = (0.0, 0, 0.0);
        (self.trips, self.trip_seconds, self.trip_km) = (0, 0.0, 0.0);
    }

    /// What was counted since these counts. Cars that are here, or that went to other LPs and came
    /// from them, belong together, and are those of the whole run.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let &Self { received, handed_over, staying, longest, .. } = self;
        Self {
            joined: self.joined - earlier.joined,
            left: self.left - earlier.left,
            received,
            handed_over,
            staying,
            accidents: self.accidents - earlier.accidents,
            held: self.held - earlier.held,
            jams: self.jams - earlier.jams,
            stops: self.stops - earlier.stops,
            longest,
            car_seconds: self.car_seconds - earlier.car_seconds,
            passed: self.passed - earlier.passed,
            stay_seconds: self.stay_seconds - earlier.stay_seconds,
            seconds: self.seconds - earlier.seconds,
            trips: self.trips - earlier.trips,
            trip_seconds: self.trip_seconds - earlier.trip_seconds,
            trip_km: self.trip_km - earlier.trip_km,
        }
    }
}

/// The result of a run. A number for which there was nothing to measure is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrafficOutput {
    /// Cars that joined the network.
    pub cars_in: u64,
    /// Cars that left it.
    pub cars_out: u64,
    /// Cars that are on the road at the end.
    pub cars_under_way: u64,
    pub(crate) received: u64,
    pub(crate) handed_over: u64,
    /// Cars on the road, on average over time.
    pub cars_on_road: f64,
    /// The mean speed on the road, stops and accidents included (km/h).
    pub mean_speed: f64,
    /// The mean time of a trip (s).
    pub trip_time: f64,
    /// The mean length of a trip (km).
    pub trip_length: f64,
    /// Accidents.
    pub accidents: u64,
    /// How often a car was held up by an accident.
    pub cars_held: u64,
    /// How often a car was slowed down by a jam.
    pub jams: u64,
    /// How often a car stopped.
    pub stops: u64,
    /// The most cars that were ever at one LP.
    pub longest_queue: u64,
    /// Where the cars were, unless there are too many LPs to draw: the cars per kilometer of each.
    pub(crate) map: Option<(Arc<Map>, Vec<f64>)>,
}

/// The LPs as lines of a map, with their names. A junction is a line without a length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Map {
    pub(crate) lines: Vec<[f64; 4]>,
    pub(crate) names: Vec<String>,
}

impl TrafficOutput {
    /// Adds up what the LPs counted; `places` are the length of each (km) and its counts.
    pub(crate) fn new(places: impl Iterator<Item = (f64, Tally)>) -> Self {
        let mut sum = Self::default();
        let (mut car_seconds, mut seconds) = (0.0, 0.0);
        let (mut passed_km, mut passed_seconds) = (0.0, 0.0);
        let (mut trips, mut trip_seconds, mut trip_km) = (0, 0.0, 0.0);
        for (km, tally) in places {
            sum.cars_in += tally.joined;
            sum.cars_out += tally.left;
            sum.cars_under_way += tally.staying + tally.handed_over;
            sum.received += tally.received;
            sum.handed_over += tally.handed_over;
            sum.accidents += tally.accidents;
            sum.cars_held += tally.held;
            sum.jams += tally.jams;
            sum.stops += tally.stops;
            sum.longest_queue = sum.longest_queue.max(u64::from(tally.longest));
            car_seconds += tally.car_seconds;
            seconds = tally.seconds;
            passed_km += tally.passed as f64 * km;
            passed_seconds += tally.stay_seconds;
            trips += tally.trips;
            trip_seconds += tally.trip_seconds;
            trip_km += tally.trip_km;
        }
        // A car on its way to another LP was handed over and not received.
        sum.cars_under_way = sum.cars_under_way.saturating_sub(sum.received);
        Self {
            cars_on_road: car_seconds / seconds,
            mean_speed: passed_km / passed_seconds * HOUR,
            trip_time: trip_seconds / trips as f64,
            trip_length: trip_km / trips as f64,
            ..sum
        }
    }
}

impl Results for TrafficOutput {
    fn figures(&self) -> Vec<Figure> {
        let (figure, count) = (Figure::new, Figure::of_count);
        vec![
            count("cars_in", self.cars_in, "cars", "that joined the network"),
            count("cars_out", self.cars_out, "cars", "that left it"),
            count("cars_under_way", self.cars_under_way, "cars", "on the road at the end"),
            figure("cars_on_road", self.cars_on_road, "cars", "on average over time"),
            figure("mean_speed", self.mean_speed, "km/h", "on the road, with all that holds up"),
            figure("trip_time", self.trip_time, "s", "from joining to leaving, mean"),
            figure("trip_length", self.trip_length, "km", "from joining to leaving, mean"),
            count("accidents", self.accidents, "accidents", "that closed the road"),
            count("cars_held", self.cars_held, "times", "a car waited behind an accident"),
            count("jams", self.jams, "times", "a car was slowed down by a jam"),
            count("stops", self.stops, "times", "a car stopped"),
            count("longest_queue", self.longest_queue, "cars", "at one LP at most")
                .of_kind(FigureKind::ExtremeCount),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = |(map, densities): &(Arc<Map>, Vec<f64>)| Picture {
            title: "Cars by road".into(),
            meaning: "Mean cars per kilometer of each portion of a road, and at each junction."
                .into(),
            unit: "cars/km".into(),
            shape: Shape::Map {
                lines: map.lines.clone(),
                names: map.names.clone(),
                values: densities.clone(),
            },
        };
        self.map.iter().map(picture).collect()
    }
}
