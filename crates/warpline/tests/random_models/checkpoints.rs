//! Checkpoints: a run goes on in another program, on any engine, as if it had not stopped; and a
//! file that is damaged, or of another run, is refused with a clear error.
//!
//! # Mutations, each seen red
//!
//! - `write_lp` leaves out the random stream, or the count of what the LP has sent
//! - `write_all` begins a new block without writing the last one
//! - `checksum` leaves out the kind, `next` does not compare it
//! - `keep_as_previous` does nothing
//! - `check` compares no parameters

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use proptest::{prelude::*, sample::select};
use warpline::{
    Auto, Conservative, Engine, Sequential, Session, Simulation, Speculative, TimeWarp,
    session::Checkpoint,
};

use crate::random::{Habit, Plain, Spec};

fn spec(budget: u64) -> Spec {
    Spec {
        habits: vec![Habit::FanOut(2), Habit::FanOut(1), Habit::FloodUntil(5), Habit::Idle],
        delays: vec![-1.0, 0.5, 0.0],
        lookahead: Some(0.25),
        first: 3,
        budget,
        io: [0.1, 0.2],
        wrong: None,
        lines: Arc::default(),
    }
}

fn apart(spec: &Spec) -> Spec {
    Spec { lines: Arc::default(), ..spec.clone() }
}

fn engines() -> Vec<Engine> {
    let pin = false;
    vec![
        Sequential::default().into(),
        Speculative { workers: 3, pin, ..Speculative::default() }.into(),
        TimeWarp { workers: 3, ..TimeWarp::default() }.into(),
        Conservative { workers: 2, pin, ..Conservative::default() }.into(),
        Auto { workers: 2, pin, ..Auto::default() }.into(),
    ]
}

fn takes_ranks(engine: &Engine) -> bool {
    matches!(engine, Engine::Auto(_) | Engine::Conservative(_) | Engine::TimeWarp(_))
}

fn simulation(spec: &Spec, seed: u64, engine: Engine) -> Simulation<'static, Spec> {
    Simulation::new(apart(spec)).seed(seed).engine(engine)
}

/// A checkpoint of a session that has come to this time.
fn saved(spec: &Spec, seed: u64, until: f64, path: &Path) -> Session<'static, Spec> {
    let mut session = simulation(spec, seed, Sequential::default().into()).session().unwrap();
    session.run_until(until).unwrap();
    session.save(path).unwrap();
    session
}

/// Why a run cannot go on with a checkpoint.
fn refusal(spec: &Spec, seed: u64, path: &Path) -> String {
    let resumed = simulation(spec, seed, Sequential::default().into()).resume(path);
    resumed.map(|_| ()).expect_err("it is refused").to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Saved anywhere, by any engine on any ranks, and resumed by any other: the same digest and
    /// the same output.
    #[test]
    fn runs_go_on_from_files(
        seed in any::<u64>(),
        budget in 1..60_u64,
        stops in proptest::collection::vec((0.0..4.0_f64, 0..20_u64), 1..4),
        engines in proptest::collection::vec((select(engines()), 1..=3_usize), 8),
    ) {
        let (folder, spec) = (tempfile::tempdir().unwrap(), spec(budget));
        let path = folder.path().join("run.ckpt");
        let mut lines = Vec::new();
        let mut engines = engines.into_iter().cycle();
        let mut next = || {
            let (engine, ranks) = engines.next().unwrap();
            let ranks = if takes_ranks(&engine) { ranks } else { 1 };
            simulation(&spec, seed, engine).ranks(ranks)
        };
        let mut session = next().session().unwrap();
        for (by, events) in stops {
            session.run_until(session.now().unwrap().get() + by).unwrap();
            session.run_events(events).unwrap();
            session.save(&path).unwrap();
            lines.append(&mut session.model().lines.lock().unwrap());
            let now = session.now().unwrap();
            let committed = session.report().unwrap().committed_events;
            session = next().resume(&path).unwrap();
            prop_assert_eq!(session.now().unwrap(), now);
            prop_assert_eq!(session.report().unwrap().committed_events, committed);
        }
        session.run_to_end().unwrap();
        lines.append(&mut session.model().lines.lock().unwrap());
        let (plain, report) = (Plain::run(&spec, seed, f64::INFINITY), session.report().unwrap());
        prop_assert_eq!(report.digest, plain.digest());
        prop_assert_eq!(report.committed_events, (plain.history.len() + plain.lines.len()) as u64);
        prop_assert_eq!(lines, plain.lines);
    }
}

/// CKPT-B: no byte can be changed, and none can be missing.
#[test]
fn damaged_files_are_refused() {
    let (folder, spec) = (tempfile::tempdir().unwrap(), spec(4));
    let path = folder.path().join("run.ckpt");
    let session = saved(&spec, 7, 1.0, &path);
    let attached = || {
        let resumed = simulation(&spec, 7, Sequential::default().into()).resume(&path);
        resumed.unwrap().attached().to_owned()
    };
    assert!(attached().is_empty());
    session.save_with(&path, b"of the caller").unwrap();
    assert_eq!(attached(), b"of the caller");
    let whole = fs::read(&path).unwrap();
    assert!(refusal_of(&spec, &path, &whole).is_none());
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        let refusal = refusal_of(&spec, &path, &bytes).unwrap_or_default();
        assert!(refusal.contains("run.ckpt: it "), "byte {place}: {refusal:?}");
    }
    for len in 0..whole.len() {
        let refusal = refusal_of(&spec, &path, &whole[..len]).unwrap_or_default();
        assert!(refusal.contains("run.ckpt: it "), "{len} bytes: {refusal:?}");
    }
    let longer: Vec<_> = whole.iter().copied().chain([0]).collect();
    assert!(refusal_of(&spec, &path, &longer).is_some(), "a byte more");
}

fn refusal_of(spec: &Spec, path: &Path, bytes: &[u8]) -> Option<String> {
    fs::write(path, bytes).unwrap();
    let resumed = simulation(spec, 7, Sequential::default().into()).resume(path);
    resumed.err().map(|error| error.to_string())
}

/// CKPT-A: the file before the last one is kept, and named where the last one is damaged.
#[test]
fn the_one_before_is_kept() {
    let (folder, spec) = (tempfile::tempdir().unwrap(), spec(4));
    let path = folder.path().join("run.ckpt");
    let older = folder.path().join("run.ckpt.previous");
    let mut session = saved(&spec, 7, 1.0, &path);
    assert!(!older.exists());
    for until in [2.0, 3.0] {
        session.run_until(until).unwrap();
        session.save(&path).unwrap();
        let now = |path: &PathBuf| Checkpoint::read(path).unwrap().now;
        assert_eq!([now(&older), now(&path)], [until - 1.0, until]);
    }
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = refusal(&spec, 7, &path);
    assert!(error.contains("cut off") && error.contains("run.ckpt.previous"), "{error}");
    let mut session = simulation(&spec, 7, TimeWarp::default().into()).resume(&older).unwrap();
    session.run_to_end().unwrap();
    let plain = Plain::run(&spec, 7, f64::INFINITY);
    assert_eq!(session.report().unwrap().digest, plain.digest());
}

/// CKPT-A: a symbolic link stays, and what it names is replaced, and kept.
#[cfg(unix)]
#[test]
fn links_stay() {
    let (folder, spec) = (tempfile::tempdir().unwrap(), spec(4));
    let (real, link) = (folder.path().join("real.ckpt"), folder.path().join("link.ckpt"));
    saved(&spec, 7, 1.0, &real);
    std::os::unix::fs::symlink(&real, &link).unwrap();
    saved(&spec, 7, 2.0, &link);
    let now = |name: &str| Checkpoint::read(&folder.path().join(name)).unwrap().now;
    assert_eq!([now("real.ckpt"), now("link.ckpt"), now("real.ckpt.previous")], [2.0, 2.0, 1.0]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

/// A step that cannot be leaves a session as it is.
#[test]
fn refused_engines_change_nothing() {
    let spec = Spec { lookahead: None, ..spec(4) };
    let mut session = simulation(&spec, 7, Sequential::default().into()).session().unwrap();
    session.run_until(1.0).unwrap();
    let refused = session.set_engine(Conservative::default()).unwrap_err().to_string();
    assert!(refused.contains("lookahead"), "{refused}");
    let refused = session.set_engine(warpline::Profile::default()).unwrap_err().to_string();
    assert!(refused.contains("for a session"), "{refused}");
    assert!(session.run_until(0.5).is_err());
    session.run_to_end().unwrap();
    let plain = Plain::run(&spec, 7, f64::INFINITY);
    assert_eq!(session.report().unwrap().digest, plain.digest());
}

/// An engine that takes one rank is refused where the session has two, with what to do; and both
/// can be set at once, or neither.
#[test]
fn engines_come_with_their_ranks() {
    let mut session = simulation(&spec(4), 7, Auto::default().into()).session().unwrap();
    session.set_engine_on(TimeWarp { workers: 1, ..TimeWarp::default() }, 2).unwrap();
    let error = session.set_engine(Speculative::default()).unwrap_err().to_string();
    for text in ["must be auto, conservative or timewarp", "`set_ranks(1)` first", "set_engine_on"]
    {
        assert!(error.contains(text), "{text:?} is not in: {error}");
    }
    let error = session.set_engine_on(Sequential::default(), 3).unwrap_err().to_string();
    assert!(error.contains("must be auto, conservative or timewarp for a run on sev"), "{error}");
    assert!(session.set_engine_on(TimeWarp::default(), 0).is_err());
    assert_eq!(session.report().unwrap().ranks, 2, "nothing has changed");
    session.set_engine_on(Sequential::default(), 1).unwrap();
    session.run_to_end().unwrap();
    let plain = Plain::run(&spec(4), 7, f64::INFINITY);
    assert_eq!(session.report().unwrap().digest, plain.digest());
}

/// An end that is over already is named as what it is.
#[test]
fn ends_before_the_checkpoint_are_named() {
    let (folder, spec) = (tempfile::tempdir().unwrap(), spec(4));
    let path = folder.path().join("run.ckpt");
    saved(&spec, 7, 5.0, &path);
    let resumed = simulation(&spec, 7, Sequential::default().into()).end(3.0).resume(&path);
    let error = resumed.unwrap().run_to_end().unwrap_err().to_string();
    assert!(error.contains("`end` is 3, but must be not before 5"), "{error}");
}

/// A checkpoint of another run is refused, with what differs.
#[test]
fn files_of_other_runs_are_refused() {
    let (folder, spec) = (tempfile::tempdir().unwrap(), spec(4));
    let path = folder.path().join("run.ckpt");
    saved(&spec, 7, 1.0, &path);
    let error = refusal(&spec, 8, &path);
    assert!(error.contains("it is of seed 7, and not of 8"), "{error}");
    let mut other = apart(&spec);
    other.habits[1] = Habit::FanOut(3);
    let error = refusal(&other, 7, &path);
    assert!(error.contains("other parameters") && error.contains("`1` there, `3` here"), "{error}");
    let error = refusal(&spec, 7, &folder.path().join("nothing"));
    assert!(error.contains("No such file"), "{error}");
    fs::write(&path, "something else").unwrap();
    assert!(refusal(&spec, 7, &path).contains("it is no checkpoint of Warpline"));
}

/// What cannot be written is an error, and the file that is there stays.
#[test]
fn files_that_cannot_be_written_are_told() {
    let (folder, spec) = (tempfile::tempdir().unwrap(), spec(4));
    let path = folder.path().join("run.ckpt");
    let session = saved(&spec, 7, 1.0, &path);
    let error = session.save(&folder.path().join("none/run.ckpt")).unwrap_err().to_string();
    assert!(error.contains("none/run.ckpt"), "{error}");
    assert!(error.contains("/none is not there"), "{error}");
    #[cfg(target_os = "linux")]
    {
        let error = session.save(Path::new("/dev/full")).unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
    }
    assert!(Checkpoint::read(&path).is_ok());
}
