//! Where something was last saved in the undo log, so that an event saves it once.

use std::fmt;

use warpline::state::UndoLog;

/// Where something was last saved in the undo log. A copy was saved nowhere.
#[derive(Default)]
pub(crate) struct SavedAt(pub(crate) u64);

impl SavedAt {
    pub(crate) const NEVER: Self = Self(UndoLog::NONE);
}

impl Clone for SavedAt {
    #[inline]
    fn clone(&self) -> Self {
        Self::NEVER
    }
}

/// It is no part of a state.
impl fmt::Debug for SavedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}
