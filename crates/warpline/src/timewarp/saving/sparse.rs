//! Sparse copies: the state of an LP is copied before every *k*-th of its events, and a rollback
//! takes the last copy and coasts forward from it.
//!
//! Called by [`Saving`] and the hooks of [`policy`](super::super::policy); not where each record
//! has its copy. Reverse handlers use it, too: a copy now and then serves where they fail.
//!
//! # References
//!
//! Coasting forward and the checkpoint interval: Lin, Preiss, Loucks and Lazowska, *Selecting the
//! checkpoint interval in Time Warp simulation*, PADS 1993; Rönngren and Ayani, *Adaptive
//! checkpointing in Time Warp*, PADS 1994.

use std::time::Instant;

use warpline_core::{EventKey, Fault, Io, LogicalProcess, Model};
use warpline_memory::Buffers;

use super::{
    super::{
        Message,
        coasting::Coasting,
        gvt::Bound,
        history::{NONE, Record, Ring},
    },
    Lp, Saving,
};
use crate::{
    handling::{Cause, Core, Handling},
    local_lp::LocalLp,
    panics,
};

/// The last copies of an LP, where copies are sparse.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copies {
    /// The record that has the last copy.
    pub(super) at: u64,
    /// Events handled since.
    pub(super) since: u32,
    /// Records before this position are committed, and no rollback coasts from them any more.
    pub(super) released: u64,
}

/// With the reverse handlers, a copy is made once in this many events of an LP.
pub(super) const REVERSE_COPY_EVERY: u32 = 64;
/// A copy is also made when the last one is older than this many events of the worker, because
/// records are kept back to the last copy of every LP.
const COPY_AGE_MAX: u64 = 16_384;
/// A count of events above any interval: the next record has a copy.
pub(super) const BEFORE_COPY: u32 = u32::MAX / 2;
/// One of this many events is timed for the automatic interval.
const TIMED: u64 = 256;

impl<M: Model> Saving<M> {
    /// Copies are sparse from here on: the next record of each of `lps` LPs has one.
    pub(in super::super) fn become_sparse(&mut self, lps: usize) {
        debug_assert!(self.sparse.is_none(), "CHOICE-A: copies are sparse already");
        self.sparse = Some(vec![Copies { since: BEFORE_COPY, ..Copies::default() }; lps]);
        if let Some(choice) = self.choice.take() {
            (self.every, self.tuning) = choice.into_interval();
        }
    }

    /// Whether a rollback may coast over committed events.
    pub(in super::super) const fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// Copies the state of `lp` for the record that is being made at the back of `history`, if it
    /// is time for a copy.
    #[inline]
    pub(in super::super) fn copy_if_due(
        &mut self,
        lp: &Lp<M::Lp>,
        history: &mut Ring<Record>,
        at: u64,
        buffers: &Buffers<'_, Message<M>>,
    ) {
        self.make_room(history, at, buffers);
        if !self.is_copy_due(lp, history, at) {
            return;
        }
        let is_timed = self.tuning.is_some() && at.is_multiple_of(TIMED);
        let started = is_timed.then(Instant::now);
        self.put_copy(lp, (history, at), !self.rules.apart, buffers);
        if let (Some(tuning), Some(started)) = (&mut self.tuning, started) {
            tuning.copy.add(started.elapsed());
        }
    }

    /// Whether the record that is being made needs a copy (SAVE-A); links it to the one before.
    #[inline]
    fn is_copy_due(&mut self, lp: &Lp<M::Lp>, history: &mut Ring<Record>, at: u64) -> bool {
        let Some(sparse) = &mut self.sparse else { return true };
        let copies = &mut sparse[history[at].event.lp().index()];
        if history.is_live(lp.last) {
            history[lp.last].next = at;
            copies.since += 1;
            if copies.since < self.every && at - copies.at < COPY_AGE_MAX {
                return false;
            }
        }
        (copies.at, copies.since) = (at, 0);
        self.copied += 1;
        true
    }

    /// Finds the last copy before the record `first`, and counts the events of the LP from it up to
    /// before `first`. (Released records have none.)
    pub(super) fn find_last_copy(&mut self, first: u64, history: &Ring<Record>) {
        let Some(sparse) = &mut self.sparse else { return };
        let copies = &mut sparse[history[first].event.lp().index()];
        let (mut at, mut events) = (history[first].prev, 0);
        (copies.at, copies.since) = (first, BEFORE_COPY);
        while history.is_live(at) && history[at].event.io() != Some(Io::Blocking) {
            if history[at].copied {
                (copies.at, copies.since) = (at, events);
                break;
            }
            events += 1;
            at = history[at].prev;
        }
    }

    /// Takes the last copy at or before `first`, and handles the events from there again.
    pub(super) fn coast_forward(
        &mut self,
        model: &M,
        lp: &mut Lp<M::Lp>,
        first: u64,
        history: &Ring<Record>,
        buffers: &mut Buffers<'_, Message<M>>,
    ) -> Result<(), (EventKey, Fault)> {
        let (mut from, mut events) = (first, 0_u32);
        while !history[from].copied {
            from = history[from].prev;
            events += 1;
            debug_assert!(history.is_live(from), "SAVE-A: no copy to coast from");
        }
        let copy = self.copies[from as usize & (self.copies.len() - 1)].as_ref();
        let copy = copy.expect("SAVE-A: a record that says so has a copy");
        lp.state.clone_from(copy);
        let mut outcome = Ok(());
        if events > 0 {
            outcome = self.handle_again(model, lp, (from, events), history, buffers);
        }
        self.find_last_copy(first, history);
        outcome
    }

    /// Handles as many events of an LP, from the record `from` on, as it has handled before.
    fn handle_again(
        &mut self,
        model: &M,
        lp: &mut Lp<M::Lp>,
        (from, events): (u64, u32),
        history: &Ring<Record>,
        buffers: &mut Buffers<'_, Message<M>>,
    ) -> Result<(), (EventKey, Fault)> {
        let mut at = from;
        let started = self.tuning.as_ref().map(|_| Instant::now());
        let outcome = panics::catch(|| {
            for _ in 0..events {
                let record = &history[at];
                let mut core = record.before.clone();
                let cause = Cause::event(&record.event.key, lp.id);
                if record.event.is_ordinary() {
                    let message = buffers.get_returned(record.event.buffer());
                    let (Core { rng, sent, .. }, sink) = (&mut core, Coasting(&self.admission));
                    let mut cx = Handling { cause, rng, sent, sink };
                    lp.state.handle(model, message, &mut cx);
                }
                at = record.next;
                if !core.has_come_to(&history[at].before) {
                    return Err(Fault::RanDifferently);
                }
            }
            Ok(())
        });
        self.coasted += u64::from(events);
        if let (Some(tuning), Some(started)) = (&mut self.tuning, started) {
            tuning.coast.add(started.elapsed() / events);
        }
        outcome.and_then(|is_same| is_same).map_err(|fault| (history[at].event.key, fault))
    }

    /// Whether the committed record at the front, `at`, may go, because no rollback will coast from
    /// it or from records before it. That is so if the LP's records after it are committed, too, up
    /// to the next one with a copy; or up to its last one, and then its next event gets a copy.
    #[inline]
    pub(in super::super) fn may_drop(
        &mut self,
        at: u64,
        history: &Ring<Record>,
        gvt: Bound,
    ) -> bool {
        let Some(sparse) = &mut self.sparse else { return true };
        let copies = &mut sparse[history[at].event.lp().index()];
        if at < copies.released {
            return true;
        }
        let mut last = at;
        loop {
            let next = history[last].next;
            if next == NONE {
                copies.since = BEFORE_COPY;
                break;
            }
            if history[next].copied {
                break;
            }
            if Bound(history[next].event.key.words()) >= gvt {
                return false;
            }
            last = next;
        }
        debug_assert!(last >= at, "SAVE-A: what may go is before what is asked for");
        copies.released = last + 1;
        true
    }

    /// The next event of an LP will have a copy.
    pub(in super::super) fn copy_next(&mut self, lp: LocalLp) {
        if let Some(sparse) = &mut self.sparse {
            sparse[lp.index()].since = BEFORE_COPY;
        }
    }
}
