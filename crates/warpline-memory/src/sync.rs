//! The atomics and locks of [`inbox`](crate::inbox), [`pool`](crate::pool) and
//! [`ring`](mod@crate::ring). `tests/loom_*.rs` compile these modules a second time, with the types
//! of the model checker in place of these.

pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};
