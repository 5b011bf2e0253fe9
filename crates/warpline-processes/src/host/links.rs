//! Queues: linked through the slots of those who wait, by priority.
//!
//! A process comes in behind the last one whose priority is as high, and leaves from anywhere, in
//! constant time; with many priorities, in a time that grows with the logarithm of their number.

use crate::{
    slot::{NONE, Slot},
    world::{ContextOf, Core, World},
};

impl<W: World> Core<W> {
    /// Lets a process wait in a queue. Its slot is saved.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        queue: usize,
        slot: u32,
        priority: i32,
        cx: &mut impl ContextOf<W>,
    ) {
        let Self { slots, queues, chain, more, .. } = self;
        let of = &mut queues[queue];
        chain.queue(queue, of, cx);
        of.len += 1;
        of.waiting.set(f64::from(of.len), cx.now());
        if of.tail == NONE {
            of.head = slot;
        } else {
            let tail = &mut slots[of.tail as usize];
            if tail.priority < priority {
                return self.enter_before(queue, slot, priority, cx);
            }
            chain.set_next(of.tail, tail, slot, cx);
        }
        let new = &mut slots[slot as usize];
        new.wait_in(queue, priority, of.tail, NONE);
        of.tail = slot;
        if priority == 0 {
            of.last_default = slot;
        } else {
            more.classes.insert((queue as u32, -i64::from(priority)), slot, cx);
        }
    }

    /// Lets a process wait before others, whose priority is lower. The queue is saved, and has
    /// counted it.
    fn enter_before(&mut self, queue: usize, slot: u32, priority: i32, cx: &mut impl ContextOf<W>) {
        let before = self.last_at_least(queue, priority);
        let Self { slots, queues, chain, more, .. } = self;
        let of = &mut queues[queue];
        let behind = if before == NONE { of.head } else { slots[before as usize].next };
        slots[slot as usize].wait_in(queue, priority, before, behind);
        if before == NONE {
            of.head = slot;
        } else {
            chain.set_next(before, &mut slots[before as usize], slot, cx);
        }
        chain.set_prev(behind, &mut slots[behind as usize], slot, cx);
        if priority == 0 {
            of.last_default = slot;
        } else {
            more.classes.insert((queue as u32, -i64::from(priority)), slot, cx);
        }
    }

    /// Whether a process of this priority is before all that wait in a queue.
    #[inline]
    pub(crate) fn is_next(&self, queue: usize, priority: i32) -> bool {
        let first = self.slots.get(self.queues[queue].head as usize);
        first.is_none_or(|first| first.priority < priority)
    }

    /// The last process of a queue whose priority is at least this one.
    fn last_at_least(&self, queue: usize, priority: i32) -> u32 {
        let number = queue as u32;
        let mut class =
            self.more.classes.range((number, i64::MIN)..=(number, -i64::from(priority)));
        let class = class.next_back().map(|(&(_, negative), &slot)| (-negative, slot));
        let default = self.queues[queue].last_default;
        match class {
            // Priority 0 is lower, and still as high as this one.
            Some((of, _)) if of > 0 && priority <= 0 && default != NONE => default,
            Some((_, slot)) => slot,
            None if priority <= 0 => default,
            None => NONE,
        }
    }

    /// Takes a process out of the queue in which it waits. Its slot is saved.
    pub(crate) fn leave(&mut self, slot: u32, cx: &mut impl ContextOf<W>) {
        let Self { slots, queues, chain, more, .. } = self;
        let it = &mut slots[slot as usize];
        let (queue, next, priority) = (it.queue as usize, it.next, it.priority);
        let mut prev = it.prev;
        it.queue = NONE;
        let of = &mut queues[queue];
        chain.queue(queue, of, cx);
        of.len -= 1;
        of.waiting.set(f64::from(of.len), cx.now());
        if of.head == slot {
            of.head = next;
            prev = NONE;
        }
        if of.tail == slot {
            of.tail = prev;
        }
        // The one before it is the last of its priority now, if it has the same one.
        let last = slots.get(prev as usize).filter(|prev| prev.priority == priority);
        let last = if last.is_some() { prev } else { NONE };
        if priority == 0 {
            if of.last_default == slot {
                of.last_default = last;
            }
        } else {
            let class = (queue as u32, -i64::from(priority));
            if more.classes.get(&class) == Some(&slot) {
                match last {
                    NONE => drop(more.classes.remove(&class, cx)),
                    last => drop(more.classes.insert(class, last, cx)),
                }
            }
        }
        if prev != NONE {
            chain.set_next(prev, &mut slots[prev as usize], next, cx);
            if next != NONE {
                chain.set_prev(next, &mut slots[next as usize], prev, cx);
            }
        }
    }

    /// Takes the first one out of a queue that is saved, and saves its slot for what comes next.
    #[inline]
    pub(crate) fn leave_first(
        &mut self,
        queue: usize,
        cx: &mut impl ContextOf<W>,
    ) -> (u32, &mut Slot<W::Process>) {
        let Self { slots, queues, chain, more, .. } = self;
        let of = &mut queues[queue];
        let first = of.head;
        let it = &mut slots[first as usize];
        chain.slot(first, it, cx);
        it.queue = NONE;
        of.len -= 1;
        of.waiting.set(f64::from(of.len), cx.now());
        of.head = it.next;
        if it.next == NONE {
            of.tail = NONE;
        }
        // The first one of its priority is the last one, too, if there is no other.
        if it.priority == 0 {
            if of.last_default == first {
                of.last_default = NONE;
            }
        } else {
            let class = (queue as u32, -i64::from(it.priority));
            if more.classes.get(&class) == Some(&first) {
                more.classes.remove(&class, cx);
            }
        }
        (first, it)
    }
}
