//! Which engine carries out a run: the one place where engines are compiled for a type of model.
//!
//! Called once per run, through [`Runnable`](crate::Runnable).

use std::fmt;

use warpline_core::Model;

use crate::{
    ConfigError, Engine, Report, RunError, conservative, reverse_check, run::Ranks, sequential,
    settings::Settings, timewarp, watch::Watch,
};

/// A run that is to be made: the engine, the settings, who watches, and the other ranks.
pub struct Job<'r, 'w> {
    pub(crate) engine: Engine,
    pub(crate) settings: &'r Settings,
    pub(crate) watch: &'r mut Watch<'w>,
    pub(crate) ranks: &'r Ranks<'r>,
}

impl fmt::Debug for Job<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, settings, .. } = self;
        f.debug_struct("Job")
            .field("engine", engine)
            .field("settings", settings)
            .finish_non_exhaustive()
    }
}

/// Runs a model on the engine of the job.
pub(crate) fn run<M: Model>(
    model: &M,
    Job { engine, settings, watch, ranks }: Job<'_, '_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    match engine {
        Engine::Conservative => conservative::run(model, settings, watch, ranks),
        Engine::TimeWarp => timewarp::run(model, settings, watch, ranks),
        Engine::Sequential | Engine::ReverseCheck if ranks.count() > 1 => {
            let allowed = "conservative or timewarp for a run on several ranks";
            Err(ConfigError::new("engine", engine, allowed).into())
        }
        Engine::Sequential => sequential::run(model, settings, watch).map(Some),
        Engine::ReverseCheck => reverse_check::run(model, settings, watch).map(Some),
    }
}

/// How many bytes of a memory limit one event takes.
pub(crate) fn event_bytes<M: Model>(engine: Engine, workers: usize) -> u64 {
    match engine {
        Engine::Conservative => conservative::event_bytes::<M>(),
        _ => timewarp::event_bytes::<M>(workers),
    }
}
