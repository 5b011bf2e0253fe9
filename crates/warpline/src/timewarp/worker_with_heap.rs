//! A worker on its way from thread to thread, with the memory that it takes along.
//!
//! Where workers have memory of their own, what a worker allocates lies in its heap, whichever
//! thread runs it. If that thread is on another node, the heap takes its pages from there from then
//! on. Those that it has follow where LPs have memory of their own, with that memory
//! ([`lp_memory`](super::lp_memory), *NUMA Time Warp*, section 3.4); otherwise they count as away.
//! Called by [`run`](mod@super::run).

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use warpline_core::Model;
use warpline_memory::{Home, Residency};

use super::{
    turn::{End, Turn},
    worker::TimeWarpWorker,
};
use crate::run::thread_resources::ThreadResources;

/// A worker, with its heap, if it has one.
pub(super) struct WorkerWithHeap<'r, M: Model> {
    worker: Box<TimeWarpWorker<'r, M>>,
    home: Option<Arc<Home>>,
}

impl<'r, M: Model> WorkerWithHeap<'r, M> {
    /// The worker that `make` makes in the heap that this thread has.
    pub(super) fn new(
        resources: &mut ThreadResources,
        make: impl FnOnce() -> TimeWarpWorker<'r, M>,
    ) -> Self {
        let home = resources.give_home().map(Arc::new);
        let _route = home.as_deref().map(Home::enter);
        let worker = Box::new(make());
        if let (Some(home), Some(memory)) = (&home, worker.sender.memory) {
            memory.take_in(worker.me, Arc::clone(home));
        }
        Self { worker, home }
    }

    /// As [`TimeWarpWorker::start`].
    pub(super) fn start(&mut self, is_to_stop: impl FnMut() -> bool) -> Result<(), End> {
        let _route = self.home.as_deref().map(Home::enter);
        self.worker.start(is_to_stop)
    }

    /// As [`TimeWarpWorker::turn`].
    #[inline]
    pub(super) fn turn(&mut self) -> Result<Turn, End> {
        let _route = self.home.as_deref().map(Home::enter);
        self.worker.turn()
    }

    /// The worker runs on that node from now on.
    pub(super) fn come_to(&self, node: Option<u32>) {
        let me = self.worker.me;
        match (self.worker.sender.memory, &self.home) {
            (None, Some(home)) if home.node() != node => home.set_node(node),
            (Some(memory), home) if memory.node_of(me) != node => {
                memory.set_node(me, node);
                self.worker.lps.iter().for_each(|lp| memory.follow(lp.id, me));
                if home.is_some() {
                    memory.move_heap(me, node);
                }
            }
            _ => {}
        }
    }

    /// What is left of the worker, by `end`, and where its memory is.
    pub(super) fn end<R>(
        self,
        end: impl FnOnce(TimeWarpWorker<'r, M>) -> R,
    ) -> (R, Option<Residency>) {
        let Self { worker, home } = self;
        let _route = home.as_deref().map(Home::enter);
        let left = end(*worker);
        (left, home.as_deref().map(Home::residency))
    }
}

impl<'r, M: Model> Deref for WorkerWithHeap<'r, M> {
    type Target = TimeWarpWorker<'r, M>;

    fn deref(&self) -> &Self::Target {
        &self.worker
    }
}

impl<M: Model> DerefMut for WorkerWithHeap<'_, M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.worker
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use crate::{
        run::Ranks,
        settings::{MemoryPlacement, Numa, Settings, TimeWarp},
        simulated::{Dice, model::Toy, toy},
        timewarp::shared::TimeWarpShared,
    };

    /// What a worker allocates lies in its heap on whatever thread, and its heap and the homes of
    /// its LPs follow it to another node and back.
    ///
    /// Red if `come_to` leaves out the heap or the LPs, or `WorkerWithHeap::new` does not enter the
    /// heap.
    #[test]
    fn memory_follows_a_worker_to_other_threads() {
        let numa = Numa::new(MemoryPlacement::Lp);
        let engine = TimeWarp { workers: 1, pin: false, numa, ..TimeWarp::default() };
        let settings = Settings { engine, ..Settings::default() };
        let mut dice = Dice(warpline_core::Stream::for_lp(1, warpline_core::LpId::new(0)));
        let toy: Toy = Toy { wrong: None, strange: None, ..toy(&mut dice, true) };
        let ranks = Ranks::alone();
        let shared =
            TimeWarpShared::new(&toy, &settings, &ranks, None, None).expect("good settings");
        let memory = shared.memory.as_ref().expect("the allocator is installed");
        let mut resources = ThreadResources::take(&shared.directory, 0, &settings.parallel());
        // A block of 128 segments of 64 KiB, more than any number of small blocks begins with.
        let mut large = Vec::<u8>::new();
        let mut worker = WorkerWithHeap::new(&mut resources, || {
            large.reserve_exact(8 << 20);
            TimeWarpWorker::new(&toy, &shared, 0, &ranks)
        });
        worker.come_to(Some(0));
        let segments = worker.home.as_ref().map(|home| home.realign().segments);
        assert!(segments >= Some(128), "the worker was made elsewhere: {segments:?}");
        worker.start(|| false).expect("the model is sound");
        for node in [Some(0), Some(1), Some(0)] {
            worker.come_to(node);
            assert_eq!(worker.home.as_deref().and_then(Home::node), node);
            assert!(memory.home_nodes().iter().all(|&home| home == node), "{node:?}");
        }
        assert!(resources.give_back().is_none(), "the thread has given its heap away");
    }
}
