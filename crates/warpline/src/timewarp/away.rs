//! Events to and from workers of other ranks.
//!
//! To the rest of a worker, another rank's worker is one with a number above those of its own rank
//! (`Shared::new`), and an event for it one that has no buffer here: what would be the buffer's
//! number is a *serial number*. The message leaves as bytes, in a letter; what the sender remembers
//! of it is the same as of any event, and so is its cancellation, for which a second letter follows
//! the first.
//!
//! The receiver gives the message a buffer of its own, and notes under which key and serial number
//! the event came: by these an anti-message finds it. Both are needed, for with lazy cancellation
//! there may be several events with one key for a while (HIST-A). What came is forgotten when GVT
//! is beyond it.
//!
//! If there is no buffer, the message stays in the *stash* until there is one; so it does not keep
//! those behind it from being read, nor GVT from being known. An event in the stash is as pending
//! as any other to GVT, and a worker that has one is short of buffers, which the senders hear of
//! (see [`flow`](super::flow)).
//!
//! Called by the main loop for what arrives, and by [`sending`](super::sending) and
//! [`rollback`](super::rollback) through `Desk::post` and [`Away::send`].
//!
//! # Invariants
//!
//! - **AWAY-A.** An anti-message comes after its event (NET-A, OUT-A), so it finds the event in the
//!   stash or among those that came: GVT is not beyond it, or it would not be cancelled (TW-C).
//! - **AWAY-B.** What arrives is not trusted: a letter for or from a process that is not at that
//!   rank, below GVT, or about an event that is or is not there already ends the run (LETTER-A).

use std::{collections::BTreeMap, fmt};

use warpline_core::{LpId, Model, Wire};
use warpline_memory::BufferId;
use warpline_net::{Address, Malformed, NetError, Opened, Outbox, Parcel, Traffic, Transport};

use super::{
    Message,
    event::Event,
    gvt::Bound,
    letters::{Color, EVENTS, Letter},
    worker::Worker,
};
use crate::{panics, pending::PendingSet, settings::Settings};

/// By what an anti-message finds its event.
type Name = (Bound, u32);

/// What a worker has sent to, and got from, other ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchanged {
    pub(super) events: u64,
    pub(super) anti_messages: u64,
}

/// A worker's dealings with other ranks.
pub(super) struct Away<'r, T> {
    transport: &'r dyn Transport,
    port: usize,
    wire: Wire<T>,
    outbox: Outbox<'r>,
    /// Letters sent since the last cut, by rank.
    sent: Vec<u64>,
    serial: u32,
    /// Events that came and may yet be cancelled.
    came: BTreeMap<Name, Event>,
    /// Events without buffers.
    stash: BTreeMap<Name, Letter<T>>,
    pub(super) given: Exchanged,
    pub(super) got: Exchanged,
    /// Events sent up to the last GVT.
    given_at_gvt: u64,
    /// Why a letter could not be sent.
    failed: Option<NetError>,
}

impl<'r, T> Away<'r, T> {
    pub(super) fn new(
        transport: &'r dyn Transport,
        port: usize,
        wire: Wire<T>,
        settings: &Settings,
    ) -> Self {
        Self {
            transport,
            port,
            wire,
            outbox: Outbox::new(transport, EVENTS, port, settings.aggregation),
            sent: vec![0; transport.ranks()],
            serial: 0,
            came: BTreeMap::new(),
            stash: BTreeMap::new(),
            given: Exchanged::default(),
            got: Exchanged::default(),
            given_at_gvt: 0,
            failed: None,
        }
    }

    /// What the next event that is sent has in place of a buffer.
    pub(super) fn next_serial(&mut self) -> BufferId {
        self.serial = (self.serial + 1) % warpline_memory::BUFFERS_MAX;
        BufferId::new(self.serial)
    }

    /// Sends an event, or an anti-message, to a worker of another rank.
    pub(super) fn send(&mut self, to: Address, color: Color, mail: Event, message: Option<&T>) {
        let (event, is_anti) = mail.cancels().map_or((mail, false), |event| (event, true));
        let (key, serial, io) = (event.key, event.buffer().get(), event.io());
        // An event for another rank has the receiver's own number.
        let letter = Letter { color, serial, key, to: LpId::new(event.lp), io, message };
        let sent = self.outbox.put(to, |bytes| letter.write(bytes, &self.wire));
        self.note(sent);
        self.sent[to.rank] += 1;
        *(if is_anti { &mut self.given.anti_messages } else { &mut self.given.events }) += 1;
    }

    /// Sends all letters on their way.
    pub(super) fn flush(&mut self) {
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

    /// Letters sent since the last cut, by rank; to be set to zero.
    pub(super) fn sent_since_cut(&mut self) -> &mut [u64] {
        &mut self.sent
    }

    /// The least key in the stash.
    pub(super) fn least(&self) -> Bound {
        self.stash.first_key_value().map_or(Bound::NEVER, |((key, _), _)| *key)
    }

    /// How many events are in the stash.
    pub(super) fn stashed(&self) -> usize {
        self.stash.len()
    }

    /// Events sent since the last GVT.
    pub(super) fn sent_since_gvt(&self) -> usize {
        (self.given.events - self.given_at_gvt) as usize
    }

    /// What came below GVT is forgotten, and what is sent from now on counts anew.
    pub(super) fn on_gvt(&mut self, gvt: Bound) {
        self.given_at_gvt = self.given.events;
        while let Some(first) = self.came.first_entry()
            && first.key().0 < gvt
        {
            first.remove();
        }
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.outbox.traffic()
    }
}

impl<T> fmt::Debug for Away<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Away")
            .field("given", &self.given)
            .field("got", &self.got)
            .field("stash", &self.stash.keys())
            .finish_non_exhaustive()
    }
}

impl<M: Model> Worker<'_, M> {
    /// Step 1, the other half: takes what other ranks have sent.
    pub(super) fn receive_from_away(&mut self) {
        self.unstash();
        if let Err(error) = self.read_parcels() {
            self.abandon(error);
        }
    }

    fn read_parcels(&mut self) -> Result<(), NetError> {
        loop {
            let Some(away) = &mut self.desk.away else { return Ok(()) };
            if let Some(error) = away.failed.take() {
                return Err(error);
            }
            let Some(received) = away.transport.receive(away.port)? else { return Ok(()) };
            let from = received.from;
            let read = Parcel::open(&received.bytes).and_then(|parcel| self.read(from, &parcel));
            read.map_err(|what| NetError::Malformed { from, what })?;
            if let Some(away) = &mut self.desk.away {
                away.outbox.recycle(received.bytes);
            }
        }
    }

    fn read(&mut self, from: usize, parcel: &Opened<'_>) -> Result<(), Malformed> {
        match (parcel.kind, &mut self.rounds, &self.shared.across) {
            (EVENTS, ..) => self.read_letters(from, parcel.body),
            (kind, Some(rounds), Some(across)) => {
                rounds.read(from, kind, parcel.body, &self.shared.gvt, across)
            }
            (kind, ..) => Err(Malformed::Kind(kind)),
        }
    }

    /// Reads a parcel of letters, and files the events.
    fn read_letters(&mut self, from: usize, rest: &[u8]) -> Result<(), Malformed> {
        let Some(wire) = self.shared.wire else { return Ok(()) };
        // Reading is the model's code, of bytes that another rank has written.
        let read = panics::catch(|| self.file_letters(from, rest, &wire));
        read.unwrap_or_else(|fault| Err(Malformed::Body(fault.to_string())))
    }

    fn file_letters(
        &mut self,
        from: usize,
        mut rest: &[u8],
        wire: &Wire<Message<M>>,
    ) -> Result<(), Malformed> {
        let (mut received, mut late) = ([0; 2], Bound::NEVER);
        let cuts = self.desk.gvt.reports();
        while !rest.is_empty() {
            let letter = Letter::read(&mut rest, wire)
                .map_err(|error| Malformed::Body(error.to_string()))?;
            let key = Bound(letter.key.words());
            self.check(from, &letter)?;
            received[letter.color.parity()] += 1;
            if letter.color.is_late(cuts)? {
                late = late.min(key);
            }
            if letter.message.is_none() {
                self.file_anti(&letter)?;
            } else {
                self.file_event(letter)?;
            }
        }
        if let Some(across) = &self.shared.across {
            across.note_received(received, late);
        }
        Ok(())
    }

    /// AWAY-B: whether that rank may send this here now.
    fn check(&self, from: usize, letter: &Letter<Message<M>>) -> Result<(), Malformed> {
        let directory = &self.shared.directory;
        let refuse = |what: String| Err(Malformed::Body(what));
        let receiver = directory.find(letter.to).map(|place| place.worker);
        if receiver != Some(self.desk.id) {
            return refuse(format!("an event for {:?}, which is not here", letter.to));
        }
        let sender = letter.key.sender();
        let rank = directory.find(sender).map(|place| directory.address(place.worker).rank);
        if rank != Some(from) {
            return refuse(format!("an event of {sender:?}, which is not at rank {from}"));
        }
        if Bound(letter.key.words()) < self.gvt {
            return refuse(format!("an event below GVT: {:?}", letter.key));
        }
        Ok(())
    }

    /// An event has come: it is pending from now on.
    fn file_event(&mut self, letter: Letter<Message<M>>) -> Result<(), Malformed> {
        let Some(away) = &mut self.desk.away else { return Ok(()) };
        away.got.events += 1;
        let (key, name) = (letter.key, (Bound(letter.key.words()), letter.serial));
        // Not past those that wait for a buffer.
        let is_new = if away.stash.is_empty() {
            self.find_buffer(name, letter)
        } else {
            !away.came.contains_key(&name) && away.stash.insert(name, letter).is_none()
        };
        let what = || Malformed::Body(format!("an event came twice: {key:?}"));
        is_new.then_some(()).ok_or_else(what)
    }

    /// An event that came is cancelled (AWAY-A).
    fn file_anti(&mut self, letter: &Letter<Message<M>>) -> Result<(), Malformed> {
        let Some(away) = &mut self.desk.away else { return Ok(()) };
        away.got.anti_messages += 1;
        let name = (Bound(letter.key.words()), letter.serial);
        if let Some(event) = away.came.remove(&name) {
            self.cancelled.push(event);
        } else if away.stash.remove(&name).is_some() {
            self.statistics.annihilated += 1;
        } else {
            let what = format!("{:?} is cancelled, which never came", letter.key);
            return Err(Malformed::Body(what));
        }
        Ok(())
    }

    /// Finds buffers for what is in the stash, the least keys first.
    fn unstash(&mut self) {
        while let Some(away) = &mut self.desk.away
            && let Some((name, letter)) = away.stash.pop_first()
        {
            let waiting = away.stash.len();
            self.find_buffer(name, letter);
            if self.desk.away.as_ref().is_some_and(|away| away.stash.len() > waiting) {
                return;
            }
        }
    }

    /// Finds a buffer for an event, which is pending then; or puts it into the stash. False if it
    /// is known already.
    fn find_buffer(&mut self, name: Name, mut letter: Letter<Message<M>>) -> bool {
        let Some(away) = &mut self.desk.away else { return false };
        let message = &mut letter.message;
        let filled = self.buffers.fill_with(self.me, || {
            message.take().unwrap_or_else(|| unreachable!("who has no message is not stashed"))
        });
        let Some(buffer) = filled else {
            let is_new = !away.came.contains_key(&name);
            away.stash.insert(name, letter);
            if !self.flow.is_starved() {
                let quota = self.quota();
                self.flow.starve(self.statistics.processed, quota);
            }
            return is_new;
        };
        let lp = self.shared.directory.place(letter.to).index;
        let event = Event::new(letter.key, lp, letter.io, buffer);
        let is_new = away.came.insert(name, event).is_none();
        self.desk.pending.insert(event);
        is_new
    }

    /// The first event that has no buffer.
    pub(super) fn first_stashed(&self) -> Option<Event> {
        let (_, letter) = self.desk.away.as_ref()?.stash.first_key_value()?;
        let lp = self.shared.directory.place(letter.to).index;
        Some(Event::new(letter.key, lp, letter.io, BufferId::new(0)))
    }
}
