//! The runs of a sweep, dealt to the ranks of an MPI job: a rank that has a thread free gets the
//! next run, and rank 0 writes the rows.
//!
//! Runs differ in length, so nobody shares them out beforehand. This is a program of the runtime
//! of `warpline_runtime`: rank 0 has the queue of runs and two threads that any rank may invoke,
//! one that takes the next run from the queue and one that writes a row. Both are atomic, so they
//! need no locks; what a rank invokes is split-phase, so it goes on with its other runs meanwhile.
//! Runs themselves are on threads of the system, because they take seconds. A [`Scheduler`] of our
//! own turns one that has ended into the next request. Called by [`sweep`](super), which has
//! checked everything.
//!
//! # Invariants
//!
//! - **DEAL-A.** A run is dealt once. Its rank hands over one outcome of it, or the job fails.
//! - **DEAL-B.** A rank has at most as many runs as threads: it asks for one for each, and for one
//!   more whenever one has ended.
//!
//! # References
//!
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, section
//! 3: atomic threads, split-phase operations, schedulers of the application's own.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    rc::Rc,
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::Duration,
};

use serde_json::{Value, json};
use warpline_net::{Address, Aggregation, Transport};
use warpline_runtime::{Runtime, RuntimeError, Scheduler, Thread, Worker};

use super::Sweep;
use crate::{failure::Failure, progress::Caller, table::Row};

/// Who has the queue and writes rows.
const DEALER: Address = Address { rank: 0, port: 0 };
/// Rank 0's thread that takes the next run from the queue.
const NEXT: u32 = 0;
/// Rank 0's thread that takes the outcome of a run.
const OUTCOME: u32 = 1;

/// How long a rank sleeps until it looks again for what others want. A run waits about two of these
/// for its number; the processor time is well below a percent of a core.
const TICK: Duration = Duration::from_micros(500);

/// The row of a run, or none if it was stopped.
type Outcome = Result<Option<Row>, Failure>;

/// What rank 0 has: the runs that nobody has got yet, and where rows go.
pub(super) struct Dealer<'a> {
    queue: RefCell<VecDeque<usize>>,
    write: RefCell<&'a mut dyn FnMut(usize, Row) -> Result<(), Failure>>,
    failures: RefCell<Vec<Failure>>,
    count: Box<dyn Fn() + Sync + 'a>,
    caller: Caller<'a>,
}

impl<'a> Dealer<'a> {
    /// Deals the runs with these numbers, in this order.
    pub(super) fn new(
        runs: impl IntoIterator<Item = usize>,
        caller: Caller<'a>,
        write: &'a mut dyn FnMut(usize, Row) -> Result<(), Failure>,
    ) -> Self {
        let queue: VecDeque<_> = runs.into_iter().collect();
        let count = Box::new(caller.counting(queue.len()));
        let (queue, write) = (RefCell::new(queue), RefCell::new(write));
        Self { queue, write, failures: RefCell::default(), count, caller }
    }

    fn next(&self) -> Option<usize> {
        if self.caller.has_stopped() { None } else { self.queue.borrow_mut().pop_front() }
    }

    fn take(&self, from: Address, bytes: &[u8]) {
        (self.count)();
        let failure = match decode(bytes) {
            Some((number, Ok(Some(row)))) => {
                let written = (*self.write.borrow_mut())(number, row).err();
                if written.is_some() {
                    // Nothing that ends from now on could be written.
                    self.queue.borrow_mut().clear();
                }
                written
            }
            Some((_, Ok(None))) if self.caller.has_stopped() => None,
            Some((_, Ok(None))) => {
                self.queue.borrow_mut().clear();
                Some(Failure::Run(format!("rank {} was interrupted", from.rank)))
            }
            Some((_, Err(failure))) => Some(failure),
            None => Some(Failure::Run(format!("rank {} sent no outcome of a run", from.rank))),
        };
        self.failures.borrow_mut().extend(failure);
    }

    /// What failed.
    pub(super) fn into_failures(self) -> Vec<Failure> {
        self.failures.into_inner()
    }
}

impl fmt::Debug for Dealer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dealer").field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// Works at this rank, with a run on each thread of the pool, until there are no runs left. Rank 0
/// has the dealer.
pub(super) fn work(
    sweep: &Sweep<'_>,
    transport: &dyn Transport,
    pool: &rayon::ThreadPool,
    caller: Caller<'_>,
    dealer: Option<&Dealer<'_>>,
) -> Result<(), Failure> {
    let jobs = pool.current_num_threads();
    let (numbers, dealt) = mpsc::channel::<Option<usize>>();
    let (done, outcomes) = mpsc::channel();
    let dealt = Mutex::new(dealt);
    let run_all = |done: Sender<_>| {
        let next = || dealt.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(Some(number)) = next() {
            if done.send((number, sweep.outcome(number, jobs, caller))).is_err() {
                break;
            }
        }
    };
    pool.in_place_scope(|scope| {
        for _ in 0..jobs {
            let (done, run_all) = (done.clone(), &run_all);
            scope.spawn(move |_| run_all(done));
        }
        let said = serve(transport, jobs, numbers.clone(), outcomes, dealer);
        // The threads of the pool end, whatever has happened; one that has gone needs no word.
        (0..jobs).for_each(|_| _ = numbers.send(None));
        said.map_err(|error| Failure::Run(error.to_string()))
    })
}

/// The runtime of this rank, until no rank has anything left to do.
fn serve(
    transport: &dyn Transport,
    jobs: usize,
    numbers: Sender<Option<usize>>,
    outcomes: Receiver<(usize, Outcome)>,
    dealer: Option<&Dealer<'_>>,
) -> Result<(), RuntimeError> {
    let mut runtime = Runtime::new(transport, DEALER.port, Aggregation::Off);
    if let Some(dealer) = dealer {
        runtime.register_thread(NEXT, move |_, _, _| {
            let next = dealer.next().map_or(json!(null), |number| json!(number));
            async move { next.to_string().into_bytes() }
        });
        runtime.register_thread(OUTCOME, move |_, from, bytes| {
            dealer.take(from, &bytes);
            async { Vec::new() }
        });
    }
    let desk = Rc::new(Desk { numbers, outcomes, running: Cell::new(0), jobs });
    runtime.add_scheduler(Rc::new(RefCell::new(AtDesk(Rc::clone(&desk)))));
    (0..jobs).for_each(|_| desk.ask(&runtime));
    runtime.run()
}

/// Between the runtime, which is on one thread, and the threads of this rank's runs.
struct Desk {
    numbers: Sender<Option<usize>>,
    outcomes: Receiver<(usize, Outcome)>,
    running: Cell<usize>,
    jobs: usize,
}

impl Desk {
    /// Asks for a run, and hands it to a thread when it comes.
    fn ask(self: &Rc<Self>, worker: &Worker<'_>) {
        let (next, desk) = (worker.invoke(DEALER, NEXT, &[]), Rc::clone(self));
        worker.spawn_async(async move {
            // An error is one of the network, which ends the run of the runtime, too.
            let Ok(number) = next.await else { return };
            let number = serde_json::from_slice(&number).unwrap_or(None);
            if number.is_some() && desk.numbers.send(number).is_ok() {
                desk.running.set(desk.running.get() + 1);
                debug_assert!(desk.running.get() <= desk.jobs, "DEAL-B: too many runs");
            }
        });
    }
}

/// The scheduler of a rank's runs: when one has ended, its thread hands over the outcome and asks
/// for another. While runs go on there is always a thread, or the runtime would take this rank for
/// idle and end.
struct AtDesk(Rc<Desk>);

impl<'t> Scheduler<'t> for AtDesk {
    fn next_thread(&mut self) -> Option<Thread<'t>> {
        let desk = Rc::clone(&self.0);
        match desk.outcomes.recv_timeout(TICK) {
            Ok((number, outcome)) => {
                desk.running.set(desk.running.get() - 1);
                Some(Box::new(move |worker| {
                    // Nobody waits for this one: its error would end the run of the runtime.
                    drop(worker.invoke(DEALER, OUTCOME, &encode(number, outcome)));
                    desk.ask(worker);
                }))
            }
            Err(RecvTimeoutError::Timeout) if desk.running.get() > 0 => Some(Box::new(|_| {})),
            Err(_) => None,
        }
    }
}

fn encode(number: usize, outcome: Outcome) -> Vec<u8> {
    let outcome = match outcome {
        Ok(row) => json!({ "number": number, "row": row }),
        Err(failure) => {
            let status = failure.status();
            json!({ "number": number, "failed": failure.message(), "status": status })
        }
    };
    outcome.to_string().into_bytes()
}

/// The number of a run and its outcome, if that is what these bytes are.
fn decode(bytes: &[u8]) -> Option<(usize, Outcome)> {
    let mut outcome: Value = serde_json::from_slice(bytes).ok()?;
    let number = outcome["number"].as_u64()? as usize;
    if let Some(message) = outcome["failed"].as_str() {
        let is_configuration = outcome["status"] == Failure::Configuration(String::new()).status();
        let make = if is_configuration { Failure::Configuration } else { Failure::Run };
        return Some((number, Err(make(message.to_owned()))));
    }
    match outcome["row"].take() {
        Value::Object(row) => Some((number, Ok(Some(row)))),
        Value::Null => Some((number, Ok(None))),
        _ => None,
    }
}

#[cfg(all(test, feature = "shipped"))]
mod tests {
    use std::{
        collections::BTreeSet,
        ffi::OsString,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use warpline_net::network;

    use super::*;
    use crate::{Application, application::Request, args::SweepArgs, run::pool};

    const LINE: &str = "sweep phold --lps 8 --population 16 --end 5 --vary lookahead=0.25,0.5 \
                        --replications 5 --engine sequential --jobs 2 --quiet";

    fn with_sweep<T>(line: &str, then: impl FnOnce(&Sweep<'_>) -> T) -> T {
        let application = Application::warpline();
        let line = line.split_whitespace().map(OsString::from);
        let words: Vec<_> = [OsString::from("warpline")].into_iter().chain(line).collect();
        let matches = application.command().try_get_matches_from(&words).expect("it parses");
        let request = application.request(&matches).expect("a request");
        let Request::Sweep(_, args, _): Request = request else { unreachable!("a sweep") };
        let args: &SweepArgs = &args;
        then(&Sweep::new(&application, &words, args).expect("a sweep"))
    }

    fn threads(sweep: &Sweep<'_>) -> rayon::ThreadPool {
        pool(sweep.jobs(sweep.runs())).expect("threads")
    }

    /// Deals a sweep to this number of ranks, which are threads. Returns the numbers of the rows in
    /// the order in which they came, their digests, and what failed.
    fn deal(
        ranks: usize,
        stop: &AtomicBool,
        line: &str,
        fails_at: Option<usize>,
    ) -> (Vec<(usize, Value)>, Vec<Failure>) {
        let caller = || Caller { stop, show: &|_| {} };
        with_sweep(line, |sweep| {
            let ends = network(ranks, 1);
            let (first, others) = ends.split_first().expect("a rank");
            let mut rows = Vec::new();
            let mut write = |number, row: Row| {
                rows.push((number, row["digest"].clone()));
                let is_full = fails_at.is_some_and(|at| rows.len() >= at);
                if is_full { Err(Failure::Run("the disk is full".to_owned())) } else { Ok(()) }
            };
            let dealer = Dealer::new(0..sweep.runs(), caller(), &mut write);
            thread::scope(|scope| {
                for end in others {
                    scope.spawn(move || {
                        with_sweep(line, |sweep| work(sweep, end, &threads(sweep), caller(), None))
                    });
                }
                work(sweep, first, &threads(sweep), caller(), Some(&dealer))
                    .expect("no rank is lost");
            });
            let failures = dealer.into_failures();
            (rows, failures)
        })
    }

    /// DEAL-A: each run has one row, and it is that of a single process.
    #[test]
    fn each_run_is_dealt_once() {
        let stop = AtomicBool::new(false);
        let mut alone = Vec::new();
        with_sweep(LINE, |sweep| {
            let caller = Caller { stop: &stop, show: &|_| {} };
            sweep.run(caller, &BTreeSet::new(), |number, row| {
                alone.push((number, row["digest"].clone()));
                Ok(())
            })
        });
        alone.sort_by_key(|row| row.0);
        assert_eq!(alone.len(), 10);
        for ranks in 1..=3 {
            let (mut rows, failures) = deal(ranks, &stop, LINE, None);
            rows.sort_by_key(|row| row.0);
            assert!(failures.is_empty(), "{failures:?}");
            assert_eq!(rows, alone, "{ranks} ranks");
        }
    }

    /// A run that fails costs no other; a row that cannot be written ends all.
    #[test]
    fn failures_are_told() {
        let stop = AtomicBool::new(false);
        // A run beyond its memory fails.
        let line = LINE.replace("--engine sequential", "--vary memory=1kib,1gib");
        let line = line.replace("--population 16", "--population 4000");
        let (rows, failures) = deal(2, &stop, &line, None);
        assert_eq!((rows.len(), failures.len()), (10, 10), "{failures:?}");
        assert!(failures.iter().all(|failure| failure.message().contains("memory=1kib")));
        let (rows, failures) = deal(2, &stop, LINE, Some(3));
        assert!(rows.len() < 10 && !failures.is_empty(), "{} rows", rows.len());
    }

    /// A sweep that is stopped hands out nothing more.
    #[test]
    fn a_stopped_sweep_ends() {
        let stop = AtomicBool::new(false);
        // Ordering: Relaxed; the threads begin later.
        stop.store(true, Ordering::Relaxed);
        let (rows, failures) = deal(3, &stop, LINE, None);
        assert!(rows.is_empty() && failures.is_empty());
    }

    /// What comes from elsewhere is an outcome, or nothing.
    #[test]
    fn outcomes_are_bytes() {
        let row = json!({ "mean": 0.1 + 0.2, "none": null, "name": "x" });
        let row = row.as_object().expect("an object");
        let (number, again) = decode(&encode(7, Ok(Some(row.clone())))).expect("an outcome");
        assert_eq!((number, again.expect("no failure").as_ref()), (7, Some(row)));
        let refused = encode(1, Err(Failure::Configuration("no".to_owned())));
        let again = decode(&refused).expect("an outcome").1;
        assert!(matches!(again, Err(Failure::Configuration(what)) if what == "no"));
        for bytes in [&b""[..], b"{}", b"[1]", b"{\"number\": 1, \"row\": 3}"] {
            assert!(decode(bytes).is_none());
        }
    }
}
