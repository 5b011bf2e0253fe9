//! Channel bounds and EITs: how far an LP may go.
//!
//! The bound of a channel grows with every event and every null message that arrives on it. The EIT
//! (earliest input time) of an LP is the least bound of its channels; the LP may handle the events
//! before it. [`NullMessageWorker`] calls this for everything that arrives.

use std::cmp::Reverse;

use warpline_core::Model;
use warpline_graph::{Clock, EdgeId, NodeId};
use warpline_net::NetError;

use super::{
    channel_event::ChannelEvent, channel_time::ChannelTime, lp::Waiting, worker::NullMessageWorker,
};
use crate::{
    SynchronizationKind,
    event::{Buffer, Event, Message},
    local_lp::LocalLp,
};

impl<M, B> NullMessageWorker<'_, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    /// An event has arrived at an LP of this worker.
    #[inline]
    pub(super) fn arrive(&mut self, local: LocalLp, edge: EdgeId, arrived: ChannelEvent<B>) {
        let ChannelEvent { event, cause } = arrived;
        let at = ChannelTime::of(&event.key);
        let topology = self.shared.plan.topology();
        let ends = [topology.from(edge).0, topology.to(edge).0];
        if [event.key.sender().get(), event.to.get()] != ends || at < self.lps[local.index()].eit {
            return self.refuse_arrival(local, ends, &event);
        }
        if self.remote.is_some() {
            self.reserve_for_remote(edge, &event);
        }
        let lp = &mut self.lps[local.index()];
        if lp.has_failed {
            self.graph.free(edge);
            self.guard(|_| drop(event));
            return;
        }
        lp.pending.push(Reverse(Waiting { event, edge: Some(edge) }));
        self.tally.pending += 1;
        self.tally.peak = self.tally.peak.max(self.tally.pending);
        let is_first = lp.next() == at;
        self.raise_channel_bound(edge, cause);
        if is_first {
            self.enqueue(local);
            if self.shared.common.mode == SynchronizationKind::NullMessagesOnDemand {
                self.note_for_review(local);
            }
        }
    }

    /// CMB-A: an event that arrives too early, or on a link that is not its own, shows a bug, here
    /// or at another rank.
    #[cold]
    fn refuse_arrival(&self, local: LocalLp, [from, to]: [u32; 2], event: &Event<B>) {
        let (Event { key, to: receiver, .. }, eit) = (event, self.lps[local.index()].eit);
        self.abandon(NetError::Failed(format!(
            "CMB-A: the event {key:?} for {receiver:?} arrived on the link from LP {from} to \
             LP {to}, where nothing before {eit:?} may arrive"
        )));
    }

    /// A null message has arrived.
    pub(super) fn hear_null_message(&mut self, clock: &Clock) {
        let time = ChannelTime::from_words(clock.words);
        match clock.edge() {
            Some(edge) => self.raise_channel_bound(edge, time),
            None => {
                let edges = self.shared.plan.listeners(clock.node(), self.me);
                edges.iter().for_each(|&edge| self.raise_channel_bound(edge, time));
            }
        }
    }

    /// The sender on an edge has reached a null-message time.
    #[inline]
    fn raise_channel_bound(&mut self, edge: EdgeId, time: ChannelTime) {
        let plan = &self.shared.plan;
        let reached = time.after(self.shared.lookaheads[edge.index()]);
        let bound = &mut self.channel_bounds[plan.place(edge)];
        if reached <= *bound {
            return;
        }
        *bound = reached;
        let node = plan.topology().to(edge);
        debug_assert_eq!(plan.worker_of(node), self.me, "CMB-A: a channel of another worker");
        let local = self.shared.local_of(node);
        // While another edge has the least bound, the EIT stays as it is.
        if self.lps[local.index()].lowest == Some(edge) {
            self.find_eit(local, node);
        }
    }

    /// Computes the EIT of an LP, and which edge limits it.
    fn find_eit(&mut self, local: LocalLp, node: NodeId) {
        let plan = &self.shared.plan;
        let bound_of = |edge: &EdgeId| self.channel_bounds[plan.place(*edge)];
        let lowest = plan.topology().incoming(node).iter().copied().min_by_key(bound_of);
        let eit = lowest.as_ref().map_or(ChannelTime::NEVER, bound_of);

        self.lps[local.index()].lowest = lowest;
        self.raise_eit(local, eit);
    }

    /// Nothing arrives at an LP before this any more.
    pub(super) fn raise_eit(&mut self, local: LocalLp, eit: ChannelTime) {
        let lp = &mut self.lps[local.index()];
        if eit > lp.eit {
            lp.eit = eit;
            self.enqueue(local);
            self.note_for_review(local);
        }
    }

    /// Whether an LP may handle its next event.
    #[inline]
    pub(super) fn is_ready(&self, local: LocalLp) -> bool {
        let lp = &self.lps[local.index()];
        let Some(Reverse(Waiting { event, .. })) = lp.pending.peek() else { return false };
        ChannelTime::of(&event.key) < lp.eit
            && event.key.time_value() < self.end
            && lp.outbox.is_empty()
            && self.is_before_failure(&event.key)
            && !lp.has_failed
    }

    /// Puts an LP into the queue of ready LPs, if it is ready.
    #[inline]
    pub(super) fn enqueue(&mut self, local: LocalLp) {
        if self.is_ready(local) {
            let lp = &mut self.lps[local.index()];
            let at = lp.next();
            debug_assert!(at < lp.eit, "CMB-C: an LP is ready before its event is safe");
            if at < lp.queued {
                lp.queued = at;
                self.ready.push(at.as_ready(local));
            }
        }
    }
}
