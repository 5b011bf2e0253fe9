//! A runtime for asynchronous programs over all workers: atomic threads and split-phase operations.
//!
//! A program makes one [`Runtime`] at each worker, registers what others may touch, creates the
//! first threads, and calls [`run`](Runtime::run), which returns everywhere when nothing is left to
//! do anywhere.
//!
//! - A *thread* runs without interruption: a closure given to [`spawn`](Worker::spawn), or a
//!   stretch of a future between two waits. It needs no locks, and its context is what it captures.
//! - A *split-phase operation* starts now and completes later: [`put`](Worker::put),
//!   [`get`](Worker::get), [`invoke`](Worker::invoke), [`store`](Worker::store). The [`Split`] it
//!   gives back can be awaited, or it increments a [`Counter`] for which other threads wait
//!   ([`when`](Worker::when)). Meanwhile other threads run, which hides the latency.
//! - Small messages gather in the worker's outbox until there are many, or no thread is eligible.
//! - A data structure with an order of its own is a [`Scheduler`]; all get their turn.
//! - Errors come back to whoever holds the operation; those that nobody holds, and those of the
//!   network, end the run at all workers.
//!
//! | module | what it is |
//! |---|---|
//! | `worker` | What a thread can do, and what a worker consists of. |
//! | `counter` | Counters, and operations under way. |
//! | `region` | Memory that others can put to and get from. |
//! | `schedule` | Which thread runs next. |
//! | `network` | The handlers of what arrives. |
//! | `ending` | How all workers find out that nothing is left to do. |
//! | `wire` | The messages, as bytes. |
//!
//! # Example
//!
//! Four workers count numbers into one histogram, whose bins are spread over them.
//!
//! ```
//! use warpline_graph::runtime::{Counter, Place, Runtime, RuntimeError};
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
//!     // Bin b is at worker b / 2. A thousand additions are under way at once, in few parcels.
//!     let added = Counter::new();
//!     for number in 0..1000 {
//!         let bin = number * number % 7;
//!         runtime.invoke(workers[bin / 2], ADD, &[bin as u8 % 2]).counted(&added);
//!     }
//!     let worker = runtime.clone();
//!     let totals = runtime.run_until(async move {
//!         added.reaches(1000).await;
//!         worker.barrier().await?;
//!         // All gets start before the first one is waited for.
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

mod counter;
mod ending;
#[cfg(test)]
mod fuzz;
mod network;
mod region;
mod schedule;
mod wire;
mod worker;

use std::{cell::RefCell, future::Future, ops::Deref, rc::Rc, thread};

pub use counter::{Counter, Split};
pub use region::{Place, Region};
pub use schedule::{Scheduler, Thread};
pub use wire::Refusal;
pub use worker::Worker;

use warpline_net::{Address, Aggregation, NetError, Transport};

use wire::Message;

/// The worker that keeps barriers and finds out when a run is over.
const ROOT: Address = Address { rank: 0, port: 0 };

/// Why an operation or a run has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The network failed, a rank is lost, or something cannot be read.
    #[error(transparent)]
    Net(#[from] NetError),
    /// An operation was refused by the worker that it was for.
    #[error("worker {}.{} refused: {what}", by.rank, by.port)]
    Refused {
        /// Who refused.
        by: Address,
        /// Why.
        what: Refusal,
    },
    /// An operation was for a worker that is not there.
    #[error("there is no worker {}.{}", address.rank, address.port)]
    NoWorker {
        /// Which one.
        address: Address,
    },
    /// Nothing can happen any more, and threads still wait for something.
    #[error("nothing is left to do, but {threads} threads still wait")]
    Stalled {
        /// How many, at all workers.
        threads: u64,
    },
    /// A worker has dropped its runtime while others run.
    #[error("worker {}.{} has left while others run", worker.rank, worker.port)]
    Left {
        /// Which one.
        worker: Address,
    },
    /// Another worker has failed.
    #[error("worker {}.{} failed: {what}", worker.rank, worker.port)]
    Elsewhere {
        /// Which one.
        worker: Address,
        /// What it said.
        what: String,
    },
}

/// The runtime of one worker; what its threads can do, it can do, too.
#[derive(Debug)]
pub struct Runtime<'t> {
    worker: Worker<'t>,
    /// A run has failed, and all workers hear of it from where the failure comes from.
    ended: bool,
}

impl<'t> Runtime<'t> {
    /// The runtime of the worker at `port`, at which nothing else may receive.
    #[must_use]
    pub fn new(transport: &'t dyn Transport, port: usize, aggregation: Aggregation) -> Self {
        Self { worker: Worker::new(transport, port, aggregation), ended: false }
    }

    /// Runs threads until no worker has one left and nothing is in flight. All workers call it
    /// equally often, and what one does after it has returned reaches no other before its call has.
    ///
    /// # Errors
    ///
    /// The first error that nobody has taken, here or at another worker. The threads that are left
    /// will not run.
    pub fn run(&mut self) -> Result<(), RuntimeError> {
        self.drive(|| false)
    }

    /// Runs threads until this future is ready. When it is, others may still need this worker: end
    /// with [`run`](Self::run).
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

    /// The loop of a worker: handlers, then one thread, until there is nothing or an end.
    fn drive(&mut self, done: impl Fn() -> bool) -> Result<(), RuntimeError> {
        loop {
            self.drain();
            let error = self.0.failure.borrow().clone();
            if let Some(error) = error {
                self.tell(&error);
                return Err(error);
            }
            if let Some(waiting) = self.verdict() {
                self.flush();
                if waiting == 0 {
                    self.0.ending.borrow_mut().next_phase();
                    return Ok(());
                }
                self.fail(RuntimeError::Stalled { threads: waiting });
            } else if done() {
                self.flush();
                return Ok(());
            } else if let Some(thread) = self.next_thread() {
                thread(self);
            } else {
                self.rest();
                self.flush();
                thread::yield_now();
            }
        }
    }

    /// Tells the others of an error, unless they hear of it from where it comes from.
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

/// Who leaves says so, even by a panic: nobody may wait for it. And threads hold handles on what
/// holds them, so they are dropped here.
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
