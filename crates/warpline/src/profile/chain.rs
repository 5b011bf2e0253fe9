//! The longest chain of events, found while they are handled.
//!
//! An event follows the event before it at its LP, and the event that sent it. Both have smaller
//! keys, so the end of the longest chain that ends with an event is known when it is handled.

use warpline_core::LpId;

use super::causes::Cause;

/// An LP, after its last event.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// The number of that event plus one; 0 if there was none.
    number_and_one: u64,
    /// The end of the longest chain that ends with it.
    finish: u64,
}

/// The chains of the events so far.
#[derive(Debug)]
pub(super) struct Chain {
    lps: Vec<Last>,
    latency: u64,
    /// How many events there were.
    pub(super) events: u64,
    /// The sum of their costs.
    pub(super) work: u64,
    /// The end of the longest chain.
    pub(super) length: u64,
}

/// An event at the end of its longest chain.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) itself: Cause,
    /// The number of the event before it at its LP.
    pub(super) before: Option<u64>,
}

impl Chain {
    /// Chains in which a message between two LPs takes `latency`.
    pub(super) fn new(latency: u64) -> Self {
        Self { lps: Vec::new(), latency, events: 0, work: 0, length: 0 }
    }

    /// The next event in the order of keys; `cause` is another LP's event that sent it.
    pub(super) fn add(&mut self, lp: LpId, cost: u64, cause: Option<Cause>) -> Link {
        if lp.index() >= self.lps.len() {
            self.lps.resize(lp.index() + 1, Last::default());
        }
        let last = &mut self.lps[lp.index()];
        let arrival = cause.map_or(0, |cause| cause.finish.saturating_add(self.latency));
        let finish = last.finish.max(arrival).saturating_add(cost);
        debug_assert!(finish >= last.finish, "SCHEDULE-A: an event ends before the one before it");
        let before = last.number_and_one.checked_sub(1);
        let itself = Cause { number: self.events, finish };
        *last = Last { number_and_one: self.events + 1, finish };
        self.events += 1;
        self.work = self.work.saturating_add(cost);
        self.length = self.length.max(finish);
        Link { itself, before }
    }
}
