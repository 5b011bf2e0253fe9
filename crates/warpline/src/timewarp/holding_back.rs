//! What a worker that is held back does, and when it goes on.
//!
//! Called by the main loop at each turn, and at every new GVT.

use warpline_core::Model;

use super::worker::TimeWarpWorker;
use crate::pending::{Entry, PendingSet};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// The greatest time that this worker has handled an event of.
    pub(super) fn farthest(&self) -> f64 {
        self.flow.reach().time().max(self.clock.gvt.time())
    }

    /// Keeps GVT from thrashing where memory is limited (GTW, 3.4): a worker with few free buffers
    /// after fossil collection waits, unless it is the one that the others wait for.
    pub(super) fn hold_back(&mut self) {
        if self.shared.settings.memory.is_none() {
            return;
        }
        let blocks_below = self.shared.settings.engine.flow_control.free1;
        let is_low = |worker: &Self| worker.free_buffers() < blocks_below * worker.quota();
        self.flow.held_back = is_low(self) && !self.is_last();
        self.flow.set_limit(self.shared);
    }

    /// A worker that is held back goes on, with a new GVT, once enough buffers could be reclaimed:
    /// as many of its uncommitted events as lie before the snooped GVT, if they are spread
    /// evenly.
    pub(super) fn look_whether_to_go_on(&mut self) {
        if !self.flow.held_back {
            return;
        }
        let resumes_above = self.shared.settings.engine.flow_control.free2;
        let (gvt, snooped) = (self.clock.gvt.time(), self.shared.snooped_gvt());
        let share = ((snooped - gvt) / (self.farthest() - gvt)).clamp(0.0, 1.0);
        let share = if share.is_nan() { 1.0 } else { share };
        let reclaimable = self.log.history.len() as f64 * share;
        if self.is_last() || self.free_buffers() + reclaimable > resumes_above * self.quota() {
            self.flow.held_back = false;
            self.flow.set_limit(self.shared);
            self.shared.request_gvt();
        }
    }

    /// Whether no other worker shows that it is behind this one.
    fn is_last(&mut self) -> bool {
        let next = self.sender.pending.peek().map_or(f64::INFINITY, Entry::time);
        next <= self.shared.snooped_gvt()
    }

    /// Whether this worker is to ask for GVT before it runs out of buffers (Fujimoto and Panesar
    /// 1995, section 3.4).
    #[inline]
    pub(super) fn has_few_buffers(&self) -> bool {
        let few = self.flow.few_buffers;
        few > 0 && self.free_here() + self.shared.arena.available() < few
    }

    /// The buffers that this worker can count on.
    pub(super) fn free_buffers(&self) -> f64 {
        let shared = self.shared.arena.available() as f64 / self.shared.workers() as f64;
        self.free_here() as f64 + shared
    }

    /// Those of them that this worker has.
    fn free_here(&self) -> usize {
        let free = self.store.buffers.free_count() + self.returned_free();
        debug_assert!(
            free <= self.shared.arena.limit() as usize,
            "ARENA-A: {free} buffers are free"
        );
        free
    }

    /// N_buf of the paper, for its F_free1 and F_free2: this worker's share of all buffers. (The
    /// N_buf that it has for sender pools is a [`Quota`](crate::settings::Quota).)
    pub(super) fn quota(&self) -> f64 {
        f64::from(self.shared.arena.limit_now()) / self.shared.workers() as f64
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Arc, Mutex, OnceLock, atomic::Ordering};

    use super::*;
    use crate::{
        run::Ranks,
        settings::{FlowControl, Settings, TimeWarp},
        simulated::model::{Habit, Toy},
        timewarp::{gvt::Bound, shared::TimeWarpShared, turn::Turn},
    };

    /// Events that go around, after exponential delays.
    pub(in crate::timewarp) fn toy() -> Toy {
        Toy {
            habits: vec![Habit::Pass(1); 8],
            salt: 3,
            delays: vec![-1.0],
            first: 4,
            budget: 50,
            io: [0.0; 2],
            telling: true,
            tracked: false,
            strange: None,
            wrong: None,
            wrong_output: None,
            known: OnceLock::new(),
            log: Mutex::default(),
            declares_lookahead: false,
            token: Arc::default(),
        }
    }

    /// Two workers with 32 buffers each adopt their first GVT with half of them in use. Returns
    /// what the one does whose next event is the later one, at once and when the other one is
    /// ahead, and what the other one does.
    fn turns([free1, free2]: [f64; 2]) -> [Turn; 3] {
        let toy = toy();
        let flow_control = FlowControl { free1, free2, ..FlowControl::OFF };
        let engine = TimeWarp { flow_control, batch: 1, ..TimeWarp::default() };
        let memory = Some(64 * TimeWarpShared::<Toy>::buffer_bytes(&engine));
        let settings = Settings { memory, engine, ..Settings::default() };
        let ranks = Ranks::alone();
        let shared =
            TimeWarpShared::new(&toy, &settings, &ranks, None, None).expect("good settings");
        let mut workers = [0, 1].map(|me| TimeWarpWorker::new(&toy, &shared, me, &ranks));
        workers.iter_mut().for_each(|worker| worker.start(|| false).expect("there are buffers"));
        while workers.iter().any(|worker| worker.clock.gvt == Bound::ZERO) {
            shared.request_gvt();
            for worker in &mut workers {
                let must_report = worker.notice_gvt().expect("the run goes on");
                worker.file(must_report).expect("the run goes on");
            }
        }
        if workers[0].least() > workers[1].least() {
            workers.reverse();
        }
        let [behind, ahead] = &mut workers;
        assert!(!behind.flow.held_back, "the others wait for it");
        let at_once = ahead.handle_batch();
        let of_other = behind.handle_batch();
        // Ordering: Relaxed; there is one thread.
        shared.shown[behind.me].next.store(f64::INFINITY.to_bits(), Ordering::Relaxed);
        [at_once, ahead.handle_batch(), of_other]
    }

    /// F_free1 and F_free2 (GTW, 3.4): a worker with too few free buffers waits until it can expect
    /// enough, unless it is the one that the others wait for.
    ///
    /// Red if `hold_back` does nothing, or holds back the last worker; if
    /// `look_whether_to_go_on` does nothing, or goes by the first fraction.
    #[test]
    fn a_worker_with_few_buffers_waits_for_the_others() {
        use Turn::{Idle, Worked};
        assert_eq!(turns([0.0, 0.0]), [Worked, Worked, Worked], "no buffers are few");
        assert_eq!(turns([0.9, 0.9]), [Idle, Worked, Worked], "it waits for the other one");
        assert_eq!(turns([0.9, 0.1]), [Worked, Worked, Worked], "it has enough to go on");
    }
}
