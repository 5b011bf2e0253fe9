//! The atomics that [`inbox`](crate::inbox) uses. `tests/loom_inbox.rs` compiles that module a second
//! time, with those of the model checker under the same name.

pub(crate) use std::sync::atomic::{AtomicPtr, Ordering};
