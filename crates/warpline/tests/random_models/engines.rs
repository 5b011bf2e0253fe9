//! Random small models, correct and broken, compared with a second executor that is as simple as
//! possible.
//!
//! A run commits exactly the events that the simple executor commits, or it ends with the error of
//! the one mistake in the model, at its place. The engine, its settings and the pending set change
//! neither, and no run hangs or panics.
//!
//! # Mutations of Time Warp, each seen red
//!
//! - `TimeWarpWorker::cut_off` ends the run at once instead of letting the LP wait
//! - `TimeWarpWorker::leave` delivers no outputs
//! - `TimeWarpWorker::is_next` handles blocking I/O events at once
//! - `Participant::sent` does not count what is sent after the flag was set
//!
//! # Mutations of the conservative engine, each seen red
//!
//! - `WindowWorker::write_outputs` writes lines after the first mistake, or in the wrong order
//! - `WindowWorker::exchange` is not called again after output: the mistake of an output is missed
//! - `WindowWorker::handle_groups` handles an event that an LP sends to itself in a window last, or
//!   loses it at the end
//! - `Schedule::group` sorts no groups, or none of two
//! - `LpView::handle` handles events at the end
//! - `Grid::new` makes windows longer than the lookahead
//! - `WindowSender::accept` does not note the first window of what it sends to others
//! - `WindowShared::mail` has one box for even and odd meetings
//!
//! # Mutations of the speculative engine, each seen red
//!
//! - `annihilate` takes away the last event of a key
//! - `SpeculativeWorker::keep_valid` drops all anti-messages, or keeps all events
//! - `is_same` compares keys only
//! - `SpeculativeWorker::redo_next` does nothing
//! - `SpeculativeWorker::settle_window` goes on although an LP has stopped, or `handle` lets it go
//!   on
//! - `SpeculativeWorker::replay` does not restore the LP, or leaves its outputs
//! - `execute` handles what an LP sends to itself after all other events
//! - `SpeculativeWorker::resize` takes no mail after the barrier: "no end after 60s"

use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use proptest::{option, prelude::*, sample::select};
use warpline::{
    Auto, Balance, Conservative, EventKey, LpId, ModelError, Report, RunError, Sequential,
    Simulation, Speculative, TimeWarp, Width,
    error::Fault,
    pending::PendingKind,
    settings::{CheckpointInterval, Instrumentation, Pool, StateSaving},
};

use crate::{
    random::{self, Line, Mistake, Output, Plain, Spec, Where},
    rankwise, watchdog,
};

fn mistake() -> impl Strategy<Value = Mistake> {
    const DELAYS: &[f64] = &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e-300];
    prop_oneof![
        select(DELAYS).prop_map(Mistake::Delay),
        select(&[f64::NAN, 1e-3, 1e9][..]).prop_map(Mistake::Time),
        Just(Mistake::NoSuchLp),
        Just(Mistake::BrokenLookahead),
        Just(Mistake::Fail),
        Just(Mistake::Panic),
    ]
}

fn place(lps: u32) -> impl Strategy<Value = Where> {
    prop_oneof![
        8 => (0..lps, 0..12_u64).prop_map(|(lp, n)| Where::Event(lp, n)),
        1 => (0..lps).prop_map(Where::MakeLp),
        1 => (0..lps).prop_map(Where::Finish),
        1 => Just(Where::Reduce),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    random::specs(option::of(select(&[0.0, 0.5, 0.5, 1.0][..]))).prop_flat_map(|spec| {
        let wrong = option::of((place(spec.habits.len() as u32), mistake()));
        wrong.prop_map(move |wrong| Spec { wrong, lines: Arc::default(), ..spec.clone() })
    })
}

/// The expected place of the error: the LP, and the event if there is one. `None` if the model
/// never reaches the mistake, or it is not a mistake in this model.
fn expected_error(spec: &Spec, plain: &Plain) -> Option<(Option<LpId>, Option<EventKey>)> {
    let (place, mistake) = spec.wrong?;
    match place {
        Where::MakeLp(lp) | Where::Finish(lp) => return Some((Some(LpId::new(lp)), None)),
        Where::Reduce => return Some((None, None)),
        Where::Event(..) => {}
    }
    let Where::Event(lp, n) = place else { return None };
    let of_lp = |(to, key): &(LpId, EventKey)| (to.get() == lp).then_some(*key);
    let event = match n.checked_sub(1) {
        None => None,
        Some(earlier) => Some(plain.history.iter().filter_map(of_lp).nth(earlier as usize)?),
    };
    match mistake {
        Mistake::BrokenLookahead if !spec.can_break_lookahead() => None,
        _ => Some((Some(LpId::new(lp)), event)),
    }
}

fn is_reported_as(mistake: (Where, Mistake), fault: &Fault) -> bool {
    match mistake {
        (Where::MakeLp(_) | Where::Finish(_) | Where::Reduce, _) | (_, Mistake::Panic) => {
            matches!(fault, Fault::Panicked { message, .. } if message == "broken on purpose")
        }
        (_, Mistake::Delay(x) | Mistake::Time(x)) if x.is_nan() || x == f64::INFINITY => {
            matches!(fault, Fault::NotFinite { .. })
        }
        (_, Mistake::Delay(_) | Mistake::Time(_)) => matches!(fault, Fault::Past { .. }),
        (_, Mistake::NoSuchLp) => matches!(fault, Fault::NoSuchLp { .. }),
        (_, Mistake::BrokenLookahead) => matches!(fault, Fault::BrokenLookahead { .. }),
        (_, Mistake::Fail) => *fault == Fault::Failed("broken on purpose".to_owned()),
    }
}

fn check_report(report: &Report<Output>, plain: &Plain) -> Result<(), TestCaseError> {
    prop_assert_eq!(report.digest, plain.digest());
    prop_assert_eq!(report.committed_events, (plain.history.len() + plain.lines.len()) as u64);
    for ((sent, handled), (lp, ..)) in report.output.iter().zip(&plain.lps) {
        prop_assert_eq!((sent, handled), (&lp.sent, &lp.handled));
    }
    let sent: u64 = report.output.iter().map(|(sent, _)| sent).sum();
    prop_assert_eq!(sent, report.committed_events + plain.pending.len() as u64);
    Ok(())
}

fn time_warp() -> impl Strategy<Value = TimeWarp> {
    let numbers = (
        prop_oneof![1 => Just(1), 9 => 2..=8_usize],
        select(&[1, 3, 16][..]),
        select(&[1, 8, 64, 1024][..]),
    );
    let window = select(&[f64::INFINITY, f64::INFINITY, 0.0, 2.0][..]);
    let balance = select(&[Balance::Off, Balance::Randomly(0.2)][..]);
    let pool = prop_oneof![Just(Pool::default()), Just(Pool::ON_THE_FLY)];
    let policies = (pool, 1..=4_u32, balance);
    (numbers, window, policies, any::<bool>()).prop_map(
        |(numbers, window, policies, as_if_many)| {
            let (workers, batch, gvt_interval) = numbers;
            let (pool, every, balance) = policies;
            let saving = StateSaving::Copy { interval: CheckpointInterval::Every(every) };
            TimeWarp {
                workers,
                batch,
                gvt_interval,
                window,
                pool,
                saving,
                balance,
                instrumentation: Instrumentation { as_if_many, ..Instrumentation::default() },
                ..TimeWarp::default()
            }
        },
    )
}

/// Compares a run with that of the simple executor; returns the error, if one is expected.
fn check(
    run: Result<Report<Output>, RunError>,
    lines: &[Line],
    spec: &Spec,
    plain: &Plain,
) -> Result<Option<ModelError>, TestCaseError> {
    let expected = expected_error(spec, plain);
    match (run, expected) {
        (Ok(report), None) => {
            check_report(&report, plain)?;
            prop_assert_eq!(lines, &plain.lines[..]);
            Ok(None)
        }
        (Err(RunError::Model(error)), Some((lp, event))) => {
            prop_assert_eq!(error.place.event, event, "{}", error);
            prop_assert!(lp.is_none_or(|lp| Some(lp) == error.place.lp), "{}", error);
            prop_assert!(spec.wrong.is_some_and(|w| is_reported_as(w, &error.fault)), "{}", error);
            // The lines before the mistake were written, and no others.
            let is_before = |(key, _): &&Line| match spec.wrong {
                Some((Where::Finish(_) | Where::Reduce, _)) => true,
                _ => event.is_some_and(|event| *key < event),
            };
            let before: Vec<_> = plain.lines.iter().filter(is_before).copied().collect();
            prop_assert_eq!(lines, &before[..]);
            Ok(Some(error))
        }
        (run, _) => Err(TestCaseError::fail(format!("expected {expected:?}, but {run:?}"))),
    }
}

/// The same on several ranks: rank 0 writes the lines of all, and the error is that of one rank,
/// which the others repeat.
fn check_ranks(
    runs: Vec<(Spec, rankwise::Outcome<Spec>)>,
    spec: &Spec,
    plain: &Plain,
) -> Result<(), TestCaseError> {
    let mut lines = Vec::new();
    let mut first = None;
    for (rank, (spec, run)) in runs.into_iter().enumerate() {
        let own = spec.lines.lock().unwrap();
        prop_assert!(rank == 0 || own.is_empty());
        lines.extend(own.iter().copied());
        match run {
            Ok(Some(report)) => first = Some(Ok(report)),
            Ok(None) => prop_assert!(rank > 0 && matches!(first, Some(Ok(_))), "no report"),
            Err(RunError::Rank { .. }) => prop_assert!(!matches!(first, Some(Ok(_)))),
            Err(error) => first = Some(Err(error)),
        }
    }
    let Some(first) = first else { return Err(TestCaseError::fail("nobody says why")) };
    check(first, &lines, spec, plain)?;
    Ok(())
}

/// This many cases, or as many as `PROPTEST_CASES` says.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// A copy of a model that has its own list of lines.
fn apart(spec: &Spec) -> Spec {
    Spec { lines: Arc::default(), ..spec.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(300), ..ProptestConfig::default() })]

    /// KEY-C: all engines give the events the same keys, however they execute them.
    #[test]
    fn runs_agree_with_the_plain_executor(
        spec in spec(),
        seed in any::<u64>(),
        end in prop_oneof![1 => Just(0.0), 9 => select(&[f64::INFINITY, 1.0, 4.5, 50.0][..])],
        time_warp in time_warp(),
        width in select(&[1e-4, 0.3, 1.0, 30.0][..]).prop_map(Some),
    ) {
        let plain = Plain::run(&spec, seed, end);
        let mut errors = Vec::new();
        for &pending in PendingKind::ALL.iter().chain(PendingKind::ALL) {
            let spec = apart(&spec);
            let engine = Sequential { pending };
            let simulation = || Simulation::new(spec.clone()).seed(seed).end(end).engine(engine);
            let run = panic::catch_unwind(AssertUnwindSafe(|| simulation().run()));
            let Ok(run) = run else {
                return Err(TestCaseError::fail(format!("a panic escaped from {pending}")));
            };
            let error = check(run, &spec.lines.lock().unwrap(), &spec, &plain)?;
            errors.extend(error.map(|error| error.to_string()));
        }
        prop_assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");

        let spec = apart(&spec);
        let simulation = Simulation::new(spec.clone()).seed(seed).end(end);
        let run = watchdog::run(simulation.engine(time_warp.clone()));
        check(run, &spec.lines.lock().unwrap(), &spec, &plain)?;

        let moving = Balance::Randomly(0.2);
        for width in [Width::Auto, width.map_or(Width::Auto, Width::Fixed)] {
            let spec = apart(&spec);
            let simulation = Simulation::new(spec.clone()).seed(seed).end(end);
            let (workers, pin) = (time_warp.workers, false);
            let balance = if width == Width::Auto { moving } else { Balance::Off };
            let speculative =
                Speculative { workers, width, pin, balance, ..Speculative::default() };
            let run = watchdog::run(simulation.engine(speculative));
            check(run, &spec.lines.lock().unwrap(), &spec, &plain)?;
        }

        let spec = apart(&spec);
        let simulation = Simulation::new(spec.clone()).seed(seed).end(end);
        let auto = Auto { workers: time_warp.workers, pin: false, ..Auto::default() };
        let run = watchdog::run(simulation.engine(auto));
        check(run, &spec.lines.lock().unwrap(), &spec, &plain)?;

        let spec = apart(&spec);
        let simulation = Simulation::new(spec.clone()).seed(seed).end(end);
        let workers = time_warp.workers;
        let conservative = Conservative { workers, balance: moving, ..Conservative::default() };
        let run = simulation.engine(conservative);
        let run = watchdog::run(run);
        if spec.lookahead.is_some_and(|lookahead| lookahead > 0.0) {
            check(run, &spec.lines.lock().unwrap(), &spec, &plain)?;
        } else {
            let refused = matches!(&run, Err(RunError::Config(error)) if error.key == "engine");
            prop_assert!(refused, "{run:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn runs_on_several_ranks_agree_with_the_plain_executor(
        spec in spec(),
        seed in any::<u64>(),
        end in prop_oneof![1 => Just(0.0), 9 => select(&[f64::INFINITY, 1.0, 4.5, 50.0][..])],
        ranks in 2..=3_usize,
        time_warp in time_warp(),
    ) {
        let plain = Plain::run(&spec, seed, end);
        let workers = 1 + time_warp.workers % 2;
        let time_warp = TimeWarp { workers, balance: Balance::Off, ..time_warp };
        let all: Vec<Spec> = (0..ranks).map(|_| apart(&spec)).collect();
        let set = |spec: &Spec| {
            Simulation::new(spec.clone()).seed(seed).end(end).engine(time_warp.clone())
        };
        let runs = rankwise::run(workers, all.iter().map(set).collect());
        check_ranks(all.into_iter().zip(runs).collect(), &spec, &plain)?;

        if spec.lookahead.is_none_or(|lookahead| lookahead == 0.0) {
            return Ok(());
        }
        let all: Vec<Spec> = (0..ranks).map(|_| apart(&spec)).collect();
        let set = |spec: &Spec| {
            let simulation = Simulation::new(spec.clone()).seed(seed).end(end);
            simulation.engine(Conservative { workers, ..Conservative::default() })
        };
        let runs = rankwise::run(workers, all.iter().map(set).collect());
        check_ranks(all.into_iter().zip(runs).collect(), &spec, &plain)?;
    }
}
