//! Other ranks: remote events, remote anti-messages, and global virtual time across ranks.
//!
//! A run of several ranks gives each worker a [`Remote`]; a run of one rank has none, and the rest
//! of a worker does not know ranks. The main loop calls hooks of this module at its joints:
//!
//! - **Messages are filed**: `receive_remote` reads the parcels that have arrived ([`receiving`]).
//! - **The GVT cut**: `cut_remote` counts the messages sent up to the cut.
//! - **The worker goes on after the report**: `advance_remote` goes on with the round of GVT
//!   ([`rounds`]), and hears of failures at other ranks.
//! - **A new GVT**: `on_remote_gvt` drops the notes of events that cannot be canceled any more.
//! - **The end of a turn**: `flush_remote` sends parcels that are not full, at once in an idle
//!   turn.
//! - **The end of the run**: `close` and `end_if_closed` wait until all messages of other ranks
//!   have arrived.
//! - **I/O events**: `other_ranks` are those that the [`IoStage`](super::io::IoStage) exchanges
//!   them with.
//!
//! A handler that sends to an LP of another rank, and a rollback that takes such a send back, call
//! `Sender::send_remote` ([`sending`]).
//!
//! Nothing else asks whether there are other ranks: the questions are in the hooks, and those about
//! what the workers share are at the end of this file.
//!
//! [`message`] says what the bytes mean, and [`shared`] has what the workers of a rank share.
//!
//! # Invariants
//!
//! - **REMOTE-C.** The hooks do nothing in a run of one rank, and none is called once per event.

pub(super) mod message;
mod receiving;
mod rounds;
mod sending;
pub(super) mod shared;

use std::{fmt, sync::atomic::Ordering};

use warpline_core::{EventKey, Io, LpId, Model};
use warpline_net::{Aggregation, NetError, Traffic, Transport};

use self::{
    message::Color,
    receiving::Incoming,
    rounds::Rounds,
    sending::Outgoing,
    shared::{RemoteShared, TimeBarrier},
};
use super::{
    Message,
    costs::Part,
    event::Event,
    gvt::{Bound, Gvt, Outcome},
    sending::Sender,
    shared::Shared,
    worker::{End, Worker},
};
use crate::{
    placement::{LpPlace, WorkerId},
    run::{FailureOrder, Ranks},
    settings::{Settings, TimeWarp},
};

/// While a worker has events to handle, it sends parcels that are not full once in this many turns.
const FLUSH_TURNS: u64 = 4;
/// Turns between two looks whether another rank has ended the run.
const ALERT_TURNS: u64 = 16;

/// Events and anti-messages, sent or received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) events: u64,
    pub(super) anti_messages: u64,
}

impl Counts {
    const fn count(&mut self, is_anti: bool) {
        if is_anti {
            self.anti_messages += 1;
        } else {
            self.events += 1;
        }
    }
}

/// All messages that a worker has exchanged with other ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchanged {
    pub(super) sent: Counts,
    pub(super) received: Counts,
    traffic: Traffic,
}

impl Exchanged {
    pub(super) fn add(mut self, other: Self) -> Self {
        self.sent.events += other.sent.events;
        self.sent.anti_messages += other.sent.anti_messages;
        self.received.events += other.received.events;
        self.received.anti_messages += other.received.anti_messages;
        self.traffic.parcels += other.traffic.parcels;
        self.traffic.bytes += other.traffic.bytes;
        self
    }

    /// The counters that a report tells.
    pub(super) const fn counters(&self) -> [(&'static str, u64); 5] {
        let Self { sent, received, traffic } = self;
        debug_assert!(
            sent.anti_messages <= sent.events && received.anti_messages <= received.events,
            "REMOTE-A: an event is canceled twice, or was never sent"
        );
        [
            ("remote_events", sent.events),
            ("remote_anti_messages", sent.anti_messages),
            ("remote_received", received.events + received.anti_messages),
            ("parcels", traffic.parcels),
            ("parcel_bytes", traffic.bytes),
        ]
    }
}

/// A worker's side of all that concerns other ranks.
pub(super) struct Remote<'r, T> {
    shared: &'r RemoteShared<T>,
    ranks: &'r Ranks<'r>,
    transport: &'r dyn Transport,
    port: usize,
    outgoing: Outgoing<'r, T>,
    incoming: Incoming<T>,
    /// The first worker takes part in the rounds of GVT for its rank.
    rounds: Option<Rounds<'r>>,
    /// How the run has ended. One more round makes sure that all messages have arrived.
    ending: Option<End>,
}

impl<'r, T> Remote<'r, T> {
    /// That of the worker `me`, if there are other ranks.
    pub(super) fn new(
        shared: &'r RemoteShared<T>,
        settings: &Settings<TimeWarp>,
        me: usize,
        ranks: &'r Ranks<'r>,
    ) -> Option<Self> {
        let transport = ranks.transport()?;
        assert!(me + 1 < transport.ports(), "the last port is for what ranks tell each other");
        Some(Self {
            shared,
            ranks,
            transport,
            port: me,
            outgoing: Outgoing::new(transport, me, shared.wire, settings),
            incoming: Incoming::new(),
            rounds: (me == 0).then(|| Rounds::new(transport)),
            ending: None,
        })
    }

    fn exchanged(&self) -> Exchanged {
        let (sent, received) = (self.outgoing.counts, self.incoming.counts);
        Exchanged { sent, received, traffic: self.outgoing.traffic() }
    }

    /// Goes on with the round of GVT, and looks now and then whether another rank has ended the
    /// run.
    fn advance(&mut self, gvt: &Gvt, turns: u64) -> Result<(), NetError> {
        let Some(rounds) = &mut self.rounds else { return Ok(()) };
        if turns.is_multiple_of(ALERT_TURNS) && self.ranks.is_alerted()? {
            self.shared.abandon();
        }
        rounds.step(gvt, self.shared, self.ending.is_some())
    }
}

impl<T> fmt::Debug for Remote<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("sent", &self.outgoing.counts)
            .field("received", &self.incoming.counts)
            .field("backlog", &self.incoming.backlog())
            .finish_non_exhaustive()
    }
}

impl<M: Model> Sender<'_, M> {
    /// Sends an event to an LP of another rank.
    #[inline(never)]
    pub(super) fn send_remote_event(
        &mut self,
        key: EventKey,
        to: LpPlace,
        io: Option<Io>,
        message: &Message<M>,
    ) {
        let Some(remote) = &mut self.remote else { return no_ranks() };
        let event = Event::new(key, to.index, io, remote.outgoing.next_serial());
        self.send_remote(to.worker, event, Some(message));
        self.sent.push(event, to.worker);
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
impl<'r, M: Model> Worker<'r, M> {
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
impl<M: Model> Shared<M> {
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
