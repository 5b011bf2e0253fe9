//! The threads of a run's workers: how they start, and how they wait.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use warpline_core::LpId;
pub(crate) use warpline_memory::cores;

use super::failure::{FailureOrder, FirstFailure};
use crate::{ConfigError, watch::Watch};

/// How long a worker sleeps at a time after it has waited for long.
const SLEEP: Duration = Duration::from_micros(50);

/// A yield that takes longer has let another program run on this core, for a whole slice of time.
/// Then the next waits are sleeps: who sleeps gets its core back at once when it wakes, because it
/// has used less than its share.
const LONG: Duration = Duration::from_micros(100);
/// How long such a sleep is. (The system adds some 50 microseconds.)
const NAP: Duration = Duration::from_micros(5);
/// How many sleeps follow a long yield, at the least, and if yields are long again and again.
const SLEEPS_LEAST: u32 = 64;
const SLEEPS_MOST: u32 = 2_048;

thread_local! {
    /// Waits that are to be sleeps, and the number of those after the next long yield.
    static SLEEPS_LEFT: Cell<u32> = const { Cell::new(0) };
    static SLEEPS: Cell<u32> = const { Cell::new(SLEEPS_LEAST) };
}

/// Lets each worker `work` on a thread of its own. The first worker runs on the calling thread, and
/// has the watch. If a thread cannot be started, that is the run's failure, and `refused` is called
/// before the others go on.
pub(crate) fn at_once<R: Send>(
    workers: usize,
    watch: &mut Watch<'_>,
    failure: &FirstFailure,
    refused: impl Fn(),
    work: impl Fn(usize, &mut Watch<'_>) -> R + Sync,
) -> Vec<R> {
    let mut places = Vec::with_capacity(workers);
    places.resize_with(workers, || None);
    let results = Mutex::new(places);
    start(workers, watch, failure, &refused, &|me, watch| {
        let result = work(me, watch);
        results.lock().unwrap_or_else(PoisonError::into_inner)[me] = Some(result);
    });
    let mut found = Vec::with_capacity(workers);
    for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        found.extend(result);
    }
    assert!(
        found.len() == workers || failure.is_known(),
        "{} of {workers} workers have left a result",
        found.len()
    );
    found
}

/// Does so without the type of the results: compiled once, and not for each model and engine.
fn start(
    workers: usize,
    watch: &mut Watch<'_>,
    failure: &FirstFailure,
    refused: &dyn Fn(),
    work: &(dyn Fn(usize, &mut Watch<'_>) + Sync),
) {
    thread::scope(|scope| {
        let others: Vec<_> = (1..workers)
            .map(|me| {
                let mut watch = Watch { timeline: watch.timeline.clone(), ..Watch::default() };
                let work = move || work(me, &mut watch);
                thread::Builder::new().name(format!("worker {me}")).spawn_scoped(scope, work)
            })
            .collect();
        if let Some(error) = others.iter().find_map(|other| other.as_ref().err()) {
            let allowed = format!("fewer: a thread could not be started ({error})");
            let error = ConfigError::new("workers", workers, allowed);
            failure.note(FailureOrder::Start(LpId::new(0)), error.into());
            refused();
        }
        work(0, watch);
        for other in others.into_iter().flatten() {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Waits a little, for the `waited`-th time in a row. After `spins` waits the worker lets other
/// threads have the core; where that takes long, because another program has work for the core, it
/// sleeps instead. (With every core shared with another program, two workers of the conservative
/// engine commit 35 times as many events on W2 as without that, and the speculative engine 5 to 10
/// times as many on W1 and W2.) After `yields` waits it sleeps in any case: a worker that another
/// program has displaced from its core may then move to this core, and the scheduler does not move
/// it there as long as the thread here only yields.
pub(crate) fn wait(waited: u32, spins: u32, yields: u32) {
    if waited <= spins {
        std::hint::spin_loop();
    } else if waited > yields {
        thread::sleep(SLEEP);
    } else if let Some(left) = SLEEPS_LEFT.get().checked_sub(1) {
        SLEEPS_LEFT.set(left);
        thread::sleep(NAP);
    } else {
        let before = Instant::now();
        thread::yield_now();
        if before.elapsed() < LONG {
            SLEEPS.set(SLEEPS_LEAST);
        } else {
            SLEEPS_LEFT.set(SLEEPS.get());
            SLEEPS.set((2 * SLEEPS.get()).min(SLEEPS_MOST));
        }
    }
}
