//! The conservative engine: an event is handled only when no earlier event can arrive any more.
//!
//! Two modules decide that, each in its own way; [`SynchronizationKind`] chooses one. In both of
//! them `mod.rs` has the invariants and a table of modules, `worker.rs` has the main loop, and
//! `remote.rs` has all that concerns other ranks.
//!
//! | module            | what it has                                                        |
//! |-------------------|--------------------------------------------------------------------|
//! | `windows`         | all workers handle the same window, then wait at a barrier (YAWNS) |
//! | `null_messages`   | each LP goes on as far as its links allow (Chandy, Misra, Bryant)  |
//! | `synchronization` | which algorithm runs with a model                                  |
//! | `algorithm`       | the workers of a rank, from their start to the report              |
//! | `common`          | what the workers share in both algorithms                          |
//! | `memory`          | the memory of events                                               |
//! | `progress`        | progress, and early ends                                           |

mod algorithm;
mod common;

mod memory;
mod null_messages;
mod synchronization;
pub(crate) mod windows;

use std::time::Instant;

use warpline_core::{Fault, Model};

use crate::{
    Conservative, Report, RunError, SynchronizationKind,
    cut::{Cut, Leg},
    event::{Boxed, Buffer, Event, INLINE_BYTES_MAX, Inline, Message},
    panics,
    run::{self, Failure, Ranks},
    settings::Settings,
    watch::Watch,
};
use algorithm::{Algorithm, execute};
use common::Common;
use synchronization::resolve;

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings<Conservative>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    // A small message is stored in its event, which is copied; a large one stays in a buffer.
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        run_with::<M, Inline<Message<M>>>(model, settings, watch, ranks)
    } else {
        run_with::<M, Boxed<Message<M>>>(model, settings, watch, ranks)
    }
}

/// Runs `model` with windows from a cut on, or from its start, until it is told to hand over.
pub(crate) fn leg<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings<Conservative>,
    ranks: &Ranks<'_>,
    watch: &mut Watch<'_>,
    started: Instant,
    cut: Option<Cut<M::Lp, Event<B>>>,
) -> Result<Leg<M, Event<B>>, Failure> {
    let (mode, bytes) = (SynchronizationKind::Windows, windows::Shared::<M, B>::EVENT_BYTES);
    let shared = Common::new(model, settings, ranks, mode, bytes, cut)
        .and_then(|common| windows::Shared::<M, B>::make(common, None))
        .map_err(run::failed_at_start)?;
    algorithm::leg(&shared, watch, started)
}

fn run_with<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings<Conservative>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let mode = panics::catch(|| resolve(settings.engine.synchronization.kind(), model));
    let mode = mode.map_err(|fault| model_error(fault, settings))??;
    if mode == SynchronizationKind::Windows {
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

fn model_error(fault: Fault, settings: &Settings<Conservative>) -> RunError {
    run::model_error(fault, None, &settings.parallel())
}
