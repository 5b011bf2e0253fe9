//! Bounds and clocks: how far a process may go, and what it tells others of how far it has come.

use std::cmp::Reverse;

use warpline_core::Model;
use warpline_graph::{Clock, EdgeId, NodeId};
use warpline_net::NetError;

use super::{
    channel_time::ChannelTime, detection::ASK, lp::Waiting, remote::ChannelEvent, worker::Worker,
};
use crate::{
    Synchronization,
    event::{Buffer, Event, Message},
};

/// Null messages that a worker may send between two events: so many for each of its lps, and
/// so many more.
const ALLOWANCE_EACH: usize = 4;
const ALLOWANCE_LEAST: usize = 16;

impl<M, B> Worker<'_, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    pub(super) fn renew_allowance(&mut self) {
        self.allowance = ALLOWANCE_LEAST + ALLOWANCE_EACH * self.lps.len();
    }

    /// An event has come to a process.
    #[inline]
    pub(super) fn arrive(&mut self, local: usize, edge: EdgeId, departure: ChannelEvent<B>) {
        let ChannelEvent { event, cause } = departure;
        let at = ChannelTime::of(&event.key);
        let (shared, topology) = (self.shared, self.shared.plan.topology());
        let ends = [topology.from(edge).0, topology.to(edge).0];
        if [event.key.sender().get(), event.to.get()] != ends || at < self.lps[local].bound {
            // CMB-A: there is a bug, here or at another rank.
            let Event { key, to, .. } = &event;
            let what =
                format!("{key:?} came to {to:?} on the link {ends:?}, too late or by mistake");
            return self.lose(NetError::Failed(what));
        }
        if shared.common.memory.is_limited()
            && !shared.is_here(shared.plan.worker_of(topology.from(edge)))
        {
            self.guard(|worker| {
                let error_context = &mut worker.send_buffer.error_context;
                (error_context.lp, error_context.event) =
                    (Some(event.key.sender()), Some(event.key));
                shared.common.memory.reserve(error_context);
            });
        }
        let process = &mut self.lps[local];
        if process.has_failed {
            self.graph.free(edge);
            self.guard(|_| drop(event));
            return;
        }
        process.pending.push(Reverse(Waiting { event, edge: Some(edge) }));
        self.tally.pending += 1;
        self.tally.peak = self.tally.peak.max(self.tally.pending);
        let is_first = process.next() == at;
        self.raise(edge, cause);
        if is_first {
            self.enqueue(local);
            if self.shared.common.mode == Synchronization::NullMessagesOnDemand {
                self.note_for_review(local);
            }
        }
    }

    /// The sender of what comes on an edge has reached a clock.
    #[inline]
    fn raise(&mut self, edge: EdgeId, clock: ChannelTime) {
        let plan = &self.shared.plan;
        let reached = clock.after(self.shared.lookaheads[edge.index()]);
        let bound = &mut self.bounds[plan.place(edge)];
        if reached <= *bound {
            return;
        }
        *bound = reached;
        let node = plan.topology().to(edge);
        let local = self.shared.local_of(node);
        // The others hold the bound back no less than before.
        if self.lps[local].lowest == Some(edge) {
            self.find_bound(local, node);
        }
    }

    /// Looks for the edge that holds the bound of a process back.
    fn find_bound(&mut self, local: usize, node: NodeId) {
        let plan = &self.shared.plan;
        let bound_of = |edge: &EdgeId| self.bounds[plan.place(*edge)];
        let lowest = plan.topology().incoming(node).iter().copied().min_by_key(bound_of);
        let bound = lowest.as_ref().map_or(ChannelTime::NEVER, bound_of);
        self.lps[local].lowest = lowest;
        self.raise_bound(local, bound);
    }

    /// Nothing comes to a process before this any more.
    pub(super) fn raise_bound(&mut self, local: usize, bound: ChannelTime) {
        let process = &mut self.lps[local];
        if bound > process.bound {
            process.bound = bound;
            self.enqueue(local);
            self.note_for_review(local);
        }
    }

    /// Puts a process in the queue of those that are ready, if it is.
    #[inline]
    pub(super) fn enqueue(&mut self, local: usize) {
        if self.is_ready(local) {
            let process = &mut self.lps[local];
            let at = process.next();
            if at < process.queued {
                process.queued = at;
                self.ready.push(Reverse((at, local as u32)));
            }
        }
    }

    /// A process has had its turn: tells how far it has come, if it has to wait now.
    #[inline]
    pub(super) fn finish_turn(&mut self, local: usize) {
        if self.lps[local].queued != ChannelTime::NEVER {
            return;
        }
        match self.shared.common.mode {
            Synchronization::DeadlockRecovery => {}
            Synchronization::NullMessagesOnDemand => self.note_for_review(local),
            _ => self.publish(local),
        }
    }

    /// Looks at the process again when there is nothing to handle.
    #[inline]
    pub(super) fn note_for_review(&mut self, local: usize) {
        let has_clocks = self.has_clocks();
        let process = &mut self.lps[local];
        if has_clocks && !process.is_in_review {
            process.is_in_review = true;
            self.review.push_back(local as u32);
        }
    }

    /// Tells clocks that have grown, and asks for others, until a process is ready; says whether
    /// there was anything to look at.
    pub(super) fn review_clocks(&mut self) -> bool {
        let mut any = false;
        while self.ready.is_empty() && self.allowance > 0 {
            let Some(local) = self.review.pop_front() else { break };
            let local = local as usize;
            any = true;
            self.lps[local].is_in_review = false;
            match self.shared.common.mode {
                Synchronization::NullMessagesOnDemand => self.answer_and_ask(local),
                _ => self.publish(local),
            }
            self.settle();
        }
        any
    }

    /// Tells the receivers of a process's events its clock, if that has grown.
    fn publish(&mut self, local: usize) {
        let news = self.lps[local].news(self.shared.common.end);
        if let Some(clock) = news.filter(|_| !self.graph.is_freezing()) {
            self.lps[local].published = clock;
            self.lps[local].is_asked = false;
            let node = self.node_of(local);
            let told = self.graph.publish(node, clock.to_words());
            self.tally.null_messages += told as u64;
            self.allowance = self.allowance.saturating_sub(told);
        }
    }

    /// On demand: answers who waits for this process, and asks the one that it waits for.
    fn answer_and_ask(&mut self, local: usize) {
        if self.lps[local].is_asked {
            self.publish(local);
        }
        let process = &self.lps[local];
        // One that has an event asks for itself, one that is asked for another.
        let waits = process.is_asked || process.next().is_before(self.shared.common.end);
        let is_held_back = process.outbox.is_empty() && process.bound <= process.next();
        let Some(edge) = process.lowest.filter(|_| waits && is_held_back) else { return };
        if process.has_failed || process.asked_at == Some(process.bound) {
            return;
        }
        self.lps[local].asked_at = Some(process.bound);
        self.allowance = self.allowance.saturating_sub(1);
        let sender = self.shared.plan.topology().from(edge);
        let home = self.shared.plan.worker_of(sender);
        if home == self.me {
            self.hear_question(sender);
        } else {
            let mut words = [0; _];
            words[..2].copy_from_slice(&[ASK, u64::from(sender.0)]);
            self.graph.send_control(home, words);
        }
    }

    /// Somebody waits for the clock of a process of this worker's.
    pub(super) fn hear_question(&mut self, node: NodeId) {
        if self.shared.plan.worker_of(node) == self.me {
            let local = self.shared.local_of(node);
            if let Some(process) = self.lps.get_mut(local) {
                process.is_asked = true;
                self.note_for_review(local);
            }
        }
    }

    /// Somebody's clock has grown.
    pub(super) fn hear_clock(&mut self, clock: &Clock) {
        let reached = ChannelTime::from_words(clock.words);
        match clock.edge() {
            Some(edge) => self.raise(edge, reached),
            None => {
                let edges = self.shared.plan.listeners(clock.node(), self.me);
                edges.iter().for_each(|&edge| self.raise(edge, reached));
            }
        }
    }

    /// A process of this worker's as a node of the event graph.
    pub(super) fn node_of(&self, local: usize) -> NodeId {
        NodeId(self.shared.residents_of(self.me)[local].get())
    }
}
