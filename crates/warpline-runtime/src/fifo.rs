//! The default scheduler: first come, first served; and the wakers of futures, which go into it.
//!
//! Called by `worker`, which says what a thread is.
//!
//! # Invariants
//!
//! - **SCHED-B.** The default scheduler runs threads in the order in which they became eligible.

use std::{
    collections::VecDeque,
    fmt, mem,
    sync::{Arc, Mutex, PoisonError},
    task::{Wake, Waker},
};

/// The numbers of the futures that were woken.
type Woken = Arc<Mutex<Vec<u64>>>;

/// Threads, first come, first served.
pub(super) struct Fifo<T> {
    threads: VecDeque<T>,
    woken: Woken,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { threads: VecDeque::new(), woken: Woken::default() }
    }
}

impl<T> Fifo<T> {
    pub(super) fn push(&mut self, thread: T) {
        self.threads.push_back(thread);
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.threads.pop_front()
    }

    /// The numbers of the futures that were woken since the last call.
    pub(super) fn take_woken(&self) -> Vec<u64> {
        mem::take(&mut *self.woken.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The waker of the future with this number.
    pub(super) fn waker(&self, number: u64) -> Waker {
        Arc::new(TaskWaker { number, woken: Arc::clone(&self.woken) }).into()
    }
}

impl<T> fmt::Debug for Fifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

/// Wakes one future. Wakers may be sent to other operating-system threads, hence the lock.
struct TaskWaker {
    number: u64,
    woken: Woken,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}
