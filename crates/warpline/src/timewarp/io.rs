//! Non-blocking I/O events (GTW, section 2.2), and the stage that puts them in order.
//!
//! A *non-blocking* I/O event takes its place in the history of its LP like any other event,
//! without a handler call. When it is committed, its message goes to the [`IoStage`], which calls
//! the handlers of all workers' events one at a time and in the order of their keys. For blocking
//! I/O events see [`waiting`](super::waiting).
//!
//! Each rank has a stage of its own. Those of other ranks ship what they have put in order to the
//! stage of rank 0 ([`Collection`]), which calls the handlers of all ranks' events. When one fails,
//! other ranks may be past its key.

use std::{
    cmp::{Ordering as Order, Reverse},
    collections::{BinaryHeap, binary_heap::PeekMut},
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use warpline_core::{EventKey, Fault, LogicalProcess, LpId, Model, Wire};

use warpline_memory::{Arena, Taken};
use warpline_net::NetError;

use super::{Message, gvt::Bound};
use crate::{
    panics,
    run::{Arrival, Collection, KeyBound, NEVER, Ranks},
};

/// A committed non-blocking I/O event.
struct Output<T> {
    key: EventKey,
    lp: LpId,
    message: Where<T>,
}

/// Where its message is.
enum Where<T> {
    /// In a buffer of this rank.
    Here(Taken<T>),
    /// It has come from another rank.
    Apart(T),
}

impl<T: Send + Sync> Where<T> {
    fn get<'m>(&'m self, arena: &'m Arena<T>) -> &'m T {
        match self {
            Self::Here(taken) => arena.message(taken),
            Self::Apart(message) => message,
        }
    }
}

/// Why I/O events could not be handled.
pub(super) enum Undelivered {
    /// A handler failed, with its event.
    Failed(EventKey, LpId, Fault),
    /// Ranks cannot talk any more.
    Net(NetError),
}

impl From<NetError> for Undelivered {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
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
    outputs: BinaryHeap<Reverse<Output<Message<M>>>>,
    /// If there are other ranks.
    collection: Option<Collection<Message<M>>>,
    /// Each worker has delivered all its events before this.
    delivered: Vec<Bound>,
    /// A handler has failed, and no other one is called.
    failed: bool,
}

impl<M: Model> IoStage<M> {
    /// That of a rank with so many workers; if there are other ranks, `wire` writes messages.
    pub(super) fn new(workers: usize, ranks: &Ranks<'_>, wire: Option<Wire<Message<M>>>) -> Self {
        let queue = Queue {
            outputs: BinaryHeap::new(),
            collection: wire.and_then(|wire| Collection::new(ranks, wire)),
            delivered: vec![Bound::ZERO; workers],
            failed: false,
        };
        Self { used: AtomicBool::new(false), queue: Mutex::new(queue) }
    }

    /// Takes the committed events of a worker, all those before `until`, and handles those that
    /// every worker has gone beyond. `last` says that the worker will not come again. The first
    /// worker of a rank exchanges them with other `ranks`, if there are any.
    ///
    /// # Errors
    ///
    /// The first handler that failed, with its event; the network's.
    pub(super) fn deliver(
        &self,
        model: &M,
        (worker, last): (usize, bool),
        until: Bound,
        arena: &Arena<Message<M>>,
        outputs: &mut Vec<(EventKey, LpId, Taken<Message<M>>)>,
        ranks: Option<&Ranks<'_>>,
    ) -> Result<(), Undelivered> {
        // Ordering: Relaxed; a worker that misses the flag delivers in a later round, and nothing
        // is handled before it has. So it looks by itself if there will be no later round. Other
        // ranks may have some at any time.
        let is_unused = !last && ranks.is_none() && !self.used.load(Ordering::Relaxed);
        if outputs.is_empty() && is_unused {
            return Ok(());
        }
        self.used.store(true, Ordering::Relaxed);
        // A handler's panic is caught below, so the queue is never left in between.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(
            outputs.iter().all(|(key, ..)| {
                (queue.delivered[worker]..until).contains(&Bound(key.words()))
            }),
            "an I/O event of worker {worker} is not final, or comes too late"
        );
        let output = |(key, lp, message)| Output { key, lp, message: Where::Here(message) };
        queue.outputs.extend(outputs.drain(..).map(output).map(Reverse));
        debug_assert!(queue.delivered[worker] <= until, "outputs are told to be due twice");
        queue.delivered[worker] = until;
        match ranks {
            None => {
                let safe = queue.safe();
                queue.handle_before(model, arena, safe)
            }
            Some(ranks) if worker == 0 => queue.exchange(model, arena, ranks, false),
            Some(_) => Ok(()),
        }
    }

    /// Handles what is left, with other ranks: they have all come to the end of the run, or this
    /// one is alerted. All workers have delivered what they have.
    ///
    /// # Errors
    ///
    /// As for [`deliver`](Self::deliver).
    pub(super) fn finish(
        &self,
        model: &M,
        arena: &Arena<Message<M>>,
        ranks: &Ranks<'_>,
    ) -> Result<(), Undelivered> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.exchange(model, arena, ranks, true)
    }
}

impl<M: Model> Queue<M> {
    /// All workers of this rank have delivered their events before this.
    fn safe(&self) -> Bound {
        self.delivered.iter().copied().min().unwrap_or(Bound::NEVER)
    }

    /// Ships what is safe to rank 0. Rank 0 handles what is safe at all ranks.
    fn exchange(
        &mut self,
        model: &M,
        arena: &Arena<Message<M>>,
        ranks: &Ranks<'_>,
        last: bool,
    ) -> Result<(), Undelivered> {
        let safe = self.safe();
        // The model's code reads and writes messages.
        let moved = panics::catch(|| {
            if ranks.me() == 0 { self.collect(ranks, last) } else { self.ship(arena, ranks, last) }
        });
        let moved = moved.unwrap_or_else(|fault| Err(NetError::Failed(fault.to_string())));
        let others = moved?;
        self.handle_before(model, arena, safe.min(Bound(others)))
    }

    /// Takes what other ranks have shipped. Returns their bound.
    fn collect(&mut self, ranks: &Ranks<'_>, last: bool) -> Result<KeyBound, NetError> {
        let Self { outputs, collection: Some(collection), .. } = self else { return Ok(NEVER) };
        let mut take = |Arrival { key, to, message, .. }: Arrival<Message<M>>| {
            outputs.push(Reverse(Output { key, lp: to, message: Where::Apart(message) }));
        };
        match last {
            true => collection.collect_rest(ranks, &mut take).map(|_| NEVER),
            false => collection.collect(ranks, &mut take),
        }
    }

    /// Ships what is safe to rank 0; there is nothing to handle here.
    fn ship(
        &mut self,
        arena: &Arena<Message<M>>,
        ranks: &Ranks<'_>,
        last: bool,
    ) -> Result<KeyBound, NetError> {
        let safe = self.safe();
        let mut due = Vec::new();
        while let Some(first) = self.outputs.peek_mut() {
            if Bound(first.0.key.words()) >= safe {
                break;
            }
            due.push(PeekMut::pop(first).0);
        }
        if let Some(collection) = &mut self.collection {
            let outputs = due.iter().map(|due| (due.key, due.lp, due.message.get(arena)));
            collection.ship(ranks, outputs, (safe.0, last))?;
        }
        Ok(Bound::ZERO.0)
    }

    fn handle_before(
        &mut self,
        model: &M,
        arena: &Arena<Message<M>>,
        safe: Bound,
    ) -> Result<(), Undelivered> {
        let is_safe = |output: &Reverse<Output<_>>| Bound(output.0.key.words()) < safe;
        while !self.failed && self.outputs.peek().is_some_and(is_safe) {
            if let Some(Reverse(Output { key, lp, message })) = self.outputs.pop() {
                panics::catch(|| M::Lp::output(model, lp, &key, message.get(arena)))
                    .inspect_err(|_| self.failed = true)
                    .map_err(|fault| Undelivered::Failed(key, lp, fault))?;
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
