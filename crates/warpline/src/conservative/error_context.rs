//! Which code of the model a worker runs, and why the engine has cut it off: what an error needs.
//!
//! Both algorithms keep one for each worker; [`Common`](super::common::Common) runs code with it,
//! and whoever refuses what the code does halts it.

use warpline_core::{EventKey, LpId};

use crate::handling::{CutOff, Halt};

/// Which code of the model a worker runs: the place that an error names.
#[derive(Default)]
pub(super) struct ErrorContext {
    /// The LP whose code runs, and the event that it handles.
    pub(super) lp: Option<LpId>,
    pub(super) event: Option<EventKey>,
    /// Why the engine has cut the code off.
    pub(super) cut_off: CutOff,
}

/// A worker, or whatever runs code of the model.
pub(super) trait HasErrorContext {
    fn error_context(&mut self) -> &mut ErrorContext;
}

impl ErrorContext {
    /// Cuts off the code that runs. If it was cut off before, the first reason counts.
    #[cold]
    pub(super) fn halt(&mut self, halt: Halt) -> ! {
        self.cut_off.halt(halt)
    }
}
