//! What [`inbox`](crate::inbox) and [`pool`](crate::pool) synchronise with. `tests/loom_*.rs`
//! compile these modules a second time, with what the model checker has under the same names.

pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering},
};
