//! The edges that lead to one worker: queues that share one store of events.
//!
//! Used by one worker's handle only. The store never shrinks, so nothing is allocated once it has
//! been as full as it gets.

use std::ops::Deref;

use crate::cache::SharedEvent;

/// An event that was taken from an edge.
#[derive(Debug)]
pub enum Taken<E> {
    /// The only copy.
    Own(E),
    /// Other edges of the same worker have it, too.
    Shared(SharedEvent<E>),
}

impl<E> Deref for Taken<E> {
    type Target = E;

    #[inline]
    fn deref(&self) -> &E {
        match self {
            Self::Own(event) => event,
            Self::Shared(event) => event,
        }
    }
}

impl<E: Clone> Taken<E> {
    /// The event itself, cloned if other edges still have it.
    #[must_use]
    pub fn into_inner(self) -> E {
        match self {
            Self::Own(event) => event,
            Self::Shared(mut event) => event.take_last().unwrap_or_else(|| E::clone(&event)),
        }
    }
}

/// Stands for no index.
const NONE: u32 = u32::MAX;

/// One edge: a linked list through the store.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    len: u32,
}

/// The queues of all edges that lead to one worker.
#[derive(Debug)]
pub(crate) struct Fifos<E> {
    queues: Vec<Queue>,
    /// Each entry is an event and the index of the next one of its edge, or free and the index of
    /// the next free entry.
    store: Vec<(Option<Taken<E>>, u32)>,
    free: u32,
}

impl<E> Fifos<E> {
    pub(crate) fn new(edges: usize) -> Self {
        let queues = vec![Queue { first: NONE, last: NONE, len: 0 }; edges];
        Self { queues, store: Vec::new(), free: NONE }
    }

    /// Appends an event; returns whether the edge was empty.
    #[inline]
    pub(crate) fn push(&mut self, edge: usize, event: Taken<E>) -> bool {
        let place = self.free;
        let place = if place == NONE {
            self.store.push((Some(event), NONE));
            self.store.len() as u32 - 1
        } else {
            self.free = std::mem::replace(&mut self.store[place as usize], (Some(event), NONE)).1;
            place
        };
        let queue = &mut self.queues[edge];
        let was_empty = queue.len == 0;
        if was_empty {
            queue.first = place;
        } else {
            self.store[queue.last as usize].1 = place;
        }
        queue.last = place;
        queue.len += 1;
        was_empty
    }

    /// Takes the first event.
    #[inline]
    pub(crate) fn pop(&mut self, edge: usize) -> Option<Taken<E>> {
        let queue = &mut self.queues[edge];
        if queue.len == 0 {
            return None;
        }
        let place = queue.first;
        let (event, next) = &mut self.store[place as usize];
        queue.first = std::mem::replace(next, self.free);
        queue.len -= 1;
        self.free = place;
        event.take()
    }

    pub(crate) fn peek(&self, edge: usize) -> Option<&E> {
        let queue = &self.queues[edge];
        let first = (queue.len > 0).then_some(queue.first)?;
        self.store[first as usize].0.as_deref()
    }

    pub(crate) fn len(&self, edge: usize) -> usize {
        self.queues[edge].len as usize
    }
}
