//! What workers do with other ranks.
//!
//! A barrier between ranks has four steps: the workers of a rank write their remote events as
//! bytes ([`Remote::post`]) and come to their own barrier; the first worker sends the parcels,
//! waits for those of all other ranks, and reduces ([`RankBarrier::exchange`]); the workers come to
//! their barrier a second time, which shows them the result; each reads the events that are for its
//! LPs.
//!
//! The main loop calls it at three points: [`WindowSender::send_remote`] for a remote event,
//! [`Remote::post`] before a barrier, and [`WindowWorker::synchronize_ranks`] after it.
//!
//! # Invariants
//!
//! - **CONS-E.** Received bytes are checked: bytes that are not events for LPs of this worker, due
//!   in this window or later, end the run with an error.

use std::sync::atomic::Ordering;

use warpline_core::{EventKey, Io, LpId, Model, WireError};
use warpline_net::{NetError, append};

#[cfg(doc)]
use super::rank_barrier::{RankBarrier, Remote};
use super::{
    super::common::YIELDS, rank_barrier::RankReduction, sending::WindowSender, worker::WindowWorker,
};
use crate::{
    event::{Buffer, Event, Message},
    remote_event::{RemoteEvent, write_event},
    run::{Broken, FailureOrder, ProgressMonitor, Reduction, threads},
};

/// How often the first worker, while it waits for other ranks, asks whether one of them fails.
const ALERT_EVERY: u32 = 64;

impl<M: Model, B: Buffer<Message<M>>> WindowSender<'_, M, B> {
    /// Writes an event for an LP of another rank. It reserves memory there, not here.
    pub(super) fn send_remote(
        &mut self,
        window: u64,
        event: (&EventKey, LpId, Option<Io>),
        message: &Message<M>,
    ) {
        let Some(remote) = &mut self.remote else { return };
        let to = self.shared.common.directory.place(event.1).worker.index();
        debug_assert!(window >= self.next_window, "CONS-A: {:?} is due in this window", event.0);
        self.first_sent = self.first_sent.min(window);
        append(&mut remote.outgoing[to], |bytes| {
            write_event(bytes, &remote.ranks.wires.message, event, message)
        });
        remote.balance += 1;
    }

    /// Inserts what other ranks have sent in the last round.
    fn collect_remote(&mut self) -> Result<(), NetError> {
        let Some(remote) = &self.remote else { return Ok(()) };
        let (ranks, mut count) = (remote.ranks, 0);
        let collected = ranks.events_for(self.me, |RemoteEvent { key, to, io, message }| {
            let shared = self.shared;
            let window = shared.grid.window(key.time_value());
            let directory = &shared.common.directory;
            let worker = directory.find(to).and_then(|place| directory.local(place.worker));
            // CONS-E: the event is for an LP of this worker, and for a window to come.
            if worker != Some(self.me) || window < self.next_window {
                return Err(WireError::new(format!(
                    "an event for {to:?} at {}, which is not due at this worker",
                    key.time_value()
                )));
            }
            count += 1;
            self.error_context.lp = Some(key.sender());
            let message = self.store(message);
            let owned = shared.common.owned(&message);
            shared.common.memory.reserve(&mut self.error_context, owned);
            let make = || Event { key, to, io: io.into(), message };
            self.calendar.insert(window, shared.local_of(to), make);
            Ok(())
        });
        if let Some(remote) = &mut self.remote {
            remote.balance -= count;
        }
        collected
    }
}

impl<M: Model, B: Buffer<Message<M>>> WindowWorker<'_, M, B> {
    /// Extends a barrier of the workers of this rank, at which they got `mine`, to all ranks.
    pub(super) fn synchronize_ranks(
        &mut self,
        mine: Reduction,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let all = if self.me == 0 { self.exchange(mine, monitor)? } else { Reduction::IDENTITY };
        let all = self.wait_at_barrier(all, monitor)?;
        let mut collected = Ok(());
        self.guard(|worker| collected = worker.sender.collect_remote());
        collected.map_err(|error| self.abandon(error))?;
        Ok(all)
    }

    /// The first worker of a rank exchanges parcels with all other ranks.
    fn exchange(
        &mut self,
        reduction: Reduction,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let Some(ranks) = &self.shared.ranks else { return Ok(reduction) };
        let (shared, common) = (self.shared, &self.shared.common);
        let is_first_rank = common.ranks.me() == 0;
        let mut outputs = Vec::new();
        if !is_first_rank {
            let events = std::mem::take(&mut *common.lock_outputs());
            self.guard(|_| ranks.write_outputs(&events, &mut outputs));
        }
        let mine = RankReduction {
            round: self.tally.barriers,
            reduction,
            // Ordering: Relaxed; a count for people.
            committed: common.committed.load(Ordering::Relaxed),
            failure: common.failure.order(),
        };
        let mut waited = 0;
        let idle = || {
            monitor.waits(waited);
            threads::wait(waited, common.spins, YIELDS);
            waited = waited.saturating_add(1);
            let is_over = shared.barrier.is_broken();
            Ok(!is_over && (waited % ALERT_EVERY != 0 || !common.ranks.is_alerted()?))
        };
        let all = ranks.exchange(mine, &outputs, idle);
        let Some((all, outputs)) = all.map_err(|error| self.abandon(error))? else {
            shared.barrier.set_broken();
            return Err(Broken);
        };
        let Some(remote) = &mut self.sender.remote else { return Ok(reduction) };
        remote.failure = all.failure;
        if is_first_rank {
            let before = std::mem::replace(&mut remote.committed, all.committed);
            // Ordering: Relaxed; a count for people.
            common.committed.fetch_add(all.committed.wrapping_sub(before), Ordering::Relaxed);
            let mut read = Ok(Vec::new());
            self.guard(|_| read = ranks.read_outputs(&outputs));
            let read = read.map_err(|error| self.abandon(error))?;
            common.lock_outputs().extend(read);
        }
        Ok(all.reduction)
    }

    /// The first failure of all ranks, as far as it is known here.
    pub(super) fn first_failure(&self) -> Option<FailureOrder> {
        let elsewhere = self.sender.remote.as_ref().and_then(|remote| remote.failure);
        self.shared.common.failure.order().into_iter().chain(elsewhere).min()
    }

    /// Ends the run of this rank, because it cannot talk to the others any more.
    #[cold]
    fn abandon(&self, error: NetError) -> Broken {
        self.shared.common.failure.note(FailureOrder::End, error.into());
        self.shared.barrier.set_broken();
        Broken
    }
}
