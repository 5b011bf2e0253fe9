//! What the simulated runs of the engines share: random choices that a seed decides, and the models
//! that are drawn with them.
//!
//! The simulations themselves are with their engines: `timewarp/simulated.rs` and
//! `speculative/simulated.rs`.

pub(crate) mod model;

use std::{
    iter::Sum,
    ops::Range,
    panic,
    sync::{Arc, Mutex, OnceLock},
    thread,
};

use warpline_core::{CommitDigest, Stream, VirtualTime};

use crate::{
    RunError, sequential,
    settings::{Sequential, Settings},
    watch::Watch,
};
use model::{Habit, Log, Mistake, Toy};

/// Random choices, decided by a seed.
pub(crate) struct Dice(pub(crate) Stream);

impl Dice {
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }
}

/// Draws a model. `tracked`: whether it uses its tracked fields.
pub(crate) fn toy<const BY_FIELD: bool>(dice: &mut Dice, tracked: bool) -> Toy<BY_FIELD> {
    let habits = [
        Habit::Idle,
        Habit::Scatter(1),
        Habit::Scatter(2),
        Habit::Scatter(3),
        Habit::Pass(1),
        Habit::Pass(2),
        Habit::Flood,
    ];
    let lps = 1 + dice.0.below(12) as usize;
    let delays = [0.0, 0.0, 1.0, 1.0, 0.5, -1.0, 1e-17, 1e-17];
    let io = dice.pick(&[[0.0; 2], [0.0; 2], [0.1, 0.1], [0.1, 0.3], [0.3, 0.0]]);
    let mistakes = [Mistake::Panic, Mistake::Fail, Mistake::NoSuchLp, Mistake::Past];
    Toy {
        habits: (0..lps).map(|_| dice.pick(&habits)).collect(),
        salt: dice.0.bits(),
        delays: (0..=dice.0.below(3)).map(|_| dice.pick(&delays)).collect(),
        first: 1 + dice.0.below(4),
        budget: 1 + dice.0.below(12),
        io,
        telling: !dice.one_in(3),
        tracked,
        strange: dice.one_in(2).then(|| dice.pick(&Mistake::ALL)),
        wrong: dice.one_in(5).then(|| {
            let lp = dice.0.below(lps as u64) as u32;
            (lp, dice.0.below(20) as usize, dice.pick(&mistakes))
        }),
        wrong_output: dice.one_in(6).then(|| 1 + dice.0.below(30)),
        known: OnceLock::new(),
        log: Mutex::default(),
        declares_lookahead: false,
        token: Arc::default(),
    }
}

/// The result of the sequential engine.
pub(crate) struct Truth {
    pub(crate) result: Result<(CommitDigest, u64, VirtualTime), RunError>,
    pub(crate) log: Log,
    /// The most events that were pending at once.
    pub(crate) peak: u64,
}

impl Truth {
    /// Runs the model with the sequential engine, and lets it learn which states there are.
    pub(crate) fn new<const BY_FIELD: bool>(
        toy: &Toy<BY_FIELD>,
        settings: Settings<Sequential>,
    ) -> Self {
        let report = sequential::run(toy, &settings, &mut Watch::default(), None);
        let peak = report.as_ref().map_or(0, |report| report.peak_buffer_bytes) / event_bytes(toy);
        let result = report.map(|r| (r.digest, r.committed_events, r.end_time));
        Self { result, log: toy.learn(), peak }
    }
}

/// The memory that an event takes in the sequential engine, as its error message tells.
fn event_bytes<const BY_FIELD: bool>(toy: &Toy<BY_FIELD>) -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let settings = Settings { end: 1.0, memory: Some(0), ..Settings::default() };
        match sequential::run(toy, &settings, &mut Watch::default(), None) {
            Err(RunError::OutOfBuffers { event_bytes, .. }) => event_bytes,
            other => panic!("there is no room for an event, but {other:?}"),
        }
    })
}

/// How many seeds a test runs: as many as `SIMULATED_SEEDS` says, or its own number.
pub(crate) fn seeds(own: u64) -> u64 {
    std::env::var("SIMULATED_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(own)
}

/// Runs a seed, and names it if it fails.
pub(crate) fn named<T>(seed: u64, run: fn(u64) -> T) -> T {
    panic::catch_unwind(|| run(seed)).unwrap_or_else(|payload| {
        eprintln!("this was seed {seed}: SIMULATED_SEED={seed} repeats it");
        panic::resume_unwind(payload)
    })
}

/// Runs the first so many of these seeds on all cores, and adds the results up; or only the seed
/// that the environment names in `SIMULATED_SEED`, if it is one of all these.
pub(crate) fn on_all_cores<T: Sum + Send>(
    all: Range<u64>,
    runs: u64,
    run: fn(u64) -> T,
) -> Option<T> {
    if let Some(seed) = std::env::var("SIMULATED_SEED").ok().and_then(|seed| seed.parse().ok()) {
        if all.contains(&seed) {
            run(seed);
        }
        return None;
    }
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    thread::scope(|scope| {
        let some = |first| {
            let some = (all.start + first..all.start + runs).step_by(threads as usize);
            move || some.map(run).sum::<T>()
        };
        let all: Vec<_> = (0..threads).map(|first| scope.spawn(some(first))).collect();
        let results = all.into_iter().map(|one| one.join().expect("a seed failed, see above"));
        Some(results.sum())
    })
}
