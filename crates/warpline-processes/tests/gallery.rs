//! The examples against theory: what a run finds lies within its own uncertainty of it, and that
//! is a few percent at the most.

#![allow(clippy::duplicate_mod, reason = "each example has the module that they share")]

use std::{fs, path::Path};

use warpline::{Only, Sequential, Simulation};
use warpline_processes::{EventLog, Observations, Processes, World};

#[path = "../examples/car_wash.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod car_wash;
#[path = "../examples/closed_network.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod closed_network;
#[path = "../examples/emergency.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod emergency;
#[path = "../examples/inventory.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod inventory;
#[path = "../examples/machine_shop.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod machine_shop;
#[path = "../examples/priority.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod priority;
#[path = "../examples/tellers.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod tellers;
#[path = "../examples/token_ring.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod token_ring;

const SEEDS: u64 = 8;
/// Of Student's distribution with 7 degrees of freedom: outside of it, two of 10 000 runs.
const DEVIATIONS: f64 = 7.0;

/// Runs a world with several seeds, and compares what it finds with theory.
fn check<W: World + Clone, const N: usize>(
    world: &W,
    end: f64,
    found: impl Fn(&Observations<W::Observed>) -> [f64; N],
    theory: [f64; N],
    percent: f64,
) {
    let runs: Vec<[f64; N]> = (0..SEEDS)
        .map(|seed| {
            let model = Only::<Sequential, _>::new(Processes::new(world.clone()));
            let run = Simulation::new(model).seed(seed).warm_up(0.1 * end).end(end).run();
            found(&run.expect("sound").output)
        })
        .collect();
    for place in 0..N {
        let values: Vec<f64> = runs.iter().map(|run| run[place]).collect();
        let count = SEEDS as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let error = (squares / (count - 1.0) / count).sqrt();
        let right = theory[place];
        let what = format!("figure {place}: {mean} +- {error}, and by theory {right}");
        assert!((mean - right).abs() < DEVIATIONS * error, "{what}");
        assert!(error < 0.01 * percent * right, "too wide: {what}");
    }
}

#[test]
fn a_bank_has_the_queue_of_erlang_a() {
    let bank = tellers::Bank::EXAMPLE;
    check(&bank, 500.0, |found| [tellers::Bank::queue(found)], [bank.queue_by_theory()], 2.0);
}

#[test]
fn a_machine_shop_works_while_it_is_up() {
    use machine_shop::Shop;
    let shop = Shop::EXAMPLE;
    check(&shop, 20_000.0, |found| [Shop::parts(found)], [shop.parts_by_theory()], 1.0);
}

#[test]
fn a_closed_network_has_the_throughput_of_mean_values() {
    use closed_network::Network;
    let network = Network::EXAMPLE;
    check(&network, 400.0, |found| [Network::rate(found)], [network.rate_by_theory()], 1.0);
}

#[test]
fn an_inventory_has_its_stock() {
    use inventory::Shops;
    let shops = Shops::EXAMPLE;
    check(&shops, 500.0, |found| [Shops::stock(found)], [shops.stock_by_theory()], 2.0);
}

#[test]
fn urgent_customers_go_first() {
    use priority::Desks;
    let desks = Desks::EXAMPLE;
    check(&desks, 3_000.0, Desks::times, desks.times_by_theory(), 2.0);
}

#[test]
fn a_token_serves_all_stations() {
    use token_ring::Rings;
    let rings = Rings::EXAMPLE;
    check(&rings, 3_000.0, |found| [Rings::wait(found)], [rings.wait_by_theory()], 2.0);
}

#[test]
fn a_car_wash_is_a_queue_with_constant_times() {
    use car_wash::Wash;
    let wash = Wash::EXAMPLE;
    check(&wash, 6_000.0, |found| [Wash::wait(found)], [wash.wait_by_theory()], 3.0);
}

#[test]
fn an_emergency_department_is_a_network_of_queues() {
    use emergency::Hospitals;
    let hospitals = Hospitals::EXAMPLE;
    check(&hospitals, 30_000.0, Hospitals::waits, hospitals.waits_by_theory(), 4.0);
}

/// The twins of these examples in Python commit the same: their tests expect these digests, too
/// (`crates/warpline-python/tests/test_process_gallery.py`).
#[test]
fn the_digests_are_those_of_the_twins_in_python() {
    fn digest<W: World + Clone>(world: &W, end: f64) -> String {
        let model = Only::<Sequential, _>::new(Processes::new(world.clone()));
        let report = Simulation::new(model).seed(7).end(end).run().expect("sound");
        report.digest.to_string()
    }
    let found = [
        ("machine_shop", digest(&machine_shop::Shop::EXAMPLE, 2_000.0)),
        ("closed_network", digest(&closed_network::Network::EXAMPLE, 50.0)),
        ("inventory", digest(&inventory::Shops::EXAMPLE, 60.0)),
        ("priority", digest(&priority::Desks::EXAMPLE, 100.0)),
        ("token_ring", digest(&token_ring::Rings::EXAMPLE, 200.0)),
        ("car_wash", digest(&car_wash::Wash::EXAMPLE, 500.0)),
        ("emergency", digest(&emergency::Hospitals::EXAMPLE, 500.0)),
    ];
    let expected = [
        ("machine_shop", "6fea774b8a1fb3e6"),
        ("closed_network", "744ce1df73a9da2d"),
        ("inventory", "c85a637cb119e32b"),
        ("priority", "4d791e038f26561e"),
        ("token_ring", "c4ca91aed51ab2b9"),
        ("car_wash", "c927d0d18fd3d38e"),
        ("emergency", "b94155c71a3b24e8"),
    ];
    assert_eq!(found.each_ref().map(|(name, digest)| (*name, digest.as_str())), expected);
}

/// The log beside the example is what it writes.
#[test]
fn an_event_log_is_as_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.csv");
    let log = EventLog::file(&path).expect("a file");
    let model = Processes::new(emergency::Hospitals::SMALL).event_log(&log);
    let model = Only::<Sequential, _>::new(model);
    Simulation::new(model).seed(1).end(240.0).run().expect("sound");
    log.finish().expect("written");
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/emergency.csv");
    let read = |path: &Path| fs::read_to_string(path).expect("a text");
    let (written, stored) = (read(&path), read(stored.as_ref()));
    assert!(written == stored, "run the example with the name of the stored file, and read it");
    // Another format is said, and no file is left.
    let error = EventLog::file(folder.path().join("log.xes")).expect_err("an unknown format");
    assert!(error.to_string().contains(".csv"), "{error}");
}

/// The same log as a Parquet file has as many rows.
#[cfg(feature = "parquet")]
#[test]
fn an_event_log_is_a_parquet_file() {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.parquet");
    let log = EventLog::file(&path).expect("a file");
    let model = Processes::new(emergency::Hospitals::SMALL).event_log(&log);
    Simulation::new(Only::<Sequential, _>::new(model)).seed(1).end(240.0).run().expect("sound");
    log.finish().expect("written");
    let stored = include_str!("../examples/emergency.csv");
    let file = SerializedFileReader::new(fs::File::open(&path).unwrap()).expect("a Parquet file");
    let metadata = file.metadata().file_metadata();
    assert_eq!(metadata.num_rows() as usize, stored.lines().count() - 1);
    let columns = metadata.schema_descr();
    let columns: Vec<_> = columns.columns().iter().map(|column| column.name()).collect();
    assert_eq!(columns, stored.lines().next().unwrap().split(',').collect::<Vec<_>>());
}
