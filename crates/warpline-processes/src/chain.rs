//! The entries of a site in the undo log: what is saved before slots and facilities change.

use warpline::{Context, Value};

use crate::{queue::Queue, saved_at::SavedAt, slot::Slot};

pub(crate) const SLOT: u64 = 0;
pub(crate) const ADDED: u64 = 1;
pub(crate) const NEXT: u64 = 2;
pub(crate) const PREV: u64 = 3;
pub(crate) const QUEUE: u64 = 4;
pub(crate) const HEAD: u64 = 5;

/// The entries of a site in the undo log. A copy has none.
#[derive(Default)]
pub(crate) struct Chain {
    /// The last one.
    pub(crate) last: u64,
    /// The last one that has which slots are free.
    pub(crate) head: SavedAt,
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
    pub(crate) fn set_next<P, M>(
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
    pub(crate) fn set_prev<P, M>(
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
    pub(crate) fn head<M>(&mut self, (free, born): (u32, u32), cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo()
            && !log.is_new(self.head.0)
        {
            self.last = log.push(self.last, HEAD, 0, &(free, born));
            self.head.0 = self.last;
        }
    }

    /// Notes a slot that is added at the end.
    #[inline]
    pub(crate) fn added<P, M>(&mut self, it: &mut Slot<P>, cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, ADDED, 0, &());
            it.saved.0 = self.last;
        }
    }
}
