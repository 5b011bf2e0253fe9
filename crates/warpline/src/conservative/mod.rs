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
mod error_context;

mod memory;
mod null_messages;
mod synchronization;
pub(crate) mod windows;

use std::time::Instant;

use warpline_core::{Fault, Model};

use crate::{
    Conservative, EngineKind, RunError, SynchronizationKind, crowd,
    cut::{Ended, Stage, Whole},
    event::{Boxed, Buffer, Event, INLINE_BYTES_MAX, Inline, Message},
    panics,
    run::{self, Failure, Ranks, Run},
    settings::Settings,
    stages::{self, Candidate, Carrier, Chooser, Task},
    watch::Watch,
};
use algorithm::{Algorithm, execute, owned_by_pending};
use common::{Beginning, Common};
use null_messages::NullMessageShared;
pub(crate) use synchronization::resolve;
use windows::WindowShared;

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings<Conservative>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    // A small message is stored in its event, which is copied; a large one stays in a buffer.
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        run_with::<M, Inline<Message<M>>>(model, settings, watch, ranks, from)
    } else {
        run_with::<M, Boxed<Message<M>>>(model, settings, watch, ranks, from)
    }
}

/// What a stage does where windows cannot go on: times are so late, in lookaheads, that rounding
/// may put an event and its cause into one window, or a window may need more memory than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limits {
    /// The run fails where that happens.
    Fail,
    /// The stage ends before it can happen: another engine goes on.
    EndStage,
}

/// Runs `model` with windows from a cut on, or from its start, until it is told to hand over.
pub(crate) fn stage<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings<Conservative>,
    ranks: &Ranks<'_>,
    watch: &mut Watch<'_>,
    started: Instant,
    (beginning, limits): (Beginning<M::Lp, B>, Limits),
) -> Result<Stage<M, Event<B>>, Failure> {
    let (mode, bytes) = (SynchronizationKind::Windows, WindowShared::<M, B>::EVENT_BYTES);
    let make = || {
        let owned = owned_by_pending::<M, B>(beginning.0.as_ref());
        let common = Common::new(model, settings, ranks, mode, bytes, beginning)?;
        common.memory.take_over(0, owned);
        let mut shared = WindowShared::<M, B>::make(common, None)?;
        if limits == Limits::EndStage {
            shared.give_up_in_time();
        }
        Ok(shared)
    };
    let shared = run::at_start(&settings.parallel(), make)?;
    algorithm::stage(&shared, watch, started)
}

fn run_with<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings<Conservative>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    let mode = panics::catch(|| resolve(settings.engine.synchronization.kind(), model));
    let mode = mode.map_err(|fault| model_error(fault, settings))??;
    let run = Run { model, settings: settings.parallel(), ranks, started: Instant::now() };
    let fewer = settings.with(uncrowded(&settings.engine, ranks));
    if mode != SynchronizationKind::Windows {
        return execute::<M, B, NullMessageShared<'_, M, B>>(&run, &fewer, watch, mode, from);
    }
    if ranks.count() > 1 {
        return execute::<M, B, WindowShared<'_, M, B>>(&run, &fewer, watch, mode, from);
    }
    let Conservative { workers, balance, .. } = settings.engine;
    let candidates =
        || Candidate::of(EngineKind::Conservative, workers, ranks.cores(), balance).into();
    let mut alone = Alone { run: &run, settings };
    let deciding = (Chooser::User, balance);
    stages::carry_out::<M, B>(&run, from, deciding, &candidates, &mut alone, watch)
}

/// The engine with as many workers on each rank as can work, where the number does not change.
pub(crate) fn uncrowded(engine: &Conservative, ranks: &Ranks<'_>) -> Conservative {
    let asked = (engine.workers, &engine.placement);
    let Some((workers, placement)) = ranks.uncrowded(asked, crowd::THREADS_PER_CORE) else {
        return engine.clone();
    };
    // They are better off where the system puts them.
    Conservative { workers, placement, pin: false, ..engine.clone() }
}

/// Carries out stages with windows.
struct Alone<'r, M: Model> {
    run: &'r Run<'r, M>,
    settings: &'r Settings<Conservative>,
}

impl<M: Model, B: Buffer<Message<M>> + Send> Carrier<M, B> for Alone<'_, M> {
    fn carry(
        &mut self,
        task: Task<M, B>,
        watch: &mut Watch<'_>,
    ) -> Result<Stage<M, Event<B>>, Failure> {
        let Task { candidate, placement, pin, cut, loads, .. } = task;
        let Candidate { engine, workers } = candidate;
        debug_assert_eq!(engine, EngineKind::Conservative, "A16: a candidate is named so");
        let settings = self.settings;
        let engine = Conservative { workers, placement, pin, ..settings.engine.clone() };
        let &Run { model, ranks, started, .. } = self.run;
        let beginning = ((cut, loads), Limits::Fail);
        stage(model, &settings.with(engine), ranks, watch, started, beginning)
    }
}

/// The bytes that the buffer of one event takes.
pub(crate) const fn event_bytes<M: Model>() -> u64 {
    if size_of::<Message<M>>() <= INLINE_BYTES_MAX {
        WindowShared::<M, Inline<Message<M>>>::EVENT_BYTES
    } else {
        WindowShared::<M, Boxed<Message<M>>>::EVENT_BYTES
    }
}

fn model_error(fault: Fault, settings: &Settings<Conservative>) -> RunError {
    run::model_error(fault, None, &settings.parallel())
}
