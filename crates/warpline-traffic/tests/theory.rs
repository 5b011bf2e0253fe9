//! The model against theory, where there is one: free flow, M/G/infinity, Little's law, Erlang
//! arrivals; and the conservation of cars.
//!
//! Seeds are fixed, so a test passes always or never. Bounds are four standard errors, unless a
//! test says so.
//!
//! # Mutations of the model, each seen red
//!
//! - `leave` hands over without the notice in the stay: free flow is too fast.
//! - `schedule_join` draws one stage with the whole mean: cars join as if Poisson.
//! - `scan` counts a car that is leaving until now: Little's law is off by 2 %.
//! - `admit` draws no speed but the mean: the occupancy is 4 % too low.

use warpline::{Results, Sequential, Simulation};
use warpline_traffic::{model::Traffic, params::TrafficParams, source::Source};

/// The figures of a run.
struct Outcome(Vec<warpline::Figure>);

impl Outcome {
    fn of(params: &TrafficParams, seed: u64, end: f64) -> Self {
        Self::after(params, seed, 0.0, end)
    }

    /// The same, after a warm-up.
    fn after(params: &TrafficParams, seed: u64, warm_up: f64, end: f64) -> Self {
        let model = Traffic::new(params.clone()).expect("sound parameters").into_any();
        let simulation = Simulation::new(model).seed(seed).warm_up(warm_up).end(end);
        let run = simulation.engine(Sequential::default()).run();
        Self(run.expect("a sound run").output.figures())
    }

    fn get(&self, name: &str) -> f64 {
        self.0.iter().find(|figure| figure.name == name).expect("a figure").value
    }
}

/// Mean, variance and standard error of the mean.
fn moments(sample: &[f64]) -> (f64, f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, variance, (variance / n).sqrt())
}

/// Nothing holds a car up.
fn free_flow() -> TrafficParams {
    TrafficParams { jam: 0.0, accidents: 0.0, stop: 0.0, ..TrafficParams::default() }
}

/// One route between two junctions, whose cars leave at its other end.
fn one_route() -> TrafficParams {
    TrafficParams {
        network: Source::Grid { width: 2, height: 1 },
        lps: Some(9),
        interarrival: Some(10.0),
        erlang_stages: 1,
        leave: Some(1.0),
        ..free_flow()
    }
}

/// The mean time per kilometer (s) with the default speeds: 110 +- 20 km/h, between 40 and 180.
fn seconds_per_km() -> f64 {
    const STEPS: i32 = 14_000;
    let (mut weight, mut sum) = (0.0, 0.0);
    for step in 0..STEPS {
        let speed = 40.0 + (f64::from(step) + 0.5) * 140.0 / f64::from(STEPS);
        let density = libm::exp(-0.5 * ((speed - 110.0) / 20.0_f64).powi(2));
        weight += density;
        sum += density * 3_600.0 / speed;
    }
    sum / weight
}

#[test]
fn cars_that_nothing_holds_up_take_length_by_speed() {
    let steady = TrafficParams { speed_deviation: 0.0, lps: Some(300), ..free_flow() };
    let outcome = Outcome::of(&steady, 1, 20_000.0);
    let seconds = outcome.get("trip_length") / 110.0 * 3_600.0;
    assert!((outcome.get("trip_time") / seconds - 1.0).abs() < 1e-6);
    assert!((outcome.get("mean_speed") / 110.0 - 1.0).abs() < 1e-9);
    assert_eq!(outcome.get("jams") + outcome.get("stops") + outcome.get("accidents"), 0.0);
}

/// A road without jams is M/G/infinity: the number of cars is Poisson, and its mean is the arrival
/// rate times the mean time, whatever the distribution of the speeds.
#[test]
fn free_roads_have_a_poisson_number_of_cars() {
    const RUNS: u64 = 300;
    let cars: Vec<f64> = (0..RUNS)
        .map(|seed| Outcome::of(&one_route(), seed, 3_000.0).get("cars_under_way"))
        .collect();
    let (mean, variance, error) = moments(&cars);
    // The junction where a car joins, and the route.
    let expected = 2.0 / 10.0 * 21.0 * seconds_per_km();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} and not {expected} +- {error}");
    // The variance of the sample variance of a normal number is 2 sigma^4 / (n - 1).
    let spread = (2.0 / (RUNS - 1) as f64).sqrt();
    assert!((variance / expected - 1.0).abs() < 4.0 * spread, "{variance} and not {expected}");
}

/// Little's law, with everything that holds cars up: cars on the road = cars per second x time of a
/// trip.
#[test]
fn the_network_keeps_little_s_law() {
    // Trips are short beside the warm-up, so that the network is in its steady state after it.
    let params = TrafficParams { lps: Some(137), leave: Some(0.6), ..TrafficParams::default() };
    let rate = 61.0 / 45.0;
    let ratios: Vec<f64> = (0..16)
        .map(|seed| {
            let outcome = Outcome::after(&params, seed, 30_000.0, 100_000.0);
            assert!(outcome.get("jams") * outcome.get("stops") > 0.0, "nothing holds cars up");
            outcome.get("cars_on_road") / (rate * outcome.get("trip_time"))
        })
        .collect();
    let (mean, _, error) = moments(&ratios);
    assert!(error < 0.01 && (mean - 1.0).abs() < 4.0 * error, "{mean} +- {error}");
}

/// The number of cars that join has the mean of a Poisson process, and its variance by the stages.
#[test]
fn cars_join_in_erlang_distributed_times() {
    const RUNS: u64 = 400;
    for stages in [1, 4] {
        let params = TrafficParams { erlang_stages: stages, ..one_route() };
        let joined: Vec<f64> =
            (0..RUNS).map(|seed| Outcome::of(&params, seed, 1_000.0).get("cars_in")).collect();
        let (mean, variance, error) = moments(&joined);
        // A renewal process that begins with a whole interval lags by (1 - 1 / stages) / 2 cars.
        let expected = 2.0 * (100.0 - 0.5 * (1.0 - 1.0 / f64::from(stages)));
        assert!((mean - expected).abs() < 4.0 * error, "{mean} and not {expected} +- {error}");
        let by_stages = variance / expected * f64::from(stages);
        let spread = (2.0 / (RUNS - 1) as f64).sqrt();
        assert!((by_stages - 1.0).abs() < 4.0 * spread + 0.02, "{stages} stages: {by_stages}");
    }
}

/// TRAFFIC-A to TRAFFIC-C: whatever happens on the way, no car is lost.
#[test]
fn cars_that_joined_left_or_are_under_way() {
    let dense = TrafficParams {
        lps: Some(200),
        capacity: 3.0,
        accidents: 3.0,
        stop: 0.02,
        ..TrafficParams::default()
    };
    let unbounded = TrafficParams { speed_max: f64::INFINITY, ..dense.clone() };
    let endless = TrafficParams { leave: Some(0.0), ..dense.clone() };
    for params in [TrafficParams::default(), dense, unbounded, endless, one_route()] {
        let outcome = Outcome::of(&params, 3, 7_200.0);
        let [joined, left, rest] =
            ["cars_in", "cars_out", "cars_under_way"].map(|f| outcome.get(f));
        assert!(joined > 0.0 && joined == left + rest, "{joined}, {left}, {rest}: {params:?}");
    }
}

/// An accident closes the road: cars that are held up take longer by about its duration.
#[test]
fn accidents_and_stops_hold_cars_up() {
    let free = Outcome::of(&one_route(), 1, 20_000.0);
    let stops = TrafficParams { stop: 0.01, ..one_route() };
    let stops = Outcome::of(&stops, 1, 20_000.0);
    assert!(stops.get("stops") > 100.0);
    let lost = stops.get("cars_on_road") - free.get("cars_on_road");
    // Each stop is one car that stands for 900 s on average.
    let expected = stops.get("stops") * 900.0 / 20_000.0;
    assert!((lost / expected - 1.0).abs() < 0.15, "{lost} and not {expected}");
    let accidents = TrafficParams { accidents: 1.0, capacity: 4.0, ..one_route() };
    let accidents = Outcome::of(&accidents, 1, 20_000.0);
    assert!(accidents.get("accidents") > 5.0 && accidents.get("cars_held") > 100.0);
    assert!(accidents.get("mean_speed") < 0.8 * free.get("mean_speed"));
}

/// The factor is for the first half of the LPs.
#[test]
fn uneven_networks_have_more_cars_in_one_half() {
    let even = Outcome::of(&one_route(), 1, 20_000.0).get("cars_in");
    let uneven = TrafficParams { uneven: 3.0, ..one_route() };
    let uneven = Outcome::of(&uneven, 1, 20_000.0).get("cars_in");
    assert!((uneven / even - 2.0).abs() < 0.1, "{uneven} after {even}");
}
