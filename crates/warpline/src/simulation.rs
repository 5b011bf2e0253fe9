//! How a run is set up: [`Simulation`], the entry point for users.

use std::{
    fmt,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

use warpline_core::Model;

use crate::{
    ConfigError, PendingKind, Progress, Report, RunError,
    pending::{PendingFamily, WithPending},
    sequential,
};

/// What executes the events. Every engine commits the same ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// One event after the other in the order of their keys: the oracle for all other engines.
    #[default]
    Sequential,
}

impl Engine {
    /// Every engine, the default first.
    pub const ALL: &'static [Self] = &[Self::Sequential];

    /// The name that `--engine` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Engine {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|engine| engine.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|engine| engine.name()).collect();
            ConfigError::new("engine", name, format!("one of {}", names.join(", ")))
        })
    }
}

/// Called now and then with the progress; breaking ends the run, marked as interrupted.
pub(crate) type Observer<'a> = Box<dyn FnMut(&Progress) -> ControlFlow<()> + Send + 'a>;

/// Who watches a run, and may end it early.
#[derive(Default)]
pub(crate) struct Watch<'a> {
    pub(crate) observer: Option<Observer<'a>>,
    pub(crate) stop: Option<&'a AtomicBool>,
}

impl Watch<'_> {
    /// Whether the run was told to stop.
    pub(crate) fn stopped(&self) -> bool {
        // Ordering: Relaxed; the flag publishes nothing but itself.
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Shows the progress; breaks if the run is to end.
    pub(crate) fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.observer.as_mut().map_or(ControlFlow::Continue(()), |observer| observer(progress))
    }
}

/// A model and how to run it.
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::Simulation;
///
/// let report = Simulation::new(model).seed(7).end(1_000.0).run()?;
/// println!("{} events, digest {}", report.committed_events, report.digest);
/// # Ok(())
/// # }
/// ```
pub struct Simulation<'a, M> {
    pub(crate) model: M,
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) watch: Watch<'a>,
}

/// The settings that engines read.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) end: f64,
    pub(crate) pending: PendingKind,
    pub(crate) memory: Option<u64>,
}

impl Settings {
    /// The end as a number; infinite for a run without one.
    pub(crate) fn checked_end(&self) -> Result<f64, ConfigError> {
        let ok = self.end >= 0.0;
        ConfigError::check(ok, "end", self.end, "a virtual time of 0 or more")?;
        Ok(self.end)
    }
}

impl<'a, M: Model> Simulation<'a, M> {
    /// A run of `model` on the sequential engine with seed 1 and no end.
    pub fn new(model: M) -> Self {
        let settings =
            Settings { seed: 1, end: f64::INFINITY, pending: PendingKind::default(), memory: None };
        Self { model, engine: Engine::default(), settings, watch: Watch::default() }
    }

    /// Chooses the engine.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Seeds the random streams of all processes.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Ends the run at this virtual time: events due earlier are committed, the others are not.
    ///
    /// Without an end the run goes on until no event is left.
    #[must_use]
    pub fn end(mut self, end: f64) -> Self {
        self.settings.end = end;
        self
    }

    /// Chooses the pending event set.
    #[must_use]
    pub fn pending(mut self, pending: PendingKind) -> Self {
        self.settings.pending = pending;
        self
    }

    /// Limits the bytes that the buffers of pending events take; a run that needs more ends with an
    /// error. The structure of the pending set around the events is not counted.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.settings.memory = Some(bytes);
        self
    }

    /// Shows the progress to `observer` about twenty times a second, and once at the end.
    ///
    /// When it breaks, the run ends there, with a report marked as interrupted.
    #[must_use]
    pub fn observe(
        mut self,
        observer: impl FnMut(&Progress) -> ControlFlow<()> + Send + 'a,
    ) -> Self {
        self.watch.observer = Some(Box::new(observer));
        self
    }

    /// Ends the run, marked as interrupted, soon after `stop` becomes true.
    #[must_use]
    pub fn stop_when(mut self, stop: &'a AtomicBool) -> Self {
        self.watch.stop = Some(stop);
        self
    }

    /// Runs the model.
    ///
    /// # Errors
    ///
    /// - [`RunError::Config`] when a setting is not allowed; nothing has run then.
    /// - [`RunError::Model`] when the model makes a mistake or panics.
    /// - [`RunError::OutOfBuffers`] when the pending events outgrow [`memory`](Self::memory).
    pub fn run(&mut self) -> Result<Report<<M as Model>::Output>, RunError> {
        let Self { model, engine, settings, watch } = self;
        run(*engine, model, settings, watch)
    }
}

impl<M: fmt::Debug> fmt::Debug for Simulation<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("model", &self.model)
            .field("engine", &self.engine)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Runs a borrowed model: replications share one.
pub(crate) fn run<M: Model>(
    engine: Engine,
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Report<M::Output>, RunError> {
    struct Sequential<'r, 'o, M> {
        model: &'r M,
        settings: &'r Settings,
        watch: &'r mut Watch<'o>,
    }
    impl<M: Model> WithPending for Sequential<'_, '_, M> {
        type Output = Result<Report<M::Output>, RunError>;
        fn with<P: PendingFamily>(self) -> Self::Output {
            sequential::run::<M, P>(self.model, self.settings, self.watch)
        }
    }
    match engine {
        Engine::Sequential => settings.pending.dispatch(Sequential { model, settings, watch }),
    }
}
