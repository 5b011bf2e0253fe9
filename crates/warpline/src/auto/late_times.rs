//! A run without an end whose times grow out of what windows without rollbacks can tell apart: the
//! leg ends in time, another engine goes on, and windows do not come back.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use warpline_core::{Context, LogicalProcess, LpId, VirtualTime};

use super::*;
use crate::{
    Simulation,
    legs::{Deciding, Legs},
    run::Outcome,
};

const LPS: u32 = 8;
const LOOKAHEAD: f64 = 1e-3;

/// Messages that go round; each hop takes half as long again as all before it.
#[derive(Clone, Debug)]
struct Growing;

#[derive(Clone, Debug, Default)]
struct Hops(u64);

impl Model for Growing {
    type Lp = Hops;
    type Output = u64;

    fn name(&self) -> &'static str {
        "growing"
    }

    fn lp_count(&self) -> usize {
        LPS as usize
    }

    fn make_lp(&self, _: LpId) -> Hops {
        Hops::default()
    }

    fn reduce(&self, hops: impl Iterator<Item = u64>) -> u64 {
        hops.sum()
    }

    fn lookahead(&self) -> Option<f64> {
        Some(LOOKAHEAD)
    }
}

impl LogicalProcess for Hops {
    type Model = Growing;
    type Message = u32;
    type Summary = u64;

    fn start(&mut self, _: &Growing, cx: &mut impl Context<u32>) {
        cx.send(cx.me(), LOOKAHEAD, 200);
    }

    fn handle(&mut self, _: &Growing, &hops: &u32, cx: &mut impl Context<u32>) {
        self.0 += 1;
        if let Some(hops) = hops.checked_sub(1) {
            let next = LpId::new((cx.me().get() + 1) % LPS);
            cx.send(next, LOOKAHEAD + cx.now().get() / 2.0, hops);
        }
    }

    fn finish(self, _: &Growing, _: VirtualTime) -> u64 {
        self.0
    }
}

/// Red without the end of the leg (the run fails), and without the bar (the windows begin again and
/// again).
#[test]
fn windows_leave_late_times_to_another_engine() {
    let truth = Simulation::new(Growing).engine(Sequential::default()).run().expect("no failure");
    for workers in [1, 2] {
        let settings =
            Settings { end: f64::INFINITY, engine: Auto::default(), ..Settings::default() };
        let ranks = Ranks::alone();
        let parallel = settings.parallel();
        let started = Instant::now();
        let run = Run { model: &Growing, settings: parallel, ranks: &ranks, started };
        let candidates = [
            legs::Candidate { engine: EngineKind::Conservative, workers },
            legs::Candidate { engine: EngineKind::Sequential, workers: 1 },
        ];
        let deciding = Deciding::on(&candidates, Chooser::Trials, Balance::Off, 1);
        let deciding = Mutex::new(deciding);
        let begun = AtomicUsize::new(0);
        let begin_leg = || {
            // Ordering: Relaxed; a count of this thread.
            assert!(begun.fetch_add(1, Ordering::Relaxed) < 2, "windows come back");
            deciding.lock().expect("no panic in here").choice.begin_leg()
        };
        let mut engines =
            EveryEngine { run: &run, settings: &settings, widths: FoundWidths::default() };
        let legs = Legs::new(&run, &candidates, &deciding);
        let watch = &mut Watch::default();
        let outcome = legs.run::<Inline<u32>>(None, watch, &begin_leg, &mut engines);
        let (leg, sums) = outcome
            .unwrap_or_else(|failure| panic!("{:?}", failure.map(|failure| failure.1.to_string())));
        assert!(sums.committed.iter().all(|&events| events > 0), "{:?}", sums.committed);
        let Outcome::Done(done) = Outcome::at_end(leg, (0..LPS).map(LpId::new), &parallel) else {
            panic!("LPs can be dropped")
        };
        assert_eq!(done.totals.digest, truth.digest);
        assert_eq!(done.totals.committed_events, truth.committed_events);
    }
}
