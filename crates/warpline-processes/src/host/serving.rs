//! Who gets what: units of resources, items of stores, amounts of containers.
//!
//! Each function gives what there is to those who wait, in their order, and notes that they run
//! next ([`Ready`]).

use super::mistakes::{HoldsTooMany, holds_too_many};
use crate::{
    message::What,
    queue::Kind,
    slot::Status,
    world::{ContextOf, Core, Ready, Woken, World, facilities},
};

/// Who loses a unit to a process of a higher priority.
pub(crate) enum Victim {
    Nobody,
    /// This one, which waits.
    Waits(u32),
    /// One that runs before this event ends. It may give the unit back then, and cannot know
    /// before that it is lost.
    RunsFirst,
}

impl<W: World> Core<W> {
    /// Lets a process run later in this event: its wait is over. Its slot is saved.
    #[inline]
    pub(crate) fn wake(&mut self, slot: u32, woken: Woken, item: Option<W::Item>) {
        self.slots[slot as usize].status = Status::Ready;
        self.ready.push_back(Ready::Goes { slot, woken, item });
    }

    /// Takes a unit of a resource for somebody who does not wait, if there is one; nothing if the
    /// site has no such resource.
    #[inline]
    pub(crate) fn take_unit(
        &mut self,
        resource: usize,
        slot: u32,
        priority: i32,
        cx: &mut impl ContextOf<W>,
    ) -> Option<bool> {
        let queue = self.queues.get_mut(resource).filter(|queue| queue.is_resource())?;
        if !queue.has_unit() {
            return Some(false);
        }
        self.chain.queue(resource, queue, cx);
        queue.busy += 1;
        queue.in_use.set(f64::from(queue.busy), cx.now());
        if queue.kind == Kind::Preemptive {
            self.note_holder(resource, slot, priority, cx);
        }
        self.log(slot, What::Uses, resource, cx);
        Some(true)
    }

    /// Notes who has a unit that can be taken away. The resource is saved.
    fn note_holder(
        &mut self,
        resource: usize,
        slot: u32,
        priority: i32,
        cx: &mut impl ContextOf<W>,
    ) {
        let queue = &mut self.queues[resource];
        queue.given += 1;
        let last_first = u64::MAX - queue.given;
        self.more.holders.insert((resource as u32, priority, last_first), slot, cx);
    }

    /// Takes a unit back from a process, and gives it to the first one who waits.
    #[inline]
    pub(crate) fn unit_back(
        &mut self,
        resource: usize,
        slot: u32,
        cx: &mut impl ContextOf<W>,
    ) -> Result<(), HoldsTooMany> {
        self.log(slot, What::Releases, resource, cx);
        let queue = &mut self.queues[resource];
        self.chain.queue(resource, queue, cx);
        if queue.kind != Kind::Preemptive {
            if queue.len == 0 {
                queue.busy -= 1;
                queue.in_use.set(f64::from(queue.busy), cx.now());
                return Ok(());
            }
            if queue.busy <= queue.capacity {
                return self.hand_over(resource, cx);
            }
        } else {
            self.forget_holder(resource, slot, cx);
        }
        self.queues[resource].busy -= 1;
        self.serve_resource(resource, cx)
    }

    /// Gives a unit to the first one who waits. The resource is saved, and has counted the unit.
    #[inline]
    fn hand_over(
        &mut self,
        resource: usize,
        cx: &mut impl ContextOf<W>,
    ) -> Result<(), HoldsTooMany> {
        let (first, it) = self.leave_first(resource, cx);
        it.held = it.held.with(resource).ok_or(HoldsTooMany(first))?;
        it.status = Status::Ready;
        self.ready.push_back(Ready::Goes { slot: first, woken: Woken::Done, item: None });
        self.log(first, What::Uses, resource, cx);
        Ok(())
    }

    /// Who has a unit that a process of this priority may take: the one with the least priority,
    /// and the last one of these.
    pub(crate) fn victim(&self, resource: usize, priority: i32, by: u32) -> Victim {
        let of = resource as u32;
        let lower = self.more.holders.range((of, i32::MIN, 0)..(of, priority, 0));
        let mut victim = Victim::Nobody;
        for (_, &holder) in lower.filter(|(_, holder)| **holder != by) {
            if self.slots[holder as usize].status != Status::Ready {
                return Victim::Waits(holder);
            }
            victim = Victim::RunsFirst;
        }
        victim
    }

    /// Asks whether the first one that waits for a resource takes a unit from another process, once
    /// those have run that run before.
    pub(crate) fn preempt_next(&mut self, resource: usize) {
        let queue = &self.queues[resource];
        let first = self.slots.get(queue.head as usize);
        if queue.kind == Kind::Preemptive && first.is_some_and(|first| first.preempts) {
            self.ready.push_back(Ready::Preempt { resource });
        }
    }

    /// Lets the first one that waits for a resource take a unit from another process.
    pub(crate) fn preempt_now(&mut self, world: &W, number: usize, cx: &mut impl ContextOf<W>) {
        let slot = self.queues[number].head;
        let Some(it) = self.slots.get(slot as usize).filter(|first| first.preempts) else { return };
        let priority = it.priority;
        match self.victim(number, priority, slot) {
            Victim::Nobody => {}
            Victim::RunsFirst => self.ready.push_back(Ready::Preempt { resource: number }),
            Victim::Waits(victim) => {
                self.save_queue(number, cx);
                let (_, it) = self.leave_first(number, cx);
                match it.held.with(number) {
                    Some(held) => it.held = held,
                    None => holds_too_many(world, self, HoldsTooMany(slot), cx),
                }
                self.change_holder(number, victim, (slot, priority), cx);
                self.wake(slot, Woken::Done, None);
                let resource = facilities(world, cx.me()).resource_of(number);
                self.interrupt(world, victim, Woken::Preempted(resource), cx);
                self.preempt_next(number);
            }
        }
    }

    /// Takes a unit from one process, and gives it to another one that runs.
    pub(crate) fn change_holder(
        &mut self,
        resource: usize,
        from: u32,
        (to, priority): (u32, i32),
        cx: &mut impl ContextOf<W>,
    ) {
        let it = self.save_slot(from, cx);
        it.held = it.held.without(resource).unwrap_or(it.held);
        self.save_queue(resource, cx);
        self.forget_holder(resource, from, cx);
        self.note_holder(resource, to, priority, cx);
        self.log(from, What::Releases, resource, cx);
        self.log(to, What::Uses, resource, cx);
    }

    /// Notes that a process has no unit any more that could be taken away.
    fn forget_holder(&mut self, resource: usize, slot: u32, cx: &mut impl ContextOf<W>) {
        let of = resource as u32;
        let mut all = self.more.holders.range((of, i32::MIN, 0)..(of + 1, i32::MIN, 0));
        let held = all.find(|(_, holder)| **holder == slot).map(|(key, _)| *key);
        if let Some(held) = held {
            self.more.holders.remove(&held, cx);
        }
    }

    /// Gives units that are free to those who wait. The resource is saved.
    pub(crate) fn serve_resource(
        &mut self,
        resource: usize,
        cx: &mut impl ContextOf<W>,
    ) -> Result<(), HoldsTooMany> {
        loop {
            let queue = &mut self.queues[resource];
            if queue.busy >= queue.capacity || queue.len == 0 {
                break;
            }
            queue.busy += 1;
            let (first, is_preemptive) = (queue.head, queue.kind == Kind::Preemptive);
            self.hand_over(resource, cx)?;
            if is_preemptive {
                let priority = self.slots[first as usize].priority;
                self.note_holder(resource, first, priority, cx);
            }
        }
        self.queues[resource].observe(cx.now());
        self.preempt_next(resource);
        Ok(())
    }

    /// Puts an item into a store, or hands it to the first one who waits.
    #[inline]
    pub(crate) fn store(&mut self, store: usize, item: W::Item, cx: &mut impl ContextOf<W>) {
        let now = cx.now();
        let queue = self.save_queue(store, cx);
        if queue.len > 0 {
            let (first, _) = self.leave_first(store, cx);
            self.wake(first, Woken::Done, Some(item));
            return;
        }
        queue.busy += 1;
        queue.in_use.set(f64::from(queue.busy), now);
        let items = queue.items as usize;
        self.more.stores[items].push_back(item, cx);
    }

    /// Takes the first item out of a store that has one, and lets in what waits outside.
    #[inline]
    pub(crate) fn unstore(&mut self, store: usize, cx: &mut impl ContextOf<W>) -> Option<W::Item> {
        let now = cx.now();
        let queue = self.save_queue(store, cx);
        queue.busy -= 1;
        queue.in_use.set(f64::from(queue.busy), now);
        let (items, entrance) = (queue.items as usize, queue.other_side as usize);
        let item = self.more.stores[items].pop_front(cx);
        if self.queues.get(entrance).is_some_and(|entrance| entrance.len > 0) {
            self.save_queue(entrance, cx);
            let (first, _) = self.leave_first(entrance, cx);
            if let Some(offered) = self.more.offered.remove(&first, cx) {
                self.store(store, offered, cx);
            }
            self.wake(first, Woken::Done, None);
        }
        item
    }

    /// Serves those who wait at a container, on both sides, until nobody can go on. The container
    /// is saved.
    pub(crate) fn serve_container(&mut self, container: usize, cx: &mut impl ContextOf<W>) {
        let entrance = self.queues[container].other_side as usize;
        loop {
            let queue = &self.queues[container];
            let (amount, limit) = (queue.amount, queue.limit);
            if queue.len > 0 && self.slots[queue.head as usize].amount <= amount {
                let (first, it) = self.leave_first(container, cx);
                let less = it.amount;
                self.queues[container].amount -= less;
                self.wake(first, Woken::Done, None);
                continue;
            }
            let outside = &self.queues[entrance];
            if outside.len > 0 && amount + self.slots[outside.head as usize].amount <= limit {
                self.save_queue(entrance, cx);
                let (first, it) = self.leave_first(entrance, cx);
                let more = it.amount;
                self.queues[container].amount += more;
                self.wake(first, Woken::Done, None);
                continue;
            }
            break;
        }
        self.queues[container].observe(cx.now());
    }
}
