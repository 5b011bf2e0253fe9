//! Who gets what: units of resources, items of stores, amounts of containers.
//!
//! Each function gives what there is to those who wait, in their order, and notes that they run
//! next ([`Ready`]).

use warpline::{Context, Value};

use super::{Core, Kind, Ready, Status, Woken};

impl<P: Value, I: Value> Core<P, I> {
    /// Lets a process run later in this event: its wait is over. Its slot is saved.
    #[inline]
    pub(crate) fn wake(&mut self, slot: u32, woken: Woken, item: Option<I>) {
        self.slots[slot as usize].status = Status::Ready;
        self.ready.push_back(Ready::Goes { slot, woken, item });
    }

    /// Notes that a process has a unit of a resource. Its slot and the resource are saved.
    #[inline]
    pub(crate) fn give_unit<M>(&mut self, resource: usize, slot: u32, cx: &mut impl Context<M>) -> bool {
        let queue = &mut self.queues[resource];
        queue.busy += 1;
        queue.given += 1;
        let is_preemptive = queue.kind == Kind::Preemptive;
        let given = queue.given;
        if is_preemptive {
            let priority = self.slots[slot as usize].priority;
            self.holders.insert((resource as u32, priority, u64::MAX - given), slot, cx);
        }
        self.slots[slot as usize].hold(resource)
    }

    /// Takes note that a process has a unit no more.
    #[inline]
    pub(crate) fn unit_back<M>(&mut self, resource: usize, slot: u32, cx: &mut impl Context<M>) {
        let queue = self.save_queue(resource, cx);
        queue.busy -= 1;
        if queue.kind == Kind::Preemptive {
            let of = resource as u32;
            let mut all = self.holders.range((of, i32::MIN, 0)..(of + 1, i32::MIN, 0));
            let held = all.find(|(_, holder)| **holder == slot).map(|(key, _)| *key);
            if let Some(held) = held {
                self.holders.remove(&held, cx);
            }
        }
    }

    /// Gives units that are free to those who wait, and returns the process that has no room for
    /// one more.
    #[inline]
    pub(crate) fn serve_resource<M>(&mut self, resource: usize, cx: &mut impl Context<M>) -> Result<(), u32> {
        let now = cx.now();
        while self.queues[resource].busy < self.queues[resource].capacity && self.queues[resource].len > 0 {
            let first = self.leave_first(resource, cx);
            if !self.give_unit(resource, first, cx) {
                return Err(first);
            }
            self.wake(first, Woken::Done, None);
        }
        self.queues[resource].observe(now);
        Ok(())
    }

    /// Puts an item into a store, or hands it to the first one who waits.
    #[inline]
    pub(crate) fn store<M>(&mut self, store: usize, item: I, cx: &mut impl Context<M>) {
        if self.queues[store].len > 0 {
            let first = self.leave_first(store, cx);
            self.wake(first, Woken::Done, Some(item));
            return;
        }
        let now = cx.now();
        let queue = self.save_queue(store, cx);
        queue.busy += 1;
        queue.observe(now);
        let items = queue.items as usize;
        self.stores[items].push_back(item, cx);
    }

    /// Takes the first item out of a store that has one, and lets in what waits outside.
    #[inline]
    pub(crate) fn unstore<M>(&mut self, store: usize, cx: &mut impl Context<M>) -> Option<I> {
        let now = cx.now();
        let queue = self.save_queue(store, cx);
        queue.busy -= 1;
        queue.observe(now);
        let (items, entrance) = (queue.items as usize, queue.other_side);
        let item = self.stores[items].pop_front(cx);
        if let Some(entrance) = self.queues.get(entrance as usize)
            && entrance.len > 0
        {
            let first = self.leave_first(self.queues[store].other_side as usize, cx);
            if let Some(offered) = self.offered.remove(&first, cx) {
                self.store(store, offered, cx);
            }
            self.wake(first, Woken::Done, None);
        }
        item
    }

    /// Serves those who wait at a container, on both sides, until nobody can go on.
    pub(crate) fn serve_container<M>(&mut self, container: usize, cx: &mut impl Context<M>) {
        let now = cx.now();
        let entrance = self.queues[container].other_side as usize;
        loop {
            let queue = &self.queues[container];
            if queue.len > 0 && self.slots[queue.head as usize].amount <= queue.amount {
                let first = self.leave_first(container, cx);
                self.queues[container].amount -= self.slots[first as usize].amount;
                self.wake(first, Woken::Done, None);
                continue;
            }
            let (outside, amount, limit) = (&self.queues[entrance], queue.amount, queue.limit);
            if outside.len > 0 && amount + self.slots[outside.head as usize].amount <= limit {
                let first = self.leave_first(entrance, cx);
                let more = self.slots[first as usize].amount;
                self.save_queue(container, cx).amount += more;
                self.wake(first, Woken::Done, None);
                continue;
            }
            break;
        }
        self.queues[container].observe(now);
    }
}
