//! The atomics that `timewarp/gvt.rs`, `run/barrier.rs` and `speculative/words.rs` use.
//! `tests/loom_*.rs` compile these modules a second time, with those of the model checker under the
//! same names.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

/// Where another worker may run, in a simulated run.
pub(crate) use crate::scheduling::point;
