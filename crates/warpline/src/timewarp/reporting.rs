//! The conclusion of a run, from the results of its workers: counts, digest, remarks, and the LPs,
//! or the cut that they are left in.
//!
//! Called by [`run`](mod@super::run), once all workers have ended.

use std::time::Instant;

use warpline_core::{CommitDigest, Model, VirtualTime};

use super::{
    costs::Part, diagnosis::Evidence, event::Event, gvt::Bound, remote::Exchanged, saving::Lp,
    shared::TimeWarpShared, statistics::Statistics, turn::End, worker::TimeWarpWorker,
};
use crate::{
    Details, HeapMemory, Totals,
    cut::LeftEvent,
    handling,
    load_sharing::MoveStatistics,
    monitor::Activity,
    pending::PendingSet,
    run::{Conclusion, Left, NumberedLps, threads},
    sorting,
    watch::Watch,
};

/// The result of a worker.
pub(super) struct WorkerResult<M: Model> {
    pub(super) me: usize,
    pub(super) lps: Vec<Lp<M::Lp>>,
    pub(super) statistics: Statistics,
    /// Events that were sent and not committed: how many there are, and if they are left to another
    /// engine, which.
    pub(super) pending: u64,
    pub(super) leaves_pending: bool,
    pub(super) left: Vec<Event>,
    /// The same of events of other ranks that had no buffers.
    pub(super) backlog: Vec<LeftEvent<M>>,
    pub(super) log_end: u64,
    pub(super) exchanged: Option<Exchanged>,
    pub(super) gvt: Bound,
    pub(super) rounds: u64,
    pub(super) end: End,
    /// Seconds by part, if they were measured.
    pub(super) costs: Option<[f64; Part::ALL.len()]>,
    pub(super) moves: Option<MoveStatistics>,
    pub(super) of_saving: Option<String>,
}

/// What is left of a worker that has ended.
pub(super) fn result<M: Model>(mut worker: TimeWarpWorker<'_, M>, end: End) -> WorkerResult<M> {
    worker.return_kept_mail();
    worker.send_mail(false);
    worker.show_activity(Activity::Ended);
    worker.end_trace();
    worker.statistics.copied = worker.log.saving.copied;
    worker.statistics.coasted = worker.log.saving.coasted;
    let pending = worker.sender.pending.len() + worker.aside.waiting.len() + worker.backlog();
    WorkerResult {
        me: worker.me,
        pending: pending as u64,
        leaves_pending: worker.leaves_pending(end),
        left: worker.take_pending(end),
        backlog: worker.take_backlog(end),
        log_end: worker.sender.undo_log.back(),
        exchanged: worker.exchanged(),
        gvt: worker.clock.gvt,
        rounds: worker.sender.gvt.rounds(),
        end,
        costs: worker.sender.costs.seconds(),
        moves: worker.move_statistics(),
        of_saving: worker.remark_on_saving(),
        lps: worker.lps,
        statistics: worker.statistics,
    }
}

/// Makes the conclusion.
pub(super) struct Reporting<'a, M: Model> {
    pub(super) shared: &'a mut TimeWarpShared<M>,
    pub(super) started: Instant,
}

impl<M: Model> Reporting<'_, M> {
    pub(super) fn conclusion(
        self,
        mut results: Vec<WorkerResult<M>>,
        watch: &mut Watch<'_>,
    ) -> Conclusion<M> {
        let mut total = Statistics::default();
        for worker in &results {
            total.add(&worker.statistics);
        }
        let interrupted = results.iter().any(|worker| worker.end == End::Interrupted);
        let (gvt, rounds) = results.first().map_or((Bound::ZERO, 0), |w| (w.gvt, w.rounds));
        assert!(
            results.iter().all(|worker| (worker.gvt, worker.rounds) == (gvt, rounds)),
            "GVT-2: the workers end with different results"
        );
        let mail = self.shared.all_mail();
        total.in_mail = mail.len() as u64;
        total.sent = results.iter().flat_map(|worker| &worker.lps).map(|lp| lp.core.sent).sum();
        self.check_balance(&results, &total, &mail);
        let details = self.details(&results, &total);
        let mut lps = Vec::new();
        results.iter_mut().for_each(|worker| lps.append(&mut worker.lps));
        let numbers: Vec<_> = lps.iter().map(|lp| lp.id).collect();
        sorting::arrange(&mut lps, sorting::order_of_lps(&numbers));
        assert!(lps.is_sorted_by(|one, next| one.id < next.id), "MOVE-B: an LP is at two workers");
        assert!(
            interrupted || lps.len() == self.shared.directory.ids().count(),
            "MOVE-B: an LP is at no worker"
        );
        let mut digest = CommitDigest::default();
        for lp in &lps {
            digest.add_lp(lp.id, lp.core.digest, &lp.core.rng, lp.core.sent);
        }
        let last_time = VirtualTime::new(total.last_time).unwrap_or_default();
        let end_time = self.shared.settings.ended_at(last_time, interrupted);
        // The last look; it comes too late to interrupt anything.
        let shown = Bound(gvt.0.map(|word| word.min(end_time.to_ordered_bits())));
        let before = self.shared.shown_before();
        let _ = watch.observe(&self.shared.progress(shown, self.started, before));
        Conclusion {
            interrupted,
            last_time,
            totals: Totals {
                committed_events: total.committed,
                processed_events: total.processed,
                rolled_back_events: total.rolled_back,
                rollbacks: total.rollbacks(),
                gvt_rounds: rounds,
                peak_buffer_bytes: u64::from(self.shared.arena.most())
                    * TimeWarpShared::<M>::buffer_bytes(&self.shared.settings.engine),
                digest,
                ..Totals::default()
            },
            details,
            left: self.leave(results, lps, mail),
        }
    }

    /// The LPs, or the cut that they are left in: what is in the mail belongs to it.
    fn leave(
        self,
        results: Vec<WorkerResult<M>>,
        lps: Vec<Lp<M::Lp>>,
        mut left: Vec<Event>,
    ) -> Left<M> {
        let leaves_pending = results.iter().all(|worker| worker.leaves_pending);
        if !leaves_pending && !self.shared.is_stage {
            let ids = lps.iter().map(|lp| lp.id).collect();
            let lps = lps.into_iter().map(|Lp { state, core, .. }| handling::Lp { state, core });
            return Left::Lps(NumberedLps::new(ids, lps.collect()));
        }
        let is_all_left = |worker: &WorkerResult<M>| {
            worker.pending as usize == worker.left.len() + worker.backlog.len()
        };
        debug_assert!(
            !leaves_pending || results.iter().all(is_all_left),
            "CUT-A: a worker has kept events for itself"
        );
        if !leaves_pending {
            left.clear();
        }
        let (mut backlog, mut log_end) = (Vec::new(), 0);
        for mut worker in results {
            left.append(&mut worker.left);
            backlog.append(&mut worker.backlog);
            log_end = log_end.max(worker.log_end);
        }
        let ids = lps.iter().map(|lp| lp.id).collect();
        Left::Cut(self.shared.cut(lps, (left, backlog), log_end), ids)
    }

    fn details(&self, results: &[WorkerResult<M>], total: &Statistics) -> Details {
        let workers: Vec<_> = results.iter().map(|worker| worker.statistics.clone()).collect();
        let evidence = Evidence {
            workers: &workers,
            cores: threads::cores(),
            lps: self.shared.directory.lp_count(),
            is_part: self.shared.remote.is_some(),
            event_bytes: TimeWarpShared::<M>::buffer_bytes(&self.shared.settings.engine),
            events_peak: u64::from(self.shared.arena.most()),
            rate: total.committed as f64 / self.started.elapsed().as_secs_f64(),
        };
        let mut counters = total.counters();
        let exchanged = results.iter().filter_map(|worker| worker.exchanged);
        if let Some(exchanged) = exchanged.reduce(Exchanged::add) {
            counters.extend(exchanged.counters());
        }
        let cost = |part: &Part| {
            let index = *part as usize;
            let seconds: Option<f64> =
                results.iter().map(|worker| worker.costs.map(|costs| costs[index])).sum();
            seconds.map(|seconds| (part.name(), 1e9 * seconds / total.committed.max(1) as f64))
        };
        let mut remarks = evidence.remarks();
        remarks.extend(results.iter().find_map(|worker| worker.moves?.remark()));
        remarks.extend(results.iter().find_map(|worker| worker.of_saving.clone()));
        Details {
            counters,
            remarks,
            costs: Part::ALL.iter().filter_map(cost).collect(),
            local_share: (self.shared.workers() > 1 && self.shared.remote.is_none())
                .then(|| total.local_share()),
            heap_memory: HeapMemory::counted::<M>(true, self.shared.arena.outside_most() as u64),
            ..Details::default()
        }
    }

    /// TW-B: every event that was sent was committed, or is left.
    fn check_balance(&self, results: &[WorkerResult<M>], total: &Statistics, mail: &[Event]) {
        let mut left: u64 = results.iter().map(|worker| worker.pending).sum();
        let mut canceled = 0;
        // Events that were sent to other ranks are not here, and events of theirs are.
        for Exchanged { sent, received, .. } in results.iter().filter_map(|worker| worker.exchanged)
        {
            left += sent.events + received.anti_messages;
            canceled += sent.anti_messages + received.events;
        }
        let anti_messages = mail.iter().filter(|mail| mail.cancels().is_some()).count() as u64;
        (left, canceled) = (left + total.in_mail - anti_messages, canceled + anti_messages);
        // Before the run, events of other ranks count against what was committed here (`Cut`).
        assert_eq!(
            total.sent + canceled,
            self.shared.committed_before.wrapping_add(total.committed + left),
            "TW-B: events were lost or doubled ({total:?})"
        );
        assert_eq!(
            total.processed,
            total.committed + total.rolled_back,
            "TW-B: handled events were lost or doubled ({total:?})"
        );
    }
}
