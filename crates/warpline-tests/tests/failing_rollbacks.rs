//! A model whose code fails while Time Warp undoes events: a reverse handler that panics, or a
//! handler that does something else when it is coasted over. That is a mistake of the model, with
//! its place.
//!
//! Mutation: `saving` catches nothing; then the run panics, because Warpline has a bug.
//!
//! Workers in turn, so that the runs repeat themselves, rollbacks and all.

use std::sync::atomic::{AtomicU64, Ordering};

use warpline::{
    Context, LogicalProcess, LpId, Model, ModelError, Only, Reversal, RunError, Simulation,
    TimeWarp, VirtualTime,
    error::Fault,
    settings::{CheckpointInterval, Instrumentation, StateSaving},
};

/// Processes that send each other events at random.
struct Crowd {
    reverse_fails: bool,
    /// A count of handler calls, on which a sound handler does not depend.
    calls: Option<AtomicU64>,
}

#[derive(Clone, Debug)]
struct Member(u64);

impl Model for Crowd {
    type Lp = Member;
    type Output = u64;

    fn name(&self) -> &'static str {
        "crowd"
    }

    fn lp_count(&self) -> usize {
        16
    }

    fn make_lp(&self, _: LpId) -> Member {
        Member(0)
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> u64 {
        handled.sum()
    }
}

impl LogicalProcess for Member {
    type Model = Crowd;
    type Message = ();
    type Summary = u64;
    const REVERSIBLE: bool = true;

    fn start(&mut self, _: &Crowd, cx: &mut impl Context<()>) {
        for _ in 0..4 {
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, ());
        }
    }

    fn handle(&mut self, crowd: &Crowd, _: &(), cx: &mut impl Context<()>) {
        self.0 += 1;
        let calls = crowd.calls.as_ref();
        let calls = calls.map_or(0, |calls| calls.fetch_add(1, Ordering::Relaxed));
        if calls % 2 == 1 {
            cx.rng().bits();
        }
        let (to, delay) = (cx.rng().lp(16), cx.rng().exponential(1.0));
        cx.send(to, delay, ());
    }

    fn reverse(&mut self, crowd: &Crowd, _: &(), _: &mut Reversal) {
        assert!(!crowd.reverse_fails, "no way back");
        self.0 -= 1;
    }

    fn finish(self, _: &Crowd, _: VirtualTime) -> u64 {
        self.0
    }
}

/// What the run ends with.
fn fault_of(crowd: Crowd, saving: StateSaving) -> Fault {
    let instrumentation = Instrumentation::IN_TURN;
    let engine = TimeWarp { workers: 3, instrumentation, saving, ..TimeWarp::default() };
    let run = Simulation::new(Only::<TimeWarp, _>::new(crowd)).engine(engine).end(50.0).run();
    let RunError::Model(ModelError { fault, place }) = run.expect_err("it fails") else {
        panic!("not a mistake of the model")
    };
    assert!(place.lp.is_some() && place.event.is_some(), "{place:?}");
    fault
}

#[test]
fn a_reverse_handler_that_panics() {
    let sound = Crowd { reverse_fails: false, calls: None };
    let saving = StateSaving::Reverse;
    let instrumentation = Instrumentation::IN_TURN;
    let engine = TimeWarp { workers: 3, instrumentation, saving, ..TimeWarp::default() };
    let run = Simulation::new(Only::<TimeWarp, _>::new(sound)).engine(engine).end(50.0).run();
    let report = run.expect("it runs");
    assert!(report.totals.rolled_back_events > 0, "the test needs rollbacks");
    let fault = fault_of(Crowd { reverse_fails: true, calls: None }, StateSaving::Reverse);
    let Fault::Panicked { message, .. } = fault else { panic!("{fault}") };
    assert_eq!(message, "no way back");
}

#[test]
fn a_handler_that_differs_when_it_is_coasted_over() {
    let crowd = Crowd { reverse_fails: false, calls: Some(AtomicU64::new(0)) };
    let saving = StateSaving::Copy { interval: CheckpointInterval::Every(8) };
    assert_eq!(fault_of(crowd, saving), Fault::RanDifferently);
}
