//! How a site is saved: its own data as its author says, and the processes, slot by slot, in one
//! chain of the undo log.
//!
//! A slot and a queue are saved whole, once per event: each knows where it was saved last. Where
//! only a link of a slot changes, that is saved.

use std::{collections::VecDeque, fmt};

use warpline::{
    Context, State, Value,
    state::{Moves, Undo, UndoLog},
};

use super::{Core, Host, slot::Slot};
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

impl<P: Value, I: Value> Core<P, I> {
    /// Saves a slot, before anything of it changes.
    #[inline]
    pub(crate) fn save_slot<M>(&mut self, slot: u32, cx: &mut impl Context<M>) -> &mut Slot<P> {
        let it = &mut self.slots[slot as usize];
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, SLOT, slot as usize, it);
            it.saved.0 = self.last;
        }
        it
    }

    /// Saves a facility, before anything of it changes.
    #[inline]
    pub(crate) fn save_queue<M>(&mut self, queue: usize, cx: &mut impl Context<M>) -> &mut super::Queue {
        let it = &mut self.queues[queue];
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, QUEUE, queue, it);
            it.saved.0 = self.last;
        }
        it
    }

    /// Changes which one is next.
    #[inline]
    pub(super) fn set_next<M>(&mut self, slot: u32, next: u32, cx: &mut impl Context<M>) {
        let it = &mut self.slots[slot as usize];
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, NEXT, slot as usize, &it.next);
        }
        it.next = next;
    }

    /// Changes which one is before.
    #[inline]
    pub(super) fn set_prev<M>(&mut self, slot: u32, prev: u32, cx: &mut impl Context<M>) {
        let it = &mut self.slots[slot as usize];
        if let Some(log) = cx.undo()
            && !log.is_new(it.saved.0)
        {
            self.last = log.push(self.last, PREV, slot as usize, &it.prev);
        }
        it.prev = prev;
    }

    /// Saves which slots are free, and how many processes were born.
    #[inline]
    pub(super) fn save_head<M>(&mut self, cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo()
            && !log.is_new(self.head_saved.0)
        {
            self.last = log.push(self.last, HEAD, 0, &(self.free, self.born));
            self.head_saved.0 = self.last;
        }
    }

    /// Adds a slot at the end.
    pub(super) fn add_slot<M>(&mut self, cx: &mut impl Context<M>) -> u32 {
        let mut slot = Slot::new();
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, ADDED, 0, &());
            slot.saved.0 = self.last;
        }
        self.slots.push(slot);
        self.slots.len() as u32 - 1
    }
}

impl<P: Value, I: Value> Undo for Core<P, I> {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        let mut undone = 0;
        while self.last >= point {
            let mut entry = log.entry(self.last);
            self.last = entry.prev;
            let index = entry.index;
            match entry.operation {
                SLOT => self.slots[index] = entry.value(),
                ADDED => drop(self.slots.pop()),
                NEXT => self.slots[index].next = entry.value(),
                PREV => self.slots[index].prev = entry.value(),
                QUEUE => self.queues[index].restore(entry.value()),
                _ => {
                    (self.free, self.born) = entry.value();
                    self.head_saved = SavedAt::NEVER;
                }
            }
            undone += 1;
        }
        let Self { stores, classes, holders, offered, .. } = self;
        undone
            + stores.undo_to(point, log)
            + classes.undo_to(point, log)
            + holders.undo_to(point, log)
            + offered.undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        self.last = moves.position(self.last);
        // In the next event they are saved again.
        self.head_saved = SavedAt::NEVER;
        self.slots.iter_mut().for_each(|slot| slot.saved = SavedAt::NEVER);
        self.queues.iter_mut().for_each(|queue| queue.saved = SavedAt::NEVER);
        let Self { stores, classes, holders, offered, .. } = self;
        stores.rebase(moves);
        classes.rebase(moves);
        holders.rebase(moves);
        offered.rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        use warpline::state::heap_block;
        let Self { slots, queues, stores, classes, holders, offered, .. } = self;
        heap_block(size_of_val(&**slots))
            + slots.iter().map(Value::heap_bytes).sum::<usize>()
            + heap_block(size_of_val(&**queues))
            + stores.heap_bytes()
            + classes.heap_bytes()
            + holders.heap_bytes()
            + offered.heap_bytes()
    }
}

/// A copy has no entries: what is undone is the site that has changed.
impl<P: Clone, I: Clone> Clone for Core<P, I> {
    fn clone(&self) -> Self {
        let Self { slots, queues, stores, classes, holders, offered, free, born, .. } = self;
        Self {
            slots: slots.clone(),
            queues: queues.clone(),
            stores: stores.clone(),
            classes: classes.clone(),
            holders: holders.clone(),
            offered: offered.clone(),
            free: *free,
            born: *born,
            ready: VecDeque::new(),
            last: UndoLog::NONE,
            head_saved: SavedAt::NEVER,
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
