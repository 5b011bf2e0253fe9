//! An LP that is far ahead when a session on null messages is told to stop: all others go on to
//! where it is, however long that takes.

use std::{
    hint,
    sync::atomic::{AtomicBool, Ordering},
};

use warpline::{
    Conservative, Context, Link, LogicalProcess, LpId, Model, Only, Simulation, VirtualTime,
    settings::{Schedule, Synchronization},
};

use super::watched;

/// Events of the LP behind. They take longer than a run that leaves no cut has for its end.
const EVENTS: u64 = 3_000;
const SPINS: u32 = 9_000;

/// LP 0 has one event, and stops the run there; LP 1 has many before it. They have no links.
struct Apart(&'static AtomicBool);

#[derive(Clone, Debug)]
struct Counter(u64);

impl Model for Apart {
    type Lp = Counter;
    type Output = u64;

    fn name(&self) -> &'static str {
        "apart"
    }

    fn lp_count(&self) -> usize {
        2
    }

    fn make_lp(&self, _: LpId) -> Counter {
        Counter(0)
    }

    fn links(&self, _: LpId) -> Option<Vec<Link>> {
        Some(Vec::new())
    }

    fn reduce(&self, counts: impl Iterator<Item = u64>) -> u64 {
        counts.sum()
    }
}

impl LogicalProcess for Counter {
    type Model = Apart;
    type Message = ();
    type Summary = u64;

    fn start(&mut self, _: &Apart, cx: &mut impl Context<()>) {
        let delay = if cx.me() == LpId::new(0) { EVENTS as f64 } else { 1.0 };
        cx.send(cx.me(), delay, ());
    }

    fn handle(&mut self, model: &Apart, (): &(), cx: &mut impl Context<()>) {
        self.0 += 1;
        if cx.me() == LpId::new(0) {
            // Ordering: Relaxed; a flag.
            model.0.store(true, Ordering::Relaxed);
        } else {
            (0..SPINS).for_each(|_| hint::spin_loop());
            cx.send(cx.me(), 1.0, ());
        }
    }

    fn finish(self, _: &Apart, _: VirtualTime) -> u64 {
        self.0
    }
}

#[test]
fn a_stop_waits_for_the_last() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let synchronization =
        Synchronization::NullMessages { edge_capacity: 2, schedule: Schedule::default() };
    for workers in [1, 2] {
        watched(move || {
            // Ordering: Relaxed; a flag.
            STOP.store(false, Ordering::Relaxed);
            let model = Only::<Conservative, _>::new(Apart(&STOP));
            let pin = false;
            let engine = Conservative { workers, synchronization, pin, ..Conservative::default() };
            let simulation = Simulation::new(model).engine(engine).stop_when(&STOP);
            let mut session = simulation.session().expect("a sound model");
            let step = session.run_until(2.0 * EVENTS as f64).expect("a sound model");
            assert!(step.interrupted, "{workers} workers");
            let handled = session.report().expect("a sound model").output;
            assert!(handled >= EVENTS, "{handled}, {workers} workers");
        });
    }
}
