//! Where the events go that a worker's LPs send: into the worker's calendar, into the ring to
//! another worker, to the late events of an open window, or straight back to the LP that sends to
//! itself within its window. And where events and anti-messages of other workers come in.
//!
//! It is the [`Sink`] of every handler that a worker calls.
//!
//! # Invariants
//!
//! - **SPEC-C.** Of two events with the same key and receiver, the second is sent only after an
//!   anti-message for the first, also if an LP sent the first one in another window. They pass the
//!   same ring, calendar and list of late events in the order in which they were sent. So an
//!   anti-message takes away the first event of its key.

use warpline_core::{EventKey, Io, LpId, Model};
use warpline_memory::{Consumer, Producer};

use super::{
    calendar::Calendar,
    event::{Event, Parity},
    grid::{Grid, NEVER},
    shared::{ErrorContext, Shared},
};
use crate::{
    event::{Buffer, Message, SpareBuffers},
    handling::{Admission, Halt, Sink},
};

/// How far an open window is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opened {
    /// The slot after its last one.
    pub(super) end: u64,
    /// How many tiles were opened: a later event for one of them is late.
    pub(super) tiles: usize,
}

/// A worker's pending events, and its connections to the others.
pub(super) struct Sender<'a, M: Model, B> {
    pub(super) shared: &'a Shared<'a, M, B>,
    pub(super) me: usize,
    pub(super) grid: Grid,
    /// The most events that the memory limit allows.
    events_max: u64,
    pub(super) calendar: Calendar<B>,
    /// The open windows, by parity.
    pub(super) opened: [Opened; 2],
    /// The oldest open window.
    pub(super) oldest: Parity,
    /// The end of the newest open window.
    pub(super) border: u64,
    /// Events and anti-messages that came after their tile was opened, by parity of their window.
    pub(super) late: [Vec<Event<B>>; 2],
    /// The window that LPs are handled in, and the slot where it ends.
    pub(super) executing: Parity,
    pub(super) window_end: u64,
    /// What the LP has sent itself in the window; the next event is the last one.
    pub(super) self_sent: Vec<Event<B>>,
    /// Whether an LP handles its events again, and what it sent meanwhile.
    pub(super) is_collecting: bool,
    pub(super) collected: Vec<Event<B>>,
    /// Messages to and from other workers, by the parity of the window whose execution sent them.
    pub(super) sent: [u64; 2],
    pub(super) received: [u64; 2],
    to: Vec<Option<Producer<Event<B>>>>,
    from: Vec<Consumer<Event<B>>>,
    /// Whether a non-blocking I/O event was ever handled: commits look for them only then.
    pub(super) has_outputs: bool,
    pub(super) spares: SpareBuffers<B>,
    pub(super) error_context: ErrorContext,
}

impl<'a, M: Model, B: Buffer<Message<M>>> Sender<'a, M, B> {
    pub(super) fn new(shared: &'a Shared<'a, M, B>, me: usize) -> Self {
        let lps = shared.directory.lps_of(me).len();
        let mail = shared.take_mail(me);
        Self {
            shared,
            me,
            grid: Grid::new(1.0, 0.0, shared.end),
            events_max: shared.events_max,
            calendar: Calendar::new(lps.div_ceil(1 << shared.tile_bits).max(1)),
            opened: [Opened::default(); 2],
            oldest: Parity::of(0),
            border: 0,
            late: [Vec::new(), Vec::new()],
            executing: Parity::of(0),
            window_end: 0,
            self_sent: Vec::new(),
            is_collecting: false,
            collected: Vec::new(),
            sent: [0; 2],
            received: [0; 2],
            to: mail.to,
            from: mail.from,
            has_outputs: false,
            spares: SpareBuffers::new(),
            error_context: ErrorContext::default(),
        }
    }

    /// The window, by its parity, if the slot is in an open one whose tile was opened.
    #[inline]
    fn late_in(&self, slot: u64, tile: usize) -> Option<Parity> {
        if slot >= self.border {
            return None;
        }
        let is_in_oldest = slot < self.opened[self.oldest.index()].end;
        let window = if is_in_oldest { self.oldest } else { self.oldest.other() };
        (tile < self.opened[window.index()].tiles).then_some(window)
    }

    /// Delivers an event to this worker.
    #[inline]
    fn deliver(&mut self, slot: u64, tile: usize, make: impl FnOnce() -> Event<B>) {
        match self.late_in(slot, tile) {
            Some(window) => self.late[window.index()].push(make()),
            None => self.calendar.insert(slot, tile, make),
        }
    }

    /// Delivers an anti-message to this worker: it takes its event away, or is late like it.
    #[cold]
    fn deliver_anti(&mut self, anti: Event<B>) {
        let (slot, tile) = slot_and_tile(self.shared, self.grid, &anti);
        match self.late_in(slot, tile) {
            Some(window) => self.late[window.index()].push(anti),
            None => {
                let event = self.calendar.cancel(slot, tile, anti);
                let message = event.and_then(|event| event.message);
                message.into_iter().for_each(|message| self.spares.recycle(message));
            }
        }
    }

    /// Sends an event that was made already, or an anti-message, to whoever has the LP.
    pub(super) fn send(&mut self, event: Event<B>) {
        let worker = self.shared.place(event.to).worker.index();
        if worker == self.me {
            self.take_in(event);
        } else {
            self.send_away(worker, event);
        }
    }

    /// Takes an event or an anti-message that is for this worker.
    #[inline]
    fn take_in(&mut self, event: Event<B>) {
        if event.is_anti() {
            self.deliver_anti(event);
        } else {
            let (slot, tile) = slot_and_tile(self.shared, self.grid, &event);
            self.deliver(slot, tile, || event);
        }
    }

    /// Sends the anti-message of an event.
    pub(super) fn cancel(&mut self, mut event: Event<B>) {
        event.message.take().into_iter().for_each(|message| self.spares.recycle(message));
        event.sent_in = self.executing;
        self.send(event);
    }

    /// Takes an event that may not go straight into the calendar.
    #[inline(never)]
    fn accept_elsewhere(&mut self, worker: usize, slot: u64, tile: usize, event: Event<B>) {
        if self.is_collecting {
            self.collected.push(event);
        } else if worker == self.me {
            self.deliver(slot, tile, || event);
        } else {
            self.send_away(worker, event);
        }
    }

    #[inline]
    fn send_away(&mut self, worker: usize, event: Event<B>) {
        self.sent[self.executing.index()] += 1;
        if let Some(ring) = &mut self.to[worker]
            && let Err(event) = ring.push(event)
        {
            self.wait_for_room(worker, event);
        }
    }

    /// Waits for room in a full ring, and meanwhile takes what others send: they may wait as well.
    #[cold]
    fn wait_for_room(&mut self, worker: usize, mut event: Event<B>) {
        let mut waited = 0;
        loop {
            self.publish();
            self.receive();
            let Some(ring) = &mut self.to[worker] else { return };
            let Err(back) = ring.push(event) else { return };
            // If the other one has died, nobody will need the event.
            if self.shared.regrid.is_broken() {
                return;
            }
            event = back;
            self.shared.wait(waited);
            waited += 1;
        }
    }

    /// Lets the others see what was sent to them.
    #[inline]
    pub(super) fn publish(&mut self) {
        self.to.iter_mut().flatten().for_each(Producer::publish);
    }

    /// Takes what others have published.
    #[inline]
    pub(super) fn receive(&mut self) {
        // The rings are away from the worker for the moment, so that it can deliver.
        let mut rings = std::mem::take(&mut self.from);
        for ring in &mut rings {
            ring.drain(|event| {
                self.received[event.sent_in.index()] += 1;
                self.take_in(event);
            });
        }
        self.from = rings;
    }

    /// All slots before this one are over.
    #[inline]
    pub(super) fn advance(&mut self, first: u64) {
        let (grid, shared) = (self.grid, self.shared);
        self.calendar.advance(first, |event| slot_and_tile(shared, grid, event));
    }

    /// Inserts an event into the calendar of a new grid, in which no window is open.
    pub(super) fn insert(&mut self, event: Event<B>) {
        let (slot, tile) = slot_and_tile(self.shared, self.grid, &event);
        self.calendar.insert(slot, tile, || event);
    }

    /// Keeps an event for the LP that has sent it to itself, in the window that it is in.
    #[inline(never)]
    fn keep(&mut self, event: Event<B>) {
        // The list is short, and the event is mostly the last of the window.
        let place = self.self_sent.partition_point(|other| event.key < other.key);
        self.self_sent.insert(place, event);
    }
}

/// The slot of an event, and its tile at the worker that has its LP.
#[inline]
fn slot_and_tile<M: Model, B>(
    shared: &Shared<'_, M, B>,
    grid: Grid,
    event: &Event<B>,
) -> (u64, usize) {
    let index = shared.place(event.to).index;
    (grid.slot(event.key.time_value()), (index >> shared.tile_bits) as usize)
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for Sender<'_, M, B> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.admission
    }

    #[inline]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: Message<M>) {
        if self.calendar.len() >= self.events_max {
            self.error_context.cut_off.halt(Halt::OutOfBuffers);
        }
        let slot = self.grid.slot(key.time_value());
        let sent_in = self.executing;
        let message = Some(self.spares.store(message));
        let make = || Event { key, to, io, sent_in, message };
        // Events from the end on are in no window, so an LP does not send them to itself here.
        if to == key.sender() && slot < self.window_end && slot != NEVER {
            return self.keep(make());
        }
        let place = self.shared.place(to);
        let tile = (place.index >> self.shared.tile_bits) as usize;
        if self.is_collecting || place.worker.index() != self.me || slot < self.border {
            return self.accept_elsewhere(place.worker.index(), slot, tile, make());
        }
        self.calendar.insert(slot, tile, make);
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.error_context.cut_off.halt(halt)
    }
}
