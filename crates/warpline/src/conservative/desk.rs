//! Where the events go that a worker's processes send: into its calendar, to another worker, or, within the
//! window, straight back to the process that sends to itself.

use std::{cmp::Reverse, collections::BinaryHeap, sync::atomic::Ordering};

use warpline_core::{EventKey, Fault, Io, LpId, Model, WireError};
use warpline_net::NetError;

use super::{
    abroad::Abroad,
    calendar::{Bucket, Calendar, Grid},
    shared::Shared,
};
use crate::{
    admission::Admission,
    panics,
    sequential::{Buffer, Event, Halt, Message, Sink},
    travel::{Arrival, write_event},
};

/// Spare buffers take at most so much memory, or are not more than so many.
const SPARES_BYTES: usize = 1 << 20;
const SPARES_LEAST: usize = 64;

/// See the module.
pub(super) struct Desk<'a, M: Model, B> {
    pub(super) shared: &'a Shared<'a, M, B>,
    me: usize,
    /// All windows before this one are over, or being handled.
    pub(super) over: u64,
    pub(super) calendar: Calendar<Event<B>>,
    /// What the current process has sent to itself, due in the window that is being handled.
    pub(super) soon: BinaryHeap<Reverse<Event<B>>>,
    /// By receiver.
    outboxes: Vec<Bucket<Event<B>>>,
    /// The events for other ranks as bytes, by receiver among the workers of all ranks.
    departures: Vec<Vec<u8>>,
    /// Events that were sent to, less those that came from, other ranks.
    pub(super) abroad: i64,
    /// The first window of what is in the outboxes.
    first_sent: u64,
    /// Events for other workers.
    pub(super) mail: u64,
    /// Buffers of handled events, for the next sends.
    pub(super) spares: Vec<B>,
    pub(super) halt: Option<Box<Halt>>,
    /// The process whose code runs, and the event that it handles, for an error's place.
    pub(super) current_lp: Option<LpId>,
    pub(super) current_event: Option<EventKey>,
}

impl<'a, M: Model, B: Buffer<Message<M>>> Desk<'a, M, B> {
    pub(super) fn new(shared: &'a Shared<'a, M, B>, me: usize) -> Self {
        Self {
            shared,
            me,
            over: 0,
            calendar: Calendar::new(
                shared.grid,
                shared.homes.residents[me].len(),
                super::worker::tile_bits::<M>(),
            ),
            soon: BinaryHeap::new(),
            outboxes: (0..shared.workers).map(|_| Bucket::default()).collect(),
            departures: vec![
                Vec::new();
                if shared.abroad.is_some() { shared.homes.workers } else { 0 }
            ],
            abroad: 0,
            first_sent: u64::MAX,
            mail: 0,
            spares: Vec::new(),
            halt: None,
            current_lp: None,
            current_event: None,
        }
    }

    /// Posts what was sent to others, before the `meeting`-th meeting. Gives back the first window in which
    /// this worker has something, or has sent something.
    pub(super) fn post(&mut self, meeting: u64) -> u64 {
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if to != self.me {
                // What comes back are the chunks of the mail before the last.
                self.shared.mail(meeting, self.me, to, |mail| std::mem::swap(mail, outbox));
                self.calendar.reclaim(outbox);
            }
        }
        if let Some(abroad) = &self.shared.abroad {
            abroad.leave(self.me, &mut self.departures);
        }
        let sent = std::mem::replace(&mut self.first_sent, u64::MAX);
        self.calendar.first().map_or(sent, |first| first.min(sent))
    }

    /// Takes what others have posted before the `meeting`-th meeting.
    pub(super) fn collect(&mut self, meeting: u64) {
        for from in (0..self.shared.workers).filter(|&from| from != self.me) {
            let local_of = |event: &Event<B>| self.shared.local_of(event.to);
            let insert = |mail: &mut _| self.calendar.insert_all(mail, local_of);
            self.shared.mail(meeting, from, self.me, insert);
        }
    }

    /// Takes what other ranks have sent for the last meeting.
    pub(super) fn collect_abroad(&mut self, abroad: &Abroad<'_, M>) -> Result<(), NetError> {
        abroad.collect(self.me, |Arrival { key, to, io, message }| {
            let shared = self.shared;
            let window = shared.grid.window(key.time_value());
            let home = shared.homes.directory.get(to.index());
            let worker = home.map(|home| home.worker as usize);
            if worker != Some(shared.homes.here.start + self.me) || window < self.over {
                return Err(WireError::new(format!("an event for {to:?} that is not due here")));
            }
            self.abroad -= 1;
            self.current_lp = Some(key.sender());
            self.take_room();
            let message = B::store(message, &mut self.spares);
            let make = || Event { key, to, io, message };
            self.calendar.insert(window, shared.local_of(to), make);
            Ok(())
        })
    }

    /// Takes the place of one more event, where memory is limited.
    #[inline]
    fn take_room(&mut self) {
        if let Some(room) = self.shared.room {
            // Ordering: Relaxed; a count.
            if self.shared.pending.fetch_add(1, Ordering::Relaxed) >= room {
                self.shared.pending.fetch_sub(1, Ordering::Relaxed);
                Sink::<Message<M>>::halt(self, Halt::OutOfBuffers);
            }
        }
    }

    /// Keeps the buffer of a handled event for the next sends, if there are not many yet: who only receives
    /// would keep them all.
    #[inline]
    pub(super) fn recycle(&mut self, message: B) {
        if self.spares.len() < SPARES_BYTES / size_of::<Message<M>>().max(1) + SPARES_LEAST {
            message.recycle(&mut self.spares);
        }
    }

    /// Says that so many events were handled.
    pub(super) fn give_room(&self, events: usize) {
        if self.shared.room.is_some() {
            // Ordering: Relaxed; a count.
            self.shared.pending.fetch_sub(events, Ordering::Relaxed);
        }
    }

    /// Writes an event for another rank.
    fn depart(&mut self, window: u64, event: (&EventKey, LpId, Option<Io>), message: &Message<M>) {
        let Some(abroad) = &self.shared.abroad else { return };
        let to = self.shared.worker_of(event.1);
        self.first_sent = self.first_sent.min(window);
        self.abroad += 1;
        write_event(&mut self.departures[to], &abroad.wire(), event, message);
    }

    /// An event to another process is due in the window of its cause, or before: its time is so large that
    /// adding the lookahead hardly changes it.
    #[cold]
    fn refuse(&mut self, to: LpId, time: f64) -> ! {
        let lookahead = self.shared.model.lookahead().unwrap_or_default();
        let fault = Fault::Failed(format!(
            "sent an event to {to:?} at {time}: so late, rounding takes too much of the lookahead of \
             {lookahead} for the conservative engine (it handles times up to {:e} of them)",
            Grid::WINDOWS_MAX as f64
        ));
        Sink::<Message<M>>::halt(self, Halt::Fault(fault))
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for Desk<'_, M, B> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.admission
    }

    fn has_room_for(&self, events: usize) -> bool {
        // Ordering: Relaxed; a count.
        let pending = self.shared.pending.load(Ordering::Relaxed);
        self.shared.room.is_none_or(|room| room.saturating_sub(pending) >= events)
    }

    #[inline]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: Message<M>) {
        let window = self.shared.grid.window(key.time_value());
        // CONS-A: only the process's own events may be due in the window that it handles.
        if window < self.over && key.sender() != to {
            self.refuse(to, key.time_value());
        }
        let worker = self.shared.worker_of(to).wrapping_sub(self.shared.homes.here.start);
        if worker >= self.shared.workers {
            return self.depart(window, (&key, to, io), &message);
        }
        self.take_room();
        let message = B::store(message, &mut self.spares);
        let make = || Event { key, to, io, message };
        if window < self.over {
            self.soon.push(Reverse(make()));
        } else if worker == self.me {
            self.calendar.insert(window, self.shared.local_of(to), make);
        } else {
            self.first_sent = self.first_sent.min(window);
            self.mail += 1;
            self.calendar.append(&mut self.outboxes[worker], make);
        }
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.halt.get_or_insert_with(|| Box::new(halt));
        panics::cut_off()
    }
}
