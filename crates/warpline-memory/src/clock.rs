//! A clock that costs little to look at: the time stamp counter, where the system uses it, too.
//!
//! A recorder looks at it some million times a second. `Instant` takes 27 to 90 ns on virtual
//! machines, and the counter 8 to 20 ns.
//!
//! # Invariants
//!
//! - **CLOCK-A.** What one thread reads before it writes something is not greater than what another
//!   one reads after it has seen that. Linux uses the counter as its own clock only if the counters
//!   of all cores agree; a fence before each look keeps it from being read early.

use std::time::Instant;

/// Where the kernel says which clock it uses.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// How often both clocks are looked at to compare them.
const LOOKS: u32 = 8;

/// A clock that has started; copies of it tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    /// The counter at the start, if it is used.
    counter: Option<u64>,
}

impl Clock {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now(), counter: has_counter().then(counter) }
    }

    /// Ticks since the start.
    #[inline]
    #[must_use]
    pub fn ticks(&self) -> u64 {
        match self.counter {
            Some(before) => counter().saturating_sub(before),
            None => nanoseconds(self.started),
        }
    }

    /// How long a tick is, as measured since the start.
    #[must_use]
    pub fn nanoseconds_per_tick(&self) -> f64 {
        match self.counter {
            Some(_) => self.measured(),
            None => 1.0,
        }
    }

    /// Looks at both clocks, several times, and takes those looks between which the least passed.
    fn measured(&self) -> f64 {
        let look = |_| {
            let before = self.ticks();
            let nanoseconds = nanoseconds(self.started);
            let after = self.ticks();
            debug_assert!(before <= after, "CLOCK-A: time went back in one thread");
            (after - before, nanoseconds as f64 / after.midpoint(before).max(1) as f64)
        };
        let best = (0..LOOKS).map(look).min_by_key(|(gap, _)| *gap);
        best.map_or(1.0, |(_, length)| length)
    }
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
fn has_counter() -> bool {
    std::fs::read_to_string(CLOCK_SOURCE).is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
#[inline]
#[expect(unsafe_code, reason = "instructions that every processor of the architecture has")]
fn counter() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: the fence belongs to SSE2, which all x86-64 processors have.
    unsafe { _mm_lfence() };
    // SAFETY: the counter is there, and the kernel lets programs read it: it is its clock in the
    // functions that it gives them.
    unsafe { _rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
fn has_counter() -> bool {
    false
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
fn counter() -> u64 {
    unreachable!("`has_counter` says that there is none")
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        thread,
    };

    use super::*;

    /// CLOCK-A: two threads pass a number to and fro, and the time grows each time.
    #[test]
    fn threads_agree_on_the_time() {
        const TURNS: u64 = 20_000;
        let (clock, turn, last) = (Clock::start(), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for me in 0..2 {
                let (turn, last) = (&turn, &last);
                scope.spawn(move || {
                    for mine in (me..TURNS).step_by(2) {
                        // Ordering: Acquire, for the time that was stored before the turn.
                        while turn.load(Ordering::Acquire) != mine {
                            thread::yield_now();
                        }
                        let now = clock.ticks();
                        // Ordering: Relaxed; the turn publishes it.
                        let before = last.swap(now, Ordering::Relaxed);
                        assert!(before <= now, "CLOCK-A: {before} was before {now}");
                        // Ordering: Release, with the load above.
                        turn.store(mine + 1, Ordering::Release);
                    }
                });
            }
        });
    }

    /// Processors count from 50 MHz, or in nanoseconds, to 20 GHz.
    #[test]
    fn ticks_have_a_length() {
        let (clock, began) = (Clock::start(), Instant::now());
        while began.elapsed().as_millis() < 5 {}
        let length = clock.nanoseconds_per_tick();
        assert!((0.05..=20.0).contains(&length), "{length} ns");
    }
}
