//! A run in steps: [`Session`] goes on to a point of virtual time and stops there, so that its
//! states can be read, something can be changed, and several futures can be tried.
//!
//! Called by users, through [`Simulation::session`](crate::Simulation). Between two steps there is
//! a whole cut (`cut.rs`), as no engine in particular has it. Each step is a run of an engine that
//! begins with that cut and leaves the next one, so the engine may change from step to step.
//!
//! # Invariants
//!
//! - **SESSION-A.** A session that is never interfered with commits what a run commits, wherever it
//!   stops and whichever engines carry it out.
//! - **SESSION-B.** An event from outside has the key of an event that its receiver has sent to
//!   itself. So it is ordered by rule, and its place does not depend on the engine.

mod blocks;
mod checkpoint;
mod codec;
mod engine;
mod lacking;
pub(crate) mod ranks;
mod snapshot;
mod steps;

use std::{fmt, marker::PhantomData, path::Path, sync::Arc, time::Duration};

use warpline_core::{EventKey, LogicalProcess, LpId, Model, VirtualTime};

pub use checkpoint::{Checkpoint, previous};
pub use snapshot::Snapshot;

use crate::{
    ConfigError, Details, Report, RunError, Totals,
    cut::{Rest, Whole},
    engines::{All, Engines, after_trial},
    event::{Buffer, Event, Inline},
    handling::{Lp, Value},
    panics, run,
    settings::{Parallel, Settings},
    warming,
    watch::Watch,
};
use ranks::{At, Home};

/// How a step ends for its engine.
type StepEnded<M> = Result<Report<Rest<M>>, RunError>;

/// What a step of a session has done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Whether it ended early, because the observer or the stop flag wanted it.
    pub interrupted: bool,
    /// Counts of this step. The digest is that of all events since the start of the run.
    pub totals: Totals,
    /// What its engine says of it.
    pub details: Details,
    /// How long it took.
    pub wall: Duration,
}

/// A run that can be stopped, looked at, changed and continued.
///
/// ```
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Simulation, Speculative};
///
/// let mut session = Simulation::new(model).engine(Speculative::default()).session()?;
/// session.run_until(60.0)?;
/// println!("next event: {:?}", session.next_event_time());
/// session.run_until(120.0)?;
/// println!("digest {}", session.report()?.digest);
/// # Ok(())
/// # }
/// ```
///
/// After a step that fails, the session has no state any more: only [`restore`](Self::restore)
/// brings it back.
pub struct Session<'a, M: Model, E = All> {
    model: Arc<M>,
    settings: Settings,
    home: Home<'a>,
    watch: Watch<'a>,
    /// Nothing after a step that has failed.
    state: Option<State<M>>,
    /// Of the checkpoint that it goes on with.
    attached: Vec<u8>,
    engines: PhantomData<fn() -> E>,
}

/// Where a session is.
struct State<M: Model> {
    whole: Whole<M>,
    now: VirtualTime,
    /// Whether events at `now` itself may be committed.
    is_past_now: bool,
    totals: Totals,
    wall: Duration,
    /// Of the last step.
    details: Details,
    /// Seconds per virtual time of the last step.
    pace: Option<f64>,
}

impl<'a, M: Model, E: Engines> Session<'a, M, E> {
    /// Begins, or goes on with a checkpoint.
    pub(crate) fn open(
        model: Arc<M>,
        settings: Settings,
        at: At<'a>,
        checkpoint: Option<&Path>,
    ) -> Result<Self, RunError> {
        match checkpoint {
            Some(path) => Self::resume(model, settings, at, path),
            None => Self::begin(model, settings, at),
        }
    }

    /// Makes the LPs and lets each send its first events.
    pub(crate) fn begin(
        model: Arc<M>,
        settings: Settings,
        (home, watch): At<'a>,
    ) -> Result<Self, RunError> {
        let mut session = Self::without_state(model, settings, home, watch)?;
        // An interruption here would leave out LPs.
        let report = session.carry_out(&mut Watch::default(), 0.0, None)?;
        let whole = report.output.cut();
        debug_assert_eq!(whole.0.lps.len(), session.model.lp_count(), "CUT-A: an LP is missing");
        debug_assert_eq!(whole.0.committed(), 0, "SESSION-A: an event before time zero");
        session.state = Some(State {
            now: VirtualTime::ZERO,
            is_past_now: false,
            totals: report.totals,
            wall: report.wall,
            details: report.details,
            pace: None,
            whole,
        });
        Ok(session)
    }

    /// Goes on with a checkpoint.
    pub(crate) fn resume(
        model: Arc<M>,
        settings: Settings,
        (home, watch): At<'a>,
        checkpoint: &Path,
    ) -> Result<Self, RunError> {
        let mut session = Self::without_state(model, settings, home, watch)?;
        let (state, attached) = session.load(checkpoint)?;
        (session.state, session.attached) = (Some(state), attached);
        Ok(session)
    }

    fn without_state(
        model: Arc<M>,
        settings: Settings,
        home: Home<'a>,
        watch: Watch<'a>,
    ) -> Result<Self, RunError> {
        ConfigError::check(home.ranks() > 0, "ranks", home.ranks(), "1 or more")?;
        warming::check(&*model, &settings)?;
        panics::catch(|| Self::check_engine(&model, &settings.engine, home.ranks()))
            .map_err(|fault| run::model_error(fault, None, &settings.parallel()))??;
        let settings = after_trial(|trial| E::count(&*model, trial), &settings)?.into_owned();
        let (attached, engines) = (Vec::new(), PhantomData);
        Ok(Self { model, settings, home, watch, state: None, attached, engines })
    }

    /// The virtual time up to which all events are committed: that of the last
    /// [`run_until`](Self::run_until), or of the last event if that was infinite, interrupted, or
    /// [`run_events`](Self::run_events).
    ///
    /// # Errors
    ///
    /// If a step has failed.
    pub fn now(&self) -> Result<VirtualTime, RunError> {
        Ok(self.state()?.now)
    }

    /// The time of the next event, if there is one.
    ///
    /// # Errors
    ///
    /// If a step has failed.
    pub fn next_event_time(&self) -> Result<Option<VirtualTime>, RunError> {
        let State { whole, now, .. } = self.state()?;
        let next = whole.0.pending.iter().map(|event| event.key.time()).min();
        debug_assert!(next.is_none_or(|next| next >= *now), "SESSION-A: {next:?} is before {now}");
        Ok(next)
    }

    /// How many events are pending.
    ///
    /// # Errors
    ///
    /// If a step has failed.
    pub fn pending_events(&self) -> Result<usize, RunError> {
        Ok(self.state()?.whole.0.pending.len())
    }

    /// The states of all LPs, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// If a step has failed.
    pub fn lps(&self) -> Result<impl ExactSizeIterator<Item = &M::Lp>, RunError> {
        Ok(self.state()?.whole.0.lps.iter().map(|lp| &lp.state))
    }

    /// The report of the run up to now, as if it ended here: of copies of the states.
    ///
    /// # Errors
    ///
    /// [`RunError::Model`] if code of the model panics.
    pub fn report(&self) -> Result<Report<M::Output>, RunError> {
        let State { whole, now, totals, wall, details, .. } = self.state()?;
        debug_assert_eq!(
            whole.0.committed(),
            totals.committed_events,
            "SESSION-A: the report would tell of other events"
        );
        let settings = of_errors(&self.settings);
        let (engine, ranks) = self.home.at_work(&self.settings);
        let copies = (0..)
            .zip(&whole.0.lps)
            .map(|(number, lp)| (LpId::from_index(number), lp.state.clone()));
        Ok(Report {
            model: self.model.name().to_owned(),
            engine,
            ranks,
            workers: ranks * self.settings.engine.workers(),
            seed: self.settings.seed,
            end_time: *now,
            interrupted: false,
            wall: *wall,
            totals: totals.clone(),
            details: details.clone(),
            output: run::reduce(&*self.model, copies, *now, &settings)?,
            intervals: Vec::new(),
        })
    }

    /// Sends an event from outside: it is as if its receiver had sent it to itself just now, so it
    /// has the same place among all events on every engine. `time` is [`now`](Self::now) or later;
    /// later, if events at that very time are committed.
    ///
    /// # Errors
    ///
    /// [`RunError::Config`] if there is no such LP, or the time is too early.
    pub fn inject(
        &mut self,
        to: LpId,
        time: f64,
        message: <M::Lp as LogicalProcess>::Message,
    ) -> Result<(), RunError> {
        let State { whole, now, is_past_now, .. } =
            self.state.as_mut().ok_or_else(without_state)?;
        let lps = whole.0.lps.len();
        let Some(Lp { core, .. }) = whole.0.lps.get_mut(to.index()) else {
            let allowed = format!("an LP of the model, which has {lps}");
            return Err(ConfigError::new("to", to, allowed).into());
        };
        let ok = if *is_past_now { time > now.get() } else { time >= now.get() };
        let due = VirtualTime::new(time).ok().filter(|_| ok);
        let allowed =
            format!("a time {} {now}", if *is_past_now { "after" } else { "at or after" });
        let due = due.ok_or_else(|| ConfigError::new("time", time, allowed))?;
        // SESSION-B.
        let key = EventKey::new(due, 0, to, core.sent);
        debug_assert!(
            whole.0.pending.iter().all(|event| event.key != key),
            "SESSION-B: two events have the key {key:?}"
        );
        core.sent += 1;
        let message = Inline::store(Value(message), &mut Vec::new());
        whole.0.pending.push(Event { key, to, io: None.into(), message });
        Ok(())
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &M {
        &self.model
    }

    fn state(&self) -> Result<&State<M>, RunError> {
        self.state.as_ref().ok_or_else(without_state)
    }

    /// Runs code of the model outside of any event.
    pub(crate) fn guard<T>(&self, code: impl FnOnce() -> T) -> Result<T, RunError> {
        let no_event = |fault| run::model_error(fault, None, &of_errors(&self.settings));
        panics::catch(code).map_err(no_event)
    }
}

/// The settings as errors that belong to no event tell them.
#[cold]
fn of_errors(settings: &Settings) -> Parallel<'_> {
    Parallel { engine: settings.engine.kind(), ..settings.parallel() }
}

impl<M: Model, E> fmt::Debug for Session<'_, M, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.state.as_ref().map(|state| state.now);
        f.debug_struct("Session")
            .field("model", &self.model.name())
            .field("now", &now)
            .finish_non_exhaustive()
    }
}

#[cold]
fn without_state() -> RunError {
    let allowed = "at a point to go on from: its last step failed; restore a snapshot";
    ConfigError::new("session", "without a state", allowed).into()
}
