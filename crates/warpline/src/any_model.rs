//! What a simulation runs: a model, [`AnyModel`], a model whose type is known only where it was
//! made, or [`Only`], a model for which some engines are compiled.
//!
//! Every engine is compiled anew for every type of model, which takes most of the time that a build
//! takes. `AnyModel` is the border behind which that happens once: where the model is put into it.
//! A command, a laboratory or a test that runs models through it is compiled without any engine.
//! The border is crossed once per run, not per event.

mod session;

use std::{any::Any, fmt, marker::PhantomData, path::Path, sync::Arc};

use warpline_core::{LogicalProcess, Model};
use warpline_memory::Arena;

pub use session::{AnySession, AnySnapshot};

use crate::{
    Engine, Figure, Report, Results, RunError,
    cut::Rest,
    engines::{self, All, Engines, Job, Trial},
    picture::Picture,
    session::ranks::{At, Service},
    settings::{AnyParameters, Settings},
    warming,
};

/// What a [`Simulation`](crate::Simulation) runs: every [`Model`], [`AnyModel`], and [`Only`].
///
/// Nothing else implements it.
pub trait Runnable: Sync {
    /// The result of a run.
    type Output: Send;

    /// The engine of a run that names none.
    #[doc(hidden)]
    fn engine(&self) -> Engine {
        Engine::default()
    }

    /// Runs it.
    #[doc(hidden)]
    fn execute(&self, job: Job<'_, '_>) -> Result<Option<Report<Self::Output>>, RunError>;

    /// Serves a session of rank 0.
    #[doc(hidden)]
    fn serve(&self, service: Service<'_>) -> Result<(), RunError>;

    /// Counts the events of each LP at the beginning of a run.
    #[doc(hidden)]
    fn count(&self, trial: Trial<'_>) -> Result<Vec<u64>, RunError>;

    /// How many bytes of a memory limit one event takes.
    #[doc(hidden)]
    fn event_bytes(&self, engine: &Engine) -> u64;

    /// The bytes of the buffer that a message lies in.
    #[doc(hidden)]
    fn buffer_bytes(&self, workers: usize) -> u64;
}

impl<M: Model> Runnable for M {
    type Output = M::Output;

    fn execute(&self, job: Job<'_, '_>) -> Result<Option<Report<M::Output>>, RunError> {
        warming::run::<M, All>(self, job).map(output_of)
    }

    fn serve(&self, service: Service<'_>) -> Result<(), RunError> {
        service.carry_out::<M, All>(self)
    }

    fn count(&self, trial: Trial<'_>) -> Result<Vec<u64>, RunError> {
        All::count(self, trial)
    }

    fn event_bytes(&self, engine: &Engine) -> u64 {
        engines::event_bytes::<M>(engine)
    }

    fn buffer_bytes(&self, workers: usize) -> u64 {
        Arena::<<M::Lp as LogicalProcess>::Message>::buffer_bytes(workers) as u64
    }
}

/// The report of a run to its end.
fn output_of<M: Model>(report: Option<Report<Rest<M>>>) -> Option<Report<M::Output>> {
    report.map(|report| report.map(Rest::output))
}

/// A model for which only the engines `E` are compiled, which is what building a model takes its
/// time for: `Only::<TimeWarp, _>::new(model)` has Time Warp only.
///
/// `E` is the type of an engine's settings, or a pair of such types for two engines. A single one
/// is the engine of each [`Simulation`](crate::Simulation) of this model that names none; of
/// several, [`engine`](crate::Simulation::engine) chooses one, unless
/// [`Sequential`](crate::Sequential) is among them. A run on another engine is an error.
pub struct Only<E, M> {
    model: Arc<M>,
    engines: PhantomData<fn() -> E>,
}

impl<E: Engines, M: Model> Only<E, M> {
    /// The model with these engines.
    pub fn new(model: M) -> Self {
        Self { model: Arc::new(model), engines: PhantomData }
    }

    pub(crate) fn shared(&self) -> Arc<M> {
        Arc::clone(&self.model)
    }
}

impl<E: Engines, M: Model> Runnable for Only<E, M> {
    type Output = M::Output;

    fn engine(&self) -> Engine {
        let engine = E::only().unwrap_or_default();
        debug_assert!(E::only().is_none() || E::has(engine.kind()), "A16: it is another engine");
        engine
    }

    fn execute(&self, job: Job<'_, '_>) -> Result<Option<Report<M::Output>>, RunError> {
        warming::run::<M, E>(&self.model, job).map(output_of)
    }

    fn serve(&self, service: Service<'_>) -> Result<(), RunError> {
        service.carry_out::<M, E>(&self.model)
    }

    fn count(&self, trial: Trial<'_>) -> Result<Vec<u64>, RunError> {
        E::count(&*self.model, trial)
    }

    fn event_bytes(&self, engine: &Engine) -> u64 {
        self.model.event_bytes(engine)
    }

    fn buffer_bytes(&self, workers: usize) -> u64 {
        self.model.buffer_bytes(workers)
    }
}

impl<E, M: fmt::Debug> fmt::Debug for Only<E, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Only").field(&self.model).finish()
    }
}

/// A model whose type is known only where it was made.
///
/// It is run like any other:
///
/// ```no_run
/// # fn example(model: warpline::AnyModel) -> Result<(), warpline::RunError> {
/// let report = warpline::Simulation::new(model).end(1_000.0).run()?;
/// # Ok(())
/// # }
/// ```
pub struct AnyModel {
    model: Box<dyn Erased>,
    /// What stands for its parameters, if it does not tell them itself.
    parameters: Option<AnyParameters>,
}

/// The result of a run of [`AnyModel`]: the figures of the model's own result, and that itself for
/// those who know its type.
pub struct AnyOutput(Box<dyn ErasedOutput>);

impl AnyOutput {
    pub(crate) fn new(output: impl Results + Send + 'static) -> Self {
        Self(Box::new(output))
    }

    /// The model's own result, if it is of this type.
    #[must_use]
    pub fn get<O: 'static>(&self) -> Option<&O> {
        self.0.as_any().downcast_ref()
    }
}

impl Results for AnyOutput {
    fn figures(&self) -> Vec<Figure> {
        self.0.figures()
    }

    fn pictures(&self) -> Vec<Picture> {
        self.0.pictures()
    }
}

/// A result of a type that is forgotten.
trait ErasedOutput: Results + Send {
    fn as_any(&self) -> &dyn Any;
}

impl<O: Results + Send + 'static> ErasedOutput for O {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl AnyModel {
    /// Forgets the model's type. All engines are compiled for the model where this is called.
    pub fn new<M>(model: M) -> Self
    where
        M: Model<Output: Results + 'static> + 'static,
    {
        Only::<All, M>::new(model).into()
    }

    /// The same model, for which these parameters stand in checkpoints if it does not tell its own
    /// ([`Model::parameters`]): a run with others does not go on with a checkpoint.
    #[must_use]
    pub fn or_parameters(self, parameters: impl fmt::Debug + Send + Sync + 'static) -> Self {
        Self { parameters: Some(Arc::new(parameters)), ..self }
    }

    /// The model's name, as reports have it.
    #[must_use]
    pub fn name(&self) -> String {
        self.model.name()
    }

    /// How many logical processes the model has.
    #[must_use]
    pub fn lp_count(&self) -> usize {
        self.model.lp_count()
    }

    /// Begins a session, or goes on with a checkpoint.
    pub(crate) fn begin<'a>(
        &self,
        settings: Settings,
        at: At<'a>,
        checkpoint: Option<&Path>,
    ) -> Result<Box<dyn AnySession<'a> + 'a>, RunError> {
        let parameters = self.parameters.clone();
        self.model.begin(Settings { parameters, ..settings }, at, checkpoint)
    }

    /// The model itself, if it is of this type.
    pub(crate) fn into_model<M: Model + 'static>(self) -> Result<Arc<M>, Self> {
        debug_assert!(self.lp_count() <= u32::MAX as usize, "LPs without a number");
        match self.model.model().downcast() {
            Ok(model) => Ok(model),
            Err(_) => Err(self),
        }
    }

    /// Whether its statistics can begin anew at the end of a warm-up.
    #[must_use]
    pub fn has_statistics(&self) -> bool {
        self.model.has_statistics()
    }

    /// The lookahead that the model declares, in units of virtual time.
    #[must_use]
    pub fn lookahead(&self) -> Option<f64> {
        self.model.lookahead()
    }
}

/// Forgets the model's type.
impl<E: Engines, M: Model<Output: Results + 'static> + 'static> From<Only<E, M>> for AnyModel {
    fn from(model: Only<E, M>) -> Self {
        Self { model: Box::new(model), parameters: None }
    }
}

/// A model behind a table of functions, each called once per run.
trait Erased: Send + Sync {
    fn model(&self) -> Arc<dyn Any + Send + Sync>;
    fn begin<'a>(
        &self,
        settings: Settings,
        at: At<'a>,
        checkpoint: Option<&Path>,
    ) -> Result<Box<dyn AnySession<'a> + 'a>, RunError>;
    fn name(&self) -> String;
    fn parameters(&self) -> &dyn fmt::Debug;
    fn lp_count(&self) -> usize;
    fn lookahead(&self) -> Option<f64>;
    fn has_statistics(&self) -> bool;
    fn engine(&self) -> Engine;
    fn execute(&self, job: Job<'_, '_>) -> Result<Option<Report<AnyOutput>>, RunError>;
    fn serve(&self, service: Service<'_>) -> Result<(), RunError>;
    fn count(&self, trial: Trial<'_>) -> Result<Vec<u64>, RunError>;
    fn event_bytes(&self, engine: &Engine) -> u64;
    fn buffer_bytes(&self, workers: usize) -> u64;
}

impl<E: Engines, M: Model<Output: Results + 'static> + 'static> Erased for Only<E, M> {
    fn model(&self) -> Arc<dyn Any + Send + Sync> {
        self.shared()
    }

    fn begin<'a>(
        &self,
        settings: Settings,
        at: At<'a>,
        checkpoint: Option<&Path>,
    ) -> Result<Box<dyn AnySession<'a> + 'a>, RunError> {
        Self::begin(self, settings, at, checkpoint)
    }

    fn name(&self) -> String {
        self.model.name().to_owned()
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        self.model.parameters()
    }

    fn lp_count(&self) -> usize {
        self.model.lp_count()
    }

    fn lookahead(&self) -> Option<f64> {
        self.model.lookahead()
    }

    fn has_statistics(&self) -> bool {
        self.model.has_statistics()
    }

    fn engine(&self) -> Engine {
        Runnable::engine(self)
    }

    fn execute(&self, job: Job<'_, '_>) -> Result<Option<Report<AnyOutput>>, RunError> {
        let report = Runnable::execute(self, job)?;
        Ok(report.map(|report| report.map(AnyOutput::new)))
    }

    fn serve(&self, service: Service<'_>) -> Result<(), RunError> {
        Runnable::serve(self, service)
    }

    fn count(&self, trial: Trial<'_>) -> Result<Vec<u64>, RunError> {
        Runnable::count(self, trial)
    }

    fn event_bytes(&self, engine: &Engine) -> u64 {
        Runnable::event_bytes(self, engine)
    }

    fn buffer_bytes(&self, workers: usize) -> u64 {
        Runnable::buffer_bytes(self, workers)
    }
}

impl Runnable for AnyModel {
    type Output = AnyOutput;

    fn engine(&self) -> Engine {
        self.model.engine()
    }

    fn execute(&self, job: Job<'_, '_>) -> Result<Option<Report<AnyOutput>>, RunError> {
        self.model.execute(job)
    }

    fn serve(&self, service: Service<'_>) -> Result<(), RunError> {
        self.model.serve(service)
    }

    fn count(&self, trial: Trial<'_>) -> Result<Vec<u64>, RunError> {
        self.model.count(trial)
    }

    fn event_bytes(&self, engine: &Engine) -> u64 {
        self.model.event_bytes(engine)
    }

    fn buffer_bytes(&self, workers: usize) -> u64 {
        self.model.buffer_bytes(workers)
    }
}

impl fmt::Debug for AnyModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyModel").field(&self.name()).field(self.model.parameters()).finish()
    }
}

impl fmt::Debug for AnyOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyOutput").field(&self.figures()).finish()
    }
}
