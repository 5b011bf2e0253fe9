//! State saving: what is kept of an LP before an event, and how its state is restored.
//!
//! The worker calls [`Saving::before`] for every event, and on a rollback [`Saving::reverse`] for
//! each undone event, the last one first, and then [`Saving::restore`]. The saved states are the
//! worker's own memory, whatever worker an event came from (GTW, 3.6.4).
//!
//! | saving | before an event | on a rollback |
//! |---|---|---|
//! | `copy` | a copy of the state | the copy |
//! | `copy`, by field | plain fields; tracked ones when they change | the [undo log](super::logging) |
//! | `copy`, sparse | the state before every *k*-th event | the copy, and coast forward from it |
//! | `reverse` | a copy now and then, for emergencies | the reverse handlers, last one first |
//! | `auto` | as `copy`, perhaps as sparse copies [from some GVT on](super::changing) | the same |
//!
//! # Invariants
//!
//! - **SAVE-A.** A record that is not committed has a copy, or one before it in its LP's chain has:
//!   so there is always one to coast from. Fossil collection keeps committed records for this
//!   ([`Saving::may_drop`]). Where it keeps no record of an LP, the LP's next record has a copy.
//! - **SAVE-B.** A blocking I/O event is never handled a second time: the record after one has a
//!   copy.
//!
//! # References
//!
//! Coasting forward and the checkpoint interval: Lin, Preiss, Loucks and Lazowska, *Selecting the
//! checkpoint interval in Time Warp simulation*, PADS 1993; Rönngren and Ayani, *Adaptive
//! checkpointing in Time Warp*, PADS 1994.

mod moving;

use std::{mem::needs_drop, time::Instant};

use warpline_core::{EventKey, Fault, Io, LogicalProcess, LpId, Model, Reversal};
use warpline_memory::{Buffers, enter_platform};

use super::{
    Message,
    choosing::Choice,
    coasting::Coasting,
    gvt::Bound,
    heap::{self, CopyRules},
    history::{NONE, Record, Ring},
    load::Work,
};
use crate::{
    CheckpointInterval, StateSaving, StateSavingKind,
    handling::{Admission, Cause, Core, Handling},
    local_lp::LocalLp,
    panics,
    tuning::Tuning,
};

pub(super) use moving::{Saved, SparseCopies};

/// An LP, with all that a rollback restores.
#[derive(Debug)]
pub(super) struct Lp<L> {
    pub(super) state: L,
    pub(super) core: Core,
    /// The time of its last event; infinite while it is blocked, so that every event for it takes
    /// the slow path.
    pub(super) last_time: f64,
    /// The record of its last event.
    pub(super) last: u64,
    pub(super) work: Work,
    pub(super) id: LpId,
}

/// The last copies of an LP, where copies are sparse.
#[derive(Clone, Copy, Debug, Default)]
struct Copies {
    /// The record that has the last copy.
    at: u64,
    /// Events handled since.
    since: u32,
    /// Records before this position are committed, and no rollback coasts from them any more.
    released: u64,
}

/// With the reverse handlers, a copy is made once in this many events of an LP.
const REVERSE_COPY_EVERY: u32 = 64;
/// A copy is also made when the last one is older than this many events of the worker, because
/// records are kept back to the last copy of every LP.
const COPY_AGE_MAX: u64 = 16_384;
/// A count of events above any interval: the next record has a copy.
const BEFORE_COPY: u32 = u32::MAX / 2;
/// One of this many events is timed for the automatic interval.
const TIMED: u64 = 256;

/// The saved states of a worker's LPs, and the policy.
#[derive(Debug)]
pub(super) struct Saving<M: Model> {
    kind: StateSavingKind,
    admission: Admission,
    /// Copies, each at the place of its record.
    copies: Vec<Option<M::Lp>>,
    /// Words left for reverse handlers, at the same places.
    notes: Vec<u64>,
    /// Events of an LP from one copy to the next.
    every: u32,
    /// By LP, where some records have no copy.
    sparse: Option<Vec<Copies>>,
    pub(super) tuning: Option<Tuning>,
    /// How states are saved may still change.
    pub(super) choice: Option<Choice>,
    rules: CopyRules,
    pub(super) coasted: u64,
    pub(super) copied: u64,
}

impl<M: Model> Saving<M> {
    pub(super) fn new(
        saving: StateSaving,
        choice: Option<Choice>,
        admission: &Admission,
        lps: usize,
        rules: CopyRules,
    ) -> Self {
        use CheckpointInterval::{Auto, Every};
        let (every, tuned) = match saving {
            StateSaving::Reverse => (REVERSE_COPY_EVERY, false),
            StateSaving::Copy { interval: Every(events) } => (events, false),
            StateSaving::Copy { interval: Auto } => (1, true),
            StateSaving::Auto => (1, false),
        };
        Self {
            kind: saving.kind(),
            admission: admission.clone(),
            copies: Vec::new(),
            notes: Vec::new(),
            every,
            sparse: (!saving.copies_all()).then(|| vec![Copies::default(); lps]),
            tuning: tuned.then(Tuning::default),
            choice,
            rules,
            coasted: 0,
            copied: 0,
        }
    }

    /// Copies are sparse from here on: the next record of each of `lps` LPs has one.
    pub(super) fn become_sparse(&mut self, lps: usize) {
        debug_assert!(self.sparse.is_none(), "CHOICE-A: copies are sparse already");
        self.sparse = Some(vec![Copies { since: BEFORE_COPY, ..Copies::default() }; lps]);
        if let Some(choice) = self.choice.take() {
            (self.every, self.tuning) = choice.into_interval();
        }
    }

    /// Whether a rollback may coast over committed events.
    pub(super) const fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// Whether states are undone by the undo log. Not where copies are sparse: then a copy is the
    /// whole state, and events after it are handled again.
    #[inline]
    pub(super) const fn is_logging(&self) -> bool {
        M::Lp::SAVING.is_by_field() && self.sparse.is_none()
    }

    /// The same in the loop over events, as that is compiled.
    #[inline]
    pub(super) const fn logs<const FULL: bool>(&self) -> bool {
        debug_assert!(FULL || self.sparse.is_none(), "PLAIN-A: copies are sparse");
        if FULL { self.is_logging() } else { M::Lp::SAVING.is_by_field() }
    }

    /// Saves `lp` before the event whose record is being made at the back of `history`.
    #[inline]
    pub(super) fn before<const FULL: bool>(
        &mut self,
        lp: &mut Lp<M::Lp>,
        history: &mut Ring<Record>,
        at: u64,
        buffers: &Buffers<'_, Message<M>>,
    ) {
        if self.copies.len() < history.capacity() {
            self.grow(history, at, buffers);
        }
        debug_assert!(!self.is_logging(), "SAVE-A: the undo log saves");
        debug_assert!(self.copies.len().is_power_of_two(), "SAVE-A: a record has no place");
        let place = at as usize & (self.copies.len() - 1);
        if FULL && let Some(sparse) = &mut self.sparse {
            let copies = &mut sparse[history[at].event.lp().index()];
            if history.is_live(lp.last) {
                history[lp.last].next = at;
                copies.since += 1;
                if copies.since < self.every && at - copies.at < COPY_AGE_MAX {
                    return;
                }
            }
            (copies.at, copies.since) = (at, 0);
            self.copied += 1;
        }
        history[at].copied = true;
        let is_timed = FULL && self.tuning.is_some() && at.is_multiple_of(TIMED);
        let started = is_timed.then(Instant::now);
        let before = self.copies[place].as_ref().map_or(0, heap::of_state);
        if let Some(copy) = self.copies[place].as_mut().filter(|_| !FULL || !self.rules.apart) {
            copy.clone_from(&lp.state);
        } else {
            self.copies[place] = Some(lp.state.clone());
        }
        let after = self.copies[place].as_ref().map_or(0, heap::of_state);
        heap::recharge(buffers, before, after);
        if let (Some(tuning), Some(started)) = (&mut self.tuning, started) {
            tuning.copy.add(started.elapsed());
        }
    }

    /// Grows with the log: all copies move to their new places.
    #[cold]
    fn grow(&mut self, history: &Ring<Record>, back: u64, buffers: &Buffers<'_, Message<M>>) {
        let _platform = self.rules.apart.then(enter_platform);
        let capacity = history.capacity();
        let (mut copies, mut old) = (Vec::new(), std::mem::take(&mut self.copies));
        copies.resize_with(capacity, || None);
        debug_assert!(capacity > old.len(), "SAVE-A: copies would have no place");
        let mut notes = vec![0; if self.kind == StateSavingKind::Reverse { capacity } else { 0 }];
        if !old.is_empty() {
            for at in history.front()..back {
                let (from, to) = (at as usize & (old.len() - 1), at as usize & (capacity - 1));
                copies[to] = old[from].take();
                if let Some(note) = notes.get_mut(to) {
                    *note = self.notes[from];
                }
            }
        }
        let dropped: usize = old.iter().flatten().map(heap::of_state).sum();
        heap::recharge(buffers, dropped, 0);
        (self.copies, self.notes) = (copies, notes);
    }

    /// Drops the copy of a record that leaves the log, if memory is limited. Otherwise the next
    /// copy at its place may use its memory.
    #[inline]
    pub(super) fn forget(&mut self, at: u64, buffers: &Buffers<'_, Message<M>>) {
        if const { needs_drop::<M::Lp>() } && self.rules.is_limited && !self.is_logging() {
            let place = at as usize & (self.copies.len() - 1);
            let bytes = self.copies[place].take().as_ref().map_or(0, heap::of_state);
            heap::recharge(buffers, bytes, 0);
        }
    }

    /// Keeps the word that a handler left for its reverse handler.
    #[inline]
    pub(super) fn note(&mut self, at: u64, word: u64) {
        if !self.notes.is_empty() {
            let place = at as usize & (self.notes.len() - 1);
            self.notes[place] = word;
        }
    }

    /// Restores the state of `lp` as it was before `first`, the earliest of the undone records.
    /// `cut_off` says that the last of them ended in its middle.
    ///
    /// # Errors
    ///
    /// The event whose reverse handler failed, or whose handler did when it was handled again, and
    /// how: a mistake of the model. After the first of the two the state is restored all the same.
    pub(super) fn restore(
        &mut self,
        model: &M,
        lp: &mut Lp<M::Lp>,
        first: u64,
        cut_off: bool,
        history: &mut Ring<Record>,
        buffers: &mut Buffers<'_, Message<M>>,
    ) -> Result<(), (EventKey, Fault)> {
        debug_assert!(history.is_live(first) && first <= lp.last, "SAVE-A: record {first}");
        let mut outcome = Ok(());
        if self.kind == StateSavingKind::Reverse && !cut_off {
            outcome = self.reverse(model, lp, first, history, buffers);
        }
        if self.kind != StateSavingKind::Reverse || cut_off || outcome.is_err() {
            outcome = outcome.and(self.coast_forward(model, lp, first, history, buffers));
        }
        lp.core = history[first].before.clone();
        let prev = history[first].prev;
        if self.sparse.is_some() && history.is_live(prev) {
            history[prev].next = NONE;
        }
        outcome
    }

    /// Calls the reverse handlers of the records from `lp.last` back to `first`.
    fn reverse(
        &mut self,
        model: &M,
        lp: &mut Lp<M::Lp>,
        first: u64,
        history: &Ring<Record>,
        buffers: &mut Buffers<'_, Message<M>>,
    ) -> Result<(), (EventKey, Fault)> {
        let mut at = lp.last;
        let outcome = panics::catch(|| {
            loop {
                let record = &history[at];
                if record.event.is_ordinary() {
                    let note = self.notes[at as usize & (self.notes.len() - 1)];
                    let before = record.before.rng.clone();
                    let mut event = Reversal::new(record.event.key, lp.id, before, note);
                    let message = buffers.get_returned(record.event.buffer());
                    lp.state.reverse(model, message, &mut event);
                }
                if at == first {
                    break;
                }
                at = record.prev;
            }
        });
        self.find_last_copy(first, history);
        outcome.map_err(|fault| (history[at].event.key, fault))
    }

    /// Finds the last copy before the record `first`, and counts the events of the LP from it up to
    /// before `first`. (Released records have none.)
    fn find_last_copy(&mut self, first: u64, history: &Ring<Record>) {
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
    fn coast_forward(
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
    pub(super) fn may_drop(&mut self, at: u64, history: &Ring<Record>, gvt: Bound) -> bool {
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
    pub(super) fn copy_next(&mut self, lp: LocalLp) {
        if let Some(sparse) = &mut self.sparse {
            sparse[lp.index()].since = BEFORE_COPY;
        }
    }

    /// Whether there is a copy with the record at a position.
    pub(super) fn has_copy(&self, at: u64) -> bool {
        self.copies[at as usize & (self.copies.len() - 1)].is_some()
    }

    /// Chooses the interval again, where that is automatic.
    pub(super) fn tune(&mut self, events: u64, rollbacks: u64) {
        if let Some(tuning) = &mut self.tuning {
            self.every = tuning.interval(events, rollbacks);
        }
    }
}
