//! I/O events (GTW, section 2.2), and LPs that wait.
//!
//! A *non-blocking* I/O event takes its place in the history of its LP like any other event,
//! without a handler call. When it is committed, its message goes to the [`IoStage`], which calls
//! the handlers of all workers' events one at a time and in the order of their keys.
//!
//! With other ranks, each has a stage of its own: the handlers are called in the order of keys at
//! each rank, and those of different ranks at the same time. When one fails, others may be past its
//! key.
//!
//! A *blocking* one makes its LP wait: it and every later event of the LP are kept in
//! [`Waiting`] until GVT has reached it, or an earlier event for the LP comes. A handler that
//! failed makes its LP wait in the same way: if GVT reaches the event, the failure was real.

use std::{
    cmp::{Ordering as Order, Reverse},
    collections::{BTreeMap, BinaryHeap},
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use warpline_core::{EventKey, Fault, LogicalProcess, LpId, Model};

use warpline_memory::{Arena, Taken};

use super::{Message, event::Event, gvt::Bound};
use crate::panics;

/// Why an LP waits.
#[derive(Debug)]
pub(super) enum Reason {
    /// The event is a blocking I/O event.
    Io,
    /// The handler of the event failed, on what may have been a state that never really was.
    Failed(Fault),
}

/// An LP that waits: for what, and what it got meanwhile.
#[derive(Debug)]
struct Blocked {
    event: Event,
    reason: Reason,
    later: Vec<Event>,
}

/// The LPs of a worker that wait (the paper's I/O queue).
#[derive(Debug, Default)]
pub(super) struct Waiting(BTreeMap<u32, Blocked>);

impl Waiting {
    /// Makes the LP of `event` wait for it.
    pub(super) fn block(&mut self, event: Event, reason: Reason) {
        let blocked = Blocked { event, reason, later: Vec::new() };
        let before = self.0.insert(event.lp, blocked);
        debug_assert!(before.is_none(), "an LP waits for one event at a time");
    }

    /// Keeps an event for an LP that waits; gives it back if it is earlier than what the LP waits
    /// for.
    pub(super) fn keep(&mut self, event: Event) -> Result<(), Event> {
        match self.0.get_mut(&event.lp) {
            Some(blocked) if event > blocked.event => {
                blocked.later.push(event);
                Ok(())
            }
            _ => Err(event),
        }
    }

    /// Ends the wait of an LP: hands out all that it got, the event that it waited for included.
    pub(super) fn unblock(&mut self, lp: u32, mut sink: impl FnMut(Event)) {
        if let Some(blocked) = self.0.remove(&lp) {
            sink(blocked.event);
            blocked.later.into_iter().for_each(sink);
        }
    }

    /// Takes out the event that its LP waits for, and ends the wait; false if it waits for another.
    pub(super) fn take(&mut self, event: &Event, sink: impl FnMut(Event)) -> bool {
        if self.0.get(&event.lp).is_none_or(|blocked| blocked.event != *event) {
            return false;
        }
        if let Some(blocked) = self.0.remove(&event.lp) {
            blocked.later.into_iter().for_each(sink);
        }
        true
    }

    /// Whether an LP waits.
    pub(super) fn holds(&self, lp: u32) -> bool {
        self.0.contains_key(&lp)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out a later event of an LP that waits; false if it is none.
    pub(super) fn remove_later(&mut self, event: &Event) -> bool {
        let Some(blocked) = self.0.get_mut(&event.lp) else { return false };
        let place = blocked.later.iter().position(|later| later == event);
        place.map(|place| blocked.later.swap_remove(place)).is_some()
    }

    /// The least of the events that are waited for: those kept are later than these.
    pub(super) fn least(&self) -> Bound {
        let keys = self.0.values().map(|blocked| Bound(blocked.event.key.words()));
        keys.min().unwrap_or(Bound::NEVER)
    }

    /// The event that GVT has reached, if an LP waits for it, and why.
    pub(super) fn reached(&self, gvt: Bound) -> Option<(Event, &Reason)> {
        let mut all = self.0.values();
        let blocked = all.find(|blocked| Bound(blocked.event.key.words()) == gvt)?;
        Some((blocked.event, &blocked.reason))
    }

    /// All events that are kept here.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &Event> {
        self.0.values().flat_map(|blocked| std::iter::once(&blocked.event).chain(&blocked.later))
    }

    /// How many events are kept here.
    pub(super) fn len(&self) -> usize {
        self.0.values().map(|blocked| 1 + blocked.later.len()).sum()
    }
}

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
    /// A handler has failed, and nothing comes after it.
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
