//! Which engine carries out a run: the one place where engines are compiled for a type of model.
//!
//! Called once per run, through [`Runnable`](crate::Runnable).

use std::fmt;

use warpline_core::Model;

use crate::{
    ConfigError, Engine, Report, RunError, conservative, reverse_check, run::Ranks, sequential,
    settings::Settings, timewarp, watch::Watch,
};

/// A run that is to be made: the engine and the settings, the watch, and the other ranks.
pub struct Job<'r, 'w> {
    pub(crate) settings: &'r Settings,
    pub(crate) watch: &'r mut Watch<'w>,
    pub(crate) ranks: &'r Ranks<'r>,
}

impl fmt::Debug for Job<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("settings", self.settings).finish_non_exhaustive()
    }
}

/// Runs a model on the engine of the job.
pub(crate) fn run<M: Model>(
    model: &M,
    Job { settings, watch, ranks }: Job<'_, '_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    match &settings.engine {
        Engine::Conservative(engine) => {
            conservative::run(model, &settings.with(engine.clone()), watch, ranks)
        }
        Engine::TimeWarp(engine) => {
            timewarp::run(model, &settings.with(engine.clone()), watch, ranks)
        }
        engine @ (Engine::Sequential(_) | Engine::ReverseCheck(_)) if ranks.count() > 1 => {
            let allowed = "conservative or timewarp for a run on several ranks";
            Err(ConfigError::new("engine", engine.kind(), allowed).into())
        }
        &Engine::Sequential(engine) => {
            sequential::run(model, &settings.with(engine), watch).map(Some)
        }
        &Engine::ReverseCheck(engine) => {
            reverse_check::run(model, &settings.with(engine), watch).map(Some)
        }
    }
}

/// How many bytes of a memory limit one event takes.
pub(crate) fn event_bytes<M: Model>(engine: &Engine) -> u64 {
    match engine {
        Engine::Conservative(_) => conservative::event_bytes::<M>(),
        _ => timewarp::event_bytes::<M>(engine.workers()),
    }
}
