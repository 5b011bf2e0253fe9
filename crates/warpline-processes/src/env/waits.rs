//! How waits begin. The macros call these; each says whether the process has to wait.

use crate::{
    facility::{Condition, Container, Resource, Store},
    host::{
        HoldsTooMany, Victim,
        mistakes::{absent, holds_too_many},
    },
    message::{Message, What},
    queue::{Kind, Queue},
    slot::Status,
    world::{ContextOf, Env, Ready, Woken, World},
};

#[doc(hidden)]
impl<W: World, C: ContextOf<W>> Env<'_, W, C> {
    /// Whether what the process waited for has happened.
    #[inline]
    pub const fn __succeeded(&self) -> bool {
        matches!(self.woken, Woken::Done)
    }

    /// What it got.
    #[inline]
    pub const fn __got(&mut self) -> Option<W::Item> {
        self.item.take()
    }

    #[inline]
    pub fn __hold(&mut self, time: f64, is_heeded: bool) {
        self.wait_until(time, Status::Holds, is_heeded);
    }

    #[inline]
    pub fn __passivate(&mut self, timeout: f64, is_heeded: bool) {
        self.wait_until(timeout, Status::Passive, is_heeded);
    }

    #[inline]
    fn wait_until(&mut self, time: f64, status: Status, is_heeded: bool) {
        self.status = status;
        self.is_heeded = is_heeded;
        // Not `<`: the engine says what is wrong with a time that is no number.
        if time != f64::INFINITY || status == Status::Holds {
            let (slot, generation) = (self.slot, self.generation);
            self.cx.send(self.cx.me(), time, Message::Wake { slot, generation });
        }
    }

    #[inline]
    pub fn __acquire(
        &mut self,
        resource: Resource,
        timeout: f64,
        priority: i32,
        preempt: bool,
        is_heeded: bool,
    ) -> bool {
        let number = resource.number();
        let taken = self.core.take_unit(number, self.slot, priority, self.cx);
        if taken.is_none() {
            absent(self.world, self.core, self.slot, (resource.name(), "resource"), self.cx);
        }
        if taken == Some(true) || preempt && self.preempt(resource, priority) {
            match self.held.with(number) {
                Some(held) => self.held = held,
                None => holds_too_many(self.world, self.core, HoldsTooMany(self.slot), self.cx),
            }
            self.woken = Woken::Done;
            return false;
        }
        self.core.slots[self.slot as usize].preempts = preempt;
        self.queue(number, timeout, priority, is_heeded)
    }

    /// Waits in a queue.
    #[inline]
    fn queue(&mut self, number: usize, timeout: f64, priority: i32, is_heeded: bool) -> bool {
        self.core.enter(number, self.slot, priority, self.cx);
        self.core.log(self.slot, What::Queues, number, self.cx);
        self.status = Status::Queues;
        self.is_heeded = is_heeded;
        if timeout != f64::INFINITY {
            let (slot, generation) = (self.slot, self.generation);
            self.cx.send(self.cx.me(), timeout, Message::Wake { slot, generation });
        }
        true
    }

    /// Takes a unit from the process with the least priority, if that is lower than this one and
    /// nobody waits who is before this one. Returns whether it did.
    fn preempt(&mut self, resource: Resource, priority: i32) -> bool {
        let number = resource.number();
        if self.core.queues[number].kind != Kind::Preemptive {
            let name = resource.name();
            self.fail(format_args!(
                "takes `{name}` from another process, and it is not preemptive \
                 (`Facilities::preemptive`)"
            ));
        }
        let first = self.core.slots.get(self.core.queues[number].head as usize);
        if first.is_some_and(|first| first.priority >= priority) {
            return false;
        }
        match self.core.victim(number, priority, self.slot) {
            Victim::Waits(victim) => {
                self.core.change_holder(number, victim, (self.slot, priority), self.cx);
                self.core.interrupt(self.world, victim, Woken::Preempted(resource), self.cx);
                true
            }
            Victim::RunsFirst => {
                self.core.ready.push_back(Ready::Preempt { resource: number });
                false
            }
            Victim::Nobody => false,
        }
    }

    #[inline]
    pub fn __get(&mut self, store: Store, timeout: f64, priority: i32, is_heeded: bool) -> bool {
        let number = store.number();
        self.check(number, store.name(), "store", Queue::is_store);
        if self.core.queues[number].busy > 0 {
            self.item = self.core.unstore(number, self.cx);
            self.woken = Woken::Done;
            return false;
        }
        self.queue(number, timeout, priority, is_heeded)
    }

    #[inline]
    pub fn __put(
        &mut self,
        store: Store,
        item: W::Item,
        timeout: f64,
        priority: i32,
        is_heeded: bool,
    ) -> bool {
        let number = store.number();
        self.check(number, store.name(), "store", Queue::is_store);
        let (queue, entrance) = (&self.core.queues[number], self.core.queues[number].other_side);
        let has_room = queue.busy < queue.capacity;
        if has_room
            && self.core.queues.get(entrance as usize).is_none_or(|outside| outside.len == 0)
        {
            self.core.store(number, item, self.cx);
            self.woken = Woken::Done;
            return false;
        }
        self.core.more.offered.insert(self.slot, item, self.cx);
        self.queue(entrance as usize, timeout, priority, is_heeded)
    }

    #[inline]
    pub fn __take(
        &mut self,
        container: Container,
        amount: f64,
        timeout: f64,
        priority: i32,
        is_heeded: bool,
    ) -> bool {
        let number = self.amount_of(container, amount);
        if self.core.is_next(number, priority) && amount <= self.core.queues[number].amount {
            self.core.save_queue(number, self.cx).amount -= amount;
            self.core.serve_container(number, self.cx);
            self.woken = Woken::Done;
            return false;
        }
        self.core.slots[self.slot as usize].amount = amount;
        self.queue(number, timeout, priority, is_heeded)
    }

    #[inline]
    pub fn __fill(
        &mut self,
        container: Container,
        amount: f64,
        timeout: f64,
        priority: i32,
        is_heeded: bool,
    ) -> bool {
        let number = self.amount_of(container, amount);
        let (queue, entrance) = (&self.core.queues[number], self.core.queues[number].other_side);
        let has_room = queue.amount + amount <= queue.limit;
        if has_room && self.core.is_next(entrance as usize, priority) {
            self.core.save_queue(number, self.cx).amount += amount;
            self.core.serve_container(number, self.cx);
            self.woken = Woken::Done;
            return false;
        }
        self.core.slots[self.slot as usize].amount = amount;
        self.queue(entrance as usize, timeout, priority, is_heeded)
    }

    /// The number of a container, and a check of an amount: one that there can be.
    fn amount_of(&mut self, container: Container, amount: f64) -> usize {
        let (number, name) = (container.number(), container.name());
        self.check(number, name, "container", |queue| queue.kind == Kind::Container);
        let limit = self.core.queues[number].limit;
        if !(0.0..=limit).contains(&amount) || !amount.is_finite() {
            self.fail(format_args!(
                "takes or fills {amount} of `{name}`, which has room for {limit}"
            ));
        }
        number
    }

    #[inline]
    pub fn __wait(&mut self, condition: Condition, timeout: f64, priority: i32, is_heeded: bool) {
        let number = condition.number();
        self.check(number, condition.name(), "condition", |queue| queue.kind == Kind::Condition);
        self.queue(number, timeout, priority, is_heeded);
    }
}
