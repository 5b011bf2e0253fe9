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
//! - **PROC-D.** What an event changes of a slot or a facility is saved before (`saving`), so that a
//!   handler that is cut off in the middle can be undone.

mod links;
mod queue;
mod running;
mod saving;
mod serving;
mod slot;

use std::{collections::VecDeque, fmt};

use serde::{Deserialize, Serialize};
use warpline::{Context, TrackedDeque, TrackedMap, Value};

pub(crate) use queue::{Kind, Queue};
use saving::Chain;
pub(crate) use serving::HoldsTooMany;
pub(crate) use slot::{Held, NONE, Slot, Status};

use crate::{Resource, World, process::ProcessKind};

/// The logical process of a site.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Host<W: World> {
    pub(crate) site: W::Site,
    pub(crate) core: Core<W::Process, W::Item>,
}

/// The processes of a site, and what they wait for.
#[derive(Serialize, Deserialize)]
#[serde(
    bound = "P: Serialize + serde::de::DeserializeOwned, I: Value + Serialize + serde::de::DeserializeOwned"
)]
pub(crate) struct Core<P, I> {
    pub(crate) slots: Vec<Slot<P>>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) free: u32,
    /// How many processes were born here.
    pub(crate) born: u32,
    /// Those who run before the event ends. Empty between events.
    #[serde(skip)]
    pub(crate) ready: VecDeque<Ready<I>>,
    /// How the last wait of the process that runs ended, and what it got.
    #[serde(skip)]
    pub(crate) woken: Woken,
    #[serde(skip)]
    pub(crate) item: Option<I>,
    #[serde(skip)]
    pub(crate) chain: Chain,
    /// What most events do not touch lies elsewhere.
    pub(crate) more: Box<More<I>>,
}

/// What stores contain, and what priorities and preemption need.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "I: Value + Serialize + serde::de::DeserializeOwned")]
pub(crate) struct More<I> {
    /// The items of stores.
    pub(crate) stores: Vec<TrackedDeque<I>>,
    /// The last process of a queue for each priority other than 0, the highest one first.
    pub(crate) classes: TrackedMap<(u32, i64), u32>,
    /// Who has units of resources that can be taken away: the lowest priority first, and the last
    /// one first.
    pub(crate) holders: TrackedMap<(u32, i32, u64), u32>,
    /// The items that wait for room in a store, by the slots of their processes.
    pub(crate) offered: TrackedMap<u32, I>,
}

/// A process that runs before the event ends.
#[derive(Debug)]
pub(crate) enum Ready<I> {
    /// It begins, or its wait is over.
    Goes { slot: u32, woken: Woken, item: Option<I> },
    /// It is interrupted once it waits again, if it does.
    Interrupt { slot: u32, life: u32, woken: Woken },
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Woken {
    /// What it waited for has happened.
    #[default]
    Done,
    /// Its time was over before.
    TimedOut,
    /// Another process interrupted it, and gave a cause.
    Interrupted(u64),
    /// A unit of this resource was taken away.
    Preempted(Resource),
}

impl<P: Value, I: Value> Core<P, I> {
    pub(crate) fn new(queues: Vec<Queue>, stores: usize) -> Self {
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
            ready: VecDeque::new(),
            woken: Woken::Done,
            item: None,
            chain: Chain::default(),
            more: Box::new(more),
        }
    }

    /// A slot for a process that is new here, and is put there by whoever calls this; and which of
    /// its waits comes first.
    #[inline]
    pub(crate) fn allocate<M>(
        &mut self,
        entity: u64,
        kind: u16,
        cx: &mut impl Context<M>,
    ) -> (u32, u32) {
        let Self { slots, chain, free, born, .. } = self;
        if *free == NONE {
            let mut it = Slot::new();
            chain.added(&mut it, cx);
            let first_wait = it.occupy(entity, kind);
            slots.push(it);
            return (slots.len() as u32 - 1, first_wait);
        }
        let slot = *free;
        chain.head((*free, *born), cx);
        let it = &mut slots[slot as usize];
        chain.slot(slot, it, cx);
        *free = it.next;
        (slot, it.occupy(entity, kind))
    }

    /// A number for a process that is born here.
    #[inline]
    pub(crate) fn next_entity<M>(&mut self, cx: &mut impl Context<M>) -> u64 {
        self.chain.head((self.free, self.born), cx);
        self.born += 1;
        u64::from(cx.me().get()) << 32 | u64::from(self.born)
    }

    /// Frees the slot of a process that ran, and is gone.
    #[inline]
    pub(crate) fn release_slot<M>(&mut self, slot: u32, cx: &mut impl Context<M>) {
        self.chain.head((self.free, self.born), cx);
        let it = &mut self.slots[slot as usize];
        it.life = it.life.wrapping_add(1);
        it.status = Status::Free;
        it.next = self.free;
        self.free = slot;
    }
}

impl<P: fmt::Debug, I: fmt::Debug> fmt::Debug for Core<P, I> {
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
