//! What the simulated runs of the engines share: random choices that a seed decides, and the models
//! that are drawn with them.
//!
//! The simulations themselves are with their engines: `timewarp/simulated.rs` and
//! `speculative/simulated.rs`.

pub(crate) mod model;

use std::sync::{Arc, Mutex, OnceLock};

use warpline_core::Stream;

use model::{Habit, Mistake, Toy};

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
pub(crate) fn toy(dice: &mut Dice, tracked: bool) -> Toy {
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
        token: Arc::default(),
    }
}
