//! What a copy of a state takes, measured by those who may choose how states are saved: the
//! sequential engine between two stages, and Time Warp at a new GVT.

use std::{hint::black_box, time::Instant};

use crate::panics;

/// So many states are copied at a time, or fewer if that takes longer than this, in seconds.
pub(crate) const COPIES: u32 = 4;
const COPIES_TIME: f64 = 10e-6;

/// Copies a state, for the time that it takes. Returns false if that panics.
pub(crate) fn copy_in_vain(state: &impl Clone) -> bool {
    panics::catch(|| drop(black_box(state.clone()))).is_ok()
}

/// Calls `copy` a few times; it makes a copy, or returns false. Returns how often, and the seconds
/// that took: for ever, if there was no copy.
pub(crate) fn time_copies(copy: impl Fn() -> bool) -> (u32, f64) {
    let began = Instant::now();
    let (mut made, mut seconds) = (0, 0.0);
    while made < COPIES && seconds <= COPIES_TIME {
        let is_copied = copy();
        made += 1;
        seconds = if is_copied { began.elapsed().as_secs_f64() } else { f64::INFINITY };
    }
    debug_assert!(made > 0 && seconds >= 0.0, "{made} copies take {seconds} s");
    (made, seconds)
}
