//! LPs that move from one worker to another while the run goes on.
//!
//! A *batch* of moves goes through three rounds of GVT, and no worker ever waits for another:
//!
//! 1. The first worker *announces* the batch with its report in a round *r*. Every worker learns of
//!    it when it adopts the result. From then on it keeps mail for the LPs that are to come to it.
//! 2. When a worker adopts the result of round *r + 1*, it sends its mail by the new places, and
//!    hands over the LPs that leave it ([`handover`]): each goes, with all that belongs to it, to
//!    the new worker's list of arrivals.
//! 3. The new worker takes an LP in before its mail in some turn, at the latest when it adopts the
//!    result of round *r + 2*; and then files the mail that it has kept.
//!
//! To decide on moves, the first worker announces in the same way that a measurement begins, and
//! that LPs hand in what they have done since ([`load`](super::load)).
//!
//! Mail that comes to a worker after the LP has left is passed on to the LP's new worker. An
//! anti-message is sent where its event was sent, wherever the LP is by then, and finds the same
//! way. The next batch is announced [`SETTLED`](super::moves) rounds after this one.
//!
//! Called by [`new_gvt`](super::new_gvt) once per round, and by [`receiving`](super::receiving).
//! Only a run of one rank moves LPs: between ranks the message of an event would have to follow the
//! LP as bytes, and the counts of messages by color would have to follow the way of each.
//!
//! # Invariants
//!
//! - **MOVE-A.** Mail and notes of what was sent name an LP by its number. The pending set, the
//!   processed list and what waits or is canceled have its index at this worker, which changes
//!   when LPs move.
//! - **MOVE-B.** An LP is in one place: with the worker whose own table says so, or in one list of
//!   arrivals. All of a batch have arrived when a worker adopts the result of round *r + 2*.
//! - **MOVE-C.** An event is filed before its anti-message.
//! - **MOVE-D.** GVT is not beyond what an LP on its way has pending, nor beyond mail that is kept
//!   or passed on; and it has not reached an event that an anti-message on its way will cancel.
//!
//! # Why an event is filed before its anti-message
//!
//! Say that an LP moves from *a* to *b*. The event and its anti-message are sent to one worker,
//! the *first address*; by one worker too, unless the sender has moved in between. An inbox keeps
//! the order of two pushes if one happens before the other (INBOX-C, and as all pushes are to one
//! list). A worker pushes all its mail before it hands an LP over. So the event comes to the first
//! address first. From there:
//!
//! - The first address is *a*, and the LP has not left: the event is filed, and leaves with the LP.
//! - It is *a*, and the LP has left: *a* passes on both, in order. If only the anti-message comes
//!   after the LP has left, *b* has the event when it takes the LP in, and keeps the anti-message
//!   until then.
//! - It is *b*: the mail is kept, in order, until the LP has come.
//! - It is another worker, because the LP was there long ago: then the event has been filed, for
//!   batches are so far apart, and is wherever the LP is. The anti-message is passed on, perhaps by
//!   several workers: to *a*, which has the LP or passes it on, or to *b*, which has or awaits it.
//!
//! A worker takes LPs in *before* it takes its mail. An LP that comes may be rolled back at once,
//! and cancel an event for another LP of this worker; its former worker pushed that event before.
//!
//! # Why batches are far enough apart
//!
//! Let a batch be announced in round *r*. An event is pushed by the old places before its sender
//! adopts round *r + 1*; or round *r + 2* at *b* itself, which knows a new LP's place when it has
//! come. So it is pushed before the sender's report in round *r + 3*. *a* finds it before its own
//! report in round *r + 4* (GVT-3) and passes it on; *b* files it before its report in round
//! *r + 5*. The next batch is announced in round *r* + [`SETTLED`](super::moves) at the earliest,
//! and LPs leave a round later.
//!
//! # Why GVT counts all of it
//!
//! An LP on its way is like mail: its worker pushes it and *then* tells GVT the least of its
//! pending events, before its next report; and it is taken in by the step that takes mail. So the
//! argument of [`gvt`](super::gvt) holds for its events. An event that is passed on is filed at the
//! first worker, as it were, and sent by it again, before its report. Kept mail is in the report of
//! the worker that keeps it.
//!
//! An anti-message counts as what is *just before* its key
//! ([`Bound::before`](super::gvt::Bound::before)). When all mail came at the second hand at the
//! latest, a worker could look whether an event at GVT is still canceled by looking at its mail
//! first. When mail is passed on, it may be at another worker, so GVT does not reach the key
//! before.
//!
//! # References
//!
//! Simulation objects that are bound to a worker for a time, and rebound to share the load:
//! Pellegrini and Quaglia, *NUMA Time Warp*, PADS 2015, section 3.1. What moves with an LP: Glazer
//! and Tropper, *On process migration and load balancing in Time Warp*, IEEE TPDS 4(3), 1993.

mod handover;

use std::sync::Arc;

use warpline_core::Model;

use super::{
    event::Event,
    gvt::Outcome,
    load::Work,
    moves::{HAND_IN, MEASURE, MOVES, Move},
    worker::TimeWarpWorker,
};
use crate::{load_sharing::MoveStatistics, placement::WorkerId};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Before this worker reports: announces moves, if it is the first worker and it is time to.
    /// Returns the notes to be added to the report.
    pub(super) fn announce_moves(&mut self) -> u64 {
        let (Some(planner), Some(moves)) = (&mut self.optional.moves.planner, &self.shared.moves)
        else {
            return 0;
        };
        let round = self.sender.gvt.reports() + 1;
        let (notes, batch) = planner.decide(round, &self.sender.places, moves);
        if let Some(batch) = batch {
            moves.announce(batch);
        }
        notes
    }

    /// What load sharing has done, as the first worker knows.
    pub(super) fn move_statistics(&self) -> Option<MoveStatistics> {
        let statistics = self.optional.moves.planner.as_ref()?.statistics();
        let spent = 1e-9 * self.shared.moves.as_ref()?.spent() as f64;
        let each = (statistics.moved_lps > 0).then(|| spent / statistics.moved_lps as f64);
        Some(MoveStatistics { each, ..statistics })
    }

    /// Before this worker adopts a result: the LPs that were to come in the round before have come
    /// by now (MOVE-B), and with them what may be due at the new GVT.
    pub(super) fn take_in_awaited(&mut self) {
        if !self.optional.moves.awaited.is_empty() && self.optional.moves.announced.is_none() {
            self.receive();
            self.note_canceled_by_mail();
            self.cancel();
            debug_assert!(
                self.optional.moves.awaited.is_empty(),
                "MOVE-B: {:?}",
                self.optional.moves.awaited
            );
        }
    }

    /// At a new GVT: carries out the moves that were announced in the round before, and takes note
    /// of those that were announced in this one.
    pub(super) fn on_gvt_moves(&mut self, outcome: Outcome) {
        self.show_load();
        if outcome.notes & MEASURE != 0 {
            self.begin_measurement();
        }
        if outcome.notes & HAND_IN != 0 {
            self.hand_in_loads();
        }
        if let Some(batch) = self.optional.moves.announced.take() {
            self.carry_out(&batch);
        }
        if outcome.notes & MOVES != 0
            && let Some(moves) = &self.shared.moves
        {
            debug_assert!(
                self.optional.moves.awaited.is_empty(),
                "MOVE-B: LPs of the batch before are on their way: {:?}",
                self.optional.moves.awaited
            );
            let batch = moves.announced();
            self.optional.moves.await_those_to(self.me, &batch);
            self.optional.moves.announced = Some(batch);
        }
    }

    /// At a new GVT: shows what this worker has committed.
    fn show_load(&mut self) {
        if let Some(moves) = &self.shared.moves {
            let (events, nanoseconds) = self.optional.meter.commit(self.statistics.committed);
            moves.loads[self.me].set(events, nanoseconds);
        }
    }

    /// A measurement begins.
    fn begin_measurement(&mut self) {
        self.lps.iter_mut().for_each(|lp| lp.work = Work::default());
    }

    /// Hands in what the LPs have done since then.
    fn hand_in_loads(&self) {
        if let Some(moves) = &self.shared.moves {
            let loads = self.lps.iter().map(|lp| (lp.id, lp.work.load(self.optional.meter.each)));
            moves.gathered.put(self.me, loads);
        }
    }

    /// Sends mail by the new places from now on, and hands over the LPs that leave.
    fn carry_out(&mut self, batch: &[Move]) {
        let me = self.sender.id;
        let mut leaving = Vec::new();
        let places = Arc::make_mut(&mut self.sender.places);
        // Those that come here have their new places when they are here.
        for &Move { lp, to } in batch.iter().filter(|one| one.to != self.me) {
            let place = &mut places[lp.index()];
            if place.worker == me {
                debug_assert!(place.lp.index() < self.lps.len(), "MOVE-B: {lp} is not here");
                leaving.push((place.lp, to));
            }
            place.worker = self.shared.directory.global(to);
        }
        if !leaving.is_empty() {
            self.hand_over(leaving);
        }
    }

    /// Takes in the LPs that have come.
    #[inline]
    pub(super) fn receive_lps(&mut self) {
        let Some(moves) = &self.shared.moves else { return };
        for mut block in moves.arrivals[self.me].drain() {
            let since = moves.time();
            for package in block.items.drain(..) {
                self.take_in(*package);
            }
            moves.spend(since);
        }
    }

    /// Mail for an LP that is not here, or a notice of it: it is kept if the LP is about to come,
    /// or passed on.
    #[cold]
    pub(super) fn pass_on(&mut self, mail: Event, to: WorkerId) {
        if let Some(kept) = self.optional.moves.awaited.get_mut(&mail.to()) {
            return kept.push(mail);
        }
        self.statistics.passed_on += 1;
        let Some(to) = self.shared.directory.local(to) else {
            unreachable!("MOVE-A: mail of this rank for an LP of another: {mail:?}")
        };
        if self.shared.halves.is_none() && mail.cancels().is_none() {
            self.store.buffers.pass_on(mail.buffer(), to);
            if self.sender.is_recorded() {
                return self.sender.notify_of(to, mail);
            }
        }
        self.sender.notify(to, mail);
    }

    /// At the end of the run: kept mail is mail again. (In bottom halves it still is.)
    pub(super) fn return_kept_mail(&mut self) {
        for mail in std::mem::take(&mut self.optional.moves.awaited).into_values().flatten() {
            self.sender.notify(self.me, mail);
        }
    }
}
