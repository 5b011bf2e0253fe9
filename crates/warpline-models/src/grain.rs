//! What the parameter `grain` of a model does: its handlers keep a core busy for as long as real
//! ones would.

use std::time::{Duration, Instant};

/// Keeps this core busy. The wall time is not part of the model and changes no result.
pub(crate) fn keep_busy(grain: Duration) {
    let start = Instant::now();
    while start.elapsed() < grain {
        std::hint::spin_loop();
    }
}
