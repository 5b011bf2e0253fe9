//! What workers do with other ranks, beside sending on the event graph.
//!
//! The main loop calls it at five points: the graph of a worker gets its connection, a remote event
//! arrives, a rank is quiescent, I/O events are final, and a worker is idle.

use warpline_core::{LpId, Model};
use warpline_graph::{CONTROL_WORDS, EdgeId};

use super::{reports::QUIESCENT, worker::NullMessageWorker};
use crate::{
    event::{Buffer, Event, Message},
    handling::Value,
    run::{Arrival, KeyBound, NEVER},
};

/// An idle worker asks after this number of looks whether another rank fails.
const ALERT_EVERY: u32 = 16;

impl<M: Model, B: Buffer<Message<M>>> NullMessageWorker<'_, M, B> {
    /// Reserves memory for an event that has arrived on an edge, if it comes from another rank.
    pub(super) fn reserve_for_remote(&mut self, edge: EdgeId, event: &Event<B>) {
        let shared = self.shared;
        let sender = LpId::new(shared.plan.topology().from(edge).0);
        if shared.common.memory.is_limited() && !shared.is_here(sender) {
            self.guard(|worker| {
                let context = &mut worker.send_buffer.error_context;
                (context.lp, context.event) = (Some(event.key.sender()), Some(event.key));
                let owned = shared.common.owned(&event.message);
                shared.common.memory.reserve(context, owned);
            });
        }
    }

    /// The first worker of a rank that is quiescent tells the first worker of all. Returns whether
    /// all ranks are quiescent, as far as this worker knows: only the first one of all ever does.
    pub(super) fn are_ranks_quiescent(&mut self, [sent, received]: [u64; 2]) -> bool {
        let freezes = self.detection.freezes;
        let now = [freezes, sent, received];
        let Some(remote) = &mut self.remote else { return true };
        if remote.sent != Some(now) {
            remote.sent = Some(now);
            let mut words = [0; CONTROL_WORDS];
            words[..2].copy_from_slice(&[QUIESCENT, self.shared.common.ranks.me() as u64]);
            words[2..5].copy_from_slice(&now);
            self.graph.send_control(0, words);
            self.graph.flush();
        }
        remote.are_all_quiescent(freezes)
    }

    /// Whether rank 0 writes the I/O events of this one.
    pub(super) fn ships_outputs(&self) -> bool {
        self.shared.common.ranks.me() > 0
    }

    /// Ships I/O events to rank 0: all those before `until`.
    pub(super) fn ship_outputs(&mut self, due: Vec<Event<B>>, until: KeyBound) {
        debug_assert!(self.ships_outputs(), "the first rank writes its outputs itself");
        self.guard(|worker| {
            let (due, ranks) = (due, worker.shared.common.ranks);
            let Some(remote) = &mut worker.remote else { return };
            let outputs = due.iter().map(|event| (event.key, event.to, event.message.get()));
            let shipped = remote.collection.ship(ranks, outputs, (until, until == NEVER));
            shipped.unwrap_or_else(|error| worker.abandon(error));
        });
    }

    /// Takes the I/O events of the other ranks, if this is rank 0: at the end of the run, all that
    /// they still ship. Returns the bound of those that can be written.
    pub(super) fn collect_outputs(&mut self, until: KeyBound) -> KeyBound {
        let mut bound = until;
        self.guard(|worker| {
            let common = &worker.shared.common;
            let Some(remote) = worker.remote.as_mut().filter(|_| common.ranks.me() == 0) else {
                return;
            };
            let mut outputs = common.lock_outputs();
            let mut take = |Arrival { key, to, io, message }| {
                outputs.push(Event {
                    key,
                    to,
                    io: io.into(),
                    message: B::store(Value(message), &mut Vec::new()),
                });
            };
            let collected = if until == NEVER {
                remote.collection.collect_rest(common.ranks, &mut take).map(|_| NEVER)
            } else {
                remote.collection.collect(common.ranks, &mut take)
            };
            drop(outputs);
            match collected {
                Ok(others) => bound = bound.min(others),
                Err(error) => worker.abandon(error),
            }
        });
        bound
    }

    /// The first worker of a rank ends the run if another rank fails. Called when it is idle.
    pub(super) fn watch_ranks(&self) {
        if self.is_first() && self.waited.is_multiple_of(ALERT_EVERY) {
            match self.shared.common.ranks.is_alerted() {
                Ok(false) => {}
                Ok(true) => self.shared.set_broken(),
                Err(error) => self.abandon(error),
            }
        }
    }
}
