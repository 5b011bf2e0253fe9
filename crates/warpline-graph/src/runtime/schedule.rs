//! Which thread runs next: the trait of schedulers, which users can implement, and the default one.
//!
//! # Invariants
//!
//! - **SCHED-A.** Between two threads of one scheduler, every other scheduler is asked once, so
//!   none can starve another. [`Worker::next_thread`](super::Worker) sees to that.
//! - **SCHED-B.** The default scheduler runs threads in the order in which they became eligible.

use std::{
    collections::VecDeque,
    fmt, mem,
    sync::{Arc, Mutex, PoisonError},
    task::{Wake, Waker},
};

use super::Worker;

/// A finite computation that runs without interruption; its context is what it captures.
pub type Thread<'t> = Box<dyn FnOnce(&Worker<'t>) + 't>;

/// A data structure that schedules its own threads, for example by simulation time.
///
/// The runtime asks all schedulers in turn for one thread each. A run may end while a scheduler
/// keeps threads that are not eligible. That is how a conservative simulation learns that it is
/// deadlocked; it then makes one of them eligible and runs again.
pub trait Scheduler<'t> {
    /// The eligible thread to run next, if there is one.
    fn next_thread(&mut self) -> Option<Thread<'t>>;
}

/// The numbers of the futures that were woken.
type Woken = Arc<Mutex<Vec<u64>>>;

/// The default scheduler: first come, first served.
#[derive(Default)]
pub(super) struct Fifo<'t> {
    threads: VecDeque<Thread<'t>>,
    woken: Woken,
}

impl<'t> Fifo<'t> {
    pub(super) fn push(&mut self, thread: Thread<'t>) {
        self.threads.push_back(thread);
    }

    /// The waker of the future with this number.
    pub(super) fn waker(&self, number: u64) -> Waker {
        Arc::new(TaskWaker { number, woken: Arc::clone(&self.woken) }).into()
    }
}

impl<'t> Scheduler<'t> for Fifo<'t> {
    fn next_thread(&mut self) -> Option<Thread<'t>> {
        let woken = mem::take(&mut *self.woken.lock().unwrap_or_else(PoisonError::into_inner));
        for number in woken {
            self.push(Box::new(move |worker| worker.resume(number)));
        }
        self.threads.pop_front()
    }
}

impl fmt::Debug for Fifo<'_> {
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
