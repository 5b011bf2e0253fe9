//! Runs in which windows without rollbacks cannot go on, because times grow out of what they can
//! tell apart, or because a window may need more memory than there is: the stage ends in time,
//! another engine goes on, and windows do not come back.

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

/// Messages that go round.
#[derive(Clone, Debug)]
struct Growing {
    messages: u32,
    hops: u32,
    /// How much longer than the lookahead a hop takes, as a part of all the time before it.
    growth: f64,
}

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

    fn start(&mut self, model: &Growing, cx: &mut impl Context<u32>) {
        if cx.me() == LpId::new(0) {
            (0..model.messages).for_each(|_| cx.send(cx.me(), LOOKAHEAD, model.hops));
        }
    }

    fn handle(&mut self, model: &Growing, &hops: &u32, cx: &mut impl Context<u32>) {
        self.0 += 1;
        if let Some(hops) = hops.checked_sub(1) {
            let next = LpId::new((cx.me().get() + 1) % LPS);
            cx.send(next, LOOKAHEAD + cx.now().get() * model.growth, hops);
        }
    }

    fn finish(self, _: &Growing, _: VirtualTime) -> u64 {
        self.0
    }
}

/// A run on these candidates, of which the first begins: the digest, the events of each, and the
/// most bytes of event buffers.
fn run_on(
    model: &Growing,
    memory: Option<u64>,
    candidates: &[Candidate],
) -> (CommitDigest, Vec<u64>, u64) {
    let engine = Auto::default();
    let settings = Settings { end: f64::INFINITY, memory, engine, ..Settings::default() };
    let (ranks, parallel) = (Ranks::alone(), settings.parallel());
    let run = Run { model, settings: parallel, ranks: &ranks, started: Instant::now() };
    let deciding =
        Mutex::new(Deciding::on(&candidates.to_vec().into(), Chooser::Trials, Balance::Off, 1));
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
    (done.totals.digest, sums.committed, done.totals.peak_buffer_bytes)
}

const SEQUENTIAL: Candidate = Candidate { engine: EngineKind::Sequential, workers: 1 };

fn windows(workers: usize) -> Candidate {
    Candidate { engine: EngineKind::Conservative, workers }
}

/// Red without the end of the stage (the run fails), and without the bar (the windows begin again
/// and again).
#[test]
fn windows_leave_late_times_to_another_engine() {
    let model = &Growing { messages: 1, hops: 200, growth: 0.5 };
    let (truth, all, _) = run_on(model, None, &[SEQUENTIAL]);
    for workers in [1, 2] {
        let (digest, committed, _) = run_on(model, None, &[windows(workers), SEQUENTIAL]);
        assert_eq!(digest, truth);
        assert!(committed.iter().all(|&events| events > 0), "{committed:?}");
        assert_eq!(committed.iter().sum::<u64>(), all[0]);
    }
}

/// All messages are in one window, which has memory for those that it has handled and for those
/// that it has sent. Red without the end of the stage: the run fails in its first window. With
/// twice the memory the windows go on.
#[test]
fn windows_leave_a_run_with_little_memory_to_another_engine() {
    let model = &Growing { messages: 64, hops: 20, growth: 0.0 };
    let (truth, all, enough) = run_on(model, None, &[SEQUENTIAL]);
    for workers in [1, 2] {
        let candidates = [windows(workers), SEQUENTIAL];
        let (digest, committed, peak) = run_on(model, Some(enough), &candidates);
        assert_eq!((digest, &*committed), (truth, &[0, all[0]][..]));
        assert!(peak <= enough, "{peak} bytes of {enough}");
        let (digest, committed, _) = run_on(model, Some(2 * enough), &candidates);
        assert_eq!((digest, &*committed), (truth, &[all[0], 0][..]));
    }
}
