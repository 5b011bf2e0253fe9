//! What the loop over events does for parts of the papers that most runs do without.
//!
//! Memory limits, LP memory, bottom halves, other ranks, on-the-fly fossil collection, sparse
//! copies, costs and timelines each want something at each event, or at each send. The loop over
//! events ([`processing`](super::processing)), the [`sink`](super::sink) of handlers and
//! [`fossil_collection`](super::fossil_collection) call the hooks of a [`Policy`] at those places,
//! and are compiled for two of them: the hooks of [`Plain`] are empty, those of [`Full`] ask each
//! part whether it is there. Each part is in files of its own. A worker takes `Plain` if the run
//! has none of the parts. Only what is done for each event has hooks: what is done once per turn,
//! rollback or GVT calls the parts by their names, where a question costs nothing.
//!
//! # Invariants
//!
//! - **PLAIN-A.** A worker with `Plain` has none of the parts: settings decide that, before the
//!   run. Only [`changing`](super::changing) to sparse copies makes it `Full` later. Checked at
//!   each event; and `warpline-models/tests/timewarp_policies.rs` compares both on the same runs.

use warpline_core::{LogicalProcess, LpId, Model};
use warpline_memory::{Buffers, Way, switch_to_platform};

use super::{
    Message,
    costs::Part,
    event::Event,
    history::{Record, Ring},
    saving::{Lp, Saving},
    sending::TimeWarpSender,
    shared::TimeWarpShared,
    worker::TimeWarpWorker,
};
use crate::placement::LpPlace;

/// The hooks of the loop over events, in the order in which an event meets them. What they do by
/// themselves is what a run without any of the parts needs.
pub(super) trait Policy {
    /// Whether parts are asked for.
    const FULL: bool;

    /// The loop turns to the next event.
    #[inline(always)]
    fn begin_event<M: Model>(_: &mut TimeWarpWorker<'_, M>) {}

    /// A part of the work on an event is done.
    #[inline(always)]
    fn end_part<M: Model>(_: &mut TimeWarpSender<'_, M>, _: Part) {}

    /// Whether there is memory for what is saved before an event.
    #[inline(always)]
    fn can_save<M: Model>(worker: &mut TimeWarpWorker<'_, M>, _: &Event) -> bool {
        debug_assert!(!worker.store.is_limited, "PLAIN-A: memory is limited");
        true
    }

    /// Whether the undo log saves states, and not copies.
    #[inline(always)]
    fn is_logging<M: Model>(_: &Saving<M>) -> bool {
        M::Lp::SAVING.is_by_field()
    }

    /// Copies the state of an LP for the record that is being made at the back.
    #[inline(always)]
    fn copy<M: Model>(
        saving: &mut Saving<M>,
        lp: &Lp<M::Lp>,
        (history, at): (&mut Ring<Record>, u64),
        buffers: &Buffers<'_, Message<M>>,
    ) {
        saving.copy(lp, history, at, buffers);
    }

    /// Code of an LP runs from here on, and saves what it needs.
    #[inline(always)]
    fn enter_lp<M: Model>(sender: &TimeWarpSender<'_, M>, lp: LpId) {
        debug_assert!(sender.memory.is_none(), "PLAIN-A: {lp} has memory of its own");
    }

    /// It does not any more; until the way that this returns, if any, is resumed.
    #[inline(always)]
    fn leave_lp<M: Model>(sender: &TimeWarpSender<'_, M>) -> Option<Way> {
        debug_assert!(sender.memory.is_none(), "PLAIN-A: LPs have memory of their own");
        None
    }

    /// A handler sends an event.
    #[inline(always)]
    fn begin_send<M: Model>(_: &mut TimeWarpSender<'_, M>) {}

    /// The worker of this rank that has an LP with this place, if one has.
    #[inline(always)]
    fn worker_at<M: Model>(sender: &TimeWarpSender<'_, M>, place: LpPlace) -> Option<usize> {
        debug_assert!(sender.remote.is_none(), "PLAIN-A: there are other ranks");
        Some(place.worker.index())
    }

    /// An event is about to be mailed to another worker.
    #[inline(always)]
    fn before_mail<M: Model>(sender: &TimeWarpSender<'_, M>, event: Event) {
        debug_assert!(sender.shared.halves.is_none(), "PLAIN-A: {event:?} is for a bottom half");
    }

    /// An event was sent to a worker of this rank.
    #[inline(always)]
    fn sent<M: Model>(sender: &mut TimeWarpSender<'_, M>) {
        debug_assert!(!sender.costs.watches_sends(), "PLAIN-A: somebody watches what is sent");
    }

    /// The event of the record at a position was handled, and left a word for its reverse handler.
    #[inline(always)]
    fn handled<M: Model>(worker: &mut TimeWarpWorker<'_, M>, at: u64, _note: u64) {
        debug_assert!(!worker.store.is_limited, "PLAIN-A: record {at} is charged for");
    }

    /// Whether the record at the front may go, whose event is below GVT.
    #[inline(always)]
    fn may_drop<M: Model>(worker: &mut TimeWarpWorker<'_, M>, at: u64) -> bool {
        debug_assert!(!worker.log.saving.is_sparse(), "PLAIN-A: something may coast from {at}");
        true
    }

    /// The event of the record at a position is committed, and its buffer is free again.
    #[inline(always)]
    fn free<M: Model>(worker: &mut TimeWarpWorker<'_, M>, _at: u64, event: &Event) {
        debug_assert!(!worker.store.is_on_the_fly, "PLAIN-A: {event:?} may be back already");
        worker.free(event);
    }

    /// The record at a position leaves the processed list.
    #[inline(always)]
    fn drop<M: Model>(_: &mut TimeWarpWorker<'_, M>, _at: u64) {}
}

/// None of the parts.
pub(super) struct Plain;

impl Policy for Plain {
    const FULL: bool = false;
}

/// Each of the parts that the run has.
pub(super) struct Full;

impl Policy for Full {
    const FULL: bool = true;

    #[inline(always)]
    fn begin_event<M: Model>(worker: &mut TimeWarpWorker<'_, M>) {
        worker.sender.costs.begin_event(worker.statistics.processed);
    }

    #[inline(always)]
    fn end_part<M: Model>(sender: &mut TimeWarpSender<'_, M>, part: Part) {
        sender.costs.lap(part);
    }

    #[inline(always)]
    fn can_save<M: Model>(worker: &mut TimeWarpWorker<'_, M>, event: &Event) -> bool {
        worker.has_memory_to_save(event)
    }

    #[inline(always)]
    fn is_logging<M: Model>(saving: &Saving<M>) -> bool {
        saving.is_logging()
    }

    #[inline(always)]
    fn copy<M: Model>(
        saving: &mut Saving<M>,
        lp: &Lp<M::Lp>,
        (history, at): (&mut Ring<Record>, u64),
        buffers: &Buffers<'_, Message<M>>,
    ) {
        saving.copy_if_due(lp, history, at, buffers);
    }

    #[inline(always)]
    fn enter_lp<M: Model>(sender: &TimeWarpSender<'_, M>, lp: LpId) {
        if let Some(memory) = sender.memory {
            memory.switch(lp);
        }
    }

    #[inline(always)]
    fn leave_lp<M: Model>(sender: &TimeWarpSender<'_, M>) -> Option<Way> {
        sender.memory.map(|_| switch_to_platform())
    }

    #[inline(always)]
    fn begin_send<M: Model>(sender: &mut TimeWarpSender<'_, M>) {
        sender.costs.enter(Part::Send);
    }

    #[inline(always)]
    fn worker_at<M: Model>(sender: &TimeWarpSender<'_, M>, place: LpPlace) -> Option<usize> {
        if place.worker == sender.id {
            Some(sender.me)
        } else {
            sender.shared.directory.local(place.worker)
        }
    }

    #[inline(always)]
    fn before_mail<M: Model>(sender: &TimeWarpSender<'_, M>, event: Event) {
        sender.fill_half(event);
    }

    #[inline(always)]
    fn sent<M: Model>(sender: &mut TimeWarpSender<'_, M>) {
        if sender.costs.watches_sends() {
            sender.note_sent();
        }
    }

    #[inline(always)]
    fn handled<M: Model>(worker: &mut TimeWarpWorker<'_, M>, at: u64, note: u64) {
        worker.log.saving.note(at, note);
        worker.charge_log();
        if worker.store.is_on_the_fly {
            worker.return_early(at);
        }
        worker.sender.costs.lap(Part::Handler);
    }

    #[inline(always)]
    fn may_drop<M: Model>(worker: &mut TimeWarpWorker<'_, M>, at: u64) -> bool {
        worker.log.saving.may_drop(at, &worker.log.history, worker.clock.gvt)
    }

    #[inline(always)]
    fn free<M: Model>(worker: &mut TimeWarpWorker<'_, M>, at: u64, event: &Event) {
        if worker.store.is_on_the_fly {
            worker.forget_returned(at);
        } else {
            worker.free(event);
        }
    }

    #[inline(always)]
    fn drop<M: Model>(worker: &mut TimeWarpWorker<'_, M>, at: u64) {
        worker.log.saving.forget(at, &worker.store.buffers);
    }
}

impl<M: Model> TimeWarpShared<M> {
    /// Whether the run has none of the parts.
    pub(super) fn is_plain(&self) -> bool {
        let engine = &self.settings.engine;
        self.settings.memory.is_none()
            && engine.saving.copies_all()
            && !engine.pool.is_on_the_fly()
            && !engine.instrumentation.measure_costs
            && self.timeline.is_none()
            && self.memory.is_none()
            && self.halves.is_none()
            && self.remote.is_none()
    }
}
