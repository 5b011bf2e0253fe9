//! Non-blocking I/O events (GTW, section 2.2), and the stage that puts them in order.
//!
//! A *non-blocking* I/O event takes its place in the history of its LP like any other event,
//! without a handler call. When it is committed, its message goes to the [`IoStage`], which calls
//! the handlers of all workers' events one at a time and in the order of their keys. For blocking
//! I/O events see [`waiting`](super::waiting).
//!
//! Each rank has a stage of its own. The handlers are called in the order of keys at each rank, and
//! those of different ranks at the same time. When one fails, other ranks may be past its key.

use std::{
    cmp::{Ordering as Order, Reverse},
    collections::BinaryHeap,
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use warpline_core::{EventKey, Fault, LogicalProcess, LpId, Model};

use warpline_memory::{Arena, Taken};

use super::{Message, gvt::Bound};
use crate::panics;

/// A committed non-blocking I/O event.
struct Output<T> {
    key: EventKey,
    lp: LpId,
    message: T,
}

impl<T> PartialEq for Output<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<T> Eq for Output<T> {}
impl<T> PartialOrd for Output<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Output<T> {
    fn cmp(&self, other: &Self) -> Order {
        self.key.cmp(&other.key)
    }
}

/// Where the non-blocking I/O events of all workers are put in order.
pub(super) struct IoStage<M: Model> {
    /// Whether there ever was one.
    used: AtomicBool,
    queue: Mutex<Queue<M>>,
}

struct Queue<M: Model> {
    outputs: BinaryHeap<Reverse<Output<Taken<Message<M>>>>>,
    /// Each worker has delivered all its events before this.
    delivered: Vec<Bound>,
    /// A handler has failed, and no other one is called.
    failed: bool,
}

impl<M: Model> IoStage<M> {
    pub(super) fn new(workers: usize) -> Self {
        let queue = Queue {
            outputs: BinaryHeap::new(),
            delivered: vec![Bound::ZERO; workers],
            failed: false,
        };
        Self { used: AtomicBool::new(false), queue: Mutex::new(queue) }
    }

    /// Takes the committed events of a worker, all those before `until`, and handles those that
    /// every worker has gone beyond. `last` says that the worker will not come again.
    ///
    /// # Errors
    ///
    /// The first handler that failed, with its event.
    pub(super) fn deliver(
        &self,
        model: &M,
        (worker, last): (usize, bool),
        until: Bound,
        arena: &Arena<Message<M>>,
        outputs: &mut Vec<(EventKey, LpId, Taken<Message<M>>)>,
    ) -> Result<(), (EventKey, LpId, Fault)> {
        // Ordering: Relaxed; a worker that misses the flag delivers in a later round, and nothing
        // is handled before it has. So it looks by itself if there will be no later round.
        if outputs.is_empty() && !last && !self.used.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.used.store(true, Ordering::Relaxed);
        // A handler's panic is caught below, so the queue is never left in between.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let taken =
            outputs.drain(..).map(|(key, lp, message)| Reverse(Output { key, lp, message }));
        queue.outputs.extend(taken);
        queue.delivered[worker] = until;
        let safe = queue.delivered.iter().copied().min().unwrap_or(until);
        queue.handle_before(model, arena, safe)
    }
}

impl<M: Model> Queue<M> {
    fn handle_before(
        &mut self,
        model: &M,
        arena: &Arena<Message<M>>,
        safe: Bound,
    ) -> Result<(), (EventKey, LpId, Fault)> {
        let is_safe = |output: &Reverse<Output<_>>| Bound(output.0.key.words()) < safe;
        while !self.failed && self.outputs.peek().is_some_and(is_safe) {
            if let Some(Reverse(Output { key, lp, message })) = self.outputs.pop() {
                panics::catch(|| M::Lp::output(model, lp, &key, arena.message(&message)))
                    .inspect_err(|_| self.failed = true)
                    .map_err(|fault| (key, lp, fault))?;
            }
        }
        Ok(())
    }
}

impl<M: Model> fmt::Debug for IoStage<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoStage").field("used", &self.used).finish_non_exhaustive()
    }
}
