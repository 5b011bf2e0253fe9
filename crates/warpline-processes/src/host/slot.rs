//! A slot: where a process lives while it is at a site.

use serde::{Deserialize, Serialize};
use warpline::{
    Value,
    state::Owned,
};

use super::saving::SavedAt;

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

/// A process, and where it waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slot<P> {
    /// None while it runs, and where no process is.
    pub(crate) process: Option<P>,
    /// Where the site was born, and its number there: no other process has it.
    pub(crate) entity: u64,
    /// What the process waits for in the container that it queues at.
    pub(crate) amount: f64,
    /// The resources of which it has a unit, plus 1 each.
    pub(crate) held: [u16; 4],
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
    pub(crate) status: Status,
    /// Whether the process looks at how its wait ends.
    pub(crate) is_heeded: bool,
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
            held: [0; 4],
            generation: 0,
            life: 0,
            queue: NONE,
            next: NONE,
            prev: NONE,
            priority: 0,
            status: Status::Free,
            is_heeded: false,
            saved: SavedAt::NEVER,
        }
    }

    /// Takes note of a unit of a resource; false if there is no room for more.
    #[inline]
    pub(crate) fn hold(&mut self, resource: usize) -> bool {
        let Some(place) = self.held.iter_mut().find(|held| **held == 0) else { return false };
        *place = resource as u16 + 1;
        true
    }

    /// Forgets a unit of a resource; false if there is none.
    #[inline]
    pub(crate) fn give_back(&mut self, resource: usize) -> bool {
        let Some(place) = self.held.iter_mut().find(|held| **held == resource as u16 + 1) else {
            return false;
        };
        *place = 0;
        true
    }

    /// A resource of which it has a unit.
    #[inline]
    pub(crate) fn any_held(&self) -> Option<usize> {
        if self.held == [0; 4] {
            return None;
        }
        self.held.iter().find(|held| **held != 0).map(|held| usize::from(*held) - 1)
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
        let held = self.held.map(u64::from);
        to[0] = self.entity;
        to[1] = self.amount.to_bits();
        to[2] = held[0] | held[1] << 16 | held[2] << 32 | held[3] << 48;
        to[3] = pair(self.generation, self.life);
        to[4] = pair(self.queue, self.next);
        to[5] = pair(self.prev, self.priority as u32);
        to[6] = u64::from(self.status as u8) | u64::from(self.is_heeded) << 8;
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
            held: std::array::from_fn(|place| (from[2] >> (16 * place)) as u16),
            generation,
            life,
            queue,
            next,
            prev,
            priority: priority as i32,
            status,
            is_heeded: from[6] >> 8 != 0,
            saved: SavedAt::NEVER,
        }
    }

    fn heap_bytes(&self) -> usize {
        self.process.heap_bytes()
    }
}
