//! A runtime for asynchronous programs over all workers: atomic threads and split-phase operations.
//!
//! A program makes one [`Runtime`] at each worker, registers what others may access, creates the
//! first threads, and calls [`run`](Runtime::run), which returns at all workers when no worker has
//! anything left to do.
//!
//! - A *thread* runs without interruption. It is a closure given to [`spawn`](Worker::spawn), or
//!   the part of a future between two waits. It needs no locks, and its context is what it
//!   captures.
//! - A *split-phase operation* starts now and completes later: [`put`](Worker::put),
//!   [`get`](Worker::get), [`invoke`](Worker::invoke), [`store`](Worker::store). It returns a
//!   [`Split`] that can be awaited, or that increments a [`Counter`] for which other threads wait
//!   ([`when`](Worker::when)). Meanwhile other threads run, which hides the latency.
//! - Small messages gather in the worker's outbox until there are many or no thread is eligible.
//! - A data structure that orders threads itself is a [`Scheduler`]; schedulers take turns.
//! - An operation's error is returned by its `Split`. If that was dropped, the error ends the run
//!   at all workers, and so does an error of the network.
//!
//! | module | what it is |
//! |---|---|
//! | `worker` | What a thread can do, which one runs next, and the state of a worker. |
//! | `counter` | Counters, and operations in progress. |
//! | `region` | Memory that other workers can put to and get from. |
//! | `fifo` | The default scheduler. |
//! | `handlers` | The handlers of messages that arrive. |
//! | `idle`, `termination` | How all workers find out that nothing is left to do. |
//! | `message` | The messages and their bytes. |
//!
//! # Example
//!
//! Four workers count numbers into one histogram whose bins are spread over them.
//!
//! ```
//! use warpline_runtime::{Counter, Place, Runtime, RuntimeError};
//! use warpline_net::{Aggregation, Transport, network};
//!
//! const COUNTS: u32 = 0;
//! const ADD: u32 = 1;
//!
//! fn histogram(transport: &dyn Transport, port: usize) -> Result<Vec<u64>, RuntimeError> {
//!     let mut runtime = Runtime::new(transport, port, Aggregation::default());
//!     let workers = runtime.workers();
//!     let counts = runtime.register(COUNTS, vec![0u64; 2]);
//!     runtime.register_thread(ADD, move |_worker, _from, bin| {
//!         counts.with(|counts| counts[usize::from(bin[0])] += 1);
//!         async { Vec::new() }
//!     });
//!
//!     // Worker b / 2 has bin b. A thousand additions are in transit at once, in few parcels.
//!     let added = Counter::new();
//!     for number in 0..1000 {
//!         let bin = number * number % 7;
//!         runtime.invoke(workers[bin / 2], ADD, &[bin as u8 % 2]).counted(&added);
//!     }
//!     let worker = runtime.clone();
//!     let totals = runtime.run_until(async move {
//!         added.reaches(1000).await;
//!         worker.barrier().await?;
//!         // All gets start before the program waits for the first one.
//!         let place = |&owner| Place { worker: owner, region: COUNTS, offset: 0 };
//!         let gets: Vec<_> = workers.iter().map(|w| worker.get::<u64>(place(w), 2)).collect();
//!         let mut totals = Vec::new();
//!         for get in gets {
//!             totals.extend(get.await?);
//!         }
//!         Ok::<_, RuntimeError>(totals)
//!     })??;
//!     assert!(runtime.traffic().parcels < 500);
//!     runtime.run()?;
//!     Ok(totals)
//! }
//!
//! let ends = network(2, 2);
//! std::thread::scope(|scope| {
//!     let start = |end, port| scope.spawn(move || histogram(end, port).unwrap());
//!     let workers: Vec<_> = ends.iter().flat_map(|end| [start(end, 0), start(end, 1)]).collect();
//!     for worker in workers {
//!         assert_eq!(worker.join().unwrap(), [572, 1140, 1144, 0, 1144, 0, 0, 0]);
//!     }
//! });
//! ```
//!
//! # References
//!
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995,
//! section 3.

#![forbid(unsafe_code)]

mod counter;
mod fifo;
#[cfg(test)]
mod fuzz;
mod handlers;
mod idle;
mod message;
mod region;
mod termination;
mod worker;

use std::{cell::RefCell, future::Future, ops::Deref, rc::Rc, thread};

pub use counter::{Counter, Split};
pub use message::Refusal;
pub use region::{Place, Region};
pub use worker::{Scheduler, Thread, Worker};

use warpline_net::{Address, Aggregation, NetError, Transport};

use message::Message;

/// The worker that counts arrivals at barriers and finds out when a run is over.
const ROOT: Address = Address { rank: 0, port: 0 };

/// The reason why an operation or a run has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The network failed, a rank is lost, or a parcel is malformed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The worker that an operation was for has refused it.
    #[error("worker {} of rank {} refused an operation: {what}", by.port, by.rank)]
    Refused {
        /// The worker that refused.
        by: Address,
        /// The reason.
        what: Refusal,
    },
    /// An operation was for a worker that does not exist.
    #[error("rank {} has no worker {}", address.rank, address.port)]
    NoWorker {
        /// The worker's address.
        address: Address,
    },
    /// No worker has anything left to do, but threads still wait for something.
    #[error(
        "the run has stalled: no worker has anything left to do, but {threads} threads still wait"
    )]
    Stalled {
        /// The number of waiting threads at all workers.
        threads: u64,
    },
    /// A worker has dropped its runtime while others run.
    #[error("worker {} of rank {} dropped its runtime while others run", worker.port, worker.rank)]
    Left {
        /// The worker.
        worker: Address,
    },
    /// Another worker has failed.
    #[error("worker {} of rank {} failed: {what}", worker.port, worker.rank)]
    Elsewhere {
        /// The worker.
        worker: Address,
        /// Its error.
        what: String,
    },
}

/// The runtime of one worker. It can do what its threads can do.
#[derive(Debug)]
pub struct Runtime<'t> {
    worker: Worker<'t>,
    /// A run has failed, and the worker where it failed has told all others.
    ended: bool,
}

impl<'t> Runtime<'t> {
    /// The runtime of the worker at `port`. Nothing else may receive at that port.
    #[must_use]
    pub fn new(transport: &'t dyn Transport, port: usize, aggregation: Aggregation) -> Self {
        Self { worker: Worker::new(transport, port, aggregation), ended: false }
    }

    /// Runs threads until no worker has one left and no message is in transit. All workers call it
    /// equally often. What a worker sends after its call has returned reaches no other worker
    /// before that worker's call has returned.
    ///
    /// # Errors
    ///
    /// The first error, here or at another worker, that no operation has returned. The threads that
    /// are left will not run.
    pub fn run(&mut self) -> Result<(), RuntimeError> {
        self.drive(|| false)
    }

    /// Runs threads until this future is ready. Other workers may still need this one then, so a
    /// program ends with [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run); [`RuntimeError::Stalled`] when the future can never be ready.
    pub fn run_until<F>(&mut self, future: F) -> Result<F::Output, RuntimeError>
    where
        F: Future + 't,
        F::Output: 't,
    {
        let output = Rc::new(RefCell::new(None));
        let place = Rc::clone(&output);
        self.spawn_async(async move {
            let ready = future.await;
            *place.borrow_mut() = Some(ready);
        });
        self.drive(|| output.borrow().is_some())?;
        let ready = output.borrow_mut().take();
        ready.ok_or(RuntimeError::Stalled { threads: 1 })
    }

    /// The main loop of a worker: handlers, then one thread, until the run is over or `done`.
    fn drive(&mut self, done: impl Fn() -> bool) -> Result<(), RuntimeError> {
        loop {
            self.drain();
            let error = self.0.failure.borrow().clone();
            if let Some(error) = error {
                self.tell(&error);
                return Err(error);
            }
            if let Some(waiting) = self.outcome() {
                self.flush();
                if waiting == 0 {
                    self.0.termination.borrow_mut().next_phase();
                    return Ok(());
                }
                self.fail(RuntimeError::Stalled { threads: waiting });
            } else if done() {
                self.flush();
                return Ok(());
            } else if let Some(thread) = self.next_thread() {
                thread(self);
            } else {
                self.detect_termination();
                self.flush();
                thread::yield_now();
            }
        }
    }

    /// Tells the other workers of an error, unless they learn of it without this worker.
    fn tell(&mut self, error: &RuntimeError) {
        use RuntimeError::{Elsewhere, Left, Net, Stalled};
        let known = matches!(error, Elsewhere { .. } | Left { .. } | Stalled { .. })
            || matches!(error, Net(NetError::Lost { .. }));
        if !known && !self.ended {
            self.tell_all(&Message::Failed { what: error.to_string().as_bytes() });
            self.flush();
        }
        self.ended = true;
    }
}

impl<'t> Deref for Runtime<'t> {
    type Target = Worker<'t>;

    fn deref(&self) -> &Worker<'t> {
        &self.worker
    }
}

/// A worker that leaves says so, even by a panic, because others may wait for it. Threads hold
/// handles on the worker that holds them, so this cycle is broken here.
impl Drop for Runtime<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.tell_all(&Message::Left);
            self.flush();
        }
        drop(self.0.tasks.take());
        drop(self.0.remote.take());
        drop(self.0.schedulers.take());
        drop(self.0.fifo.take());
    }
}
