//! The conservative engine: no event is handled before it is certain that no earlier one can
//! arrive.
//!
//! There are two ways to be certain, with a module each; [`Synchronization`] says which. What they
//! have in common is in `crew`: workers on threads, what they share, mistakes of the model, the
//! report.
//!
//! | module            | what it does                                                   |
//! |-------------------|----------------------------------------------------------------|
//! | `windows`         | all workers handle the same window of virtual time, then meet  |
//! | `null_messages`   | each process goes on by itself, as far as its links allow      |
//! | `synchronization` | which of them runs with a model                                |
//! | `crew`            | the workers of a rank, from their start to the report          |
//! | `room`            | the memory of events                                           |
//! | `lookout`         | progress, and early ends                                       |

mod algorithm;
mod lookout;
mod memory;
mod null_messages;
mod synchronization;
pub(crate) mod windows;

use warpline_core::{Fault, Model};

use crate::{
    Engine, Report, RunError, Synchronization,
    event::{Boxed, Buffer, INLINE_BYTES_MAX, Inline, Message},
    panics,
    run::{self, Ranks},
    settings::Settings,
    watch::Watch,
};
use algorithm::{Algorithm, execute};
use synchronization::resolve;

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    // Small messages travel in the lists; large ones stay put in a buffer of their own.
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        run_with::<M, Inline<Message<M>>>(model, settings, watch, ranks)
    } else {
        run_with::<M, Boxed<Message<M>>>(model, settings, watch, ranks)
    }
}

fn run_with<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let mode = panics::catch(|| resolve(settings.synchronization, model));
    let mode = mode.map_err(|fault| model_error(fault, settings))??;
    if mode == Synchronization::Windows {
        execute::<M, B, windows::Shared<'_, M, B>>(model, settings, watch, ranks, mode)
    } else {
        execute::<M, B, null_messages::Shared<'_, M, B>>(model, settings, watch, ranks, mode)
    }
}

/// The bytes that the buffer of one event takes.
pub(crate) const fn event_bytes<M: Model>() -> u64 {
    if size_of::<Message<M>>() <= INLINE_BYTES_MAX {
        windows::Shared::<M, Inline<Message<M>>>::EVENT_BYTES
    } else {
        windows::Shared::<M, Boxed<Message<M>>>::EVENT_BYTES
    }
}

fn model_error(fault: Fault, settings: &Settings) -> RunError {
    run::model_error(fault, None, Engine::Conservative, settings)
}
