//! An LP as its worker sees it: its pending events, how far it may go, and what the receivers of
//! its events know of it.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use warpline_graph::EdgeId;

use super::channel_time::ChannelTime;
use crate::{event::Event, handling::Lp};

/// An event that waits at its receiver, and the edge that it takes a place of; none for an event
/// that the LP sent to itself.
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

/// An LP with its pending events and the state of its channels.
pub(super) struct LinkedLp<L, B> {
    pub(super) lp: Lp<L>,
    pub(super) pending: BinaryHeap<Reverse<Waiting<B>>>,
    /// What its last event has sent on edges that were full, and the null-message time of that
    /// event.
    pub(super) outbox: VecDeque<(EdgeId, Event<B>)>,
    pub(super) outbox_cause: ChannelTime,
    /// The EIT (earliest input time): nothing arrives before it any more.
    pub(super) eit: ChannelTime,
    /// The incoming edge with the least channel bound, which limits the EIT; none without edges.
    pub(super) lowest: Option<EdgeId>,
    /// The least lookahead of its incoming edges.
    pub(super) lookahead: f64,
    /// The null-message time that the receivers of its events know.
    pub(super) announced: ChannelTime,
    /// Its place in the queue of ready LPs; never if it is not in there.
    pub(super) queued: ChannelTime,
    /// The EIT that it had when it last requested a null message.
    pub(super) requested_at: Option<ChannelTime>,
    /// Whether another LP has requested a null message from it.
    pub(super) is_requested: bool,
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
            eit: if lowest.is_some() { ChannelTime::START } else { ChannelTime::NEVER },
            lowest,
            lookahead: lookahead.unwrap_or(0.0),
            announced: ChannelTime::START,
            queued: ChannelTime::NEVER,
            requested_at: None,
            is_requested: false,
            is_in_review: false,
            has_failed: false,
        }
    }

    /// Whether it is in the queue of ready LPs.
    #[inline]
    pub(super) fn is_queued(&self) -> bool {
        self.queued != ChannelTime::NEVER
    }

    /// The position of its next event; never if it has none.
    #[inline]
    pub(super) fn next(&self) -> ChannelTime {
        let first = self.pending.peek();
        first.map_or(ChannelTime::NEVER, |Reverse(first)| ChannelTime::of(&first.event.key))
    }

    /// Its null-message time: nothing that it will send has an earlier cause. Events at the end of
    /// the run or later are never handled, so they send nothing.
    pub(super) fn null_message_time(&self, end: f64) -> ChannelTime {
        if self.has_failed {
            return self.announced;
        }
        if !self.outbox.is_empty() {
            return self.outbox_cause;
        }

        let next = self.next().min(self.eit);
        if next.is_before(end) { next.as_cause() } else { ChannelTime::NEVER }
    }

    /// Its null-message time, if that has grown and its receivers should know it. They need not
    /// know a time that has grown by steps alone because the EIT has: in a cycle of links without
    /// lookahead the LPs would send each other null messages without end.
    pub(super) fn unannounced(&self, end: f64) -> Option<ChannelTime> {
        let time = self.null_message_time(end);
        debug_assert!(time >= self.announced, "CMB-B: {time:?} after {:?}", self.announced);
        let is_own = !self.outbox.is_empty() || self.next() <= self.eit;
        let has_grown = time > self.announced && (is_own || time.is_later_than(self.announced));
        has_grown.then_some(time)
    }
}
