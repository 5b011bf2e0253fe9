//! What a worker knows of other ranks: what it sends and receives there, and the rounds of GVT.
//!
//! Called by [`ranks`](super::ranks), whose hooks the main loop calls.

pub(super) mod message;
pub(super) mod receiving;
mod rounds;
mod sending;
pub(super) mod shared;

use std::fmt;

use warpline_net::{NetError, Traffic, Transport};

use self::{receiving::Incoming, rounds::Rounds, sending::Outgoing, shared::RemoteShared};
use super::{gvt::Gvt, turn::End};
use crate::{
    run::Ranks,
    settings::{Settings, TimeWarp},
};

/// While a worker has events to handle, it sends parcels that are not full once in this many turns.
pub(super) const FLUSH_TURNS: u64 = 4;
/// Turns between two looks whether another rank has ended the run.
pub(super) const ALERT_TURNS: u64 = 16;

/// Events and anti-messages, sent or received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) events: u64,
    pub(super) anti_messages: u64,
}

impl Counts {
    pub(super) const fn count(&mut self, is_anti: bool) {
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
    pub(super) traffic: Traffic,
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
    pub(super) shared: &'r RemoteShared<T>,
    pub(super) ranks: &'r Ranks<'r>,
    pub(super) transport: &'r dyn Transport,
    pub(super) port: usize,
    pub(super) outgoing: Outgoing<'r, T>,
    pub(super) incoming: Incoming<T>,
    /// The first worker takes part in the rounds of GVT for its rank.
    pub(super) rounds: Option<Rounds<'r>>,
    /// How the run has ended. One more round makes sure that all messages have arrived.
    pub(super) ending: Option<End>,
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

    pub(super) fn exchanged(&self) -> Exchanged {
        let (sent, received) = (self.outgoing.counts, self.incoming.counts);
        Exchanged { sent, received, traffic: self.outgoing.traffic() }
    }

    /// Goes on with the round of GVT, and looks now and then whether another rank has ended the
    /// run.
    pub(super) fn advance(&mut self, gvt: &Gvt, turns: u64) -> Result<(), NetError> {
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
