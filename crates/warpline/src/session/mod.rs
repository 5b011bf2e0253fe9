//! A run in steps: [`Session`] goes on to a point of virtual time and stops there, so that its
//! states can be read, something can be changed, and several futures can be tried.
//!
//! Called by users, through [`Simulation::session`]. Between two steps there is a whole
//! [cut](crate::cut), as no engine in particular has it. Each step is a run of an engine that begins
//! with that cut and leaves the next one, so the engine may change from step to step.
//!
//! # Invariants
//!
//! - **SESSION-A.** A session that is never interfered with commits what [`Simulation::run`]
//!   commits, wherever it stops and whichever engines carry it out.
//! - **SESSION-B.** An event from outside has the key of an event that its receiver has sent to
//!   itself. So it is ordered by rule, and its place does not depend on the engine.

mod any;
mod blocks;
mod checkpoint;
mod snapshot;

use std::{fmt, marker::PhantomData, ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use warpline_core::{EventKey, LogicalProcess, LpId, Model, VirtualTime};

pub use any::{AnySession, AnySnapshot};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use snapshot::Snapshot;

use crate::{
    ConfigError, Details, Engine, Progress, Report, RunError, Simulation, Totals,
    any_model::Only,
    cut::{Rest, Whole},
    engines::{All, Engines, Job},
    event::{Buffer, Event, Inline, Message},
    handling::{Lp, Value},
    panics,
    run::{self, Ranks},
    settings::{Parallel, Settings},
    simulation::after_trial,
    watch::Watch,
};
use snapshot::copy_of;

/// What a step of a session has done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Whether it ended early, because the observer or the stop flag wanted it.
    pub interrupted: bool,
    /// Counts of this step. The digest is that of all events since the start of the run.
    pub totals: Totals,
    /// What its engine has told.
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
    watch: Watch<'a>,
    /// Nothing after a step that has failed.
    state: Option<State<M>>,
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
}

impl<'a, M: Model, E: Engines> Session<'a, M, E> {
    /// Makes the LPs and lets each send its first events.
    pub(crate) fn begin(
        model: Arc<M>,
        settings: Settings,
        watch: Watch<'a>,
    ) -> Result<Self, RunError> {
        let mut session = Self::without_state(model, settings, watch)?;
        // An interruption here would leave out LPs.
        let report = session.carry_out(&mut Watch::default(), 0.0, None)?;
        session.state = Some(State {
            now: VirtualTime::ZERO,
            is_past_now: false,
            totals: report.totals,
            wall: report.wall,
            details: report.details,
            whole: report.output.cut(),
        });
        Ok(session)
    }

    /// Goes on with a checkpoint.
    pub(crate) fn resume(
        model: Arc<M>,
        settings: Settings,
        watch: Watch<'a>,
        checkpoint: &Path,
    ) -> Result<Self, RunError> {
        let mut session = Self::without_state(model, settings, watch)?;
        session.state = Some(session.load(checkpoint)?);
        Ok(session)
    }

    fn without_state(
        model: Arc<M>,
        settings: Settings,
        watch: Watch<'a>,
    ) -> Result<Self, RunError> {
        let settings = after_trial(|trial| E::count(&*model, trial), &settings)?.into_owned();
        Ok(Self { model, settings, watch, state: None, engines: PhantomData })
    }

    /// Runs all events that are due before `time`, an infinite one for all events. Those at `time`
    /// itself are not handled yet.
    ///
    /// # Errors
    ///
    /// - [`RunError::Config`] if `time` is earlier than [`now`](Self::now), or the engine cannot
    ///   begin with a session's state; nothing has changed then.
    /// - Those of [`Simulation::run`]; the session has no state then.
    pub fn run_until(&mut self, time: f64) -> Result<Step, RunError> {
        let mut watch = std::mem::take(&mut self.watch);
        let step = self.run_watched(time, &mut watch);
        self.watch = watch;
        step
    }

    /// The same, with an observer for this step in place of the simulation's: when it breaks, the
    /// step ends there.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until).
    pub fn run_until_observed(
        &mut self,
        time: f64,
        observer: impl FnMut(&Progress) -> ControlFlow<()> + Send,
    ) -> Result<Step, RunError> {
        let Watch { stop, monitor, limit, .. } = &self.watch;
        let (stop, monitor, limit) = (*stop, monitor.clone(), limit.clone());
        let observer = Some(Box::new(observer) as _);
        let mut watch = Watch { observer, stop, monitor, limit, ..Watch::default() };
        self.run_watched(time, &mut watch)
    }

    fn run_watched(&mut self, time: f64, watch: &mut Watch<'_>) -> Result<Step, RunError> {
        let now = self.state()?.now;
        ConfigError::check(time >= now.get(), "until", time, &format!("{now} or later"))?;
        self.step(watch, time, |session, watch, whole| session.carry_out(watch, time, Some(whole)))
    }

    /// Handles the first `events` pending events that are due before the end that the simulation
    /// was given, on the sequential engine: for a look at each.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until).
    pub fn run_events(&mut self, events: u64) -> Result<Step, RunError> {
        let mut watch = std::mem::take(&mut self.watch);
        let step = self.step(&mut watch, f64::INFINITY, |session, watch, whole| {
            let settings = Settings { leaves_cut: true, ..session.settings.clone() };
            let job = Job { settings: &settings, watch, ranks: &Ranks::alone() };
            E::run_some(session.model(), job, (whole, events))
        });
        self.watch = watch;
        step
    }

    /// Runs all events up to the end that the simulation was given, or all there are.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until).
    pub fn run_to_end(&mut self) -> Result<Step, RunError> {
        self.run_until(self.settings.end)
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
        let pending = &self.state()?.whole.0.pending;
        Ok(pending.iter().map(|event| event.key.time()).min())
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
        let settings = self.of_errors();
        let copies = (0..)
            .zip(&whole.0.lps)
            .map(|(number, lp)| (LpId::from_index(number), lp.state.clone()));
        Ok(Report {
            model: self.model.name().to_owned(),
            engine: settings.engine,
            ranks: 1,
            workers: self.settings.engine.workers(),
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
        core.sent += 1;
        let message = Inline::store(Value(message), &mut Vec::new());
        whole.0.pending.push(Event { key, to, io: None, message });
        Ok(())
    }

    /// Lets another engine, with its settings, carry out the next steps.
    ///
    /// # Errors
    ///
    /// If a trial that its placement asks for fails.
    pub fn set_engine(&mut self, engine: impl Into<Engine>) -> Result<(), RunError> {
        let settings = self.settings.with(engine.into());
        self.settings = after_trial(|trial| E::count(self.model(), trial), &settings)?.into_owned();
        Ok(())
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &M {
        &self.model
    }

    /// A copy of all states and pending events.
    ///
    /// # Errors
    ///
    /// If a step has failed, or a copy panics.
    pub fn snapshot(&self) -> Result<Snapshot<M>, RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        self.snapshot_with(&Clone::clone)
    }

    /// Goes back to a snapshot of this session, or goes on from one of another session of the same
    /// model.
    ///
    /// # Errors
    ///
    /// If it is of a model with another number of LPs, or a copy panics.
    pub fn restore(&mut self, snapshot: &Snapshot<M>) -> Result<(), RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        self.restore_with(snapshot, &Clone::clone)
    }

    fn restore_with(
        &mut self,
        snapshot: &Snapshot<M>,
        copy: &dyn Fn(&Message<M>) -> Message<M>,
    ) -> Result<(), RunError> {
        let (lps, all) = (snapshot.0.whole.0.lps.len(), self.model.lp_count());
        ConfigError::check(lps == all, "snapshot", lps, &format!("of {all} LPs"))?;
        self.state = Some(self.guard(|| copy_of(&snapshot.0, copy))?);
        Ok(())
    }

    /// Another session that goes on from here: the same states, pending events and random streams.
    /// Both may go on, each by itself. The new one has no observer.
    ///
    /// # Errors
    ///
    /// Those of [`snapshot`](Self::snapshot).
    pub fn branch(&self) -> Result<Session<'a, M, E>, RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        self.branch_from(self.snapshot()?, Arc::clone(&self.model))
    }

    /// Another session that goes on from here as `model`, which has the same LPs and other
    /// parameters. The random streams go on from the same point, so that branches have common
    /// random numbers.
    ///
    /// # Errors
    ///
    /// Those of [`snapshot`](Self::snapshot), and [`RunError::Config`] if the model
    /// [may not go on](Model::adapt) with these LPs.
    pub fn branch_as(&self, model: M) -> Result<Session<'a, M, E>, RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        let snapshot = self.snapshot()?;
        self.branch_from(snapshot, Arc::new(model))
    }

    fn branch_from(&self, from: Snapshot<M>, model: Arc<M>) -> Result<Self, RunError> {
        let Snapshot(mut state) = from;
        if !Arc::ptr_eq(&model, &self.model) {
            let (now, before) = (model.lp_count(), self.model.lp_count());
            let allowed = format!("{before}, as before the branch");
            ConfigError::check(now == before, "lp_count", now, &allowed)?;
            let refused = |why| {
                let allowed = format!("a model that may go on with these LPs: {why}");
                ConfigError::new("branch", model.name(), allowed)
            };
            for (number, lp) in state.whole.0.lps.iter_mut().enumerate() {
                let id = LpId::from_index(number);
                let adapted = self.guard(|| model.adapt(&self.model, id, &mut lp.state))?;
                adapted.map_err(refused)?;
            }
        }
        let watch = Watch { stop: self.watch.stop, ..Watch::default() };
        let (settings, engines) = (self.settings.clone(), PhantomData);
        Ok(Self { model, settings, watch, state: Some(state), engines })
    }

    fn snapshot_with(
        &self,
        copy: &dyn Fn(&Message<M>) -> Message<M>,
    ) -> Result<Snapshot<M>, RunError> {
        let state = self.state()?;
        Ok(Snapshot(self.guard(|| copy_of(state, copy))?))
    }

    fn state(&self) -> Result<&State<M>, RunError> {
        self.state.as_ref().ok_or_else(without_state)
    }

    /// Runs code of the model outside of any event.
    fn guard<T>(&self, code: impl FnOnce() -> T) -> Result<T, RunError> {
        panics::catch(code).map_err(|fault| run::model_error(fault, None, &self.of_errors()))
    }

    /// Lets an engine go on from here. Where it stops by itself, all events before `until` are
    /// committed, if that is finite.
    fn step<'w>(
        &mut self,
        watch: &mut Watch<'w>,
        until: f64,
        carry_out: impl FnOnce(&Self, &mut Watch<'w>, Whole<M>) -> Result<Report<Rest<M>>, RunError>,
    ) -> Result<Step, RunError> {
        let kind = self.settings.engine.kind();
        let allowed = "one of the engines that the model was compiled with (`warpline::Only`)";
        ConfigError::check(E::has(kind), "engine", kind, allowed)?;
        let mut state = self.state.take().ok_or_else(without_state)?;
        let end = VirtualTime::new(self.settings.end).unwrap_or(VirtualTime::MAX);
        (watch.is_ended, watch.session) = (false, Some((end, state.wall)));
        let log_end = state.whole.0.log_end;
        let report = carry_out(self, watch, state.whole)?;
        let Report { interrupted, end_time, totals, details, wall, output, .. } = report;
        match VirtualTime::new(until) {
            Ok(until) if !interrupted => {
                state.is_past_now &= until == state.now;
                state.now = until;
            }
            _ if totals.committed_events > 0 => {
                (state.now, state.is_past_now) = (end_time.max(state.now), true);
            }
            _ => {}
        }
        state.whole = output.cut();
        // An engine without undo logs does not know where those before it ended.
        state.whole.0.log_end = state.whole.0.log_end.max(log_end);
        state.totals.append(&totals);
        state.totals.digest = totals.digest;
        state.wall += wall;
        state.details.clone_from(&details);
        self.state = Some(state);
        Ok(Step { interrupted: interrupted && watch.stopped(), totals, details, wall })
    }

    /// Runs the engine up to that time, from a cut on or from the start.
    fn carry_out(
        &self,
        watch: &mut Watch<'_>,
        until: f64,
        from: Option<Whole<M>>,
    ) -> Result<Report<Rest<M>>, RunError> {
        let settings = Settings { leaves_cut: true, end: until, ..self.settings.clone() };
        let job = Job { settings: &settings, watch, ranks: &Ranks::alone() };
        let report = E::run(self.model(), job, from)?;
        Ok(report.unwrap_or_else(|| unreachable!("a single rank is rank 0, which gets the report")))
    }

    /// The settings as errors that belong to no event tell them.
    fn of_errors(&self) -> Parallel<'_> {
        Parallel { engine: self.settings.engine.kind(), ..self.settings.parallel() }
    }
}

impl<'a, M: Model> Simulation<'a, M> {
    /// Begins a run in steps: makes the LPs, and lets each send its first events.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn session(self) -> Result<Session<'a, M>, RunError> {
        let Self { model, settings, watch } = self;
        Session::begin(Arc::new(model), settings, watch)
    }

    /// Goes on with a [checkpoint](Session::save) of this model, with these parameters and this
    /// seed; the engine may be another one.
    ///
    /// # Errors
    ///
    /// [`RunError::Checkpoint`] if the file cannot be read, is damaged, or is of another run.
    pub fn resume(self, checkpoint: &Path) -> Result<Session<'a, M>, RunError> {
        let Self { model, settings, watch } = self;
        Session::resume(Arc::new(model), settings, watch, checkpoint)
    }
}

impl<'a, E: Engines, M: Model> Simulation<'a, Only<E, M>> {
    /// Begins a run in steps, each on one of these engines.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn session(self) -> Result<Session<'a, M, E>, RunError> {
        let Self { model, settings, watch } = self;
        Session::begin(model.shared(), settings, watch)
    }

    /// Goes on with a [checkpoint](Session::save).
    ///
    /// # Errors
    ///
    /// [`RunError::Checkpoint`] if the file cannot be read, is damaged, or is of another run.
    pub fn resume(self, checkpoint: &Path) -> Result<Session<'a, M, E>, RunError> {
        let Self { model, settings, watch } = self;
        Session::resume(model.shared(), settings, watch, checkpoint)
    }
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
