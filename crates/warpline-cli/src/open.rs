//! Sessions for callers from another language: a model, opened with keys and values, that runs step
//! by step, is looked at, branched, saved and resumed.
//!
//! The keys are those of [`call`](crate::call); a branch takes those that differ.

use std::{fmt, ops::ControlFlow, path::Path, sync::atomic::AtomicBool};

use serde_json::Value;
use warpline::{AnyModel, LpId, Results, RunError, any_model::AnySession};
use warpline_models::catalog::{ModelParams, Prepared};

use crate::{
    Application,
    args::RunArgs,
    call::{CallError, args_of_made},
    checkpoints,
    failure::Failure,
    progress::{Caller, Status},
    refusals::refuse_files,
    report::RunReport,
    run::{AnyReport, prepare},
    values::Bytes,
};

/// Nothing sets it: a step is ended by its observer.
static NEVER: AtomicBool = AtomicBool::new(false);

/// A model that was opened.
pub struct OpenSession {
    session: Box<dyn AnySession<'static>>,
    model: String,
    settings: toml::Table,
    opened: Opened,
    is_interrupted: bool,
}

/// What the settings say.
struct Opened {
    params: ModelParams,
    args: RunArgs,
    end: f64,
    warm_up: Option<f64>,
    notes: Vec<String>,
}

impl Application {
    /// Opens a model with these settings, or goes on with a checkpoint of it (`resume`).
    ///
    /// # Errors
    ///
    /// What the command would have ended with.
    pub fn open(&self, model: &str, settings: toml::Table) -> Result<OpenSession, CallError> {
        let (params, args, _) = self.run_of(model, settings.clone())?;
        open(Opened::of(params, args)?, model, settings)
    }
}

fn open(
    (opened, prepared): (Opened, AnyModel),
    model: &str,
    mut settings: toml::Table,
) -> Result<OpenSession, CallError> {
    let common = &opened.args.common;
    let simulation = common.simulation(prepared, opened.end, &NEVER).ranks(common.ranks.ranks);
    let session = match &opened.args.checkpoints.resume {
        Some(path) => simulation.resume(path),
        None => simulation.session(),
    };
    let session = session.map_err(Failure::from)?;
    // Its branches go on from where it is.
    settings.remove("resume");
    Ok(OpenSession { session, model: model.to_owned(), settings, opened, is_interrupted: false })
}

impl Opened {
    /// What a session of these settings is, and its model.
    fn of(params: ModelParams, args: RunArgs) -> Result<(Self, AnyModel), CallError> {
        let common = &args.common;
        checkpoints::refuse(&args, "a session")?;
        refuse_files(&params, "a session")?;
        if args.most_replications() > 1 || args.verify || args.checkpoints.checkpoint.is_some() {
            let what = "a session is one run that is looked at: leave replications, precision, \
                        verify and checkpoint out";
            return Err(Failure::Configuration(what.to_owned()).into());
        }
        let Prepared { model, end, notes, .. } = prepare(&params, &common.setup(common.seed))?;
        let end = common.end.unwrap_or(end);
        let warm_up = common.warm_up_of(&model);
        Ok((Self { params, args, end, warm_up, notes }, model))
    }
}

impl OpenSession {
    /// Goes on to this virtual time, or to the end of the run. The caller may end the step.
    ///
    /// # Errors
    ///
    /// What the command would have ended with.
    pub fn run_until(&mut self, time: Option<f64>, caller: Caller<'_>) -> Result<(), CallError> {
        let time = time.unwrap_or(self.opened.end);
        let step = self.session.run_until_observed(time, &mut |progress| {
            (caller.show)(Status::Run(*progress));
            if caller.has_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.is_interrupted = step.map_err(Failure::from)?.interrupted;
        Ok(())
    }

    /// The virtual time up to which all events are committed, and that of the next event.
    ///
    /// # Errors
    ///
    /// If a step has failed.
    pub fn times(&self) -> Result<(f64, Option<f64>), CallError> {
        let now = self.session.now().map_err(Failure::from)?;
        let next = self.session.next_event_time().map_err(Failure::from)?;
        Ok((now.get(), next.map(|time| time.get())))
    }

    /// The report of the run up to now, as [`call`](Application::call) returns it.
    ///
    /// # Errors
    ///
    /// If a step has failed, or the model cannot be asked for its results.
    pub fn report(&self) -> Result<Value, CallError> {
        let &Opened { ref params, ref args, warm_up, ref notes, .. } = &self.opened;
        let mut report = self.session.report().map_err(Failure::from)?;
        report.interrupted = self.is_interrupted;
        let pictures = report.output.pictures();
        let notes = notes.clone();
        let report = RunReport { warm_up, pictures, notes, ..RunReport::new(report, params) };
        // No command line repeats it.
        Ok(AnyReport::Run(Box::new(report)).json_for_page(&[], &args.common))
    }

    /// The text of an LP's state.
    ///
    /// # Errors
    ///
    /// If a step has failed, or there is no such LP.
    pub fn state_text(&self, lp: usize) -> Result<String, CallError> {
        Ok(self.session.state_text(lp).map_err(Failure::from)?)
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn save(&self, checkpoint: &Path) -> Result<(), CallError> {
        Ok(self.session.save(checkpoint).map_err(Failure::from)?)
    }

    /// The states of all LPs in their order, one after the other, as a checkpoint has them.
    ///
    /// # Errors
    ///
    /// If a step has failed.
    pub fn state_bytes(&self) -> Result<Vec<u8>, CallError> {
        Ok(self.session.state_bytes().map_err(Failure::from)?)
    }

    /// Sends an event from outside; its message as it travels between ranks.
    ///
    /// # Errors
    ///
    /// If there is no such LP, the time is too early, or the bytes are no message.
    pub fn inject(&mut self, to: u32, time: f64, message: &[u8]) -> Result<(), CallError> {
        Ok(self.session.inject(LpId::new(to), time, message).map_err(Failure::from)?)
    }

    /// Another session that goes on from here, with these settings changed.
    ///
    /// # Errors
    ///
    /// What the command would have ended with; or the model may not go on with other parameters.
    pub fn branch(
        &self,
        application: &Application,
        changes: toml::Table,
    ) -> Result<Self, CallError> {
        let settings = self.changed(changes)?;
        let (params, args, _) = application.run_of(&self.model, settings.clone())?;
        self.branch_as(Opened::of(params, args)?, settings)
    }

    /// Opens a model that no list has.
    ///
    /// # Errors
    ///
    /// What the command would have ended with.
    pub fn open_made(params: ModelParams, settings: toml::Table) -> Result<Self, CallError> {
        let (name, args) = (params.name().to_owned(), settings.clone());
        let args = args_of_made(&name, args)?;
        open(Opened::of(params, args)?, &name, settings)
    }

    /// Another session of such a model that goes on from here, as the one that these parameters
    /// make.
    ///
    /// # Errors
    ///
    /// Those of [`branch`](Self::branch).
    pub fn branch_made(
        &self,
        params: ModelParams,
        changes: toml::Table,
    ) -> Result<Self, CallError> {
        let settings = self.changed(changes)?;
        let args = args_of_made(params.name(), settings.clone())?;
        self.branch_as(Opened::of(params, args)?, settings)
    }

    /// The settings of a branch.
    fn changed(&self, changes: toml::Table) -> Result<toml::Table, Failure> {
        if let Some(key) =
            ["seed", "warmup", "resume"].into_iter().find(|key| changes.contains_key(*key))
        {
            let what = format!("{key} cannot differ in a branch: it goes on with what is there");
            return Err(Failure::Configuration(what));
        }
        let mut settings = self.settings.clone();
        settings.extend(changes);
        Ok(settings)
    }

    fn branch_as(
        &self,
        (opened, prepared): (Opened, AnyModel),
        settings: toml::Table,
    ) -> Result<Self, CallError> {
        let common = &opened.args.common;
        let branch = || {
            let mut session = self.session.branch_as(prepared)?;
            session.set_engine_on(common.engine(1), common.ranks.ranks)?;
            session.set_memory(common.memory.map(|Bytes(bytes)| bytes));
            Ok::<_, RunError>(session)
        };
        let (session, model) = (branch().map_err(Failure::from)?, self.model.clone());
        Ok(Self { session, model, settings, opened, is_interrupted: false })
    }
}

impl fmt::Debug for OpenSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, model, .. } = self;
        f.debug_struct("OpenSession")
            .field("model", model)
            .field("session", session)
            .finish_non_exhaustive()
    }
}
