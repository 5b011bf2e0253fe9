//! How an engine saves the states of one type of LP.

use std::fmt::{self, Debug};

use super::{Moves, State, UndoLog};

/// How the states of an LP are saved: [`LogicalProcess::SAVING`](crate::LogicalProcess::SAVING).
///
/// The functions are those of [`State`]. They are here because a type of LPs need not have that
/// trait: without it, states are cloned.
pub struct Saving<L>(Option<ByField<L>>);

/// The functions of [`State`].
struct ByField<L> {
    has_plain: bool,
    save_plain: fn(&L, &mut UndoLog),
    restore_plain: fn(&mut L, u64, &mut UndoLog),
    undo_to: fn(&mut L, u64, &mut UndoLog) -> usize,
    rebase: fn(&mut L, &Moves),
    heap_bytes: fn(&L) -> usize,
    fields: fn(&L, Visit<'_>),
}

/// What is told the name and the value of each field.
type Visit<'a> = &'a mut dyn FnMut(&'static str, &dyn Debug);

impl<L> Saving<L> {
    /// Engines clone the whole state.
    pub const BY_COPY: Self = Self(None);

    /// Whether tracked fields write to the undo log.
    #[inline]
    #[must_use]
    pub const fn is_by_field(&self) -> bool {
        self.0.is_some()
    }

    /// Begins an event, or an LP's part of a window, and saves the plain fields. Returns the point
    /// to which [`undo_to`](Self::undo_to) undoes all that is written from here on.
    #[inline]
    pub fn begin(&self, state: &L, log: &mut UndoLog) -> u64 {
        let point = log.begin();
        if let Some(by_field) = &self.0
            && by_field.has_plain
        {
            (by_field.save_plain)(state, log);
        }
        point
    }

    /// Undoes all that was written since [`begin`](Self::begin) returned `point`. Then the next
    /// event begins anew. Returns how many entries of tracked fields that were.
    #[inline]
    pub fn undo_to(&self, state: &mut L, point: u64, log: &mut UndoLog) -> usize {
        let Some(by_field) = &self.0 else { return 0 };
        let undone = (by_field.undo_to)(state, point, log);
        if by_field.has_plain {
            (by_field.restore_plain)(state, point, log);
        }
        undone
    }

    /// Lets the tracked fields find their entries where they have moved to.
    pub fn rebase(&self, state: &mut L, moves: &Moves) {
        if let Some(by_field) = &self.0 {
            (by_field.rebase)(state, moves);
        }
    }

    /// The bytes that a state owns on the heap, if its fields know them.
    #[must_use]
    pub fn heap_bytes(&self, state: &L) -> Option<usize> {
        self.0.as_ref().map(|by_field| (by_field.heap_bytes)(state))
    }

    /// Shows the fields of a state with their names; none, if it is copied.
    pub fn fields(&self, state: &L, visit: Visit<'_>) {
        if let Some(by_field) = &self.0 {
            (by_field.fields)(state, visit);
        }
    }
}

impl<L: State> Saving<L> {
    /// Fields save what they change.
    pub const BY_FIELD: Self = Self(Some(ByField {
        has_plain: L::HAS_PLAIN,
        save_plain: L::save_plain,
        restore_plain: L::restore_plain,
        undo_to: L::undo_to,
        rebase: L::rebase,
        heap_bytes: L::heap_bytes,
        fields: L::fields,
    }));
}

impl<L> Debug for Saving<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_by_field() { "BY_FIELD" } else { "BY_COPY" })
    }
}
