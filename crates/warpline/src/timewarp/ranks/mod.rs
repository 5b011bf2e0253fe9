//! Other ranks: remote events, remote anti-messages, and global virtual time across ranks.
//!
//! A run of several ranks gives each worker a [`Remote`]; a run of one rank has none, and the rest
//! of a worker does not know ranks. The main loop calls hooks of this module at its joints:
//!
//! - **Messages are filed**: `receive_remote` reads the parcels that have arrived ([`receiving`]).
//! - **The GVT cut**: `cut_remote` counts the messages sent up to the cut.
//! - **The worker goes on after the report**: `advance_remote` goes on with the round of GVT
//!   (`remote/rounds.rs`), and hears of failures at other ranks.
//! - **A new GVT**: `on_remote_gvt` drops the notes of events that cannot be canceled any more.
//! - **The end of a turn**: `flush_remote` sends parcels that are not full, at once in an idle
//!   turn.
//! - **The end of the run**: `close` and `end_if_closed` wait until all messages of other ranks
//!   have arrived.
//! - **I/O events**: `other_ranks` are those that the [`IoStage`](super::io::IoStage) exchanges
//!   them with.
//!
//! A handler that sends to an LP of another rank, and a rollback that takes such a send back, call
//! `TimeWarpSender::send_remote`.
//!
//! Nothing else asks whether there are other ranks: the questions are in the hooks, and those about
//! what the workers share are at the end of this file.
//!
//! [`remote`](super::remote) has what a worker knows of other ranks, and says what the bytes mean.
//!
//! # Invariants
//!
//! - **REMOTE-C.** The hooks do nothing in a run of one rank, and none is called once per event.

mod receiving;

use std::sync::atomic::Ordering;

use warpline_core::{EventKey, Io, LpId, Model};
use warpline_net::{Aggregation, NetError};

use super::{
    Message,
    costs::Part,
    event::Event,
    gvt::{Bound, Outcome},
    remote::{
        Exchanged, FLUSH_TURNS, Remote,
        message::Color,
        shared::{RemoteShared, TimeBarrier},
    },
    sending::TimeWarpSender,
    shared::TimeWarpShared,
    turn::End,
    worker::TimeWarpWorker,
};
use crate::{
    placement::WorkerId,
    run::{FailureOrder, Ranks},
};

impl<M: Model> TimeWarpSender<'_, M> {
    /// Sends an event to an LP of another rank.
    #[inline(never)]
    pub(super) fn send_remote_event(
        &mut self,
        key: EventKey,
        (worker, to): (WorkerId, LpId),
        io: Option<Io>,
        message: &Message<M>,
    ) {
        let Some(remote) = &mut self.remote else { return no_ranks() };
        let event = Event::new(key, to, io, remote.outgoing.next_serial());
        self.send_remote(worker, event, Some(message));
        self.sent.push(event, worker);
        self.costs.leave(Part::Send);
    }

    /// Sends an event with its message, or an anti-message, to a worker of another rank.
    #[inline(never)]
    pub(super) fn send_remote(&mut self, to: WorkerId, mail: Event, message: Option<&Message<M>>) {
        let Some(remote) = &mut self.remote else { return no_ranks() };
        debug_assert!(
            self.shared.directory.local(to).is_none(),
            "REMOTE-C: {mail:?} is for a worker of this rank"
        );
        let (to, color) = (self.shared.directory.address(to), Color::of(self.gvt.reports()));
        remote.outgoing.send(to, color, mail, message);
    }
}

/// An LP of another rank is known, but there is none.
#[cold]
fn no_ranks() {
    unreachable!("REMOTE-C: a run of one rank has sent to another one");
}

/// The hooks of the main loop.
impl<'r, M: Model> TimeWarpWorker<'r, M> {
    /// Files the messages of other ranks.
    #[inline]
    pub(super) fn receive_remote(&mut self) {
        if self.sender.remote.is_some()
            && let Err(error) = self.read_parcels()
        {
            self.abandon(error);
        }
    }

    /// At this worker's GVT cut: all messages so far have the old color.
    pub(super) fn cut_remote(&mut self) {
        if let Some(remote) = &mut self.sender.remote {
            remote.outgoing.flush();
            remote.shared.note_sent(remote.outgoing.since_cut());
            self.flow.note_backlog(remote.incoming.backlog() == 0);
        }
    }

    /// Once a turn, after the report: goes on with the round of GVT, and sees to it that other
    /// ranks hear of the end of this one.
    #[inline]
    pub(super) fn advance_remote(&mut self) {
        if self.sender.remote.is_some() {
            self.advance_round();
            self.flow.note_credit(self.credit());
        }
    }

    fn advance_round(&mut self) {
        let Some(remote) = &mut self.sender.remote else { return };
        if let Err(error) = remote.advance(&self.shared.gvt, self.statistics.turns) {
            self.abandon(error);
        }
        if self.shared.failure.is_known() {
            self.flow.fail();
        }
        if self.flow.is_over() {
            self.shared.request_gvt();
        }
    }

    /// How many events this worker may still send to other ranks before the next GVT: remote events
    /// take buffers of the receivers, and none of the sender.
    fn credit(&self) -> usize {
        let Some(remote) = &self.sender.remote else { return usize::MAX };
        let allowed = if self.shared.settings.memory.is_some() {
            1.max((self.quota() / remote.ranks.count() as f64) as usize)
        } else {
            // Where rollbacks at several ranks cause each other, the remote events had no end.
            self.flow.history_max()
        };
        allowed.saturating_sub(remote.outgoing.events_since_gvt())
    }

    /// At a new GVT.
    pub(super) fn on_remote_gvt(&mut self) {
        let Some(remote) = &mut self.sender.remote else { return };
        remote.outgoing.on_gvt();
        remote.incoming.on_gvt(self.clock.gvt);
        let TimeBarrier { round, bits } = remote.shared.barrier();
        if round > 0 {
            // Ordering: Relaxed; workers may see it late, it only limits optimism.
            self.shared.barrier.store(bits, Ordering::Relaxed);
        }
    }

    /// At the end of a turn: sends parcels that are not full, at once if the worker had nothing to
    /// do.
    #[inline]
    pub(super) fn flush_remote(&mut self, worked: bool) {
        if let Some(remote) = &mut self.sender.remote {
            let adapts = self.shared.settings.engine.aggregation == Aggregation::Adaptive;
            if !worked || adapts && self.statistics.turns.is_multiple_of(FLUSH_TURNS) {
                remote.outgoing.flush();
            }
        }
    }

    /// The run has come to its end. If there are other ranks, it goes on for one more round of GVT:
    /// by then all messages have arrived.
    pub(super) fn close(&mut self, end: End) -> Result<(), End> {
        let Some(remote) = &mut self.sender.remote else { return Err(end) };
        debug_assert!(remote.ending.is_none(), "the run ends as {end:?}, and it has ended before");
        remote.ending = Some(end);
        self.flow.close();
        Ok(())
    }

    /// Ends the run if it had come to its end at the last GVT.
    pub(super) fn end_if_closed(&self) -> Result<(), End> {
        self.sender.remote.as_ref().and_then(|remote| remote.ending).map_or(Ok(()), Err)
    }

    /// All ranks, if there are others, for the I/O events that rank 0 handles for all.
    pub(super) fn other_ranks(&self) -> Option<&'r Ranks<'r>> {
        self.sender.remote.as_ref().map(|remote| remote.ranks)
    }

    /// How many events of other ranks wait for a buffer.
    pub(super) fn backlog(&self) -> usize {
        self.sender.remote.as_ref().map_or(0, |remote| remote.incoming.backlog())
    }

    /// How many events this worker has sent to other ranks.
    pub(super) fn remote_events(&self) -> u64 {
        self.sender.remote.as_ref().map_or(0, |remote| remote.outgoing.counts.events)
    }

    /// The serial number of a pending event that another rank has sent.
    pub(super) fn serial_of(&self, event: &Event) -> Option<u32> {
        self.sender.remote.as_ref()?.incoming.serial_of(event)
    }

    /// The messages that this worker has exchanged with other ranks, if there are any.
    pub(super) fn exchanged(&self) -> Option<Exchanged> {
        self.sender.remote.as_deref().map(Remote::exchanged)
    }

    /// The least key in the backlog.
    pub(super) fn least_of_backlog(&self) -> Bound {
        self.sender.remote.as_ref().map_or(Bound::NEVER, |remote| remote.incoming.least())
    }

    /// Whether a key may have changed on its way from another rank. That is an error of the run,
    /// found when GVT decreases ([`refuse_gvt`](Self::refuse_gvt)).
    pub(super) fn may_have_got_changed_keys(&self) -> bool {
        self.sender.remote.is_some()
    }

    /// GVT never decreases. Between ranks, a key may have changed on its way; within one it is a
    /// bug.
    pub(super) fn refuse_gvt(&self, outcome: Outcome) -> Result<(), End> {
        let what = format!("TW-C: GVT decreased from {:?} to {outcome:?}", self.clock.gvt);
        assert!(self.sender.remote.is_some(), "{what}");
        self.abandon(NetError::Failed(what));
        Ok(())
    }

    /// Ends the run because ranks cannot exchange messages any more.
    fn abandon(&self, error: NetError) {
        self.shared.lose_network(error);
    }
}

/// What the workers of a rank share: where it matters whether there are other ranks.
impl<M: Model> TimeWarpShared<M> {
    /// Whether several workers run at the same time, at this rank or others.
    pub(super) const fn is_parallel(&self) -> bool {
        self.workers() > 1 || self.remote.is_some()
    }

    /// Whether some sends leave before their event is committed, and cannot be kept back while it
    /// is tried again.
    pub(super) const fn sends_leave_at_once(&self) -> bool {
        self.remote.is_some()
    }

    /// Requests a computation of GVT.
    pub(super) fn request_gvt(&self) {
        match &self.remote {
            None => self.gvt.start(),
            Some(remote) => remote.request_gvt(),
        }
    }

    /// Ends the run because ranks cannot exchange messages any more.
    pub(super) fn lose_network(&self, error: NetError) {
        // It comes before anything that the model has done.
        self.failure.note(FailureOrder::Start(LpId::new(0)), error.into());
        self.abandon();
    }

    /// Ends the run of this rank at once, whatever the other ranks do. The failure is known by
    /// then, or another rank has it.
    pub(super) fn abandon(&self) {
        if let Some(remote) = &self.remote {
            remote.abandon();
        }
    }

    /// How many events were committed before, for the progress. Of several ranks, the session
    /// knows.
    pub(super) fn shown_before(&self) -> u64 {
        if self.remote.is_some() { 0 } else { self.committed_before }
    }

    /// Whether the run of this rank was abandoned: the other ranks have to be alerted.
    pub(super) fn is_abandoned(&self) -> bool {
        self.remote.as_ref().is_some_and(RemoteShared::is_abandoned)
    }

    /// Whether the workers leave the run in their next turn. If there are other ranks, a failure
    /// alone is no reason: they hear of it by the next round of GVT, and all go on until then.
    #[inline]
    pub(super) fn cannot_go_on(&self) -> bool {
        self.remote.as_ref().map_or_else(|| self.failure.is_known(), RemoteShared::is_abandoned)
    }

    /// The simulated time barrier was set at this rank: the next round of GVT tells the others.
    pub(super) fn tell_barrier(&self, set: TimeBarrier) {
        if let Some(remote) = &self.remote {
            remote.update_barrier(set);
        }
    }

    /// An estimate of the slowest worker's time. Workers of other ranks do not show theirs, so it
    /// is GVT if there are any.
    pub(super) fn slowest_worker(&self, gvt: f64) -> f64 {
        if self.remote.is_some() { gvt } else { self.snooped_gvt() }
    }
}
