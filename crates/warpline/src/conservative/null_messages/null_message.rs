//! Null messages: when an LP tells the receivers of its events how far it has come, and when it
//! requests that from others.
//!
//! A null message carries the *null-message time* of its sender, a lower bound on the causes of all
//! that the sender will still send. Each receiver adds the lookahead of the link, which gives the
//! EOT (earliest output time) of the sender on that link: the channel bound (see `bounds`).
//!
//! LPs whose null-message time may have grown are noted for review; [`NullMessageWorker`] reviews
//! them when no LP is ready.

use warpline_core::Model;
use warpline_graph::NodeId;

use super::{reports::REQUEST, worker::NullMessageWorker};
use crate::{
    SynchronizationKind,
    event::{Buffer, Message},
    local_lp::LocalLp,
    timeline::Phase,
};

/// The null messages that a worker may send between two events, for each of its LPs.
const ALLOWANCE_EACH: usize = 4;
/// The same, for each worker in addition.
const ALLOWANCE_LEAST: usize = 16;

impl<M, B> NullMessageWorker<'_, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    pub(super) fn renew_allowance(&mut self) {
        self.allowance = ALLOWANCE_LEAST + ALLOWANCE_EACH * self.lps.len();
    }

    /// Whether this algorithm has null messages.
    #[inline]
    fn has_null_messages(&self) -> bool {
        self.shared.common.mode != SynchronizationKind::DeadlockRecovery
    }

    /// An LP has had its turn: it sends null messages if it has to wait now.
    #[inline]
    pub(super) fn finish_turn(&mut self, local: LocalLp) {
        if self.lps[local.index()].is_queued() {
            return;
        }
        match self.shared.common.mode {
            SynchronizationKind::DeadlockRecovery => {}
            SynchronizationKind::NullMessagesOnDemand => self.note_for_review(local),
            _ => self.send_null_messages(local),
        }
    }

    /// Notes an LP, to look at it again when no LP is ready.
    #[inline]
    pub(super) fn note_for_review(&mut self, local: LocalLp) {
        let has_null_messages = self.has_null_messages();
        let lp = &mut self.lps[local.index()];
        if has_null_messages && !lp.is_in_review {
            lp.is_in_review = true;
            self.review.push_back(local);
        }
    }

    /// Reviews LPs until one of them is ready; returns whether there was any to review.
    pub(super) fn review_lps(&mut self) -> bool {
        let mut any = false;
        while self.ready.is_empty() && self.allowance > 0 {
            let Some(local) = self.review.pop_front() else { break };
            if !any {
                self.go_to(Phase::NullMessages);
            }
            any = true;
            debug_assert!(
                self.lps[local.index()].is_in_review,
                "LP {local} is in the review twice"
            );
            self.lps[local.index()].is_in_review = false;
            match self.shared.common.mode {
                SynchronizationKind::NullMessagesOnDemand => self.answer_and_request(local),
                _ => self.send_null_messages(local),
            }
            self.settle();
        }
        any
    }

    /// Sends null messages to the receivers of an LP's events, if its null-message time has grown.
    fn send_null_messages(&mut self, local: LocalLp) {
        let time = self.lps[local.index()].unannounced(self.end);
        if let Some(time) = time.filter(|_| !self.graph.is_freezing()) {
            debug_assert!(
                time > self.lps[local.index()].announced,
                "CMB-B: a time is announced again"
            );
            self.lps[local.index()].announced = time;
            self.lps[local.index()].is_requested = false;
            let node = self.node_of(local);
            let sent = self.graph.publish(node, time.to_words());
            self.tally.null_messages += sent as u64;
            self.allowance = self.allowance.saturating_sub(sent);
        }
    }

    /// On demand: answers LPs that wait for this one, and requests a null message from the LP that
    /// this one waits for.
    fn answer_and_request(&mut self, local: LocalLp) {
        if self.lps[local.index()].is_requested {
            self.send_null_messages(local);
        }
        let lp = &self.lps[local.index()];
        // An LP with an event requests for itself; one that is requested does so for another LP.
        let waits = lp.is_requested || lp.next().is_before(self.end);
        let is_held_back = lp.outbox.is_empty() && lp.eit <= lp.next();
        let Some(edge) = lp.lowest.filter(|_| waits && is_held_back) else { return };
        if lp.has_failed || lp.requested_at == Some(lp.eit) {
            return;
        }
        self.lps[local.index()].requested_at = Some(self.lps[local.index()].eit);
        self.allowance = self.allowance.saturating_sub(1);
        let sender = self.shared.plan.topology().from(edge);
        let home = self.shared.plan.worker_of(sender);
        if home == self.me {
            self.hear_request(sender);
        } else {
            let mut words = [0; _];
            words[..2].copy_from_slice(&[REQUEST, u64::from(sender.0)]);
            self.graph.send_control(home, words);
        }
    }

    /// Another LP requests a null message from an LP of this worker.
    pub(super) fn hear_request(&mut self, node: NodeId) {
        if self.shared.plan.worker_of(node) == self.me {
            let local = self.shared.local_of(node);
            if let Some(lp) = self.lps.get_mut(local.index()) {
                lp.is_requested = true;
                self.note_for_review(local);
            }
        }
    }
}
