//! Queues: linked through the slots of those who wait, by priority.
//!
//! A process comes in behind the last one whose priority is as high, and leaves from anywhere, in
//! constant time; with many priorities, in a time that grows with the logarithm of their number.

use warpline::{Context, Value};

use super::{Core, NONE, Status};

impl<P: Value, I: Value> Core<P, I> {
    /// Lets a process wait in a queue. Its slot is saved.
    #[inline]
    pub(crate) fn enter<M>(
        &mut self,
        queue: usize,
        slot: u32,
        priority: i32,
        cx: &mut impl Context<M>,
    ) {
        let now = cx.now();
        let it = self.save_queue(queue, cx);
        it.len += 1;
        it.waiting.set(f64::from(it.len), now);
        let (head, tail) = (it.head, it.tail);
        let before = match tail {
            NONE => NONE,
            tail if self.slots[tail as usize].priority >= priority => tail,
            _ => self.last_at_least(queue, priority),
        };
        let behind = if before == NONE { head } else { self.slots[before as usize].next };
        let new = &mut self.slots[slot as usize];
        new.queue = queue as u32;
        new.priority = priority;
        new.prev = before;
        new.next = behind;
        new.status = Status::Queues;
        if before != NONE {
            self.set_next(before, slot, cx);
        }
        if behind != NONE {
            self.set_prev(behind, slot, cx);
        }
        let it = &mut self.queues[queue];
        if before == NONE {
            it.head = slot;
        }
        if behind == NONE {
            it.tail = slot;
        }
        if priority == 0 {
            it.last_default = slot;
        } else {
            self.classes.insert((queue as u32, -i64::from(priority)), slot, cx);
        }
    }

    /// The last process of a queue whose priority is at least this one.
    fn last_at_least(&self, queue: usize, priority: i32) -> u32 {
        let number = queue as u32;
        let mut class = self.classes.range((number, i64::MIN)..=(number, -i64::from(priority)));
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
    #[inline]
    pub(crate) fn leave<M>(&mut self, slot: u32, cx: &mut impl Context<M>) {
        let now = cx.now();
        let it = &mut self.slots[slot as usize];
        let (queue, next, priority) = (it.queue as usize, it.next, it.priority);
        let mut prev = it.prev;
        it.queue = NONE;
        let of = self.save_queue(queue, cx);
        of.len -= 1;
        of.waiting.set(f64::from(of.len), now);
        if of.head == slot {
            of.head = next;
            prev = NONE;
        }
        if of.tail == slot {
            of.tail = prev;
        }
        // The one before it is the last of its priority now, if it has the same one.
        let last = match prev {
            NONE => NONE,
            prev if self.slots[prev as usize].priority == priority => prev,
            _ => NONE,
        };
        if priority == 0 {
            let of = &mut self.queues[queue];
            if of.last_default == slot {
                of.last_default = last;
            }
        } else {
            let class = (queue as u32, -i64::from(priority));
            if self.classes.get(&class) == Some(&slot) {
                match last {
                    NONE => drop(self.classes.remove(&class, cx)),
                    last => drop(self.classes.insert(class, last, cx)),
                }
            }
        }
        if prev != NONE {
            self.set_next(prev, next, cx);
            if next != NONE {
                self.set_prev(next, prev, cx);
            }
        }
    }

    /// Takes the first one out of a queue, whose slot is saved for what comes next.
    #[inline]
    pub(crate) fn leave_first<M>(&mut self, queue: usize, cx: &mut impl Context<M>) -> u32 {
        let first = self.queues[queue].head;
        self.save_slot(first, cx);
        self.leave(first, cx);
        first
    }
}
