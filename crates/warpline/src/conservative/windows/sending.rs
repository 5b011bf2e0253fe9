//! Where the events go that a worker's processes send: into its calendar, to another worker, or,
//! within the window, straight back to the process that sends to itself.

use std::{cmp::Reverse, collections::BinaryHeap};

use warpline_core::{EventKey, Fault, Io, LpId, Model, WireError};
use warpline_net::{NetError, append};

use super::{
    super::{algorithm::ErrorContext, memory::SpareBuffers},
    calendar::{Bucket, Calendar, Grid},
    remote::Remote,
    shared::Shared,
};
use crate::{
    event::{Buffer, Event, Message},
    handling::{Admission, Halt, Sink},
    remote_event::{RemoteEvent, write_event},
};

/// See the module.
pub(super) struct Sender<'a, M: Model, B> {
    pub(super) shared: &'a Shared<'a, M, B>,
    me: usize,
    /// All windows before this one are over, or being handled.
    pub(super) next_window: u64,
    pub(super) calendar: Calendar<Event<B>>,
    /// What the current process has sent to itself, due in the window that is being handled.
    pub(super) self_sent: BinaryHeap<Reverse<Event<B>>>,
    /// By receiver.
    outboxes: Vec<Bucket<Event<B>>>,
    /// The events for other ranks as bytes, by receiver among the workers of all ranks.
    departures: Vec<Vec<u8>>,
    /// Events that were sent to, less those that came from, other ranks.
    pub(super) remote: i64,
    /// The first window of what is in the outboxes.
    first_sent: u64,
    /// Events for other workers.
    pub(super) mail: u64,
    pub(super) spares: SpareBuffers<B>,
    pub(super) error_context: ErrorContext,
}

impl<'a, M: Model, B: Buffer<Message<M>>> Sender<'a, M, B> {
    pub(super) fn new(shared: &'a Shared<'a, M, B>, me: usize) -> Self {
        Self {
            shared,
            me,
            next_window: 0,
            calendar: Calendar::new(
                shared.grid,
                shared.common.directory.lps_of(me).len(),
                super::worker::tile_bits::<M>(),
            ),
            self_sent: BinaryHeap::new(),
            outboxes: (0..shared.workers).map(|_| Bucket::default()).collect(),
            departures: vec![
                Vec::new();
                if shared.remote.is_some() {
                    shared.common.directory.workers()
                } else {
                    0
                }
            ],
            remote: 0,
            first_sent: u64::MAX,
            mail: 0,
            spares: SpareBuffers::new(),
            error_context: ErrorContext::default(),
        }
    }

    /// Posts what was sent to others, before the `round`-th round. Gives back the first window
    /// in which this worker has something, or has sent something.
    pub(super) fn post(&mut self, round: u64) -> u64 {
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if to != self.me {
                // What comes back are the chunks of the mail before the last.
                self.shared.mail(round, self.me, to, |mail| std::mem::swap(mail, outbox));
                self.calendar.reclaim(outbox);
            }
        }
        if let Some(remote) = &self.shared.remote {
            remote.leave(self.me, &mut self.departures);
        }
        let sent = std::mem::replace(&mut self.first_sent, u64::MAX);
        self.calendar.first().map_or(sent, |first| first.min(sent))
    }

    /// Takes what others have posted before the `round`-th round.
    pub(super) fn collect(&mut self, round: u64) {
        for from in (0..self.shared.workers).filter(|&from| from != self.me) {
            let local_of = |event: &Event<B>| self.shared.local_of(event.to);
            let insert = |mail: &mut _| self.calendar.insert_all(mail, local_of);
            self.shared.mail(round, from, self.me, insert);
        }
    }

    /// Takes what other ranks have sent for the last round.
    pub(super) fn collect_abroad(&mut self, remote: &Remote<'_, M>) -> Result<(), NetError> {
        remote.collect(self.me, |RemoteEvent { key, to, io, message }| {
            let shared = self.shared;
            let window = shared.grid.window(key.time_value());
            let directory = &shared.common.directory;
            let worker = directory.find(to).and_then(|place| directory.local(place.worker));
            if worker != Some(self.me) || window < self.next_window {
                return Err(WireError::new(format!("an event for {to:?} that is not due here")));
            }
            self.remote -= 1;
            self.error_context.lp = Some(key.sender());
            self.shared.common.memory.reserve(&mut self.error_context);
            let message = self.spares.store(message);
            let make = || Event { key, to, io, message };
            self.calendar.insert(window, shared.local_of(to), make);
            Ok(())
        })
    }

    /// Writes an event for another rank.
    fn depart(&mut self, window: u64, event: (&EventKey, LpId, Option<Io>), message: &Message<M>) {
        let Some(remote) = &self.shared.remote else { return };
        let to = self.shared.worker_of(event.1).index();
        self.first_sent = self.first_sent.min(window);
        append(&mut self.departures[to], |bytes| {
            write_event(bytes, &remote.wire(), event, message)
        });
        self.remote += 1;
    }

    /// An event to another process is due in the window of its cause, or before: its time is so
    /// large that adding the lookahead hardly changes it.
    #[cold]
    fn refuse(&mut self, to: LpId, time: f64) -> ! {
        let lookahead = self.shared.common.model.lookahead().unwrap_or_default();
        let fault = Fault::Failed(format!(
            "sent an event to {to:?} at {time}: so late, rounding takes too much of the lookahead of \
             {lookahead} for the conservative engine (it handles times up to {:e} of them)",
            Grid::WINDOWS_MAX as f64
        ));
        self.error_context.halt(Halt::Fault(fault))
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for Sender<'_, M, B> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.common.admission
    }

    #[inline]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: Message<M>) {
        let window = self.shared.grid.window(key.time_value());
        // CONS-A: only the process's own events may be due in the window that it handles.
        if window < self.next_window && key.sender() != to {
            self.refuse(to, key.time_value());
        }
        let worker = self.shared.worker_of(to);
        let Some(worker) = self.shared.common.directory.local(worker) else {
            // A copy: of a key that never leaves its registers the parts are stored one by one, and
            // of one in memory by loads that wait for the stores before them.
            return self.depart(window, (&{ key }, to, io), &message);
        };
        self.shared.common.memory.reserve(&mut self.error_context);
        let message = self.spares.store(message);
        let make = || Event { key, to, io, message };
        if window < self.next_window {
            self.self_sent.push(Reverse(make()));
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
        self.error_context.halt(halt)
    }
}
