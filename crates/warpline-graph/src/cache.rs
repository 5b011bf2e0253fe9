//! Storage for events that several edges of one worker share (caching, section 4.2 of the paper).
//!
//! The handle puts each such event into a *slot* once, and each of the edges gets a handle on it. A
//! slot whose last handle is gone is used again: its event is dropped then, and its memory stays.
//! Slots for the first events are made with the graph, which knows who shares; more are made when
//! more events wait than ever before, as in the store of the [edges](super::fifo).
//!
//! # Invariants
//!
//! - **CACHE-A.** A slot is either free and empty, or it has an event and at least one handle.

use std::{
    cell::RefCell,
    fmt,
    ops::Deref,
    rc::{Rc, Weak},
};

/// The free slots.
type Free<E> = RefCell<Vec<Rc<Slot<E>>>>;

/// A place for an event.
struct Slot<E> {
    event: Option<E>,
    /// Where it goes when its last handle is gone. Slots outlive the graph if handles do.
    home: Weak<Free<E>>,
}

/// The slots of one worker.
pub(crate) struct Cache<E>(Rc<Free<E>>);

impl<E> Cache<E> {
    /// A cache with this number of slots.
    pub(crate) fn new(slots: usize) -> Self {
        let free = Rc::new(Free::default());
        let make = || Rc::new(Slot { event: None, home: Rc::downgrade(&free) });
        free.borrow_mut().extend(std::iter::repeat_with(make).take(slots));
        Self(free)
    }

    /// Puts an event into a slot.
    #[inline]
    pub(crate) fn store(&self, event: E) -> SharedEvent<E> {
        let free = self.0.borrow_mut().pop();
        let mut slot =
            free.unwrap_or_else(|| Rc::new(Slot { event: None, home: Rc::downgrade(&self.0) }));
        let empty = Rc::get_mut(&mut slot).expect("CACHE-A: a free slot has no handles");
        debug_assert!(empty.event.is_none(), "CACHE-A: a free slot is empty");
        empty.event = Some(event);
        SharedEvent(slot)
    }
}

impl<E> fmt::Debug for Cache<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("free", &self.0.borrow().len()).finish()
    }
}

/// A handle on an event that other edges of the same worker have, too.
pub struct SharedEvent<E>(Rc<Slot<E>>);

impl<E> SharedEvent<E> {
    /// Another handle on the event.
    #[inline]
    pub(crate) fn share(&self) -> Self {
        Self(Rc::clone(&self.0))
    }

    /// The event itself, if this is its last handle.
    pub(crate) fn take_last(&mut self) -> Option<E> {
        Rc::get_mut(&mut self.0)?.event.take()
    }
}

impl<E> Deref for SharedEvent<E> {
    type Target = E;

    #[inline]
    fn deref(&self) -> &E {
        self.0.event.as_ref().expect("CACHE-A: a slot with a handle has an event")
    }
}

impl<E> Drop for SharedEvent<E> {
    #[inline]
    fn drop(&mut self) {
        let Some(slot) = Rc::get_mut(&mut self.0) else { return };
        slot.event = None;
        if let Some(home) = slot.home.upgrade() {
            // This handle has a second reference until it is gone, which is before the next event.
            home.borrow_mut().push(Rc::clone(&self.0));
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for SharedEvent<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.event.fmt(f)
    }
}
