//! State saving: what is kept of an LP before an event, and how its state is restored.
//!
//! The worker calls [`Saving::copy`], or where copies may be sparse [`Saving::copy_if_due`], for
//! every event, and [`Saving::restore`] on a rollback. The saved states are the worker's own
//! memory, whatever worker an event came from (GTW, 3.6.4).
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

mod moving;
mod sparse;

use std::mem::needs_drop;

use warpline_core::{EventKey, Fault, LogicalProcess, LpId, Model, Reversal};
use warpline_memory::{Buffers, enter_platform};

use super::{
    Message,
    choosing::Choice,
    heap::{self, CopyRules},
    history::{NONE, Record, Ring},
    load::Work,
};
use crate::{
    CheckpointInterval, StateSaving, StateSavingKind,
    handling::{Admission, Core},
    panics,
    tuning::Tuning,
};

pub(super) use moving::{Saved, SparseCopies};
use sparse::{BEFORE_COPY, Copies, REVERSE_COPY_EVERY};

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

    /// Whether states are undone by the undo log. Not where copies are sparse: then a copy is the
    /// whole state, and events after it are handled again.
    #[inline]
    pub(super) const fn is_logging(&self) -> bool {
        M::Lp::SAVING.is_by_field() && self.sparse.is_none()
    }

    /// Copies the state of `lp` for the record that is being made at the back of `history`.
    #[inline]
    pub(super) fn copy(
        &mut self,
        lp: &Lp<M::Lp>,
        history: &mut Ring<Record>,
        at: u64,
        buffers: &Buffers<'_, Message<M>>,
    ) {
        self.make_room(history, at, buffers);
        debug_assert!(self.sparse.is_none(), "PLAIN-A: copies are sparse");
        self.put_copy(lp, (history, at), true, buffers);
    }

    /// Makes a place for each record of the log.
    #[inline]
    fn make_room(&mut self, history: &Ring<Record>, at: u64, buffers: &Buffers<'_, Message<M>>) {
        if self.copies.len() < history.capacity() {
            self.grow(history, at, buffers);
        }
        debug_assert!(!self.is_logging(), "SAVE-A: the undo log saves");
        debug_assert!(self.copies.len().is_power_of_two(), "SAVE-A: a record has no place");
    }

    /// Copies a state, perhaps over the copy that is there already.
    #[inline(always)]
    fn put_copy(
        &mut self,
        lp: &Lp<M::Lp>,
        (history, at): (&mut Ring<Record>, u64),
        is_over: bool,
        buffers: &Buffers<'_, Message<M>>,
    ) {
        history[at].copied = true;
        let place = at as usize & (self.copies.len() - 1);
        let before = self.copies[place].as_ref().map_or(0, heap::of_state);
        if let Some(copy) = self.copies[place].as_mut().filter(|_| is_over) {
            copy.clone_from(&lp.state);
        } else {
            self.copies[place] = Some(lp.state.clone());
        }
        let after = self.copies[place].as_ref().map_or(0, heap::of_state);
        heap::recharge(buffers, before, after);
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
