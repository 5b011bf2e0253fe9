//! How a site is saved: its own data as its author says, and the processes, slot by slot, in one
//! chain of the undo log.
//!
//! A slot and a queue are saved whole, once per event: each knows where it was saved last. Where
//! only a link of a slot changes, that is saved.

use std::{collections::VecDeque, fmt};

use warpline::{
    Context, State, Value,
    state::{Moves, Undo, UndoLog, heap_block},
};

use super::{Core, Host, More, Queue, Woken, slot::Slot};
use crate::World;

const SLOT: u64 = 0;
const ADDED: u64 = 1;
const NEXT: u64 = 2;
const PREV: u64 = 3;
const QUEUE: u64 = 4;
const HEAD: u64 = 5;

/// Where something was last saved in the undo log. A copy was saved nowhere.
#[derive(Default)]
pub(crate) struct SavedAt(u64);

impl SavedAt {
    pub(crate) const NEVER: Self = Self(UndoLog::NONE);
}

impl Clone for SavedAt {
    #[inline]
    fn clone(&self) -> Self {
        Self::NEVER
    }
}

/// It is no part of a state.
impl fmt::Debug for SavedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// The entries of a site in the undo log. A copy has none.
#[derive(Default)]
pub(crate) struct Chain {
    /// The last one.
    last: u64,
    /// The last one that has which slots are free.
    head: SavedAt,
}

impl Chain {
    /// Saves a slot, before anything of it changes.
    #[inline]
    pub(crate) fn slot<P: Value, M>(
        &mut self,
        slot: u32,
        it: &mut Slot<P>,
        cx: &mut impl Context<M>,
    ) {
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, SLOT, slot as usize, it);
            it.saved.0 = self.last;
        }
    }

    /// Saves a facility, before anything of it changes.
    #[inline]
    pub(crate) fn queue<M>(&mut self, queue: usize, it: &mut Queue, cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, QUEUE, queue, it);
            it.saved.0 = self.last;
        }
    }

    /// Changes which one is behind another one.
    #[inline]
    pub(super) fn set_next<P, M>(
        &mut self,
        slot: u32,
        it: &mut Slot<P>,
        next: u32,
        cx: &mut impl Context<M>,
    ) {
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, NEXT, slot as usize, &it.next);
        }
        it.next = next;
    }

    /// Changes which one is before another one.
    #[inline]
    pub(super) fn set_prev<P, M>(
        &mut self,
        slot: u32,
        it: &mut Slot<P>,
        prev: u32,
        cx: &mut impl Context<M>,
    ) {
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, PREV, slot as usize, &it.prev);
        }
        it.prev = prev;
    }

    /// Saves which slots are free, and how many processes were born.
    #[inline]
    pub(super) fn head<M>(&mut self, (free, born): (u32, u32), cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo()
            && !log.is_new(self.head.0)
        {
            self.last = log.push(self.last, HEAD, 0, &(free, born));
            self.head.0 = self.last;
        }
    }

    /// Notes a slot that is added at the end.
    #[inline]
    pub(super) fn added<P, M>(&mut self, it: &mut Slot<P>, cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, ADDED, 0, &());
            it.saved.0 = self.last;
        }
    }
}

impl<P: Value, I: Value> Core<P, I> {
    /// Saves a slot, before anything of it changes.
    #[inline]
    pub(crate) fn save_slot<M>(&mut self, slot: u32, cx: &mut impl Context<M>) -> &mut Slot<P> {
        let it = &mut self.slots[slot as usize];
        self.chain.slot(slot, it, cx);
        it
    }

    /// Saves a facility, before anything of it changes.
    #[inline]
    pub(crate) fn save_queue<M>(&mut self, queue: usize, cx: &mut impl Context<M>) -> &mut Queue {
        let it = &mut self.queues[queue];
        self.chain.queue(queue, it, cx);
        it
    }
}

impl<P: Value, I: Value> Undo for Core<P, I> {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        let mut undone = 0;
        while self.chain.last >= point {
            let mut entry = log.entry(self.chain.last);
            self.chain.last = entry.prev;
            let index = entry.index;
            match entry.operation {
                SLOT => self.slots[index] = entry.value(),
                ADDED => drop(self.slots.pop()),
                NEXT => self.slots[index].next = entry.value(),
                PREV => self.slots[index].prev = entry.value(),
                QUEUE => self.queues[index].restore(entry.value()),
                _ => {
                    (self.free, self.born) = entry.value();
                    self.chain.head = SavedAt::NEVER;
                }
            }
            undone += 1;
        }
        undone + self.more.undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        self.chain.last = moves.position(self.chain.last);
        // In the next event they are saved again.
        self.chain.head = SavedAt::NEVER;
        self.slots.iter_mut().for_each(|slot| slot.saved = SavedAt::NEVER);
        self.queues.iter_mut().for_each(|queue| queue.saved = SavedAt::NEVER);
        self.more.rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        let Self { slots, queues, more, .. } = self;
        heap_block(size_of_val(&**slots))
            + slots.iter().map(Value::heap_bytes).sum::<usize>()
            + heap_block(size_of_val(&**queues))
            + heap_block(size_of_val(&**more))
            + more.heap_bytes()
    }
}

impl<I: Value> Undo for More<I> {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        let Self { stores, classes, holders, offered } = self;
        stores.undo_to(point, log)
            + classes.undo_to(point, log)
            + holders.undo_to(point, log)
            + offered.undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        let Self { stores, classes, holders, offered } = self;
        stores.rebase(moves);
        classes.rebase(moves);
        holders.rebase(moves);
        offered.rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        let Self { stores, classes, holders, offered } = self;
        stores.heap_bytes() + classes.heap_bytes() + holders.heap_bytes() + offered.heap_bytes()
    }
}

/// A copy has no entries: what is undone is the site that has changed.
impl<P: Clone, I: Clone> Clone for Core<P, I> {
    fn clone(&self) -> Self {
        let Self { slots, queues, free, born, more, .. } = self;
        Self {
            slots: slots.clone(),
            queues: queues.clone(),
            free: *free,
            born: *born,
            ready: VecDeque::new(),
            woken: Woken::Done,
            item: None,
            chain: Chain::default(),
            more: more.clone(),
        }
    }
}

impl<W: World> State for Host<W> {
    const HAS_PLAIN: bool = W::Site::HAS_PLAIN;

    #[inline]
    fn save_plain(&self, log: &mut UndoLog) {
        self.site.save_plain(log);
    }

    #[inline]
    fn restore_plain(&mut self, point: u64, log: &mut UndoLog) {
        self.site.restore_plain(point, log);
    }

    #[inline]
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        self.site.undo_to(point, log) + self.core.undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        self.site.rebase(moves);
        self.core.rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        self.site.heap_bytes() + self.core.heap_bytes()
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, &dyn fmt::Debug)) {
        self.site.fields(visit);
        visit("processes", &self.core);
    }
}
