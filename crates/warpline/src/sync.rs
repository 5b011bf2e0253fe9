//! The atomics that [`gvt`](crate::timewarp::gvt) and
//! [`barrier`](crate::conservative::windows::barrier) use. `tests/loom_*.rs` compile these
//! modules a second time, with those of the model checker under the same names.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
