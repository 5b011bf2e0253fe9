//! A facility of a site: what there is of it, and who waits for it.

use serde::{Deserialize, Serialize};
use warpline::{Level, Value, VirtualTime, state::Owned};

use crate::{saved_at::SavedAt, slot::NONE};

/// What a queue is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// The site has no facility of this number.
    #[default]
    Absent,
    Resource,
    Preemptive,
    Store,
    Container,
    Condition,
    /// Where processes wait to put something into a store or a container.
    Entrance,
}

/// A facility.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) kind: Kind,
    /// Which of the lists of items is its, if it is a store.
    pub(crate) items: u32,
    /// Where processes wait to put something in; from there, the facility.
    pub(crate) other_side: u32,
    /// What a container has room for.
    pub(crate) limit: f64,
    /// Units of a resource, room of a store.
    pub(crate) capacity: u32,
    /// Units that are held, or items that are there.
    pub(crate) busy: u32,
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) len: u32,
    /// The last one whose priority is 0.
    pub(crate) last_default: u32,
    /// How many units were ever given.
    pub(crate) given: u64,
    /// What a container has.
    pub(crate) amount: f64,
    pub(crate) in_use: Level,
    pub(crate) waiting: Level,
    /// Where it was last saved.
    #[serde(skip)]
    pub(crate) saved: SavedAt,
}

impl Default for Queue {
    fn default() -> Self {
        Self::new(Kind::Absent, 0, 0.0, 0.0)
    }
}

impl Queue {
    pub(crate) fn new(kind: Kind, capacity: u32, amount: f64, limit: f64) -> Self {
        Self {
            kind,
            items: NONE,
            other_side: NONE,
            limit,
            capacity,
            busy: 0,
            head: NONE,
            tail: NONE,
            len: 0,
            last_default: NONE,
            given: 0,
            amount,
            in_use: Level::from(amount),
            waiting: Level::default(),
            saved: SavedAt::NEVER,
        }
    }

    #[inline]
    pub(crate) const fn is_resource(&self) -> bool {
        matches!(self.kind, Kind::Resource | Kind::Preemptive)
    }

    #[inline]
    pub(crate) const fn is_store(&self) -> bool {
        matches!(self.kind, Kind::Store)
    }

    /// Whether it has a unit for somebody who does not wait yet.
    #[inline]
    pub(crate) const fn has_unit(&self) -> bool {
        self.busy < self.capacity && self.len == 0
    }

    /// Takes note of how much is in use, if that has changed.
    #[inline]
    pub(crate) fn observe(&mut self, now: VirtualTime) {
        let in_use = if self.kind == Kind::Container { self.amount } else { f64::from(self.busy) };
        if self.in_use.value() != in_use {
            self.in_use.set(in_use, now);
        }
    }
}

impl Value for Queue {
    const WORDS: usize = 5 + 2 * Level::WORDS;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        to[0] = pair(self.capacity, self.busy);
        to[1] = pair(self.head, self.tail);
        to[2] = pair(self.len, self.last_default);
        to[3] = self.given;
        to[4] = self.amount.to_bits();
        self.in_use.put(&mut to[5..], owned);
        self.waiting.put(&mut to[5 + Level::WORDS..], owned);
    }

    /// What is fixed is not there: [`restore`](Self::restore).
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        let parts = |word: u64| (word as u32, (word >> 32) as u32);
        let (capacity, busy) = parts(from[0]);
        let (head, tail) = parts(from[1]);
        let (len, last_default) = parts(from[2]);
        let in_use = Level::get(&from[5..], owned);
        let waiting = Level::get(&from[5 + Level::WORDS..], owned);
        Self {
            capacity,
            busy,
            head,
            tail,
            len,
            last_default,
            given: from[3],
            amount: f64::from_bits(from[4]),
            in_use,
            waiting,
            ..Self::default()
        }
    }
}

impl Queue {
    /// Goes back to what was saved.
    pub(crate) fn restore(&mut self, saved: Self) {
        let Self { kind, items, other_side, limit, .. } = *self;
        *self = Self { kind, items, other_side, limit, ..saved };
    }
}
