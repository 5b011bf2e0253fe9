//! A slot: where a process lives while it is at a site.

use serde::{Deserialize, Serialize};
use warpline::{Value, state::Owned};

use crate::saved_at::SavedAt;

/// No slot, no queue.
pub(crate) const NONE: u32 = u32::MAX;

/// What a process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub(crate) enum Status {
    /// There is none.
    #[default]
    Free,
    /// It runs, or will before the event ends.
    Ready,
    /// It waits until a time.
    Holds,
    /// It waits in a queue.
    Queues,
    /// It waits until another process activates it.
    Passive,
}

/// The resources of which a process has a unit: up to four, in parts of a word, each plus 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held(u64);

impl Held {
    pub(crate) const NOTHING: Self = Self(0);
    const BITS: u32 = u16::BITS;
    const PART: u64 = u16::MAX as u64;

    const fn part(self, place: u32) -> u64 {
        self.0 >> (place * Self::BITS) & Self::PART
    }

    /// With one more unit; none if there are four already.
    #[inline]
    pub(crate) fn with(self, resource: usize) -> Option<Self> {
        let unit = resource as u64 + 1;
        if self.0 == 0 {
            return Some(Self(unit));
        }
        let place = (0..4).find(|&place| self.part(place) == 0)?;
        Some(Self(self.0 | unit << (place * Self::BITS)))
    }

    /// With one unit less; none if there is no such unit.
    #[inline]
    pub(crate) fn without(self, resource: usize) -> Option<Self> {
        let unit = resource as u64 + 1;
        if self.0 == unit {
            return Some(Self::NOTHING);
        }
        let place = (0..4).find(|&place| self.part(place) == unit)?;
        Some(Self(self.0 & !(Self::PART << (place * Self::BITS))))
    }

    /// A resource of which there is a unit.
    #[inline]
    pub(crate) fn any(self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        (0..4).map(|place| self.part(place)).find(|&unit| unit != 0).map(|unit| unit as usize - 1)
    }
}

/// A process, and where it waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slot<P> {
    /// None while it runs, and where no process is.
    pub(crate) process: Option<P>,
    /// Where the site was born, and its number there: no other process has it.
    pub(crate) entity: u64,
    /// What the process waits for in the container that it queues at.
    pub(crate) amount: f64,
    pub(crate) held: Held,
    /// How often a process went on here: a wake-up that is for an earlier wait has an older one.
    pub(crate) generation: u32,
    /// How many processes have left the slot.
    pub(crate) life: u32,
    pub(crate) queue: u32,
    /// The next one in its queue; of a slot that is free, the next free one.
    pub(crate) next: u32,
    /// The one before it in its queue; not defined for the first one.
    pub(crate) prev: u32,
    pub(crate) priority: i32,
    /// Which kind of process it is.
    pub(crate) kind: u16,
    pub(crate) status: Status,
    /// Whether the process looks at how its wait ends.
    pub(crate) is_heeded: bool,
    /// Whether it takes a unit of the resource that it queues for from another process.
    pub(crate) preempts: bool,
    /// Where the slot was last saved whole.
    #[serde(skip)]
    pub(crate) saved: SavedAt,
}

impl<P> Slot<P> {
    pub(crate) const fn new() -> Self {
        Self {
            process: None,
            entity: 0,
            amount: 0.0,
            held: Held::NOTHING,
            generation: 0,
            life: 0,
            queue: NONE,
            next: NONE,
            prev: NONE,
            priority: 0,
            kind: 0,
            status: Status::Free,
            is_heeded: false,
            preempts: false,
            saved: SavedAt::NEVER,
        }
    }

    /// Lets the process wait in a queue, between two others.
    #[inline]
    pub(crate) const fn wait_in(&mut self, queue: usize, priority: i32, prev: u32, next: u32) {
        self.queue = queue as u32;
        self.priority = priority;
        self.prev = prev;
        self.next = next;
        self.status = Status::Queues;
    }

    /// Takes a process in.
    #[inline]
    pub(crate) fn occupy(&mut self, entity: u64, kind: u16, process: P) {
        self.process = Some(process);
        self.entity = entity;
        self.kind = kind;
        self.held = Held::NOTHING;
        self.status = Status::Ready;
    }
}

const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn parts(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

impl<P: Value> Value for Slot<P> {
    const WORDS: usize = 7 + <Option<P>>::WORDS;
    const OWNS: bool = P::OWNS;

    #[inline]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        to[0] = self.entity;
        to[1] = self.amount.to_bits();
        to[2] = self.held.0;
        to[3] = pair(self.generation, self.life);
        to[4] = pair(self.queue, self.next);
        to[5] = pair(self.prev, self.priority as u32);
        let flags = u64::from(self.is_heeded) | u64::from(self.preempts) << 1;
        to[6] = u64::from(self.status as u8) | flags << 8 | u64::from(self.kind) << 16;
        self.process.put(&mut to[7..], owned);
    }

    #[inline]
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        let (generation, life) = parts(from[3]);
        let (queue, next) = parts(from[4]);
        let (prev, priority) = parts(from[5]);
        let status = match from[6] as u8 {
            0 => Status::Free,
            1 => Status::Ready,
            2 => Status::Holds,
            3 => Status::Queues,
            _ => Status::Passive,
        };
        Self {
            process: Value::get(&from[7..], owned),
            entity: from[0],
            amount: f64::from_bits(from[1]),
            held: Held(from[2]),
            generation,
            life,
            queue,
            next,
            prev,
            priority: priority as i32,
            kind: (from[6] >> 16) as u16,
            status,
            is_heeded: from[6] >> 8 & 1 != 0,
            preempts: from[6] >> 9 & 1 != 0,
            saved: SavedAt::NEVER,
        }
    }

    fn heap_bytes(&self) -> usize {
        self.process.heap_bytes()
    }
}
