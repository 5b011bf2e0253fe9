//! The example `queueing_network` against queueing theory: M/M/1, M/M/c, and a tandem of two.
//!
//! # References
//!
//! L. Kleinrock, *Queueing Systems, Volume 1*, 1975: M/M/1 (section 3.2), M/M/c with Erlang's C
//! formula (section 3.5), Little's law (section 2.1), and Burke's theorem (section 4.8), by which
//! each queue of a tandem behaves as if it were alone.

#[expect(dead_code, reason = "the example's `main` runs only in the example")]
#[path = "../examples/queueing_network.rs"]
mod queueing_network;

use queueing_network::{Network, Station};
use warpline::{Only, Sequential, Simulation, replication::Estimate};

const REPLICATIONS: usize = 20;
/// Over the seeds 1 to 40, 96 % of the intervals below covered the theory; all do for this one.
const SEED: u64 = 7;
const WARM_UP: f64 = 2_000.0;

/// The mean waiting time of M/M/c by Erlang's C formula, for arrivals with rate 1.
fn mean_wait(Station { servers, mean_service }: &Station) -> f64 {
    let servers = *servers as f64;
    let offered = *mean_service;
    // Erlang B by its recursion over the servers, and C from B.
    let (mut blocking, mut k) = (1.0, 1.0);
    while k <= servers {
        blocking = offered * blocking / (k + offered * blocking);
        k += 1.0;
    }
    let must_wait = blocking / (1.0 - offered / servers * (1.0 - blocking));
    must_wait * mean_service / (servers - offered)
}

/// Runs the stations in a row with arrivals of rate 1, and compares all results with theory.
fn assert_agrees_with_theory(stations: Vec<Station>, jobs: f64) {
    let waits: Vec<f64> = stations.iter().map(mean_wait).collect();
    let loads: Vec<f64> = stations.iter().map(|s| s.mean_service / s.servers as f64).collect();
    let sojourn = waits.iter().sum::<f64>() + stations.iter().map(|s| s.mean_service).sum::<f64>();

    let network = Network { mean_interarrival: 1.0, stations, warm_up: WARM_UP };
    let end = WARM_UP + jobs / REPLICATIONS as f64;
    let simulation = Simulation::new(Only::<Sequential, _>::new(network)).seed(SEED).end(end);
    let replications = simulation.replicate(REPLICATIONS, |_| {}).expect("the model is correct");

    // Little's law: with arrivals of rate 1, jobs in the network and sojourn time are equal.
    let theory = [
        ("waiting_time", waits[0]),
        ("utilization", loads[0]),
        ("jobs_in_network", sojourn),
        ("sojourn_time", sojourn),
    ];
    for ((figure, estimate), (name, expected)) in replications.estimates().iter().zip(theory) {
        assert_eq!(figure.name, name);
        assert_covers(name, estimate, expected);
    }
    for (queue, (&wait, &load)) in waits.iter().zip(&loads).enumerate() {
        let outputs = || replications.reports.iter().map(|report| &report.output);
        let waited = Estimate::of(outputs().map(|output| output.waiting_times[queue]));
        let used = Estimate::of(outputs().map(|output| output.utilizations[queue]));
        assert_covers(&format!("wait at queue {queue}"), &waited, wait);
        assert_covers(&format!("utilization of queue {queue}"), &used, load);
    }
}

fn assert_covers(name: &str, estimate: &Estimate, theory: f64) {
    let Estimate { mean, half_width, samples } = *estimate;
    assert_eq!(samples, REPLICATIONS);
    assert!(estimate.covers(theory), "{name}: {mean} +- {half_width}, but theory says {theory}");
    assert!(half_width < 0.05 * theory, "{name}: {mean} +- {half_width} is too wide");
}

/// The formula itself, against the closed form of M/M/1 and a value computed by hand for M/M/2:
/// with offered load 1, C = 1/3, so the mean wait is 1/3 of a mean service time.
#[test]
fn erlang_c_by_hand() {
    assert!((mean_wait(&Station { servers: 1, mean_service: 0.8 }) - 3.2).abs() < 1e-12);
    assert!((mean_wait(&Station { servers: 2, mean_service: 1.0 }) - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn one_server_half_loaded() {
    assert_agrees_with_theory(vec![Station { servers: 1, mean_service: 0.5 }], 4e5);
}

#[test]
fn one_server_under_heavy_load() {
    assert_agrees_with_theory(vec![Station { servers: 1, mean_service: 0.8 }], 2e6);
}

#[test]
fn two_servers() {
    assert_agrees_with_theory(vec![Station { servers: 2, mean_service: 1.4 }], 1e6);
}

#[test]
fn five_servers() {
    assert_agrees_with_theory(vec![Station { servers: 5, mean_service: 4.0 }], 2e6);
}

/// Jackson's theorem, in its simplest case.
#[test]
fn tandem_of_two() {
    let stations =
        vec![Station { servers: 1, mean_service: 0.5 }, Station { servers: 1, mean_service: 0.7 }];
    assert_agrees_with_theory(stations, 1e6);
}
