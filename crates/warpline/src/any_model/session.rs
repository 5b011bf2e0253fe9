//! Sessions of models whose type is known only where they were made.
//!
//! The border is that of [`AnyModel`]: it is crossed once per step.

use std::{any::Any, fmt, ops::ControlFlow, path::Path, sync::Arc};

use warpline_core::{LpId, Model, VirtualTime};

use super::{AnyModel, AnyOutput, Only};
use crate::{
    ConfigError, Engine, Progress, Report, Results, RunError, Session,
    engines::Engines,
    event::Message,
    session::{Snapshot, Step, ranks::At},
    settings::Settings,
};

/// A [`Session`] of a model whose type is known only where it was made. Each method is that of
/// [`Session`] with this name, and has its errors.
///
/// ```no_run
/// # fn example(model: warpline::AnyModel) -> Result<(), warpline::RunError> {
/// let mut session = warpline::Simulation::new(model).session()?;
/// session.run_until(60.0)?;
/// let mut other = session.branch()?;
/// # Ok(())
/// # }
/// ```
#[expect(clippy::missing_errors_doc, reason = "they are those of `Session`")]
pub trait AnySession<'a>: Send {
    /// Runs all events that are due before `time`.
    fn run_until(&mut self, time: f64) -> Result<Step, RunError>;

    /// The same, with an observer for this step.
    fn run_until_observed(
        &mut self,
        time: f64,
        observer: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
    ) -> Result<Step, RunError>;

    /// Handles that many events, on the sequential engine.
    fn run_events(&mut self, events: u64) -> Result<Step, RunError>;

    /// Runs all events up to the end that the simulation was given.
    fn run_to_end(&mut self) -> Result<Step, RunError>;

    /// The virtual time up to which all events are committed.
    fn now(&self) -> Result<VirtualTime, RunError>;

    /// The time of the next event, if there is one.
    fn next_event_time(&self) -> Result<Option<VirtualTime>, RunError>;

    /// How many events are pending.
    fn pending_events(&self) -> Result<usize, RunError>;

    /// The report of the run up to now.
    fn report(&self) -> Result<Report<AnyOutput>, RunError>;

    /// The text of the state of an LP, as checks have it ([`Model::state_text`]).
    fn state_text(&self, lp: usize) -> Result<String, RunError>;

    /// The states of all LPs in their order, one after the other, as a checkpoint has them
    /// ([`Model::state_wire`]).
    fn state_bytes(&self) -> Result<Vec<u8>, RunError>;

    /// Sends an event from outside; its message as it travels between ranks ([`Model::wires`]).
    fn inject(&mut self, to: LpId, time: f64, message: &[u8]) -> Result<(), RunError>;

    /// Lets another engine carry out the next steps.
    fn set_engine(&mut self, engine: Engine) -> Result<(), RunError>;

    /// Lets another engine carry out the next steps on so many ranks.
    fn set_engine_on(&mut self, engine: Engine, ranks: usize) -> Result<(), RunError>;

    /// Lets the next steps run on so many ranks, which are threads of this program.
    fn set_ranks(&mut self, ranks: usize) -> Result<(), RunError>;

    /// Limits the bytes of event buffers in the next steps.
    fn set_memory(&mut self, bytes: Option<u64>);

    /// Refuses to write checkpoints to a file where that cannot be.
    fn check_saving(&self, checkpoint: &Path) -> Result<(), RunError>;

    /// Writes a checkpoint.
    fn save(&self, checkpoint: &Path) -> Result<(), RunError>;

    /// What was attached to the checkpoint that this session goes on with.
    fn attached(&self) -> &[u8];

    /// Writes a checkpoint with bytes of the caller's.
    fn save_with(&self, checkpoint: &Path, attached: &[u8]) -> Result<(), RunError>;

    /// A copy of all states and pending events. Messages are copied as they travel between ranks:
    /// the model has to have [`wires`](Model::wires).
    fn snapshot(&self) -> Result<AnySnapshot, RunError>;

    /// Goes back to a snapshot.
    fn restore(&mut self, snapshot: &AnySnapshot) -> Result<(), RunError>;

    /// Another session that goes on from here.
    fn branch(&self) -> Result<Box<dyn AnySession<'a> + 'a>, RunError>;

    /// Another session that goes on from here as `model`, which is of the same type.
    fn branch_as(&self, model: AnyModel) -> Result<Box<dyn AnySession<'a> + 'a>, RunError>;
}

/// A copy of where an [`AnySession`] is.
pub struct AnySnapshot(Box<dyn Any + Send>);

impl<'a, M, E> AnySession<'a> for Session<'a, M, E>
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

    fn state_bytes(&self) -> Result<Vec<u8>, RunError> {
        let Some(wire) = self.guard(|| self.model().state_wire())? else {
            let allowed = "read one by one of a model without `Model::state_wire`";
            return Err(ConfigError::new("states", self.model().name(), allowed).into());
        };
        let lps = self.lps()?;
        self.guard(|| {
            let mut bytes = Vec::new();
            lps.for_each(|lp| wire.write(lp, &mut bytes));
            bytes
        })
    }

    fn inject(&mut self, to: LpId, time: f64, mut message: &[u8]) -> Result<(), RunError> {
        let Some(wires) = self.guard(|| self.model().wires())? else {
            let allowed = "left alone: a model without `Model::wires` takes no message of bytes";
            return Err(ConfigError::new("inject", self.model().name(), allowed).into());
        };
        let read = self.guard(|| wires.message.read(&mut message))?;
        let read = read.ok().filter(|_| message.is_empty());
        let allowed = "the bytes of a message of the model";
        let read = read.ok_or_else(|| ConfigError::new("message", message.len(), allowed))?;
        self.inject(to, time, read)
    }

    fn set_engine(&mut self, engine: Engine) -> Result<(), RunError> {
        self.set_engine(engine)
    }

    fn set_engine_on(&mut self, engine: Engine, ranks: usize) -> Result<(), RunError> {
        self.set_engine_on(engine, ranks)
    }

    fn set_ranks(&mut self, ranks: usize) -> Result<(), RunError> {
        self.set_ranks(ranks)
    }

    fn set_memory(&mut self, bytes: Option<u64>) {
        self.set_memory(bytes);
    }

    fn check_saving(&self, checkpoint: &Path) -> Result<(), RunError> {
        self.check_saving(checkpoint)
    }

    fn save(&self, checkpoint: &Path) -> Result<(), RunError> {
        self.save(checkpoint)
    }

    fn attached(&self) -> &[u8] {
        self.attached()
    }

    fn save_with(&self, checkpoint: &Path, attached: &[u8]) -> Result<(), RunError> {
        self.save_with(checkpoint, attached)
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

    fn branch(&self) -> Result<Box<dyn AnySession<'a> + 'a>, RunError> {
        let model = self.shared_model();
        self.check_branch(&model)?;
        let snapshot = self.snapshot_with(&copy_by_wire(self.model())?)?;
        Ok(Box::new(self.branch_from(snapshot, model)?))
    }

    fn branch_as(&self, model: AnyModel) -> Result<Box<dyn AnySession<'a> + 'a>, RunError> {
        let parameters = model.parameters.clone();
        let model: Arc<M> = model.into_model().map_err(|other| {
            let allowed = format!("the same type of model: {}", self.model().name());
            ConfigError::new("branch", other.name(), allowed)
        })?;
        self.check_branch(&model)?;
        let snapshot = self.snapshot_with(&copy_by_wire(self.model())?)?;
        Ok(Box::new(self.branch_from(snapshot, model)?.with_parameters(parameters)))
    }
}

/// Copies messages as they travel between ranks: they need not be `Clone`.
fn copy_by_wire<M: Model>(
    model: &M,
) -> Result<impl Fn(&Message<M>) -> Message<M> + use<M>, ConfigError> {
    let Some(wires) = model.wires() else {
        let allowed = "left out for a model without `Model::wires`: messages have to be copied";
        return Err(ConfigError::new("snapshot", model.name(), allowed));
    };
    Ok(move |message: &Message<M>| {
        let mut bytes = Vec::new();
        wires.message.write(message, &mut bytes);
        // A panic, which is told as one of the model's code.
        let mut rest = &bytes[..];
        let copy = wires.message.read(&mut rest);
        assert!(rest.is_empty(), "{} bytes of a message are not read back", rest.len());
        copy.unwrap_or_else(|error| panic!("a message is not read back as written: {error}"))
    })
}

impl<E: Engines, M: Model<Output: Results + 'static> + 'static> Only<E, M> {
    /// Begins a session whose type is forgotten, or goes on with a checkpoint.
    pub(super) fn begin<'a>(
        &self,
        settings: Settings,
        at: At<'a>,
        checkpoint: Option<&Path>,
    ) -> Result<Box<dyn AnySession<'a> + 'a>, RunError> {
        Ok(Box::new(Session::<M, E>::open(self.shared(), settings, at, checkpoint)?))
    }
}

impl fmt::Debug for dyn AnySession<'_> + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySession").field("now", &self.now().ok()).finish_non_exhaustive()
    }
}

impl fmt::Debug for AnySnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySnapshot").finish_non_exhaustive()
    }
}
