//! Remote events and remote anti-messages that arrive.
//!
//! Called by the hook of the main loop's first step. The receiver gives the message a buffer of its
//! own, and notes under which key and serial number the event has arrived: by these an anti-message
//! finds it. The serial number tells an event from one that was sent under the same key after a
//! rollback. The note is dropped when GVT is beyond the event.
//!
//! If there is no buffer, the event waits in the *backlog*, so that the parcels behind it are still
//! read and GVT is still computed. For GVT an event in the backlog is as pending as any other. Its
//! worker is short of buffers, and the senders hear of that (see
//! [`cancelback`](crate::timewarp::cancelback)).
//!
//! # Invariants
//!
//! - **REMOTE-A.** An anti-message arrives after its event (NET-A, OUT-A), and GVT is not beyond
//!   the event, or it would not be canceled (TW-C). So the anti-message finds the event in the
//!   backlog or among those that have arrived.
//! - **REMOTE-B.** What arrives is not trusted. A message ends the run if its receiver or its
//!   sender is not where it says, if it is below GVT, or if its event has already arrived (MSG-A).

use warpline_core::{Model, Wire};
use warpline_memory::BufferId;
use warpline_net::{Malformed, NetError, Opened, Parcel};

use super::super::remote::{
    message::{Color, EVENTS, RemoteMessage},
    receiving::Name,
};
use crate::{
    cut::LeftEvent,
    event::{self, Buffer, Inline},
    handling::Value,
    panics,
    timewarp::{Message, event::Event, gvt::Bound, heap, worker::TimeWarpWorker},
};

/// How an event that has arrived was filed.
struct Filed {
    /// Whether it had not arrived before (REMOTE-B).
    is_new: bool,
    has_buffer: bool,
}

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Reads all parcels that have arrived.
    pub(in crate::timewarp) fn read_parcels(&mut self) -> Result<(), NetError> {
        self.take_from_backlog();
        loop {
            let Some(remote) = &mut self.sender.remote else { return Ok(()) };
            remote.outgoing.check()?;
            let Some(received) = remote.transport.receive(remote.port)? else { return Ok(()) };
            let from = received.from;
            let read = Parcel::open(&received.bytes).and_then(|parcel| self.read(from, &parcel));
            read.map_err(|what| NetError::Malformed { from, what })?;
            if let Some(remote) = &mut self.sender.remote {
                remote.outgoing.recycle(received.bytes);
            }
        }
    }

    fn read(&mut self, from: usize, parcel: &Opened<'_>) -> Result<(), Malformed> {
        let Some(remote) = &mut self.sender.remote else { return Ok(()) };
        match (parcel.kind, &mut remote.rounds) {
            (EVENTS, _) => {
                let wire = remote.shared.wire;
                // Code of the model reads the bytes, which another rank has written.
                panics::catch(|| self.read_events(from, parcel.body, &wire))
                    .unwrap_or_else(|fault| Err(Malformed::Body(fault.to_string())))
            }
            (kind, Some(rounds)) => {
                rounds.read(from, kind, parcel.body, &self.shared.gvt, remote.shared)
            }
            (kind, None) => Err(Malformed::Kind(kind)),
        }
    }

    /// Reads a parcel of remote events, and files them.
    fn read_events(
        &mut self,
        from: usize,
        mut rest: &[u8],
        wire: &Wire<Message<M>>,
    ) -> Result<(), Malformed> {
        let (mut received, mut late) = ([0; 2], Bound::NEVER);
        let cuts = self.sender.gvt.reports();
        while !rest.is_empty() {
            let message = RemoteMessage::read(&mut rest, wire)
                .map_err(|error| Malformed::Body(error.to_string()))?;
            let key = Bound(message.key.words());
            self.check(from, &message)?;
            received[message.color.parity()] += 1;
            if message.color.is_late(cuts)? {
                late = late.min(key);
            }
            if message.payload.is_none() {
                self.file_anti_message(&message)?;
            } else {
                self.file_event(message)?;
            }
        }
        if let Some(remote) = &self.sender.remote {
            remote.shared.note_received(received, late);
        }
        Ok(())
    }

    /// REMOTE-B: whether that rank may send this message to this worker now.
    fn check(&self, from: usize, message: &RemoteMessage<Message<M>>) -> Result<(), Malformed> {
        let directory = &self.shared.directory;
        let refuse = |what: String| Err(Malformed::Body(format!("REMOTE-B: {what}")));
        let receiver = directory.find(message.to).map(|place| place.worker);
        if receiver != Some(self.sender.id) {
            return refuse(format!("an event for {:?}, which is not at this worker", message.to));
        }
        let sender = message.key.sender();
        let rank = directory.find(sender).map(|place| directory.address(place.worker).rank);
        if rank != Some(from) {
            return refuse(format!("an event of {sender:?}, which is not at rank {from}"));
        }
        if Bound(message.key.words()) < self.clock.gvt {
            return refuse(format!("an event below GVT: {:?}", message.key));
        }
        Ok(())
    }

    /// An event has arrived: it is pending from now on.
    fn file_event(&mut self, message: RemoteMessage<Message<M>>) -> Result<(), Malformed> {
        let Some(remote) = &mut self.sender.remote else { return Ok(()) };
        let incoming = &mut remote.incoming;
        incoming.counts.count(false);
        let (key, name) = (message.key, (Bound(message.key.words()), message.serial));
        let is_new = if incoming.backlog.is_empty() {
            self.find_buffer(name, message).is_new
        } else {
            // Not before those that wait for a buffer.
            !incoming.arrived.contains_key(&name)
                && incoming.backlog.insert(name, message).is_none()
        };
        let twice = || Malformed::Body(format!("REMOTE-B: an event arrived twice: {key:?}"));
        is_new.then_some(()).ok_or_else(twice)
    }

    /// An event that has arrived is canceled.
    fn file_anti_message(&mut self, message: &RemoteMessage<Message<M>>) -> Result<(), Malformed> {
        let Some(remote) = &mut self.sender.remote else { return Ok(()) };
        let incoming = &mut remote.incoming;
        incoming.counts.count(true);
        let name = (Bound(message.key.words()), message.serial);
        if let Some(event) = incoming.arrived.remove(&name) {
            self.aside.canceled.push(event);
            self.note_serial(&event, message.serial);
        } else if incoming.backlog.remove(&name).is_some() {
            self.statistics.annihilated += 1;
            self.note_annihilated_remote(message.key, message.serial, message.to);
        } else {
            let key = message.key;
            let what = format!("REMOTE-A: an anti-message for {key:?}, which has not arrived");
            return Err(Malformed::Body(what));
        }
        Ok(())
    }

    /// Finds buffers for events in the backlog, the least keys first.
    fn take_from_backlog(&mut self) {
        while let Some(remote) = &mut self.sender.remote
            && let Some((name, message)) = remote.incoming.backlog.pop_first()
        {
            if !self.find_buffer(name, message).has_buffer {
                return;
            }
        }
    }

    /// Puts an event into a buffer, and the event is pending then; or puts it into the backlog.
    fn find_buffer(&mut self, name: Name, mut message: RemoteMessage<Message<M>>) -> Filed {
        let Some(remote) = &mut self.sender.remote else { unreachable!("there are other ranks") };
        debug_assert!(self.clock.gvt <= name.0, "REMOTE-B: GVT has passed {:?}", message.key);
        let payload = &mut message.payload;
        let bytes = payload.as_ref().map_or(0, heap::of_message::<M>);
        let has_room = bytes == 0 || self.store.buffers.ensure_outside(bytes);
        let make = || payload.take().unwrap_or_else(|| unreachable!("it is no anti-message"));
        let filled = has_room.then(|| self.store.buffers.fill_with(self.me, make)).flatten();
        let Some(buffer) = filled else {
            let is_new = !remote.incoming.arrived.contains_key(&name);
            debug_assert!(
                message.payload.is_some(),
                "REMOTE-A: an anti-message waits for a buffer"
            );
            remote.incoming.backlog.insert(name, message);
            if !self.flow.is_starved() {
                let quota = self.quota();
                self.flow.starve(self.statistics.processed, quota);
            }
            return Filed { is_new, has_buffer: false };
        };
        self.store.buffers.charge_outside(bytes);
        let lp = self.shared.directory.place(message.to).lp;
        let event = Event::new(message.key, message.to, message.io, buffer).with_lp(lp);
        let is_new = remote.incoming.arrived.insert(name, event).is_none();
        self.sender.pending.file(event);
        Filed { is_new, has_buffer: true }
    }

    /// An event of a cut, which has arrived from another rank in an earlier run.
    pub(in crate::timewarp) fn file_left(&mut self, event: LeftEvent<M>) {
        let Some(remote) = &mut self.sender.remote else { unreachable!("there are other ranks") };
        let event::Event { key, to, io, message } = event;
        debug_assert_eq!(
            self.shared.directory.place(to).worker,
            self.sender.id,
            "BEGIN-A: {key:?} is for another worker"
        );
        // No anti-message follows: its sender has committed it.
        let (color, serial) = (Color::of(0), 0);
        let payload = Some(message.into_message());
        let message = RemoteMessage { color, serial, key, to, io: io.get(), payload };
        remote.incoming.backlog.insert((Bound(key.words()), serial), message);
    }

    /// Takes out the events that wait for buffers, at the end of a run that leaves a cut.
    pub(in crate::timewarp) fn drain_backlog(&mut self) -> Vec<LeftEvent<M>> {
        let mut left = Vec::new();
        while let Some(remote) = &mut self.sender.remote
            && let Some((_, message)) = remote.incoming.backlog.pop_first()
        {
            let RemoteMessage { key, to, io, payload, .. } = message;
            let payload = payload.unwrap_or_else(|| unreachable!("it is no anti-message"));
            let message = Inline::store(Value(payload), &mut Vec::new());
            left.push(event::Event { key, to, io: io.into(), message });
        }
        debug_assert!(
            left.iter().all(|event| Bound(event.key.words()) >= self.clock.gvt),
            "TW-C: an event below GVT has found no buffer"
        );
        left
    }

    /// The least event that has arrived and waits for a buffer. None in a run of one rank.
    pub(in crate::timewarp) fn first_of_backlog(&self) -> Option<Event> {
        let backlog = &self.sender.remote.as_ref()?.incoming.backlog;
        let (_, message) = backlog.first()?;
        let lp = self.shared.directory.place(message.to).lp;
        Some(Event::new(message.key, message.to, message.io, BufferId::new(0)).with_lp(lp))
    }
}
