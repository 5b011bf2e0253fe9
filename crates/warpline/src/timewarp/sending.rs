//! Sending: the pending set, the buffers, and the mail to other workers.
//!
//! A [`TimeWarpSender`] is the part of a worker that a handler reaches, through the [`sink`] of its
//! context, while the worker holds the LP. Mail for another worker is written into a block that
//! leaves when it is full, or at the end of the turn.
//!
//! [`sink`]: super::sink

use std::sync::Arc;

use warpline_core::{LpId, Model, UndoLog};
use warpline_memory::Block;

use super::{
    Message,
    costs::{Costs, Part},
    event::{Event, key_hash},
    gvt::{Bound, Participant},
    history::{Sent, SentLog},
    log_account,
    lp_memory::LpMemory,
    remote::Remote,
    saving::Lp,
    shared::{Mail, TimeWarpShared},
};
use crate::{
    handling::{Admission, CutOff},
    pending::{AnySet, PREFETCH_AHEAD},
    placement::{LpPlace, WorkerId},
    run::Ranks,
    timeline::Stamp,
};

/// Blank blocks that a worker keeps of those that others made: two workers that write to each other
/// need not return any.
const BLANKS_KEPT: usize = 8;

/// What a worker's handlers send with.
#[derive(Debug)]
pub(super) struct TimeWarpSender<'r, M: Model> {
    pub(super) shared: &'r TimeWarpShared<M>,
    pub(super) me: usize,
    pub(super) id: WorkerId,
    pub(super) admission: Admission,
    /// Where this worker takes the LPs to be. Workers share one table until an LP moves.
    pub(super) places: Arc<Vec<LpPlace>>,
    pub(super) pending: AnySet<Event>,
    /// How many of the next events are on their way into the cache, and how many shall be.
    pub(super) prefetched: usize,
    pub(super) prefetch_ahead: usize,
    pub(super) sent: SentLog,
    /// What the tracked fields of this worker's LPs were, for the records of the processed list.
    pub(super) undo_log: UndoLog,
    /// Mail that is being written, by receiver.
    pub(super) open: Vec<Option<Mail>>,
    /// The workers that mail is being written for, and the least key in it.
    addressed: Vec<usize>,
    least: Bound,
    /// Empty blocks.
    blank: Vec<Mail>,
    /// Where what is sent now comes from, for the timeline.
    pub(super) stamp: Stamp,
    /// By buffer: an event of this worker, and where it comes from, if the timeline can tell.
    origins: Vec<(u64, Stamp)>,
    is_recorded: bool,
    pub(super) gvt: Participant,
    pub(super) cut_off: CutOff,
    /// A blocking I/O event is handled, which has reserved its buffers: the handler is not cut
    /// off for lack of memory.
    pub(super) must_send: Option<usize>,
    pub(super) costs: Costs,
    /// If LPs have memory of their own.
    pub(super) memory: Option<&'r LpMemory>,
    /// All that concerns other ranks, if there are any.
    pub(super) remote: Option<Box<Remote<'r, Message<M>>>>,
}

/// LPs that take less memory leave the nearest cache room for records: they need not be loaded
/// ahead.
const CACHED_MAX: usize = 16 << 10;

/// How many events ahead LPs and messages are loaded into the cache.
fn prefetch_ahead<M: Model>(shared: &TimeWarpShared<M>, me: usize) -> usize {
    let lps = shared.directory.lps_of(me).len() * size_of::<Lp<M::Lp>>();
    if lps > CACHED_MAX || size_of::<Message<M>>() > 0 { PREFETCH_AHEAD } else { 0 }
}

impl<'r, M: Model> TimeWarpSender<'r, M> {
    pub(super) fn new(shared: &'r TimeWarpShared<M>, me: usize, ranks: &'r Ranks<'r>) -> Self {
        let remote = shared.remote.as_ref();
        let remote = remote.and_then(|remote| Remote::new(remote, &shared.settings, me, ranks));
        let is_recorded = shared.timeline.is_some();
        Self {
            shared,
            me,
            id: shared.directory.global(me),
            admission: shared.admission.clone(),
            places: shared.directory.places(),
            pending: AnySet::new(shared.settings.engine.pending),
            prefetched: 0,
            prefetch_ahead: prefetch_ahead(shared, me),
            sent: SentLog::new(),
            undo_log: log_account::undo_log(shared, UndoLog::NONE + 1),
            open: (0..shared.workers()).map(|_| None).collect(),
            addressed: Vec::new(),
            least: Bound::NEVER,
            blank: Vec::new(),
            stamp: Stamp::default(),
            origins: Vec::new(),
            is_recorded,
            gvt: Participant::new(me),
            cut_off: CutOff::default(),
            must_send: None,
            costs: Costs::new(shared.settings.engine.instrumentation.measure_costs),
            memory: shared.memory.as_ref(),
            remote: remote.map(Box::new),
        }
    }

    /// Hands an event to another worker.
    #[inline(always)]
    pub(super) fn post(&mut self, worker: usize, event: Event) {
        debug_assert!(worker != self.me, "MOVE-C: {event:?} would come after what follows it");
        self.write(worker, event, Bound(event.key.words()));
    }

    /// Hands an anti-message to another worker. GVT does not reach the event before it has come.
    pub(super) fn post_anti(&mut self, worker: usize, anti: Event) {
        debug_assert!(worker != self.me, "GVT: {anti:?} cancels an event of this worker");
        self.fill_half(anti);
        self.write(worker, anti, Bound(anti.key.words()).before());
    }

    /// Appends mail to its LP's bottom half, if there are such. What is handed to the LP's worker
    /// is a notice then.
    #[inline(always)]
    pub(super) fn fill_half(&self, mail: Event) {
        if let Some(halves) = &self.shared.halves {
            halves.push(mail, self.is_recorded.then_some(self.stamp), self.memory);
        }
    }

    /// Hands mail, or a notice of mail that is in its LP's bottom half, to another worker.
    pub(super) fn notify(&mut self, worker: usize, mail: Event) {
        let key = Bound(mail.key.words());
        self.write(worker, mail, if mail.cancels().is_some() { key.before() } else { key });
    }

    /// The same for an event that comes from somewhere else. A block of mail comes from one place.
    pub(super) fn notify_of(&mut self, worker: usize, event: Event) {
        self.flush();
        let origin = self.origin(&event);
        let now = std::mem::replace(&mut self.stamp, origin);
        self.notify(worker, event);
        self.flush();
        self.stamp = now;
    }

    /// If there is a timeline: notes where an event of this worker comes from.
    pub(super) fn note_origin(&mut self, event: &Event, origin: Stamp) {
        let buffer = event.buffer().get() as usize;
        if buffer >= self.origins.len() {
            self.origins.resize((buffer + 1).next_power_of_two(), (0, Stamp::default()));
        }
        self.origins[buffer] = (key_hash(event.key), origin);
    }

    /// Where an event of this worker comes from, if that was noted.
    pub(super) fn origin(&self, event: &Event) -> Stamp {
        let noted = self.origins.get(event.buffer().get() as usize);
        let noted = noted.filter(|(hash, _)| *hash == key_hash(event.key));
        noted.map_or(Stamp::default(), |(_, origin)| *origin)
    }

    /// An event has been sent to a worker of this rank, and somebody watches. Where nobody does,
    /// this must cost nothing: so it looks the event up, and has no arguments.
    #[inline(never)]
    pub(super) fn note_sent(&mut self) {
        let Sent { event, worker } = self.sent.get(self.sent.back() - 1);
        if self.costs.notes_sends() && worker == self.id {
            self.note_origin(&event, self.stamp);
        }
        self.costs.leave(Part::Send);
    }

    /// Whether there is a timeline, which is told where events come from.
    pub(super) const fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    #[inline(always)]
    fn write(&mut self, worker: usize, mail: Event, least: Bound) {
        self.least = self.least.min(least);
        if self.open[worker].is_none() {
            self.open_block(worker);
        }
        if let Some(block) = &mut self.open[worker] {
            let room = block.items.try_push(mail);
            debug_assert!(room.is_ok(), "a full block leaves at once");
            if block.items.is_full() {
                self.flush();
            }
        }
    }

    #[cold]
    fn open_block(&mut self, worker: usize) {
        debug_assert!(!self.addressed.contains(&worker), "TW-B: a block for {worker} is open");
        self.open[worker] = Some(self.blank_block());
        debug_assert!(
            self.open[worker].as_ref().is_some_and(|block| block.items.is_empty()),
            "TW-B: a blank block has mail"
        );
        self.addressed.push(worker);
    }

    fn blank_block(&mut self) -> Mail {
        if self.blank.is_empty() {
            self.blank.extend(self.shared.returned[self.me].drain());
        }
        self.blank.pop().unwrap_or_else(|| Block::new(self.me as u32))
    }

    /// Sends all mail on its way.
    #[inline]
    pub(super) fn flush(&mut self) {
        if !self.addressed.is_empty() {
            self.flush_addressed();
        }
    }

    fn flush_addressed(&mut self) {
        debug_assert!(self.least < Bound::NEVER, "GVT-3: mail that GVT does not count");
        for worker in self.addressed.drain(..) {
            if let Some(mut block) = self.open[worker].take() {
                block.stamp = self.stamp.0;
                self.shared.inboxes[worker].push(block);
            }
        }
        debug_assert!(self.open.iter().all(Option::is_none), "TW-B: a block was not sent");
        self.gvt.sent(&self.shared.gvt, self.least);
        self.least = Bound::NEVER;
    }

    /// Notes where an LP is now.
    pub(super) fn note_place(&mut self, lp: LpId, place: LpPlace) {
        debug_assert!(place.worker == self.id, "MOVE-B: {lp} is at another worker: {place:?}");
        Arc::make_mut(&mut self.places)[lp.index()] = place;
    }

    /// Keeps an emptied block for this worker's own mail, as far as it needs some. Or returns it to
    /// the worker that made it: a worker that only sends would allocate for ever otherwise.
    pub(super) fn recycle(&mut self, mut block: Mail) {
        block.items.clear();
        if block.home as usize == self.me || self.blank.len() < BLANKS_KEPT {
            block.home = self.me as u32;
            self.blank.push(block);
        } else {
            self.shared.returned[block.home as usize].push(block);
        }
    }
}
