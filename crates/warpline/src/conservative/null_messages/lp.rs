//! A process as its worker sees it: what it waits with, how far it may go, and what others know of
//! it.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use warpline_graph::EdgeId;

use super::channel_time::ChannelTime;
use crate::{event::Event, handling::Lp};

/// An event that waits at its receiver, and the edge whose room it takes; none for what it sent
/// itself.
pub(super) struct Waiting<B> {
    pub(super) event: Event<B>,
    pub(super) edge: Option<EdgeId>,
}

impl<B> PartialEq for Waiting<B> {
    fn eq(&self, other: &Self) -> bool {
        self.event == other.event
    }
}

impl<B> Eq for Waiting<B> {}

impl<B> PartialOrd for Waiting<B> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<B> Ord for Waiting<B> {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.event.cmp(&other.event)
    }
}

/// See the module.
pub(super) struct LinkedLp<L, B> {
    pub(super) lp: Lp<L>,
    pub(super) pending: BinaryHeap<Reverse<Waiting<B>>>,
    /// What its last event has sent and found no room for, and the clock of that event.
    pub(super) outbox: VecDeque<(EdgeId, Event<B>)>,
    pub(super) outbox_cause: ChannelTime,
    /// Nothing arrives before this any more.
    pub(super) bound: ChannelTime,
    /// The incoming edge that holds the bound back, if it has any.
    pub(super) lowest: Option<EdgeId>,
    /// The least lookahead of its incoming edges.
    pub(super) lookahead: f64,
    /// The clock that the receivers of its events know.
    pub(super) published: ChannelTime,
    /// Where it is in the queue of those that are ready; never if it is not.
    pub(super) queued: ChannelTime,
    /// The bound that it had when it asked for more.
    pub(super) asked_at: Option<ChannelTime>,
    /// Whether somebody waits for its clock.
    pub(super) is_asked: bool,
    pub(super) is_in_review: bool,
    pub(super) has_failed: bool,
}

impl<L, B> LinkedLp<L, B> {
    pub(super) fn new(lp: Lp<L>, lookahead: Option<f64>, lowest: Option<EdgeId>) -> Self {
        Self {
            lp,
            pending: BinaryHeap::new(),
            outbox: VecDeque::new(),
            outbox_cause: ChannelTime::START,
            bound: if lowest.is_some() { ChannelTime::START } else { ChannelTime::NEVER },
            lowest,
            lookahead: lookahead.unwrap_or(0.0),
            published: ChannelTime::START,
            queued: ChannelTime::NEVER,
            asked_at: None,
            is_asked: false,
            is_in_review: false,
            has_failed: false,
        }
    }

    /// Where its next event is; never if it has none.
    #[inline]
    pub(super) fn next(&self) -> ChannelTime {
        self.pending
            .peek()
            .map_or(ChannelTime::NEVER, |Reverse(first)| ChannelTime::of(&first.event.key))
    }

    /// Its clock: no cause of what it will send is before that. Events at the end are never
    /// handled.
    pub(super) fn clock(&self, end: f64) -> ChannelTime {
        if self.has_failed {
            return self.published;
        }
        if !self.outbox.is_empty() {
            return self.outbox_cause;
        }
        let next = self.next().min(self.bound);
        if next.is_before(end) { next.as_cause() } else { ChannelTime::NEVER }
    }

    /// Its clock, if its receivers should hear of it: it has grown. That it has grown by steps
    /// alone, because its bound has, is no news: in a cycle of links without lookahead the
    /// processes would tell each other so without end.
    pub(super) fn news(&self, end: f64) -> Option<ChannelTime> {
        let clock = self.clock(end);
        debug_assert!(clock >= self.published, "CMB-B: {clock:?} after {:?}", self.published);
        let is_own = !self.outbox.is_empty() || self.next() <= self.bound;
        let has_grown = clock > self.published && (is_own || clock.is_later_than(self.published));
        has_grown.then_some(clock)
    }
}
