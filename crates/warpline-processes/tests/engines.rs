//! Processes come to the same on every engine: digests, and what is observed, bit for bit.

use std::collections::BTreeMap;

use warpline::{
    Auto, Conservative, Engine, Figure, Model, Only, Report, Results, SavingCheck, Sequential,
    Simulation, Speculative, Statistics, TimeWarp,
    settings::{Instrumentation, Schedule, Synchronization},
};
use warpline_processes::{EventLog, Observations, Processes, World};

#[path = "../examples/hand_written/bank.rs"]
mod bank;
#[path = "../examples/closed_network.rs"]
#[allow(dead_code, reason = "the test has no use for what it prints")]
mod closed_network;
#[path = "../examples/hand_written/network.rs"]
mod network;
#[path = "engines/workshop.rs"]
mod workshop;

const SEED: u64 = 11;

fn null_messages() -> Conservative {
    let (edge_capacity, schedule) = (4, Schedule::default());
    let synchronization = Synchronization::NullMessages { edge_capacity, schedule };
    Conservative { workers: 2, pin: false, synchronization, ..Conservative::default() }
}

/// Each engine, so that much is undone where something can be.
fn engines() -> Vec<Engine> {
    let pin = false;
    let time_warp = TimeWarp { workers: 2, pin, gvt_interval: 16, ..TimeWarp::default() };
    let in_turn = Instrumentation { in_turn: true, ..Instrumentation::default() };
    vec![
        SavingCheck.into(),
        Conservative { workers: 2, pin, ..Conservative::default() }.into(),
        time_warp.clone().into(),
        TimeWarp { workers: 3, instrumentation: in_turn, ..time_warp }.into(),
        Speculative { workers: 2, pin, ..Speculative::default() }.into(),
        Auto { workers: 2, pin, ..Auto::default() }.into(),
    ]
}

/// The figures of a result, bit for bit.
fn figure_bits<O: Statistics>(output: &Observations<O>) -> Vec<(String, u64)> {
    let bits = |figure: Figure| (figure.name.into_owned(), figure.value.to_bits());
    output.figures().into_iter().map(bits).collect()
}

fn simulation<M: Model>(model: M, engine: impl Into<Engine>, end: f64) -> Simulation<'static, M> {
    Simulation::new(model).engine(engine).seed(SEED).end(end)
}

/// Runs a model without processes.
fn by_hand<M: Model>(model: M, end: f64) -> Report<M::Output> {
    let model = Only::<Sequential, _>::new(model);
    Simulation::new(model).seed(SEED).end(end).run().expect("sound")
}

/// Runs a world on each engine and on ranks, and returns the report of the sequential one.
fn check_everywhere<W: World + Clone>(world: &W, end: f64) -> Report<Observations<W::Observed>> {
    let run = |engine: Engine, ranks: usize| {
        let model = Processes::new(world.clone());
        simulation(model, engine, end).ranks(ranks).run().expect("sound")
    };
    let right = run(Sequential::default().into(), 1);
    let check = |engine: Engine, ranks: usize| {
        let report = run(engine.clone(), ranks);
        assert_eq!(report.digest, right.digest, "{engine:?} on {ranks} ranks");
        assert_eq!(
            figure_bits(&report.output),
            figure_bits(&right.output),
            "{engine:?} on {ranks} ranks"
        );
    };
    for engine in engines() {
        check(engine, 1);
    }
    let time_warp = TimeWarp { workers: 1, pin: false, ..TimeWarp::default() };
    let windows = Conservative { workers: 1, pin: false, ..Conservative::default() };
    check(time_warp.into(), 2);
    check(windows.into(), 3);
    if world.links(warpline::LpId::from_index(0)).is_some() {
        check(null_messages().into(), 1);
    }
    right
}

#[test]
fn a_workshop_is_the_same_everywhere() {
    let report = check_everywhere(&workshop::Workshop, 100.0);
    // All that can happen does.
    for figure in ["late", "broken", "preempted", "interrupted", "ordered", "starved"] {
        let figures = report.output.figures();
        let found = figures.iter().find(|of| of.name == figure).expect("a figure");
        assert!(found.value >= 10.0, "{figure}: {}", found.value);
    }
    let machines = report.output.usage("machine").expect("there are machines");
    assert!((0.3..2.0).contains(&machines.in_use.mean()), "{machines:?}");
}

/// A run that stops, is written to a file, and goes on elsewhere is the same run.
#[test]
fn a_workshop_stops_and_goes_on() {
    let run = |engine: Engine| simulation(Processes::new(workshop::Workshop), engine, 60.0);
    let right = run(Sequential::default().into()).run().expect("sound");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("workshop.ckpt");
    for engine in engines().into_iter().skip(1) {
        let mut session = run(engine.clone()).session().expect("sound");
        session.run_until(17.3).expect("sound");
        session.save(&file).expect("written");
        let mut session = run(engine.clone()).resume(&file).expect("read");
        session.run_until(41.0).expect("sound");
        session.set_engine(Sequential::default()).expect("known");
        session.run_to_end().expect("sound");
        let report = session.report().expect("sound");
        assert_eq!(report.digest, right.digest, "{engine:?}");
        assert_eq!(figure_bits(&report.output), figure_bits(&right.output), "{engine:?}");
    }
}

/// The same events as those of a model that is written by hand, and the same observations.
#[test]
fn a_bank_is_the_bank_by_hand() {
    let bank = bank::Bank {
        branches: 8,
        tellers: 3,
        interarrival: 0.35,
        service: 1.0,
        patience: 1.5,
        walk: 0.5,
        way: 0.5,
    };
    let report = check_everywhere(&bank, 120.0);
    let by_hand = by_hand(bank::ByHand(bank), 120.0);
    assert_eq!(report.digest, by_hand.digest);
    let (observed, [in_use, queue]) = by_hand.output;
    assert_eq!(report.output.observed, observed);
    let tellers = report.output.usage("teller").expect("there are tellers");
    assert_eq!((tellers.in_use, tellers.waiting), (in_use, queue));
    assert!(observed.reneged.count() > 100, "{observed:?}");
}

#[test]
fn a_network_is_the_network_by_hand() {
    let network = closed_network::Network { stations: 16, customers: 48, service: 1.0, way: 0.3 };
    let report = check_everywhere(&network, 150.0);
    let by_hand = by_hand(network::ByHand(network), 150.0);
    assert_eq!(report.digest, by_hand.digest);
    let (served, [in_use, queue]) = by_hand.output;
    assert_eq!(report.output.observed.served, served);
    let servers = report.output.usage("server").expect("there are servers");
    assert_eq!((servers.in_use, servers.waiting), (in_use, queue));
}

/// The event log is the same on every engine, row by row, and tells the life of each process.
#[test]
fn an_event_log_tells_lives() {
    let rows = |engine: Engine| {
        let log = EventLog::in_memory();
        let model = Processes::new(workshop::Workshop).event_log(&log);
        simulation(model, engine, 40.0).run().expect("sound");
        log.take_rows()
    };
    let right = rows(Sequential::default().into());
    for engine in engines().into_iter().skip(1) {
        assert_eq!(rows(engine.clone()), right, "{engine:?}");
    }
    let mut lives: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    let mut users: BTreeMap<(u32, &str, u32), u64> = BTreeMap::new();
    for row in &right {
        lives.entry(row.entity_id).or_default().push(&row.event);
        let Some(unit) = row.resource_id else { continue };
        let (verb, resource) = row.event.split_once('_').expect("a verb and a resource");
        let unit = (row.site, resource, unit);
        match verb {
            "use" => assert_eq!(users.insert(unit, row.entity_id), None, "{row:?}"),
            _ => assert_eq!(users.remove(&unit), Some(row.entity_id), "{row:?}"),
        }
    }
    for life in lives.values() {
        assert_eq!(life[0], "arrival");
        let departs = life.iter().position(|event| *event == "depart");
        assert!(departs.is_none_or(|at| at == life.len() - 1), "{life:?}");
    }
    for event in ["travel", "queue_parts", "give_up_parts", "use_machine", "release_crane"] {
        assert!(right.iter().any(|row| row.event == event), "{event}");
    }
    let times: Vec<_> = right.iter().map(|row| row.time).collect();
    assert!(times.is_sorted());
}
