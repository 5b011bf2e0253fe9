//! Buffer pools with the messages of real models: large messages, and traces of small ones.

use std::sync::{Arc, Mutex};

use warpline::{
    AnyModel, Engine, RunError, Sequential, Simulation, TimeWarp,
    digest::CommitDigest,
    settings::{Instrumentation, PoolKind},
    trace::{BufferAccess, BufferAction, BufferTrace},
};
use warpline_models::{
    catalog::ModelParams,
    phold::{PAYLOAD_BYTES_MAX, PholdParams},
};

/// A run of PHOLD.
#[derive(Clone)]
struct Run {
    engine: Engine,
}

impl Run {
    fn of(self, model: AnyModel) -> Result<(CommitDigest, u64, u64), RunError> {
        let report = Simulation::new(model).engine(self.engine).end(20.0).run()?;
        Ok((report.digest, report.committed_events, report.rolled_back_events))
    }
}

fn phold(payload: usize) -> ModelParams {
    let params =
        PholdParams { lps: 16, population: 32, remote: 0.8, payload, ..PholdParams::default() };
    ModelParams::from(params)
}

fn run(payload: usize, engine: impl Into<Engine>) -> (CommitDigest, u64, u64) {
    let run = Run { engine: engine.into() };
    run.of(phold(payload).model().expect("valid parameters")).expect("a sound run")
}

#[test]
fn messages_of_64_kib_go_through_every_pool() {
    let expected = run(PAYLOAD_BYTES_MAX, Sequential::default()).0;
    for &pool in PoolKind::ALL {
        let parallel = TimeWarp { workers: 3, pool: pool.into(), ..TimeWarp::default() };
        assert_eq!(run(PAYLOAD_BYTES_MAX, parallel).0, expected, "{pool}");
    }
}

/// A run in turn with its trace.
fn traced(pool: PoolKind) -> ((CommitDigest, u64, u64), Vec<BufferAccess>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let trace = BufferTrace::new(move |access| sink.lock().unwrap().push(access));
    let instrumentation = Instrumentation { trace: Some(trace), ..Instrumentation::IN_TURN };
    let pool = pool.into();
    let parallel = TimeWarp { workers: 4, pool, instrumentation, ..TimeWarp::default() };
    let result = run(64, parallel);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (result, seen)
}

/// Workers that take turns roll back, and do the same in a second run. Every event is written once
/// by its sender and read by its receiver when it is handled; its buffer is freed there.
#[test]
fn runs_in_turn_repeat_themselves() {
    let expected = run(64, Sequential::default()).0;
    for &pool in PoolKind::ALL {
        let (result, trace) = traced(pool);
        assert_eq!(result.0, expected, "{pool}");
        assert!(result.2 > 0, "{pool}: no rollbacks");
        let again = traced(pool);
        assert!(again.0 == result && again.1 == trace, "{pool}: another run is different");
        let count = |wanted: fn(BufferAction) -> bool| {
            trace.iter().filter(|access| wanted(access.action)).count() as u64
        };
        let sent = count(|action| matches!(action, BufferAction::Fill { .. }));
        let handled = count(|action| action == BufferAction::Read);
        let freed = count(|action| action == BufferAction::Free);
        let (_, committed, rolled_back) = result;
        assert_eq!(handled, committed + rolled_back, "{pool}");
        assert!(sent >= committed && freed >= committed && freed <= sent, "{pool}: {sent} {freed}");
    }
}
