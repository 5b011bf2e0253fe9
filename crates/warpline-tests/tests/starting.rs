//! A run can be told to stop while an LP sends its first events, without end; and before it begins.
//!
//! # Mutations of the engine that it is against
//!
//! - `Starting::accept` does not ask `is_to_stop`
//! - the sequential engine, or a guard of another one, takes `Halt::Stopped` for a failure
//! - `timewarp::new_gvt` takes a run without any event for one that is finished
//! - a worker of the speculative engine does not look at its monitor in `gather`
//! - a forecast of `auto` lets an LP send as many first events as it likes

#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::sync::atomic::{AtomicBool, Ordering};

use warpline::{
    Auto, Balance, Conservative, Context, Engine, Link, LogicalProcess, LpId, Model, Sequential,
    Simulation, Speculative, TimeWarp, VirtualTime,
    settings::{Instrumentation, Synchronization, SynchronizationKind},
};

/// A few, and so many that `auto` looks at some of them ahead.
const LPS: [usize; 2] = [4, 2048];

/// Every second LP sends first events for ever. After this number of them it asks for the end.
const ENOUGH: u64 = 10_000;

struct Endless {
    lps: usize,
    stop: &'static AtomicBool,
}

#[derive(Clone, Debug)]
struct Node(u64);

impl Model for Endless {
    type Lp = Node;
    type Output = u64;

    fn name(&self) -> &'static str {
        "endless"
    }

    fn lp_count(&self) -> usize {
        self.lps
    }

    fn lookahead(&self) -> Option<f64> {
        Some(0.5)
    }

    fn links(&self, me: LpId) -> Option<Vec<Link>> {
        let to = [me, LpId::from_index((me.index() + 1) % self.lps)].into_iter();
        Some(to.map(|to| Link { to, lookahead: 0.5 }).collect())
    }

    fn make_lp(&self, _: LpId) -> Node {
        Node(0)
    }

    fn reduce(&self, counts: impl Iterator<Item = u64>) -> u64 {
        counts.sum()
    }
}

impl LogicalProcess for Node {
    type Model = Endless;
    type Message = ();
    type Summary = u64;

    fn start(&mut self, model: &Endless, cx: &mut impl Context<()>) {
        let me = cx.me();
        loop {
            cx.send(me, 1.0, ());
            if me.index() % 2 == 0 {
                return;
            }
            self.0 += 1;
            if self.0 == ENOUGH {
                model.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn handle(&mut self, _: &Endless, &(): &(), cx: &mut impl Context<()>) {
        self.0 += 1;
        cx.send(cx.me(), 1.0, ());
    }

    fn finish(self, _: &Endless, _: VirtualTime) -> u64 {
        self.0
    }
}

fn engines() -> Vec<Engine> {
    let mut engines: Vec<Engine> = vec![Sequential::default().into()];
    for workers in [1, 2, 3] {
        let balance = Balance::Off;
        engines.push(Auto { workers, ..Auto::default() }.into());
        engines.push(Conservative { workers, balance, ..Conservative::default() }.into());
        let synchronization = Synchronization::new(SynchronizationKind::NullMessages, 8);
        engines.push(Conservative { workers, synchronization, ..Conservative::default() }.into());
        engines.push(Speculative { workers, balance, ..Speculative::default() }.into());
        for instrumentation in [Instrumentation::default(), Instrumentation::IN_TURN] {
            engines.push(TimeWarp { workers, instrumentation, ..TimeWarp::default() }.into());
        }
    }
    engines
}

/// Every engine ends within the `start`, with a report of what there is.
#[test]
fn an_endless_start_is_interrupted() {
    let cases = LPS.into_iter().flat_map(|lps| engines().into_iter().map(move |it| (lps, it)));
    for (lps, engine) in cases {
        let stop: &AtomicBool = Box::leak(Box::default());
        let context = format!("{lps} LPs, {engine:?}");
        let run = Simulation::new(Endless { lps, stop }).engine(engine).end(10.0).stop_when(stop);
        let report = watchdog::run(run).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(report.interrupted, "{context}");
    }
}

/// The same for a run that is told before it begins.
#[test]
fn a_run_that_is_told_before_is_interrupted() {
    static STOP: AtomicBool = AtomicBool::new(true);
    for engine in engines() {
        let context = format!("{engine:?}");
        let run = Simulation::new(Endless { lps: LPS[0], stop: &STOP }).engine(engine).end(10.0);
        let report = watchdog::run(run.stop_when(&STOP));
        let report = report.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(report.interrupted, "{context}");
    }
}
