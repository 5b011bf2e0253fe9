//! Which thread runs which worker.
//!
//! At first each worker has a thread of its own, unless there are fewer cores than workers: then
//! there are as many threads as cores, because a thread without a core would hold up GVT for all
//! others. While fewer threads work than there are workers, each of them has several, which take
//! turns; the other threads sleep, and cost nothing. So a thread that another
//! program has displaced from its core gives its LPs away at once, and gets them back: they stay
//! with their worker, no event has to move, and GVT waits for no thread that sleeps. (A smaller
//! share of LPs for a thread that runs half of the time would not help: as long as it is off its
//! core, GVT stands still.)
//!
//! Called by [`run`](mod@super::run): the first thread says how many are to work, and every thread
//! asks between two turns which workers it has.
//!
//! # Invariants
//!
//! - **THREAD-A.** A worker is with one thread, or on its way to one; only the thread that has it
//!   calls it. (It changes hands under a lock, which publishes all that it has written.)
//! - **THREAD-B.** The first worker stays with the first thread, which looks at the clock.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::sorting;

/// How long a thread without workers sleeps at a time, if nothing happens. (Nobody wakes it when a
/// thread has panicked.)
const NAP: Duration = Duration::from_millis(20);

/// What the threads share. `T` is a worker.
#[derive(Debug)]
pub(super) struct WorkerThreads<T> {
    /// How many threads are to work.
    at_work: AtomicUsize,
    workers: usize,
    /// Workers that have ended.
    ended: AtomicUsize,
    /// A thread has panicked or could not be started, so its workers will not end.
    is_broken: AtomicBool,
    /// By thread.
    posts: Box<[Post<T>]>,
}

/// Where workers come to a thread.
#[derive(Debug)]
struct Post<T> {
    has_arrivals: AtomicBool,
    arrivals: Mutex<Vec<(usize, T)>>,
    wake: Condvar,
}

impl<T> Post<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<(usize, T)>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The workers that one thread has.
#[derive(Debug)]
pub(super) struct OwnWorkers<T> {
    me: usize,
    /// How many threads work, as far as this one knows.
    at_work: usize,
    /// Each with its number.
    pub(super) workers: Vec<(usize, T)>,
}

impl<T> OwnWorkers<T> {
    /// For one of this number of threads.
    pub(super) const fn new(me: usize, threads: usize) -> Self {
        Self { me, at_work: threads, workers: Vec::new() }
    }
}

impl<T> WorkerThreads<T> {
    /// For this number of workers, and no more threads.
    pub(super) fn new(workers: usize, threads: usize) -> Self {
        assert!((1..=workers).contains(&threads), "{threads} threads for {workers} workers");
        let post = |_| Post {
            has_arrivals: AtomicBool::new(false),
            arrivals: Mutex::default(),
            wake: Condvar::new(),
        };
        Self {
            at_work: AtomicUsize::new(threads),
            workers,
            ended: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
            posts: (0..threads).map(post).collect(),
        }
    }

    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.posts.len()
    }

    /// The workers that a thread begins with.
    pub(super) fn first_of(&self, thread: usize) -> impl Iterator<Item = usize> {
        let threads = self.threads();
        (0..self.workers).filter(move |&worker| self.thread_of(worker, threads) == thread)
    }

    /// How many threads are to work.
    pub(super) fn at_work(&self) -> usize {
        // Ordering: Relaxed; threads may see it late, and workers change hands under a lock.
        self.at_work.load(Ordering::Relaxed)
    }

    /// Lets this number of threads work.
    pub(super) fn set_at_work(&self, threads: usize) {
        // Ordering: Relaxed, see `at_work`.
        self.at_work.store(threads.clamp(1, self.threads()), Ordering::Relaxed);
        // Sleepers have no workers to give away; they wake when some come.
    }

    /// The thread that has a worker while this number of threads work. Neighbors stay together.
    fn thread_of(&self, worker: usize, at_work: usize) -> usize {
        worker * at_work / self.workers
    }

    /// Gives away the workers that are another thread's, and takes those that have come. Called by
    /// each thread between two turns. Returns whether some have come.
    #[inline]
    pub(super) fn exchange(&self, own: &mut OwnWorkers<T>) -> bool {
        let at_work = self.at_work();
        if at_work != own.at_work {
            self.give(own, at_work);
        }
        // Ordering: Relaxed; a worker that is seen late is late. The lock publishes it.
        debug_assert!(
            own.workers.iter().all(|one| self.thread_of(one.0, own.at_work) == own.me),
            "THREAD-A: thread {} has another's worker",
            own.me
        );
        let some_come = self.posts[own.me].has_arrivals.load(Ordering::Relaxed);
        if some_come {
            self.take(own);
        }
        some_come
    }

    #[cold]
    fn give(&self, own: &mut OwnWorkers<T>, at_work: usize) {
        own.at_work = at_work;
        let me = own.me;
        let leaves = |(worker, _): &mut (usize, T)| self.thread_of(*worker, at_work) != me;
        for (worker, one) in own.workers.extract_if(.., leaves) {
            self.post(self.thread_of(worker, at_work), worker, one);
        }
    }

    fn post(&self, thread: usize, worker: usize, one: T) {
        debug_assert!(worker > 0, "THREAD-B: the first worker leaves the first thread");
        let post = &self.posts[thread];
        let mut arrivals = post.lock();
        arrivals.push((worker, one));
        // Ordering: Relaxed, see `exchange`.
        post.has_arrivals.store(true, Ordering::Relaxed);
        post.wake.notify_one();
    }

    #[cold]
    fn take(&self, own: &mut OwnWorkers<T>) {
        let post = &self.posts[own.me];
        {
            let mut arrivals = post.lock();
            // Ordering: Relaxed, see `exchange`.
            post.has_arrivals.store(false, Ordering::Relaxed);
            own.workers.append(&mut arrivals);
        }
        sorting::few(&mut own.workers, |(worker, _)| *worker);
        debug_assert!(own.workers.is_sorted_by(|a, b| a.0 < b.0), "THREAD-A: a worker came twice");
        // Who gave it may have known another number of threads.
        self.give(own, own.at_work);
    }

    /// Sleeps until a worker comes, or for a while. Called by a thread without workers.
    pub(super) fn sleep(&self, own: &OwnWorkers<T>) {
        debug_assert!(own.workers.is_empty(), "GVT waits for the workers of a thread that sleeps");
        let post = &self.posts[own.me];
        let arrivals = post.lock();
        if arrivals.is_empty() && !self.is_over() {
            drop(post.wake.wait_timeout(arrivals, NAP));
        }
    }

    /// A worker has ended.
    pub(super) fn end_one(&self) {
        // Ordering: Relaxed; the locks below order it for sleepers, and others look again.
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        debug_assert!(ended <= self.workers, "THREAD-A: a worker has ended twice");
        if ended == self.workers {
            for post in &self.posts {
                let _held = post.lock();
                post.wake.notify_all();
            }
        }
    }

    /// A thread will not end its workers.
    pub(super) fn break_off(&self) {
        // Ordering: Relaxed; sleepers look again after a nap.
        self.is_broken.store(true, Ordering::Relaxed);
    }

    /// Whether all workers have ended, as far as they will.
    pub(super) fn is_over(&self) -> bool {
        // Ordering: Relaxed, see `end_one` and `break_off`.
        self.ended.load(Ordering::Relaxed) == self.workers || self.is_broken.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// THREAD-A: workers that are counters, on threads whose number changes all the time. None is
    /// lost, and all threads come to an end.
    #[test]
    fn workers_change_hands() {
        const WORKERS: usize = 5;
        const TURNS: u64 = 2_000;
        let worker_threads = WorkerThreads::new(WORKERS, WORKERS);
        let run = |me: usize| {
            let mut own = OwnWorkers::new(me, WORKERS);
            own.workers.push((me, 0_u64));
            let (mut ended, mut turns) = (Vec::new(), 0_u64);
            while !worker_threads.is_over() {
                worker_threads.exchange(&mut own);
                if own.workers.is_empty() {
                    worker_threads.sleep(&own);
                    continue;
                }
                turns += 1;
                if me == 0 && turns.is_multiple_of(3) {
                    worker_threads.set_at_work(1 + warpline_core::mix(7, turns) as usize % WORKERS);
                }
                own.workers.iter_mut().for_each(|(_, turn)| *turn += 1);
                let over = |(_, turn): &mut (usize, u64)| *turn >= TURNS;
                let before = ended.len();
                ended.extend(own.workers.extract_if(.., over));
                (before..ended.len()).for_each(|_| worker_threads.end_one());
            }
            ended.into_iter().map(|(worker, _)| worker).collect::<Vec<_>>()
        };
        let mut all: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..WORKERS).map(|me| scope.spawn(move || run(me))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4]);
    }

    /// A thread that learns late how many threads work passes a worker on. (Red if `take` leaves
    /// out `give`.)
    #[test]
    fn a_worker_finds_its_thread() {
        let worker_threads = WorkerThreads::new(3, 3);
        let mut own = [0, 1, 2].map(|me| OwnWorkers::new(me, 3));
        for (me, own) in own.iter_mut().enumerate() {
            own.workers.push((me, ()));
        }
        worker_threads.set_at_work(1);
        let mut exchange = |me: usize| worker_threads.exchange(&mut own[me]);
        // Its worker goes to thread 0, which does not know it yet.
        assert!(!exchange(2));
        worker_threads.set_at_work(2);
        // Worker 2 passes through thread 0 to thread 1, and worker 1 goes to thread 0.
        assert_eq!([exchange(0), exchange(1), exchange(0)], [true, true, true]);
        let numbers =
            |own: &OwnWorkers<()>| own.workers.iter().map(|one| one.0).collect::<Vec<_>>();
        assert_eq!(own.each_ref().map(numbers), [vec![0, 1], vec![2], vec![]]);
        assert!((1..4).all(|at_work| worker_threads.thread_of(0, at_work) == 0), "THREAD-B");
    }

    /// Fewer threads than workers share all of them from the beginning, in neighborhoods.
    #[test]
    fn few_threads_have_all_workers() {
        for (workers, threads) in [(1, 1), (7, 2), (32, 2), (9, 4), (5, 5)] {
            let worker_threads = WorkerThreads::<()>::new(workers, threads);
            let by_thread: Vec<Vec<_>> =
                (0..threads).map(|thread| worker_threads.first_of(thread).collect()).collect();
            assert!(by_thread.concat().into_iter().eq(0..workers), "{by_thread:?}");
            let sizes = by_thread.iter().map(Vec::len);
            assert!(sizes.clone().max() <= sizes.min().map(|least| least + 1), "{by_thread:?}");
            worker_threads.set_at_work(workers + 1);
            assert_eq!(worker_threads.at_work(), threads);
        }
    }
}
