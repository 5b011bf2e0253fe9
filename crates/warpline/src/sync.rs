//! The atomics that [`gvt`](crate::timewarp::gvt) uses. `tests/loom_gvt.rs` compiles that module a second
//! time, with those of the model checker under the same name.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
