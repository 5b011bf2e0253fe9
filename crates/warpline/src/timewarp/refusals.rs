//! Errors of a run that are nobody's event: what the settings ask of the model, and faults of it
//! outside of any event.
//!
//! Called by [`run`](mod@super::run) and [`alone`](super::alone).

use warpline_core::{Fault, Model};

use crate::{
    ConfigError, RunError, StateSaving,
    run::model_error,
    settings::{Settings, TimeWarp},
};

/// Whether the model can do what the settings ask of it.
pub(super) fn refuse_what_the_model_lacks<M: Model>(
    model: &M,
    settings: &Settings<TimeWarp>,
) -> Result<(), ConfigError> {
    let ok = settings.engine.saving != StateSaving::Reverse || model.is_reversible();
    ConfigError::check(ok, "saving", "reverse", "auto or copy: the model cannot reverse")
}

/// A fault of the model outside of any event.
pub(super) fn own_error(fault: Fault, settings: &Settings<TimeWarp>) -> RunError {
    model_error(fault, None, &settings.parallel())
}
