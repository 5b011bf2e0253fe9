//! Time Warp with a full processed list, and events that come before its records (FLOW-B): they are
//! handled at once, and do not each wait for a GVT of their own. (A cellular automaton took up to
//! 9 seconds instead of one for that, when load sharing had moved LPs.)
//!
//! # Mutations of the engine that it is against
//!
//! - `Flow::may_handle` does not ask whether an event is behind a full list: 3 000 rounds

use warpline::{
    Context, LogicalProcess, LpId, Model, Only, Sequential, Simulation, TimeWarp, VirtualTime,
    settings::Instrumentation,
};

/// Those that handle an event late in virtual time, and fill the list of their worker.
const LATE: usize = 1_000;
/// Those that get an event from LP 0 when that list is full.
const EARLY: usize = 3_000;
/// The steps of LP 0 until it sends them: it is at the other worker.
const STEPS: u32 = 5_000;

/// LP 0 walks, and then sends an event to each of the `EARLY`.
#[derive(Clone)]
struct Burst;

#[derive(Clone, Debug)]
struct Lp {
    handled: u64,
}

impl Model for Burst {
    type Lp = Lp;
    type Output = u64;

    fn name(&self) -> &str {
        "burst"
    }

    fn lp_count(&self) -> usize {
        1 + LATE + EARLY
    }

    fn make_lp(&self, _: LpId) -> Lp {
        Lp { handled: 0 }
    }

    /// LP 0 has a worker of its own.
    fn placement(&self, id: LpId, workers: usize) -> usize {
        usize::from(id.index() > 0).min(workers - 1)
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> u64 {
        handled.sum()
    }
}

impl LogicalProcess for Lp {
    type Model = Burst;
    type Message = u32;
    type Summary = u64;

    fn start(&mut self, _: &Burst, cx: &mut impl Context<u32>) {
        match cx.me().index() {
            0 => cx.send(cx.me(), 1e-6, STEPS),
            1..=LATE => cx.send(cx.me(), 10.0, 0),
            _ => {}
        }
    }

    fn handle(&mut self, _: &Burst, left: &u32, cx: &mut impl Context<u32>) {
        self.handled += 1;
        match *left {
            0 => {}
            1 => (1..=EARLY).for_each(|lp| {
                cx.send(LpId::from_index(LATE + lp), 1.0 + 1e-6 * lp as f64, 0);
            }),
            more => cx.send(cx.me(), 1e-6, more - 1),
        }
    }

    fn finish(self, _: &Burst, _: VirtualTime) -> u64 {
        self.handled
    }
}

#[test]
fn events_before_a_full_list_do_not_wait_for_gvt() {
    let simulation = || Simulation::new(Only::<(Sequential, TimeWarp), _>::new(Burst)).end(20.0);
    let expected = simulation().run().expect("the model is sound");
    let instrumentation = Instrumentation { in_turn: true, ..Instrumentation::default() };
    let engine = TimeWarp { workers: 2, instrumentation, ..TimeWarp::default() };
    let report = simulation().engine(engine).run().expect("the model is sound");
    assert_eq!((report.digest, report.output), (expected.digest, expected.output));
    let peak = report.details.counters.iter().find(|(name, _)| *name == "processed_list_peak");
    assert!(peak.is_some_and(|(_, most)| *most > 1_000), "the list was never full: {peak:?}");
    assert!(report.gvt_rounds < 1_000, "{} rounds of GVT", report.gvt_rounds);
}
