//! The scheduler of simulated runs: the workers are coroutines on one thread, and a seed decides
//! which of them runs, when it is held up, and what it does not see yet.
//!
//! A coroutine runs until it has passed the number of scheduling points that was drawn for it, or
//! until it waits for others. So a run takes as long as a sequential one, and a seed repeats it.

use std::{cell::RefCell, panic};

use generator::{Generator, Gn};

use crate::{panics, simulated::Dice};

/// The stack of a coroutine, in words.
const STACK: usize = 1 << 15;
/// A run hangs if nothing is committed in this number of turns.
const TURNS_MAX: u64 = 1_000_000;

/// How the scheduler treats the workers. Each number `n` means "one in `n`".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Up to this number of scheduling points is passed in one turn.
    pub(crate) turn: u64,
    /// Turns after which the worker sleeps, for up to `nap_max` turns of others.
    pub(crate) naps: u64,
    pub(crate) nap_max: u64,
    /// Looks at the mail that find nothing, whatever was sent.
    pub(crate) late_mail: u64,
    /// Looks at the requested resizes that do not find a new one.
    pub(crate) late_requests: u64,
    /// Polls that request a resize, up to a number of them: windows need some time to be
    /// committed.
    pub(crate) resizes: u64,
    pub(crate) resizes_max: u64,
    /// Windows after which the width changes, to one between these levels, up to a number of
    /// times: then the control finds out of bad widths.
    pub(crate) widths: u64,
    pub(crate) widths_max: u64,
    pub(crate) levels: [i32; 2],
    /// Limits are lower by this factor.
    pub(crate) limits: u64,
    pub(crate) ring: usize,
    pub(crate) tile_bits: u32,
    /// After this number of turns the run is told to stop.
    pub(crate) stop: Option<u64>,
}

/// The simulated run of a thread.
struct Simulation {
    dice: Dice,
    schedule: Schedule,
    /// The worker that runs, and the scheduling points that it may still pass.
    worker: usize,
    left: u64,
    /// By worker: how many requested resizes it has seen; all ones if it sees all of them.
    seen: Vec<u64>,
    nanoseconds: u64,
    /// A panic that the model has not made, although it was caught as one of the model.
    unexpected: Option<String>,
}

thread_local! {
    static SIMULATION: RefCell<Option<Simulation>> = const { RefCell::new(None) };
}

/// Asks the simulation, if there is one on this thread.
fn ask<T>(question: impl FnOnce(&mut Simulation) -> T) -> Option<T> {
    SIMULATION.with_borrow_mut(|simulation| simulation.as_mut().map(question))
}

/// Lets the scheduler choose who runs next.
fn switch() {
    // A handler may be waiting for room in a ring.
    let is_catching = panics::set_catching(false);
    #[expect(deprecated, reason = "the other way needs the coroutine's own handle at each point")]
    generator::yield_with(());
    panics::set_catching(is_catching);
}

/// Begins a simulated run of `workers` workers on this thread.
pub(crate) fn begin(dice: Dice, schedule: Schedule, workers: usize) {
    let (seen, unexpected) = (vec![0; workers], None);
    let simulation =
        Simulation { dice, schedule, worker: 0, left: 0, seen, nanoseconds: 0, unexpected };
    SIMULATION.set(Some(simulation));
    panics::observe(Some(caught));
}

/// Lets the workers work until all have ended, and ends the run. `progress` is a number that grows
/// now and then, and `stop` tells the run to stop. Returns the number of turns.
pub(crate) fn run<'a>(
    workers: Vec<Box<dyn FnOnce() + Send + 'a>>,
    progress: impl Fn() -> u64,
    stop: impl Fn(),
) -> u64 {
    let coroutine = |work: Box<dyn FnOnce() + Send + 'a>| Some(Gn::new_opt(STACK, work));
    let mut running: Vec<_> = workers.into_iter().map(coroutine).collect();
    let turn = || run_all(&mut running, &progress, &stop);
    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(turn));
    let simulation = SIMULATION.take();
    panics::observe(None);
    outcome.unwrap_or_else(|payload| {
        // Their stacks cannot be unwound from here.
        std::mem::forget(running);
        if let Some(unexpected) = simulation.and_then(|simulation| simulation.unexpected) {
            eprintln!("a panic that the model has not made: {unexpected}");
        }
        panic::resume_unwind(payload)
    })
}

fn run_all(
    running: &mut [Option<Generator<'_, (), ()>>],
    progress: &impl Fn() -> u64,
    stop: &impl Fn(),
) -> u64 {
    let schedule = ask(|simulation| simulation.schedule).expect("the run has begun");
    let mut naps = vec![0; running.len()];
    let (mut reached, mut moved) = (0, 0);
    for turn in 0.. {
        let left: Vec<_> = (0..running.len()).filter(|&me| running[me].is_some()).collect();
        if left.is_empty() {
            return turn;
        }
        if schedule.stop == Some(turn) {
            stop();
        }
        if progress() != reached {
            (reached, moved) = (progress(), turn);
        }
        assert!(turn - moved < TURNS_MAX, "the run hangs: {reached} events of {schedule:?}");
        let awake: Vec<_> = left.iter().copied().filter(|&me| naps[me] <= turn).collect();
        let begin = |simulation: &mut Simulation| {
            let dice = &mut simulation.dice;
            let me = dice.pick(if awake.is_empty() { &left } else { &awake });
            if dice.one_in(schedule.naps) {
                naps[me] = turn + 1 + dice.0.below(schedule.nap_max);
            }
            simulation.left = 1 + dice.0.below(schedule.turn);
            simulation.worker = me;
            me
        };
        let me = ask(begin).unwrap_or_default();
        if let Some(worker) = &mut running[me] {
            worker.resume();
            if worker.is_done() {
                running[me] = None;
            }
        }
        let is_expected = ask(|simulation| simulation.unexpected.is_none());
        assert_eq!(
            is_expected,
            Some(true),
            "an assertion failed where the model's panics are caught"
        );
    }
    unreachable!("the turns have no end")
}

/// Notes a panic that was caught as one of the model: the toy model's own ones are known.
fn caught(message: &str) {
    let is_known = matches!(message, "broken on purpose" | "the handler was cut off");
    if !is_known {
        ask(|simulation| simulation.unexpected.get_or_insert_with(|| message.to_owned()).len());
    }
}

pub(crate) mod hooks {
    //! What workers call in a build with tests. Outside of a simulated run it does nothing.

    use std::time::Duration;

    use super::{Simulation, ask, switch};

    /// Another worker may run here.
    pub(crate) fn point() {
        let ends = |simulation: &mut Simulation| {
            simulation.left = simulation.left.saturating_sub(1);
            simulation.left == 0
        };
        if ask(ends) == Some(true) {
            switch();
        }
    }

    /// The worker waits for others; returns whether that was simulated.
    pub(crate) fn waits() -> bool {
        let is_simulated = ask(|_| ()).is_some();
        if is_simulated {
            switch();
        }
        is_simulated
    }

    /// Whether the worker does not see yet what others have sent.
    pub(crate) fn is_mail_late() -> bool {
        ask(|simulation| simulation.dice.one_in(simulation.schedule.late_mail)) == Some(true)
    }

    /// The number of requested resizes, as this worker sees it. It never decreases.
    pub(crate) fn seen(requested: u64) -> u64 {
        let see = |simulation: &mut Simulation| {
            let Simulation { dice, schedule, seen, worker, .. } = simulation;
            let seen = &mut seen[*worker];
            if *seen == u64::MAX || *seen != requested && !dice.one_in(schedule.late_requests) {
                *seen = requested;
            }
            *seen
        };
        ask(see).unwrap_or(requested)
    }

    /// The worker sees all that others have done.
    pub(crate) fn sees_all() {
        ask(|simulation| simulation.seen[simulation.worker] = u64::MAX);
    }

    /// Reasons for a resize that the simulation requests.
    pub(crate) fn requests() -> u64 {
        let request = |simulation: &mut Simulation| {
            let Simulation { dice, schedule, .. } = simulation;
            if schedule.resizes_max == 0 || !dice.one_in(schedule.resizes) {
                return 0;
            }
            schedule.resizes_max -= 1;
            dice.pick(&[2, 4, 8, 8, 10])
        };
        ask(request).unwrap_or(0)
    }

    /// A level of widths that the simulation chooses.
    pub(crate) fn level() -> Option<i32> {
        let choose = |simulation: &mut Simulation| {
            let Simulation { dice, schedule, .. } = simulation;
            if schedule.widths_max == 0 || !dice.one_in(schedule.widths) {
                return None;
            }
            schedule.widths_max -= 1;
            let [least, most] = schedule.levels;
            Some(least + dice.0.below((most - least + 1) as u64) as i32)
        };
        ask(choose).flatten()
    }

    /// A limit, which is lower in a simulation.
    pub(crate) fn limit(limit: u64) -> u64 {
        ask(|simulation| (limit / simulation.schedule.limits).max(1)).unwrap_or(limit)
    }

    /// How many LPs make a tile, as a power of two; fewer in a simulation.
    pub(crate) fn tile_bits(bits: u32) -> u32 {
        ask(|simulation| simulation.schedule.tile_bits.min(bits)).unwrap_or(bits)
    }

    /// The capacity of a ring, which is smaller in a simulation.
    pub(crate) fn ring_capacity(capacity: usize) -> usize {
        ask(|simulation| simulation.schedule.ring.min(capacity)).unwrap_or(capacity)
    }

    /// A point in time. In a simulated run, each look at the clock finds that some time has passed.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Instant(std::time::Instant, Option<u64>);

    impl Instant {
        pub(crate) fn now() -> Self {
            let pass = |simulation: &mut Simulation| {
                simulation.nanoseconds += simulation.dice.0.below(100_000);
                simulation.nanoseconds
            };
            Self(std::time::Instant::now(), ask(pass))
        }

        pub(crate) fn elapsed(&self) -> Duration {
            match (self.1, Self::now().1) {
                (Some(then), Some(now)) => Duration::from_nanos(now - then),
                _ => self.0.elapsed(),
            }
        }
    }
}
