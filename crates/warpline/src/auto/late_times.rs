//! A run without an end whose times grow out of what windows without rollbacks can tell apart: the
//! stage ends in time, another engine goes on, and windows do not come back.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use warpline_core::{CommitDigest, Context, LogicalProcess, LpId, VirtualTime};

use super::*;
use crate::{
    run::Outcome,
    stages::{Deciding, Stages},
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

/// A run on these candidates, of which the first begins: the digest, and the events of each.
fn run_on(candidates: &[Candidate]) -> (CommitDigest, Vec<u64>) {
    let settings = Settings { end: f64::INFINITY, engine: Auto::default(), ..Settings::default() };
    let (ranks, parallel) = (Ranks::alone(), settings.parallel());
    let run = Run { model: &Growing, settings: parallel, ranks: &ranks, started: Instant::now() };
    let deciding = Mutex::new(Deciding::on(
        &candidates.to_vec().into(),
        Chooser::Trials { is_shared: false },
        Balance::Off,
        1,
    ));
    let begun = AtomicUsize::new(0);
    let begin_stage = || {
        // Ordering: Relaxed; a count of this thread.
        let before = begun.fetch_add(1, Ordering::Relaxed);
        assert!(before < candidates.len(), "windows come back");
        deciding.lock().expect("no panic in here").choice.begin_stage()
    };
    let widths = FoundWidths::default();
    let mut engines = EveryEngine { run: &run, settings: &settings, widths };
    let stages = Stages::new(&run, candidates, &deciding);
    let watch = &mut Watch::default();
    let outcome = stages.run::<Inline<u32>>(None, watch, &begin_stage, &mut engines);
    let (stage, sums) = outcome
        .unwrap_or_else(|failure| panic!("{:?}", failure.map(|failure| failure.1.to_string())));
    let Outcome::Done(done) = Outcome::at_end(stage, (0..LPS).map(LpId::new), &run.settings) else {
        panic!("LPs can be dropped")
    };
    (done.totals.digest, sums.committed)
}

/// Red without the end of the stage (the run fails), and without the bar (the windows begin again
/// and again).
#[test]
fn windows_leave_late_times_to_another_engine() {
    let sequential = Candidate { engine: EngineKind::Sequential, workers: 1 };
    let (truth, all) = run_on(&[sequential]);
    for workers in [1, 2] {
        let windows = Candidate { engine: EngineKind::Conservative, workers };
        let (digest, committed) = run_on(&[windows, sequential]);
        assert_eq!(digest, truth);
        assert!(committed.iter().all(|&events| events > 0), "{committed:?}");
        assert_eq!(committed.iter().sum::<u64>(), all[0]);
    }
}
