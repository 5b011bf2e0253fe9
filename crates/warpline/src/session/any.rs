//! Sessions of models whose type is known only where they were made.
//!
//! The border is that of [`AnyModel`]: it is crossed once per step.

use std::{any::Any, fmt, ops::ControlFlow, path::Path, sync::Arc};

use warpline_core::{Model, VirtualTime};

use super::{Session, Snapshot, Step};
use crate::{
    AnyModel, ConfigError, Engine, Only, Progress, Report, Results, RunError, Simulation,
    any_model::AnyOutput, engines::Engines, event::Message, settings::Settings, watch::Watch,
};

/// A [`Session`] of a model whose type is known only where it was made.
///
/// ```no_run
/// # fn example(model: warpline::AnyModel) -> Result<(), warpline::RunError> {
/// let mut session = warpline::Simulation::new(model).session()?;
/// session.run_until(60.0)?;
/// let mut other = session.branch()?;
/// # Ok(())
/// # }
/// ```
pub struct AnySession<'a>(Box<dyn Erased<'a> + Send + 'a>);

/// A copy of where an [`AnySession`] is.
pub struct AnySnapshot(Box<dyn Any + Send>);

impl AnySession<'_> {
    /// As [`Session::run_until`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn run_until(&mut self, time: f64) -> Result<Step, RunError> {
        self.0.run_until(time)
    }

    /// As [`Session::run_until_observed`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn run_until_observed(
        &mut self,
        time: f64,
        mut observer: impl FnMut(&Progress) -> ControlFlow<()> + Send,
    ) -> Result<Step, RunError> {
        self.0.run_until_observed(time, &mut observer)
    }

    /// As [`Session::run_events`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn run_events(&mut self, events: u64) -> Result<Step, RunError> {
        self.0.run_events(events)
    }

    /// As [`Session::run_to_end`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn run_to_end(&mut self) -> Result<Step, RunError> {
        self.0.run_to_end()
    }

    /// As [`Session::now`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn now(&self) -> Result<VirtualTime, RunError> {
        self.0.now()
    }

    /// As [`Session::next_event_time`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn next_event_time(&self) -> Result<Option<VirtualTime>, RunError> {
        self.0.next_event_time()
    }

    /// As [`Session::pending_events`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn pending_events(&self) -> Result<usize, RunError> {
        self.0.pending_events()
    }

    /// As [`Session::report`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn report(&self) -> Result<Report<AnyOutput>, RunError> {
        self.0.report()
    }

    /// The text of the state of each LP, as checks have it ([`Model::state_text`]).
    ///
    /// # Errors
    ///
    /// If a step has failed, or there is no such LP.
    pub fn state_text(&self, lp: usize) -> Result<String, RunError> {
        self.0.state_text(lp)
    }

    /// As [`Session::set_engine`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn set_engine(&mut self, engine: impl Into<Engine>) -> Result<(), RunError> {
        self.0.set_engine(engine.into())
    }

    /// As [`Session::save`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn save(&self, checkpoint: &Path) -> Result<(), RunError> {
        self.0.save(checkpoint)
    }

    /// As [`Session::snapshot`]. Messages are copied as they travel between ranks.
    ///
    /// # Errors
    ///
    /// The same, and [`RunError::Config`] for a model without [`wires`](Model::wires).
    pub fn snapshot(&self) -> Result<AnySnapshot, RunError> {
        self.0.snapshot()
    }

    /// As [`Session::restore`].
    ///
    /// # Errors
    ///
    /// The same, and those of [`snapshot`](Self::snapshot); [`RunError::Config`] if it is of another
    /// type of model.
    pub fn restore(&mut self, snapshot: &AnySnapshot) -> Result<(), RunError> {
        self.0.restore(snapshot)
    }
}

impl<'a> AnySession<'a> {
    /// As [`Session::branch`].
    ///
    /// # Errors
    ///
    /// Those of [`snapshot`](Self::snapshot).
    pub fn branch(&self) -> Result<AnySession<'a>, RunError> {
        self.0.branch(None)
    }

    /// As [`Session::branch_as`].
    ///
    /// # Errors
    ///
    /// The same, and those of [`snapshot`](Self::snapshot); [`RunError::Config`] if it is another
    /// type of model.
    pub fn branch_as(&self, model: AnyModel) -> Result<AnySession<'a>, RunError> {
        self.0.branch(Some(model))
    }
}

impl<'a> Simulation<'a, AnyModel> {
    /// Begins a run in steps.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn session(self) -> Result<AnySession<'a>, RunError> {
        let Self { model, settings, watch } = self;
        model.begin(settings, watch, None)
    }

    /// Goes on with a [checkpoint](Session::save).
    ///
    /// # Errors
    ///
    /// [`RunError::Checkpoint`] if the file cannot be read, is damaged, or is of another run.
    pub fn resume(self, checkpoint: &Path) -> Result<AnySession<'a>, RunError> {
        let Self { model, settings, watch } = self;
        model.begin(settings, watch, Some(checkpoint))
    }
}

/// A session behind a table of functions.
trait Erased<'a> {
    fn run_until(&mut self, time: f64) -> Result<Step, RunError>;
    fn run_until_observed(
        &mut self,
        time: f64,
        observer: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
    ) -> Result<Step, RunError>;
    fn run_events(&mut self, events: u64) -> Result<Step, RunError>;
    fn run_to_end(&mut self) -> Result<Step, RunError>;
    fn now(&self) -> Result<VirtualTime, RunError>;
    fn next_event_time(&self) -> Result<Option<VirtualTime>, RunError>;
    fn pending_events(&self) -> Result<usize, RunError>;
    fn report(&self) -> Result<Report<AnyOutput>, RunError>;
    fn state_text(&self, lp: usize) -> Result<String, RunError>;
    fn set_engine(&mut self, engine: Engine) -> Result<(), RunError>;
    fn save(&self, checkpoint: &Path) -> Result<(), RunError>;
    fn snapshot(&self) -> Result<AnySnapshot, RunError>;
    fn restore(&mut self, snapshot: &AnySnapshot) -> Result<(), RunError>;
    fn branch(&self, model: Option<AnyModel>) -> Result<AnySession<'a>, RunError>;
}

impl<'a, M, E> Erased<'a> for Session<'a, M, E>
where
    M: Model<Output: Results + 'static> + 'static,
    E: Engines,
{
    fn run_until(&mut self, time: f64) -> Result<Step, RunError> {
        self.run_until(time)
    }

    fn run_until_observed(
        &mut self,
        time: f64,
        observer: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
    ) -> Result<Step, RunError> {
        self.run_until_observed(time, observer)
    }

    fn run_events(&mut self, events: u64) -> Result<Step, RunError> {
        self.run_events(events)
    }

    fn run_to_end(&mut self) -> Result<Step, RunError> {
        self.run_to_end()
    }

    fn now(&self) -> Result<VirtualTime, RunError> {
        self.now()
    }

    fn next_event_time(&self) -> Result<Option<VirtualTime>, RunError> {
        self.next_event_time()
    }

    fn pending_events(&self) -> Result<usize, RunError> {
        self.pending_events()
    }

    fn report(&self) -> Result<Report<AnyOutput>, RunError> {
        Ok(self.report()?.map(AnyOutput::new))
    }

    fn state_text(&self, lp: usize) -> Result<String, RunError> {
        let mut lps = self.lps()?;
        let count = lps.len();
        let Some(state) = lps.nth(lp) else {
            let allowed = format!("an LP of the model, which has {count}");
            return Err(ConfigError::new("lp", lp, allowed).into());
        };
        self.guard(|| self.model().state_text(state))
    }

    fn set_engine(&mut self, engine: Engine) -> Result<(), RunError> {
        self.set_engine(engine)
    }

    fn save(&self, checkpoint: &Path) -> Result<(), RunError> {
        self.save(checkpoint)
    }

    fn snapshot(&self) -> Result<AnySnapshot, RunError> {
        let copy = copy_by_wire(self.model())?;
        Ok(AnySnapshot(Box::new(self.snapshot_with(&copy)?)))
    }

    fn restore(&mut self, snapshot: &AnySnapshot) -> Result<(), RunError> {
        let Some(snapshot) = snapshot.0.downcast_ref::<Snapshot<M>>() else {
            let allowed = format!("of this type of model: {}", self.model().name());
            return Err(ConfigError::new("snapshot", "of another one", allowed).into());
        };
        self.restore_with(snapshot, &copy_by_wire(self.model())?)
    }

    fn branch(&self, model: Option<AnyModel>) -> Result<AnySession<'a>, RunError> {
        let snapshot = self.snapshot_with(&copy_by_wire(self.model())?)?;
        let model = match model {
            None => Arc::clone(&self.model),
            Some(model) => model.into_model().map_err(|other| {
                let allowed = format!("the same type of model: {}", self.model().name());
                ConfigError::new("branch", other.name(), allowed)
            })?,
        };
        Ok(AnySession(Box::new(self.branch_from(snapshot, model)?)))
    }
}

/// Copies messages as they travel between ranks: they need not be `Clone`.
fn copy_by_wire<M: Model>(
    model: &M,
) -> Result<impl Fn(&Message<M>) -> Message<M> + use<M>, ConfigError> {
    let Some(wires) = model.wires() else {
        let allowed = "left out for a model without `Model::wires`: messages have to be copied";
        return Err(ConfigError::new("branch", model.name(), allowed));
    };
    Ok(move |message: &Message<M>| {
        let mut bytes = Vec::new();
        wires.message.write(message, &mut bytes);
        // A panic, which is told as one of the model's code.
        wires
            .message
            .read(&mut &bytes[..])
            .unwrap_or_else(|error| panic!("a message is not read back as it was written: {error}"))
    })
}

impl<E: Engines, M: Model<Output: Results + 'static> + 'static> Only<E, M> {
    /// Begins a session whose type is forgotten, or goes on with a checkpoint.
    pub(crate) fn begin_any<'a>(
        &self,
        settings: Settings,
        watch: Watch<'a>,
        checkpoint: Option<&Path>,
    ) -> Result<AnySession<'a>, RunError> {
        let session = match checkpoint {
            Some(path) => Session::<M, E>::resume(self.shared(), settings, watch, path)?,
            None => Session::<M, E>::begin(self.shared(), settings, watch)?,
        };
        Ok(AnySession(Box::new(session)))
    }
}

impl fmt::Debug for AnySession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySession").field("now", &self.0.now().ok()).finish_non_exhaustive()
    }
}

impl fmt::Debug for AnySnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySnapshot").finish_non_exhaustive()
    }
}
