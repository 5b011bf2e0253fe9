//! Remote events and remote anti-messages on their way out.
//!
//! Called by [`sending`](crate::timewarp::sending) for a send to an LP of another rank, and by
//! [`anti_messages`](crate::timewarp::anti_messages) to cancel one. A remote event takes no buffer
//! here: the message leaves as bytes. In place of the buffer's number the event has a *serial
//! number*. Otherwise the sender remembers it like any event and cancels it like any event, by an
//! anti-message that follows it.

use warpline_memory::BufferId;
use warpline_net::{Address, NetError, Outbox, Traffic, Transport};

use super::{
    Counts,
    message::{Color, EVENTS, RemoteMessage},
};
use crate::{
    settings::{Settings, TimeWarp},
    timewarp::event::Event,
};
use warpline_core::Wire;

/// The messages that a worker sends to other ranks.
pub(in crate::timewarp) struct Outgoing<'r, T> {
    wire: Wire<T>,
    outbox: Outbox<'r>,
    serial: u32,
    /// Messages sent since the last cut, by rank.
    since_cut: Vec<u64>,
    pub(in crate::timewarp) counts: Counts,
    /// Events sent up to the last GVT.
    events_at_gvt: u64,
    /// Why a message could not be sent.
    failed: Option<NetError>,
}

impl<'r, T> Outgoing<'r, T> {
    pub(in crate::timewarp) fn new(
        transport: &'r dyn Transport,
        port: usize,
        wire: Wire<T>,
        settings: &Settings<TimeWarp>,
    ) -> Self {
        Self {
            wire,
            outbox: Outbox::new(transport, EVENTS, port, settings.engine.aggregation),
            serial: 0,
            since_cut: vec![0; transport.ranks()],
            counts: Counts::default(),
            events_at_gvt: 0,
            failed: None,
        }
    }

    /// The serial number of the next event, in place of a buffer.
    pub(in crate::timewarp) fn next_serial(&mut self) -> BufferId {
        self.serial = (self.serial + 1) % warpline_memory::BUFFERS_MAX;
        BufferId::new(self.serial)
    }

    /// Sends an event with its message, or an anti-message.
    pub(in crate::timewarp) fn send(
        &mut self,
        to: Address,
        color: Color,
        mail: Event,
        payload: Option<&T>,
    ) {
        let (event, is_anti) = mail.cancels().map_or((mail, false), |event| (event, true));
        debug_assert!(is_anti == payload.is_none(), "only an anti-message has no payload");
        let (key, serial, io) = (event.key, event.buffer().get(), event.io());
        // A remote event has the receiver's own number.
        let message = RemoteMessage { color, serial, key, to: event.to(), io, payload };
        let sent = self.outbox.put(to, |bytes| message.write(bytes, &self.wire));
        self.note(sent);
        self.since_cut[to.rank] += 1;
        self.counts.count(is_anti);
    }

    /// Sends all parcels that are being filled.
    pub(in crate::timewarp) fn flush(&mut self) {
        if !self.outbox.is_empty() {
            let sent = self.outbox.flush();
            self.note(sent);
        }
    }

    fn note(&mut self, sent: Result<(), NetError>) {
        if let Err(error) = sent {
            self.failed.get_or_insert(error);
        }
    }

    /// Why a message could not be sent, if that has happened.
    pub(in crate::timewarp) fn check(&mut self) -> Result<(), NetError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Messages sent since the last cut, by rank; to be cleared.
    pub(in crate::timewarp) fn since_cut(&mut self) -> &mut [u64] {
        &mut self.since_cut
    }

    /// Events sent since the last GVT.
    pub(in crate::timewarp) const fn events_since_gvt(&self) -> usize {
        (self.counts.events - self.events_at_gvt) as usize
    }

    /// Events that are sent from now on count for the next GVT.
    pub(in crate::timewarp) const fn on_gvt(&mut self) {
        self.events_at_gvt = self.counts.events;
    }

    /// Keeps the bytes of a parcel that was read, for the next parcel.
    pub(in crate::timewarp) fn recycle(&mut self, bytes: Vec<u8>) {
        self.outbox.recycle(bytes);
    }

    pub(in crate::timewarp) fn traffic(&self) -> Traffic {
        self.outbox.traffic()
    }
}
