//! The environment of a process: what it sees, and what it does at once. What it waits for is in
//! `waits`.

mod waits;

use std::fmt;

use warpline::{LpId, Stream, Value, VirtualTime};

use crate::{
    facility::{Condition, Container, Resource, Store},
    host::mistakes::{absent, holds_too_many, mistake, releases},
    message::{Message, NEW, What},
    queue::{Kind, Queue},
    slot::{Held, NONE, Status},
    world::{ContextOf, Core, Env, Ready, Woken, World},
};

/// A process at a site, for those who interrupt or activate it. A process that has traveled away or
/// has ended has none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, Value)]
pub struct Handle {
    slot: u32,
    life: u32,
}

impl Handle {
    /// The handle as a word, for processes that are written in another language.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        (self.slot as u64) << 32 | self.life as u64
    }

    /// The handle that was this word.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self { slot: (bits >> 32) as u32, life: bits as u32 }
    }
}

impl<W: World, C> fmt::Debug for Env<'_, W, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<'a, W: World, C: ContextOf<W>> Env<'a, W, C> {
    /// The environment of the process of a slot, or, without one, of a site.
    #[inline]
    pub(crate) fn new(
        world: &'a W,
        site: &'a mut W::Site,
        core: &'a mut Core<W>,
        cx: &'a mut C,
        (slot, generation): (u32, u32),
        held: Held,
    ) -> Self {
        let (woken, item) = (Woken::Done, None);
        let (status, is_heeded) = (Status::Ready, false);
        Self { world, site, cx, core, slot, generation, held, woken, item, status, is_heeded }
    }

    /// The virtual time.
    #[inline]
    pub fn now(&self) -> f64 {
        self.cx.now().get()
    }

    /// The virtual time, for a [`Level`](warpline::Level) of the site.
    #[inline]
    pub fn time(&self) -> VirtualTime {
        self.cx.now()
    }

    /// The site where the process is.
    #[inline]
    pub fn here(&self) -> LpId {
        self.cx.me()
    }

    /// The random stream of the site: `env.rng().exponential(3.0)`.
    #[inline]
    pub fn rng(&self) -> &Stream {
        self.cx.rng()
    }

    /// How the last wait of this process ended: why it was not [`Woken::Done`], where `hold!` or
    /// another wait was false.
    #[inline]
    pub const fn woken(&self) -> Woken {
        self.woken
    }

    /// Lets a process begin here, after this one, at the same virtual time.
    #[inline]
    pub fn spawn(&mut self, process: impl Into<W::Process>) -> Handle {
        let entity = self.core.next_entity(self.cx);
        let slot = self.core.take_in(entity, process.into(), self.cx);
        self.core.log(slot, What::Arrives, 0, self.cx);
        self.core.ready.push_back(Ready::Goes { slot, woken: Woken::Done, item: None });
        Handle { slot, life: self.core.slots[slot as usize].life }
    }

    /// Lets a process begin at a site, after this time.
    pub fn spawn_at(&mut self, site: LpId, delay: f64, process: impl Into<W::Process>) {
        let entity = self.core.next_entity(self.cx);
        let process = process.into().into();
        self.cx.send(site, delay, Message::Arrive { entity: entity | NEW, process });
    }

    /// This process, for others. In [`World::start`] there is none yet, and the handle is
    /// nobody's.
    pub fn me(&self) -> Handle {
        match self.core.slots.get(self.slot as usize) {
            Some(slot) => Handle { slot: self.slot, life: slot.life },
            None => Handle { slot: NONE, life: 0 },
        }
    }

    /// A number that this process has for itself, wherever it travels: the site where it was born
    /// times 2^32, and a number there from 1 on.
    pub fn entity(&self) -> u64 {
        self.core.slots.get(self.slot as usize).map_or(0, |slot| slot.entity)
    }

    /// The slot of a process that is here.
    fn slot_of(&self, handle: Handle) -> Option<u32> {
        let slot = self.core.slots.get(handle.slot as usize)?;
        (slot.life == handle.life && slot.status != Status::Free).then_some(handle.slot)
    }

    /// Whether a process is still at this site.
    pub fn is_here(&self, process: Handle) -> bool {
        self.slot_of(process).is_some()
    }

    /// Lets a process go on that waits in `passivate!`. Returns whether it does.
    pub fn activate(&mut self, process: Handle) -> bool {
        let Some(slot) = self.slot_of(process) else { return false };
        if self.core.slots[slot as usize].status != Status::Passive {
            return false;
        }
        self.core.save_slot(slot, self.cx);
        self.core.wake(slot, Woken::Done, None);
        true
    }

    /// Ends the wait of a process before its time: it is false there, and
    /// [`woken`](Self::woken) has the cause, a number that the two processes agree on. A process
    /// that runs later at this very time is interrupted in its next wait. Returns whether the
    /// process is still here.
    pub fn interrupt(&mut self, process: Handle, cause: u64) -> bool {
        let Some(slot) = self.slot_of(process) else { return false };
        if slot == self.slot {
            self.fail(format_args!("interrupts itself, and does not wait"));
        }
        self.core.interrupt(self.world, slot, Woken::Interrupted(cause), self.cx);
        true
    }

    /// Gives back a unit of a resource. Who waits for it gets it at once, and runs after this
    /// process.
    #[inline]
    pub fn release(&mut self, resource: Resource) {
        match self.held.without(resource.number()) {
            Some(held) => self.held = held,
            None => releases(self.world, self.core, self.slot, resource, self.cx),
        }
        if let Err(who) = self.core.unit_back(resource.number(), self.slot, self.cx) {
            holds_too_many(self.world, self.core, who, self.cx);
        }
    }

    /// Changes how many units a resource has. If more are in use, those who release them lower
    /// that.
    pub fn set_units(&mut self, resource: Resource, units: u32) {
        self.check(resource.number(), resource.name(), "resource", Queue::is_resource);
        self.core.save_queue(resource.number(), self.cx).capacity = units;
        if let Err(who) = self.core.serve_resource(resource.number(), self.cx) {
            holds_too_many(self.world, self.core, who, self.cx);
        }
    }

    /// How many processes wait for a resource.
    #[inline]
    pub fn waiting(&self, resource: Resource) -> u32 {
        self.core.queues.get(resource.number()).map_or(0, |queue| queue.len)
    }

    /// How many units of a resource are in use.
    #[inline]
    pub fn in_use(&self, resource: Resource) -> u32 {
        self.core.queues.get(resource.number()).map_or(0, |queue| queue.busy)
    }

    /// How many items are in a store.
    #[inline]
    pub fn items(&self, store: Store) -> u32 {
        self.core.queues.get(store.number()).map_or(0, |queue| queue.busy)
    }

    /// How many processes wait for an item of a store.
    #[inline]
    pub fn waiting_for_items(&self, store: Store) -> u32 {
        self.core.queues.get(store.number()).map_or(0, |queue| queue.len)
    }

    /// What a container has.
    #[inline]
    pub fn amount(&self, container: Container) -> f64 {
        self.core.queues.get(container.number()).map_or(0.0, |queue| queue.amount)
    }

    /// Puts an item into a store for any number of them. Who waits for it gets it at once, and runs
    /// after this process. For a store that may be full there is `put!`.
    #[inline]
    pub fn put(&mut self, store: Store, item: W::Item) {
        let number = store.number();
        self.check(number, store.name(), "store", Queue::is_store);
        if self.core.queues[number].other_side != NONE {
            let name = store.name();
            self.fail(format_args!(
                "puts an item into `{name}`, which may be full: write `put!({}, …)`",
                name.to_uppercase()
            ));
        }
        self.core.store(number, item, self.cx);
    }

    /// Lets all processes go on that wait for a condition, in their order, after this process.
    pub fn signal(&mut self, condition: Condition) {
        while self.signal_one(condition) {}
    }

    /// Lets the first process go on that waits for a condition. Returns whether there is one.
    pub fn signal_one(&mut self, condition: Condition) -> bool {
        let number = condition.number();
        self.check(number, condition.name(), "condition", |queue| queue.kind == Kind::Condition);
        if self.core.queues[number].len == 0 {
            return false;
        }
        self.core.save_queue(number, self.cx);
        let (first, _) = self.core.leave_first(number, self.cx);
        self.core.wake(first, Woken::Done, None);
        true
    }

    /// A facility is there, and is what it is used as.
    #[inline]
    fn check(&mut self, number: usize, name: &str, what: &str, is: fn(&Queue) -> bool) {
        if !self.core.queues.get(number).is_some_and(is) {
            absent(self.world, self.core, self.slot, (name, what), self.cx);
        }
    }

    /// Ends the run with an error that names the process, its site and the time.
    pub fn fail(&mut self, reason: fmt::Arguments<'_>) {
        mistake(self.world, self.core, self.slot, reason, self.cx);
    }
}
