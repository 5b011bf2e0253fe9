//! Sessions across a network: each rank is a thread with an end of its own, as processes have.

use std::{sync::mpsc, thread};

use warpline::{
    Auto, Conservative, Engine, RunError, Session, Simulation, Speculative, TimeWarp,
    ranks::Transport, settings::Synchronization,
};
use warpline_net::{Faulty, Flip, network};

use super::{apart, check, watched};
use crate::random::{Habit, Mistake, Plain, Spec, Where};

/// A model whose events end, go mostly to other LPs, and write.
fn spec(wrong: Option<(Where, Mistake)>) -> Spec {
    Spec {
        habits: vec![Habit::FanOut(1), Habit::FanOut(2), Habit::FanOut(1), Habit::FloodUntil(9)],
        delays: vec![-1.0, 0.0],
        lookahead: Some(0.5),
        first: 2,
        budget: 60,
        io: [0.05, 0.1],
        wrong,
        lines: std::sync::Arc::default(),
    }
}

fn engines() -> [Engine; 3] {
    let pin = false;
    let edge_capacity = 2;
    let schedule = warpline::settings::Schedule::default();
    let null_messages = Synchronization::NullMessages { edge_capacity, schedule };
    [
        TimeWarp { workers: 2, gvt_interval: 64, pin, ..TimeWarp::default() }.into(),
        Conservative { workers: 2, pin, ..Conservative::default() }.into(),
        Conservative { workers: 1, synchronization: null_messages, pin, ..Conservative::default() }
            .into(),
    ]
}

/// Lets rank 0 do something with a session, and returns how the others ended.
fn across<T: Transport + 'static, R: Send + 'static>(
    ends: Vec<T>,
    engine: &Engine,
    spec: &Spec,
    lead: impl FnOnce(Result<Session<'_, Spec>, RunError>) -> R + Send + 'static,
) -> (R, Vec<Result<(), RunError>>) {
    let mut ends = ends.into_iter();
    let first = ends.next().expect("rank 0");
    let simulation = {
        let (spec, engine) = (spec.clone(), engine.clone());
        move || Simulation::new(spec.clone()).seed(3).engine(engine.clone())
    };
    watched(move || {
        let (done, ended) = mpsc::channel();
        for (rank, end) in (1..).zip(ends) {
            let (done, simulation) = (done.clone(), simulation.clone());
            thread::spawn(move || {
                let outcome = simulation().session_across(&end, None);
                let outcome = outcome.map(|session| assert!(session.is_none(), "rank {rank}"));
                if matches!(outcome, Err(RunError::Net(_))) {
                    end.abandon();
                }
                drop(done.send((rank, outcome)));
            });
        }
        drop(done);
        let session = simulation().session_across(&first, None);
        let has_lost = matches!(session, Err(RunError::Net(_)));
        let led = lead(session.map(|session| session.expect("rank 0 has it")));
        if has_lost {
            first.abandon();
        }
        let mut ended: Vec<(u32, _)> = ended.iter().collect();
        ended.sort_by_key(|(rank, _)| *rank);
        (led, ended.into_iter().map(|(_, outcome)| outcome).collect())
    })
}

/// A network that delays and reorders parcels, but keeps NET-A.
fn slow(ranks: usize, engine: &Engine, seed: u64) -> Vec<impl Transport + use<>> {
    let ends = network(ranks, engine.workers() + 1).into_iter();
    ends.map(|end| Faulty::new(end, seed)).collect()
}

/// Rank 0 stops, looks, branches, saves and goes on, and the others serve; a run of three ranks
/// goes on with two, and with one.
#[test]
fn ranks_serve_a_session() {
    let folder = tempfile::tempdir().expect("a folder");
    for (seed, engine) in (0..).zip(engines()) {
        let (spec, path) = (spec(None), folder.path().join("run.ckpt"));
        let lead = {
            let (spec, path) = (apart(&spec), path.clone());
            move |session: Result<Session<'_, Spec>, RunError>| {
                let mut session = session.expect("it begins");
                session.run_until(1.0).expect("sound");
                check(&session, &spec, 3, 1.0);
                let report = session.report().expect("sound");
                assert_eq!((report.ranks, report.workers % 3), (3, 0));
                let refused = session.set_engine(Engine::default()).expect_err("others have it");
                assert!(refused.to_string().contains("start all of them anew"), "{refused}");
                assert!(session.set_ranks(2).is_err(), "the network has three");
                assert!(session.branch_as(apart(&spec)).is_err(), "they have their model");
                session.run_until(2.5).expect("sound");
                session.save(&path).expect("saved");
                let mut branch = session.branch().expect("copied");
                session.run_events(3).expect("by rank 0 alone");
                session.run_to_end().expect("sound");
                drop(session);
                // The network is there as long as one of them is.
                branch.model().lines.lock().unwrap().retain(|(key, _)| key.time_value() < 2.5);
                branch.run_to_end().expect("sound");
                check(&branch, &spec, 3, f64::INFINITY);
            }
        };
        let ((), others) = across(slow(3, &engine, seed), &engine, &spec, lead);
        assert!(others.iter().all(Result::is_ok), "{others:?}");
        for ranks in [2, 1] {
            let resumed = Simulation::new(apart(&spec)).seed(3).engine(engine.clone());
            let mut session = resumed.ranks(ranks).resume(&path).expect("of this run");
            session.run_to_end().expect("sound");
            let plain = Plain::run(&spec, 3, f64::INFINITY);
            let report = session.report().expect("sound");
            assert_eq!((report.digest, report.ranks), (plain.digest(), ranks));
        }
    }
}

/// What a session reports is what a run in one piece does: the ranks of a crowd that work, and what
/// `auto` is on several ranks.
#[test]
fn sessions_report_what_works() {
    let pin = false;
    let crowd = TimeWarp { workers: 1, pin, ..TimeWarp::default() }.into();
    let auto = Auto { workers: 1, pin, ..Auto::default() }.into();
    let engines: [(Engine, usize); 3] = [(crowd, 1000), (auto, 2), (Engine::default(), 1)];
    for (engine, ranks) in engines {
        let simulation = || Simulation::new(spec(None)).end(1.0).engine(engine.clone());
        let run = simulation().ranks(ranks).run().expect("sound");
        let mut session = simulation().ranks(ranks).session().expect("it begins");
        let begun = session.report().expect("sound");
        session.run_to_end().expect("sound");
        let report = session.report().expect("sound");
        for report in [begun, report] {
            let reported = (report.engine, report.ranks, report.workers);
            assert_eq!(reported, (run.engine, run.ranks, run.workers), "{engine:?}");
        }
    }
}

/// A remark that there were few events counts those of all ranks.
#[test]
fn few_events_are_those_of_all_ranks() {
    let engine = TimeWarp { workers: 2, pin: false, ..TimeWarp::default() };
    let simulation = || Simulation::new(spec(None)).engine(engine.clone()).ranks(2);
    let run = simulation().run().expect("sound");
    let mut session = simulation().session().expect("it begins");
    let step = session.run_to_end().expect("sound");
    for (committed, remarks) in [
        (run.committed_events, &run.details.remarks),
        (step.totals.committed_events, &step.details.remarks),
    ] {
        let few: Vec<_> = remarks.iter().filter(|remark| remark.contains("only ")).collect();
        let right = format!("only {committed} events");
        assert!(few.len() == 1 && few[0].contains(&right), "{right:?} is not: {few:?}");
    }
}

/// A network of one rank is a session without others, on any engine.
#[test]
fn one_rank_needs_no_others() {
    let end = network(1, 3).pop().expect("one rank");
    let simulation = Simulation::new(spec(None)).seed(3).engine(Speculative::default());
    let session = simulation.session_across(&end, None).expect("it begins");
    let mut session = session.expect("this is rank 0");
    session.run_until(1.0).expect("sound");
    session.set_engine(Engine::default()).expect("there are no others");
    session.run_to_end().expect("sound");
    assert_eq!(session.report().expect("sound").ranks, 1);
    check(&session, &spec(None), 3, f64::INFINITY);
}

/// Ranks that are not alike refuse to go on with a checkpoint, and say what differs.
#[test]
fn ranks_that_differ_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ckpt");
    let mut session = Simulation::new(spec(None)).seed(3).session().expect("it begins");
    session.run_until(1.0).expect("sound");
    session.save(&path).expect("saved");
    let mut ends = network(2, 3).into_iter();
    let (first, other) = (ends.next().expect("two"), ends.next().expect("two"));
    let errors = watched(move || {
        let served = thread::spawn(move || {
            let fewer = Spec { habits: vec![Habit::Idle], ..spec(None) };
            let simulation = Simulation::new(fewer).seed(3).engine(engines()[0].clone());
            simulation.session_across(&other, None).map(drop).expect_err("it differs").to_string()
        });
        let simulation = Simulation::new(spec(None)).seed(3).engine(engines()[0].clone());
        let session = simulation.session_across(&first, Some(&path)).expect("rank 0 reads it");
        let error = session.expect("rank 0").run_to_end().expect_err("they differ").to_string();
        [error, served.join().expect("no panic")]
    });
    for error in errors {
        assert!(error.contains("all ranks run the same"), "{error}");
    }
}

/// A step that fails at one rank fails at all, with one error; the session goes back to a snapshot,
/// and the ranks go on.
#[test]
fn a_failed_step_fails_everywhere() {
    let wrong = Some((Where::Event(1, 6), Mistake::Fail));
    for engine in engines() {
        let lead = |session: Result<Session<'_, Spec>, RunError>| {
            let mut session = session.expect("it begins");
            let snapshot = session.snapshot().expect("copied");
            let error = session.run_to_end().expect_err("an LP fails").to_string();
            assert!(session.run_to_end().is_err(), "it has no state");
            session.restore(&snapshot).expect("of this session");
            let again = session.run_to_end().expect_err("an LP fails").to_string();
            assert_eq!(error, again);
            session.restore(&snapshot).expect("of this session");
            session.run_until(0.25).expect("no mistake until then");
            error
        };
        let ends = slow(2, &engine, 5);
        let (error, others) = across(ends, &engine, &spec(wrong), lead);
        let alone = Simulation::new(spec(wrong)).seed(3).run().expect_err("an LP fails");
        let RunError::Model(alone) = alone else { panic!("{alone}") };
        assert!(error.contains(&alone.fault.to_string()), "{error}, and not {alone}");
        assert!(others.iter().all(Result::is_ok), "the last step went well: {others:?}");
    }
}

/// A changed parcel ends the session at all ranks, or changes nothing.
#[test]
fn changed_parcels_are_found() {
    let oracle = Plain::run(&spec(None), 3, f64::INFINITY).digest();
    let mut found = 0;
    for engine in engines() {
        for after in 0..30 {
            let port = engine.workers();
            let flip = Flip { port, after, bit: 200 };
            let mut ends: Vec<_> =
                network(2, port + 1).into_iter().map(|end| Faulty::new(end, 1)).collect();
            let last = ends.pop().expect("two ranks");
            ends.push(last.flipping(flip));
            let lead = |session: Result<Session<'_, Spec>, RunError>| {
                let mut session = session?;
                session.run_until(1.0)?;
                session.run_to_end()?;
                Ok::<_, RunError>(session.report()?.digest)
            };
            let (led, others) = across(ends, &engine, &spec(None), lead);
            match led {
                Ok(digest) => assert_eq!(digest, oracle, "{engine:?}, {after}"),
                Err(RunError::Net(_) | RunError::Rank { .. }) => {
                    found += 1;
                    assert!(others[0].is_err(), "{engine:?}, {after}: {others:?}");
                }
                Err(other) => panic!("{engine:?}, {after}: {other}"),
            }
        }
    }
    assert!(found > 0, "no parcel was changed");
}
