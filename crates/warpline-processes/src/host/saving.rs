//! How a site is saved: its own data as its author says, and the processes, slot by slot, in one
//! chain of the undo log.
//!
//! A slot and a queue are saved whole, once per event: each knows where it was saved last. Where
//! only a link of a slot changes, that is saved.

use std::{collections::VecDeque, fmt};

use warpline::{
    State, Value,
    state::{Moves, Undo, UndoLog, heap_block},
};

use super::Host;
use crate::{
    chain::{ADDED, Chain, NEXT, PREV, QUEUE, SLOT},
    queue::Queue,
    saved_at::SavedAt,
    slot::Slot,
    world::{ContextOf, Core, More, World},
};

impl<W: World> Core<W> {
    /// Saves a slot, before anything of it changes.
    #[inline]
    pub(crate) fn save_slot(
        &mut self,
        slot: u32,
        cx: &mut impl ContextOf<W>,
    ) -> &mut Slot<W::Process> {
        let it = &mut self.slots[slot as usize];
        self.chain.slot(slot, it, cx);
        it
    }

    /// Saves a facility, before anything of it changes.
    #[inline]
    pub(crate) fn save_queue(&mut self, queue: usize, cx: &mut impl ContextOf<W>) -> &mut Queue {
        let it = &mut self.queues[queue];
        self.chain.queue(queue, it, cx);
        it
    }
}

impl<W: World> Undo for Core<W> {
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
impl<W: World> Clone for Core<W> {
    fn clone(&self) -> Self {
        let Self { slots, queues, free, born, is_logged, more, .. } = self;
        Self {
            slots: slots.clone(),
            queues: queues.clone(),
            free: *free,
            born: *born,
            is_logged: *is_logged,
            ready: VecDeque::new(),
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
