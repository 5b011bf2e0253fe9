//! The events that schedules see: the newest ones, with what each of them follows.
//!
//! [`Profiler`](super::Profiler) fills the window; each [`Schedule`](super::schedule::Schedule)
//! reads it. Events are called by their numbers in the order of keys.
//!
//! # Invariants
//!
//! - **WINDOW-A.** The window has the events from `first` up to `end`, at most as many as it has
//!   places.
//! - **WINDOW-B.** What has left the window is done in every schedule, and so are its messages: an
//!   event that follows it need not wait for it.

use warpline_core::LpId;

/// No event.
pub(super) const NONE: u64 = u64::MAX;

/// An event, and its neighbors in the window: [`NONE`] where there is no such event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) lp: LpId,
    pub(super) cost: u64,
    /// The event before it at its LP.
    pub(super) before: u64,
    /// The event that sent it, of another LP.
    pub(super) cause: u64,
    /// The event after it at its LP.
    pub(super) after: u64,
    /// The first one that it sent to another LP.
    pub(super) effect: u64,
    /// The next one that its cause sent to another LP.
    pub(super) sibling: u64,
}

impl Node {
    /// An event without neighbors.
    const fn alone(lp: LpId, cost: u64) -> Self {
        Self { lp, cost, before: NONE, cause: NONE, after: NONE, effect: NONE, sibling: NONE }
    }
}

/// The newest events.
#[derive(Debug)]
pub(super) struct Window {
    nodes: Vec<Node>,
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Window {
    /// A window of `places` events, a power of two of at least 2.
    pub(super) fn new(places: usize) -> Self {
        assert!(places.is_power_of_two() && places >= 2, "a number is masked to find its place");
        Self { nodes: vec![Node::alone(LpId::new(0), 0); places], first: 0, end: 0 }
    }

    pub(super) fn places(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.end - self.first == self.places() as u64
    }

    /// The first event that stays when the older half leaves a full window.
    pub(super) fn middle(&self) -> u64 {
        self.first + self.places() as u64 / 2
    }

    /// Lets events leave, up to this one.
    pub(super) fn leave(&mut self, first: u64) {
        debug_assert!((self.first..=self.end).contains(&first), "WINDOW-A");
        self.first = first;
    }

    /// The place of an event.
    #[inline]
    pub(super) fn place(&self, number: u64) -> usize {
        // The lower bits, which are all that is needed.
        number as usize & (self.nodes.len() - 1)
    }

    #[inline]
    pub(super) fn node(&self, number: u64) -> &Node {
        debug_assert!((self.first..self.end).contains(&number), "WINDOW-A");
        &self.nodes[self.place(number)]
    }

    /// Adds the next event, to a window that is not full.
    pub(super) fn push(&mut self, lp: LpId, cost: u64, before: Option<u64>, cause: Option<u64>) {
        debug_assert!(!self.is_full(), "WINDOW-A");
        let number = self.end;
        let here = |event: Option<u64>| event.filter(|&event| event >= self.first);
        let (before, cause) = (here(before), here(cause));
        let mut node = Node::alone(lp, cost);
        if let Some(before) = before {
            debug_assert!(before < number, "WINDOW-A: an event before one that is earlier");
            let place = self.place(before);
            debug_assert_eq!(self.nodes[place].after, NONE, "two events follow the same of an LP");
            self.nodes[place].after = number;
            node.before = before;
        }
        if let Some(cause) = cause {
            let place = self.place(cause);
            node.sibling = std::mem::replace(&mut self.nodes[place].effect, number);
            node.cause = cause;
        }
        let place = self.place(number);
        self.nodes[place] = node;
        self.end += 1;
    }
}
