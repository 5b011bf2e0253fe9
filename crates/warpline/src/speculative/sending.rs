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

use warpline_core::{EventKey, Io, LogicalProcess, LpId, Model, UndoLog};
use warpline_memory::{Consumer, Producer};

use super::{
    calendar::Calendar,
    change::Change,
    event::{Event, Parity},
    grid::{Grid, NEVER},
    memory::Account,
    shared::{ErrorContext, SpeculativeShared},
};
use crate::{
    event::{Buffer, Message, SpareBuffers},
    handling::{Admission, Halt, Sink, Source},
    scheduling,
};

/// A worker takes in what others send once in this number of its LPs' first events.
const RECEIVE_EVERY: u64 = 64;

/// How far an open window is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opened {
    /// The slot after its last one.
    pub(super) end: u64,
    /// How many tiles were opened: a later event for one of them is late.
    pub(super) tiles: usize,
}

/// A worker's pending events, and its connections to the others.
pub(super) struct SpeculativeSender<'a, M: Model, B> {
    pub(super) shared: &'a SpeculativeShared<'a, M, B>,
    pub(super) me: usize,
    pub(super) grid: Grid,
    /// What it has of the memory budget.
    pub(super) account: Account,
    pub(super) calendar: Calendar<B>,
    /// The open windows, by parity.
    pub(super) opened: [Opened; 2],
    /// The oldest open window.
    pub(super) oldest: Parity,
    /// The end of the newest open window.
    border: u64,
    /// Events of own LPs from this slot on go straight into the calendar: the border, or after all
    /// slots while sends are collected.
    direct_from: u64,
    own: OwnLps,
    /// Events and anti-messages that came after their tile was opened, by parity of their window.
    pub(super) late: [Vec<Event<B>>; 2],
    /// The window that LPs are handled in, and the slot where it ends.
    pub(super) executing: Parity,
    pub(super) window_end: u64,
    /// What the LP has sent itself in the window; the next event is the last one.
    pub(super) self_sent: Vec<Event<B>>,
    /// What an LP has sent while it handles its events again.
    pub(super) collected: Vec<Event<B>>,
    /// What is new while it does: see [`Change`].
    pub(super) change: Change,
    /// What the worker's LPs have changed in the open windows, if their fields save that.
    pub(super) undo_log: UndoLog,
    /// Messages to and from other workers, by the parity of the window whose execution sent them.
    pub(super) sent: [u64; 2],
    pub(super) received: [u64; 2],
    to: Vec<Option<Producer<Event<B>>>>,
    from: Vec<Consumer<Event<B>>>,
    /// Whether a non-blocking I/O event was ever handled: commits look for them only then.
    pub(super) has_outputs: bool,
    spares: SpareBuffers<B>,
    /// Whether the run has failed because what LPs have sent is not known.
    pub(super) has_failed: bool,
    pub(super) error_context: ErrorContext,
}

impl<'a, M: Model, B: Buffer<Message<M>>> SpeculativeSender<'a, M, B> {
    pub(super) fn new(shared: &'a SpeculativeShared<'a, M, B>, me: usize) -> Self {
        debug_assert!(me < shared.workers(), "there is no worker {me}");
        let own = OwnLps::new(shared.directory.lps_of(me), shared.tile_bits);
        let mail = shared.take_mail(me);
        Self {
            shared,
            me,
            grid: Grid::new(1.0, 0.0, shared.end),
            account: Account::new(&shared.budget),
            calendar: Calendar::new(own.tiles),
            opened: [Opened::default(); 2],
            oldest: Parity::of(0),
            border: 0,
            direct_from: 0,
            own,
            late: [Vec::new(), Vec::new()],
            executing: Parity::of(0),
            window_end: 0,
            self_sent: Vec::new(),
            collected: Vec::new(),
            change: Change::default(),
            undo_log: UndoLog::default(),
            sent: [0; 2],
            received: [0; 2],
            to: mail.to,
            from: mail.from,
            has_outputs: false,
            spares: SpareBuffers::new(),
            has_failed: false,
            error_context: ErrorContext::default(),
        }
    }

    pub(super) const fn border(&self) -> u64 {
        self.border
    }

    pub(super) const fn set_border(&mut self, border: u64) {
        debug_assert!(!self.is_collecting(), "a window is opened during an execution");
        (self.border, self.direct_from) = (border, border);
    }

    /// Collects what an LP sends, or ends that.
    pub(super) const fn collect(&mut self, collects: bool) {
        self.direct_from = if collects { u64::MAX } else { self.border };
    }

    pub(super) const fn is_collecting(&self) -> bool {
        self.direct_from == u64::MAX
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
        debug_assert!(anti.is_anti(), "SPEC-C: {:?} cancels nothing", anti.key);
        let (slot, tile) = self.slot_and_tile(&anti);
        match self.late_in(slot, tile) {
            Some(window) => self.late[window.index()].push(anti),
            None => {
                let event = self.calendar.cancel(slot, tile, anti);
                let message = event.and_then(|event| event.message);
                message.into_iter().for_each(|message| self.recycle(message));
            }
        }
    }

    /// Keeps the buffer of a message that is not needed, unless it owns memory that counts.
    #[inline]
    pub(super) fn recycle(&mut self, message: B) {
        let owned = self.shared.owned(&message);
        if owned == 0 {
            self.spares.recycle(message);
        } else {
            self.refund(owned);
        }
    }

    /// Sends an event that was made already, or an anti-message, to whoever has the LP.
    pub(super) fn send(&mut self, event: Event<B>) {
        debug_assert!(!self.is_collecting(), "what an execution sends is collected first");
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
            let (slot, tile) = self.slot_and_tile(&event);
            self.deliver(slot, tile, || event);
        }
    }

    /// Sends the anti-message of an event.
    pub(super) fn cancel(&mut self, mut event: Event<B>) {
        debug_assert!(!event.is_anti(), "SPEC-C: an anti-message is canceled");
        event.message.take().into_iter().for_each(|message| self.recycle(message));
        debug_assert!(event.is_anti(), "an event without a message is no anti-message");
        event.sent_in = self.executing;
        self.send(event);
    }

    /// Takes an event that may not go straight into the calendar.
    #[inline(never)]
    fn accept_elsewhere(&mut self, slot: u64, event: Event<B>) {
        // Events from the end on are in no window, so an LP does not send them to itself here.
        if event.to == event.key.sender() && slot < self.window_end && slot != NEVER {
            self.keep(event);
        } else if self.is_collecting() {
            self.collected.push(event);
        } else {
            self.send(event);
        }
    }

    #[inline]
    fn send_away(&mut self, worker: usize, event: Event<B>) {
        debug_assert_ne!(worker, self.me, "a worker has no ring to itself");
        debug_assert!(self.to[worker].is_some(), "SPEC-D: an event for no worker is lost");
        self.sent[self.executing.index()] += 1;
        if let Some(ring) = &mut self.to[worker]
            && let Err(event) = ring.push(event)
        {
            self.wait_for_room(worker, event);
        }
    }

    /// Whether an LP is another worker's, to which there is room in the ring.
    #[inline]
    fn is_room(&mut self, lp: LpId) -> bool {
        let ring = &mut self.to[self.shared.place(lp).worker.index()];
        ring.as_mut().is_some_and(Producer::is_room)
    }

    /// Sends an event to another worker, to which there is room.
    #[inline]
    fn push_away(&mut self, lp: LpId, make: impl FnOnce() -> Event<B>) {
        debug_assert!(
            self.to[self.shared.place(lp).worker.index()].is_some(),
            "SPEC-D: an event for no worker is lost"
        );
        self.sent[self.executing.index()] += 1;
        if let Some(ring) = &mut self.to[self.shared.place(lp).worker.index()] {
            ring.push_within(make);
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
            if self.shared.resize.is_broken() {
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
        for ring in self.to.iter_mut().flatten() {
            scheduling::point();
            ring.publish();
        }
    }

    /// Takes what others have published.
    #[inline]
    pub(super) fn receive(&mut self) {
        // The rings are away from the worker for the moment, so that it can deliver.
        let mut rings = std::mem::take(&mut self.from);
        debug_assert_eq!(
            rings.len() + 1,
            self.shared.workers(),
            "SPEC-C: events are received while one is"
        );
        for ring in &mut rings {
            ring.drain(|event| {
                self.received[event.sent_in.index()] += 1;
                self.take_in(event);
            });
        }
        self.from = rings;
    }

    /// What the undo log takes, as a number of events that take as much.
    #[inline]
    pub(super) fn log_in_events(&self) -> u64 {
        if const { M::Lp::SAVING.is_by_field() } {
            (self.undo_log.bytes() as u64).div_ceil(super::event_bytes::<M>())
        } else {
            0
        }
    }

    /// Drops the undo log before `front`, or all of it: nothing of that is undone any more.
    #[inline]
    pub(super) fn drop_log(&mut self, front: Option<u64>) {
        if const { M::Lp::SAVING.is_by_field() } {
            self.undo_log.drop_before(front.unwrap_or(self.undo_log.back()));
        }
    }

    /// All slots before this one are over.
    #[inline]
    pub(super) fn advance(&mut self, first: u64) {
        debug_assert!(first <= self.border, "SLOT-A: slot {first} is in no open window");
        let (grid, shared, own) = (self.grid, self.shared, self.own);
        self.calendar.advance(first, |event| slot_and_tile(shared, grid, own, event));
    }

    /// Begins on a new grid at the slot `first`, in which no window is open, with those pending
    /// events that are valid; all of them are if there is no `is_valid`.
    pub(super) fn begin(
        &mut self,
        grid: Grid,
        first: u64,
        is_valid: Option<impl Fn(&Event<B>) -> bool>,
    ) {
        debug_assert!(
            self.late.iter().all(Vec::is_empty),
            "RESIZE-A: late events have outlived their window"
        );
        debug_assert!(
            self.self_sent.is_empty() && self.collected.is_empty(),
            "RESIZE-A: an LP was left in the middle of its events"
        );
        debug_assert_eq!(
            self.undo_log.front(),
            self.undo_log.back(),
            "RESIZE-A: a window is over, and can be undone"
        );
        (self.grid, self.sent, self.received) = (grid, [0; 2], [0; 2]);
        self.set_border(first);
        let (shared, own) = (self.shared, self.own);
        self.calendar.rebuild(first, is_valid, |event| slot_and_tile(shared, grid, own, event));
    }

    /// Inserts an event into the calendar of a new grid, in which no window is open.
    pub(super) fn insert(&mut self, event: Event<B>) {
        let (slot, tile) = self.slot_and_tile(&event);
        self.calendar.insert(slot, tile, || event);
    }

    #[inline]
    fn slot_and_tile(&self, event: &Event<B>) -> (u64, usize) {
        slot_and_tile(self.shared, self.grid, self.own, event)
    }

    /// Keeps an event for the LP that has sent it to itself, in the window that it is in.
    fn keep(&mut self, event: Event<B>) {
        // The list is short, and the event is mostly the last of the window.
        debug_assert_eq!(event.to, event.key.sender(), "only an LP's events for itself are kept");
        let place = self.self_sent.partition_point(|other| event.key < other.key);
        debug_assert!(
            self.self_sent.get(place).is_none_or(|other| other.key != event.key),
            "SPEC-C: two events with one key"
        );
        self.self_sent.insert(place, event);
    }
}

/// The slot of an event of this worker, and its tile.
#[inline]
fn slot_and_tile<M: Model, B>(
    shared: &SpeculativeShared<'_, M, B>,
    grid: Grid,
    own: OwnLps,
    event: &Event<B>,
) -> (u64, usize) {
    let elsewhere = || (shared.place(event.to).lp.get() >> own.tile_bits) as usize;
    let tile = own.tile(event.to).unwrap_or_else(elsewhere);
    (grid.slot(event.key.time_value()), tile)
}

/// The LPs of a worker, if they follow each other: then nothing is looked up for them.
#[derive(Clone, Copy, Debug)]
struct OwnLps {
    first: u32,
    /// Zero if they do not follow each other.
    count: u32,
    tile_bits: u32,
    tiles: usize,
}

impl OwnLps {
    fn new(lps: &[LpId], tile_bits: u32) -> Self {
        let first = lps.first().map_or(0, |lp| lp.get());
        let count = lps.len() as u32;
        let follow = lps.iter().zip(first..).all(|(lp, id)| lp.get() == id);
        debug_assert!(lps.is_sorted(), "PLACE-A: the LPs of a worker are out of order");
        let tiles = lps.len().div_ceil(1 << tile_bits).max(1);
        Self { first, count: if follow { count } else { 0 }, tile_bits, tiles }
    }

    /// The tile of an LP that is known to be one of them.
    #[inline]
    const fn tile(self, lp: LpId) -> Option<usize> {
        let index = lp.get().wrapping_sub(self.first);
        if index < self.count { Some((index >> self.tile_bits) as usize) } else { None }
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for SpeculativeSender<'_, M, B> {
    #[inline(always)]
    fn undo(&mut self) -> Option<&mut UndoLog> {
        if const { M::Lp::SAVING.is_by_field() } { Some(&mut self.undo_log) } else { None }
    }

    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.admission
    }

    /// Another worker may wait for room in its ring. (Sends to others take in what comes, too.)
    fn begin_first_send(&mut self) {
        debug_assert!(
            self.opened.iter().all(|window| window.tiles == 0),
            "a window is open before all LPs have started"
        );
        if self.calendar.len().is_multiple_of(RECEIVE_EVERY) {
            self.receive();
        }
    }

    #[inline(always)]
    fn accept(
        &mut self,
        key: EventKey,
        to: LpId,
        io: Option<Io>,
        message: impl Source<Message<M>>,
    ) {
        let slot = self.grid.slot(key.time_value());
        let sent_in = self.executing;
        let message = self.spares.store(message);
        if self.is_limited() && !self.pay(&message) {
            self.error_context.cut_off.halt(Halt::OutOfBuffers);
        }
        let message = Some(message);
        let make = || Event { key, to, io, sent_in, message };
        match self.own.tile(to) {
            Some(tile) if slot >= self.direct_from => self.calendar.insert(slot, tile, make),
            None if !self.is_collecting() && self.is_room(to) => self.push_away(to, make),
            _ => self.accept_elsewhere(slot, make()),
        }
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.error_context.cut_off.halt(halt)
    }
}
