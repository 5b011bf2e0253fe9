//! The queues against theory: the product form of closed networks (Gordon and Newell), chains of
//! M/M/c queues (Burke, Erlang).
//!
//! # Mutations of the model, each seen red
//!
//! - `Station::release` does not serve who waits: "QUEUE-A"
//! - `Station::admit` takes one server more: the utilization is above that of theory

use warpline::replication::{Estimate, Replications};
use warpline_models::queues::{Layout, QueuesOutput, QueuesParams};

mod typed;

fn estimate(runs: &Replications<QueuesOutput>, figure: fn(&QueuesOutput) -> f64) -> Estimate {
    Estimate::of(runs.reports.iter().map(|report| figure(&report.output)))
}

/// Asserts that the confidence interval covers the theory and is narrow; a wide one would show
/// little.
#[track_caller]
fn assert_estimates(name: &str, found: Estimate, theory: f64, relative_half_width: f64) {
    assert!(found.covers(theory), "{name}: {found:?}, but theory says {theory}");
    let limit = relative_half_width * theory;
    assert!(found.half_width < limit, "{name}: {found:?} is not narrower than {limit}");
}

/// The rate at which each station of a closed network serves, for a mean service time of 1.
///
/// The probability of a state is a product of a factor for each station, and one for the customers
/// on their way (a station with a server for each). The constants that these add up to are found by
/// convolution (Buzen 1973).
fn closed_throughput(stations: usize, servers: u32, customers: usize, transit: f64) -> f64 {
    let factors = |rate: &dyn Fn(f64) -> f64, first: f64| {
        let mut all = vec![1.0];
        for k in 1..=customers {
            all.push(all[k - 1] * first / rate(k as f64));
        }
        all
    };
    let station = factors(&|k| k.min(f64::from(servers)), 1.0);
    // All ways together are used as often as all stations.
    let mut sums = factors(&|k| k, transit * stations as f64);
    for _ in 0..stations {
        let convolve = |n: usize| (0..=n).map(|k| station[k] * sums[n - k]).sum();
        sums = (0..=customers).map(convolve).collect();
    }
    sums[customers - 1] / sums[customers]
}

/// The mean wait in an M/M/c queue with a mean service time of 1 (Erlang's second formula).
fn erlang_wait(servers: u32, load: f64) -> f64 {
    let (c, offered) = (f64::from(servers), load * f64::from(servers));
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 0..servers {
        sum += term;
        term *= offered / f64::from(k + 1);
    }
    let waits = term / (1.0 - load);
    waits / (sum + waits) / (c * (1.0 - load))
}

#[test]
fn theory_by_hand() {
    // One customer: it is always served somewhere.
    assert!((closed_throughput(4, 1, 1, 0.0) - 0.25).abs() < 1e-12);
    // Two customers and two stations, one server each: three states, of which one is idle here.
    assert!((closed_throughput(2, 1, 2, 0.0) - 2.0 / 3.0).abs() < 1e-12);
    // M/M/1: load / (1 - load).
    assert!((erlang_wait(1, 0.75) - 3.0).abs() < 1e-12);
    // M/M/2: load² / (1 - load²).
    assert!((erlang_wait(2, 0.5) - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn closed_networks_have_the_product_form() {
    let cases = [(8, 2, 24, 0.0), (5, 1, 5, 0.0), (6, 3, 30, 0.5), (64, 2, 256, 0.0)];
    for (seed, (stations, servers, customers, transit)) in (41..).zip(cases) {
        let layout = Layout::Closed;
        let name = format!("{stations} stations, {servers} servers, {customers} customers");
        let params = QueuesParams {
            layout,
            stations,
            servers,
            customers,
            transit,
            ..QueuesParams::default()
        };
        let end = 100.0 + 80_000.0 / (stations as f64 * f64::from(servers));
        let runs = typed::replicate(params, seed, 100.0..end, 12);
        let rate = closed_throughput(stations, servers, customers, transit);
        let found = estimate(&runs, |output| output.throughput);
        assert_estimates(&format!("throughput, {name}"), found, rate * stations as f64, 0.01);
        let found = estimate(&runs, |output| output.utilization);
        assert_estimates(&format!("utilization, {name}"), found, rate / f64::from(servers), 0.01);
        // Little's law.
        let here = customers as f64 / stations as f64 - rate * transit;
        let found = estimate(&runs, |output| output.sojourn_mean);
        assert_estimates(&format!("sojourn, {name}"), found, here / rate, 0.02);
        let found = estimate(&runs, |output| output.customers_mean);
        assert!((found.mean / here - 1.0).abs() < 0.01, "{name}: {found:?}, not {here}");
    }
}

#[test]
fn chains_are_queues_in_series() {
    let cases = [(5, 1, 0.7, 0.0), (3, 4, 0.8, 2.0), (4, 2, 0.5, 0.0)];
    for (seed, (stations, servers, load, transit)) in (31..).zip(cases) {
        let name = format!("{stations} stations, {servers} servers, load {load}");
        let params = QueuesParams {
            layout: Layout::Chain,
            stations,
            servers,
            load,
            transit,
            ..QueuesParams::default()
        };
        let runs = typed::replicate(params, seed, 500.0..500.0 + 40_000.0 / f64::from(servers), 12);
        let found = estimate(&runs, |output| output.utilization);
        assert_estimates(&format!("utilization, {name}"), found, load, 0.01);
        let wait = erlang_wait(servers, load);
        let found = estimate(&runs, |output| output.waiting_mean);
        assert_estimates(&format!("wait, {name}"), found, wait, 0.06);
        let trip = stations as f64 * (1.0 + wait) + (stations - 1) as f64 * transit;
        let found = estimate(&runs, |output| output.trip_mean);
        assert_estimates(&format!("trip, {name}"), found, trip, 0.04);
    }
}

/// Two customers at two stations that nothing else happens at: each goes to the other station.
#[test]
fn nobody_comes_back_at_once() {
    let params = QueuesParams { stations: 2, customers: 1, ..QueuesParams::default() };
    let runs = typed::replicate::<QueuesOutput>(params, 1, 0.0..1_000.0, 1);
    let output = &runs.reports[0].output;
    assert_eq!((output.longest_queue, output.waiting_mean), (0, 0.0));
    assert!((output.stations[0] - output.stations[1]).abs() < 0.1, "{:?}", output.stations);
}
