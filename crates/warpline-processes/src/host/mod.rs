//! A site as a logical process: its own data, and the processes that are there.
//!
//! The engine hands a site its events. A wake-up lets the process go on that it is for; an arrival
//! gives a process a slot. A process runs until it waits; those who get something by that (a unit,
//! an item, a signal) and those who are new run after it, in the same event, first come first.
//!
//! # Invariants
//!
//! - **PROC-A.** A process runs once for each wait: a wake-up whose generation is not that of its
//!   slot is for an earlier wait, and is ignored.
//! - **PROC-B.** Between events no process is ready: each waits, or has ended.
//! - **PROC-C.** A queue has its processes by priority, and those of one priority as they came.
//! - **PROC-D.** What an event changes of a slot or a facility is saved before (`saving`), so that
//!   a handler that is cut off in the middle can be undone.

mod links;
pub(crate) mod mistakes;
mod running;
mod saving;
mod serving;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt};

use serde::{Deserialize, Serialize};
use warpline::{Io, LpId, TrackedDeque, TrackedMap};

pub(crate) use mistakes::HoldsTooMany;
pub(crate) use serving::Victim;

use crate::{
    chain::Chain,
    facility::Resource,
    message::{Message, NEW, What},
    queue::Queue,
    slot::{NONE, Slot, Status},
    world::{ContextOf, Core, More, ProcessKind, World, name_of_facility},
};

/// The logical process of a site.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Host<W: World> {
    pub(crate) site: W::Site,
    pub(crate) core: Core<W>,
}

impl<W: World> Core<W> {
    pub(crate) fn new(queues: Vec<Queue>, stores: usize, is_logged: bool) -> Self {
        let more = More {
            stores: std::iter::repeat_with(TrackedDeque::default).take(stores).collect(),
            classes: TrackedMap::default(),
            holders: TrackedMap::default(),
            offered: TrackedMap::default(),
        };
        Self {
            slots: Vec::new(),
            queues,
            free: NONE,
            born: 0,
            is_logged,
            ready: VecDeque::new(),
            chain: Chain::default(),
            more: Box::new(more),
        }
    }

    /// Sends a row to the event log, if the world has one.
    #[inline]
    pub(crate) fn log(&self, slot: u32, what: What, facility: usize, cx: &mut impl ContextOf<W>) {
        if W::EVENT_LOG && self.is_logged {
            self.send_row(slot, what, facility, cx);
        }
    }

    /// In line, this would be in the way of worlds that may have a log, and have none.
    #[inline(never)]
    fn send_row(&self, slot: u32, what: What, facility: usize, cx: &mut impl ContextOf<W>) {
        let Slot { entity, kind, .. } = self.slots[slot as usize];
        let row = Message::Log { entity, kind, facility: facility as u16, what };
        cx.send_io(Io::NonBlocking, cx.me(), 0.0, row);
    }

    /// Gives a process that is new here a slot.
    #[inline]
    pub(crate) fn take_in(
        &mut self,
        entity: u64,
        process: W::Process,
        cx: &mut impl ContextOf<W>,
    ) -> u32 {
        let Self { slots, chain, free, born, .. } = self;
        if *free == NONE {
            let mut it = Slot::new();
            chain.added(&mut it, cx);
            it.occupy(entity, process.kind(), process);
            slots.push(it);
            return slots.len() as u32 - 1;
        }
        let slot = *free;
        chain.head((*free, *born), cx);
        let it = &mut slots[slot as usize];
        chain.slot(slot, it, cx);
        *free = it.next;
        it.occupy(entity, process.kind(), process);
        slot
    }

    /// A number for a process that is born here.
    #[inline]
    pub(crate) fn next_entity(&mut self, cx: &mut impl ContextOf<W>) -> u64 {
        self.chain.head((self.free, self.born), cx);
        self.born = self.born % (NEW as u32 - 1) + 1;
        u64::from(cx.me().get()) << 32 | u64::from(self.born)
    }

    /// Frees the slot of a process that ran, and is gone.
    #[inline]
    pub(crate) fn release_slot(&mut self, slot: u32, cx: &mut impl ContextOf<W>) {
        self.chain.head((self.free, self.born), cx);
        let it = &mut self.slots[slot as usize];
        it.life = it.life.wrapping_add(1);
        it.status = Status::Free;
        it.next = self.free;
        self.free = slot;
    }
}

impl<W: World> fmt::Debug for Core<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slots, queues, free, born, more, .. } = self;
        f.debug_struct("Processes")
            .field("slots", slots)
            .field("facilities", queues)
            .field("free", free)
            .field("born", born)
            .field("more", more)
            .finish()
    }
}

impl<W: World> Clone for Host<W> {
    fn clone(&self) -> Self {
        Self { site: self.site.clone(), core: self.core.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.site.clone_from(&source.site);
        self.core.clone_from(&source.core);
    }
}

impl<W: World> fmt::Debug for Host<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("data", &self.site).field("processes", &self.core).finish()
    }
}

impl<W: World> Host<W> {
    /// The site's own data.
    pub const fn site(&self) -> &W::Site {
        &self.site
    }

    /// How many processes are at the site.
    pub fn processes(&self) -> usize {
        self.core.slots.iter().filter(|slot| slot.status != Status::Free).count()
    }

    /// How many processes wait for a resource.
    pub fn waiting(&self, resource: Resource) -> usize {
        self.core.queues.get(resource.number()).map_or(0, |queue| queue.len as usize)
    }

    /// How many units of a resource are in use.
    pub fn in_use(&self, resource: Resource) -> usize {
        self.core.queues.get(resource.number()).map_or(0, |queue| queue.busy as usize)
    }
}

impl<P> Slot<P> {
    /// The name of the process, for an error.
    #[cold]
    pub(crate) fn name<'w, W: World>(&self, world: &'w W) -> &'w str {
        W::Process::name(world, self.kind)
    }
}

impl<W: World> Host<W> {
    /// The processes at the site: their numbers and names, and what each waits for.
    pub fn process_names<'a>(
        &'a self,
        world: &'a W,
        here: LpId,
    ) -> impl Iterator<Item = (u64, &'a str, Option<&'static str>)> + 'a {
        self.core.slots.iter().filter_map(move |slot| {
            if slot.status == Status::Free {
                return None;
            }
            let waits = (slot.status == Status::Queues)
                .then(|| name_of_facility(world, here, slot.queue as usize));
            Some((slot.entity, slot.name(world), waits))
        })
    }
}
