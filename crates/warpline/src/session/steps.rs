//! The steps of a session: each is a run of an engine that begins with the cut of the step before.
//!
//! Called by users. A step that goes beyond the end of the warm-up is two steps of its engine, and
//! the statistics begin anew between them (`warming.rs`).

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use warpline_core::{Model, VirtualTime};

use super::{Session, State, Step, StepEnded, ranks, without_state};
use crate::{
    ConfigError, Progress, Report, RunError,
    cut::Whole,
    engines::{Engines, Job},
    run::Ranks,
    settings::Settings,
    warming,
    watch::{Before, Watch},
};

impl Step {
    /// This step and the one that followed, as one.
    fn before(self, next: Self) -> Self {
        let mut totals = self.totals;
        totals.append(&next.totals);
        Self { totals, wall: self.wall + next.wall, ..next }
    }
}

/// What lets an engine go on from a cut.
type CarryOut<'c, S, W, M> = &'c dyn Fn(&S, &mut W, Whole<M>) -> StepEnded<M>;

/// The part of a step that comes after the warm-up.
type Rest<'r, S, W> = &'r dyn Fn(&mut S, &mut W) -> Result<Step, RunError>;

impl<M: Model, E: Engines> Session<'_, M, E> {
    /// Runs all events that are due before `time`, an infinite one for all events. Those at `time`
    /// itself are not handled yet.
    ///
    /// # Errors
    ///
    /// - [`RunError::Config`] with the key `until` if `time` is earlier than [`now`](Self::now), or
    ///   equal to it where events at that very time are committed; nothing has changed then.
    /// - Those of [`Simulation::run`](crate::Simulation::run); the session has no state then.
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
        let State { now, is_past_now, .. } = *self.state()?;
        let ok = if is_past_now { time > now.get() } else { time >= now.get() };
        let allowed = format!("{} {now}", if is_past_now { "later than" } else { "not before" });
        ConfigError::check(ok, "until", time, &allowed)?;
        let carry_out = |until| {
            move |session: &Self, watch: &mut Watch<'_>, whole| {
                session.carry_out(watch, until, Some(whole))
            }
        };
        let Some(warm_up) = self.warm_up_left()?.filter(|warm_up| *warm_up <= time) else {
            return self.step(watch, time, &carry_out(time));
        };
        let warming = self.step(watch, warm_up, &carry_out(warm_up))?;
        if warming.interrupted {
            return Ok(warming);
        }
        let rest = |session: &mut Self, watch: &mut _| session.step(watch, time, &carry_out(time));
        self.end_warm_up(warming, watch, (warm_up < time).then_some(&rest))
    }

    /// Where the warm-up ends, if it is not over.
    fn warm_up_left(&self) -> Result<Option<f64>, RunError> {
        // Where a step has come to the end of the warm-up, it is over.
        let warm_up = self.settings.warm_up;
        Ok((self.state()?.now.get() < warm_up).then_some(warm_up))
    }

    /// Lets the statistics begin anew where a step has come to the end of the warm-up, and carries
    /// out the rest of that step, if there is one.
    fn end_warm_up<'w>(
        &mut self,
        warming: Step,
        watch: &mut Watch<'w>,
        rest: Option<Rest<'_, Self, Watch<'w>>>,
    ) -> Result<Step, RunError> {
        // Where it fails, the session has no state any more.
        let mut state = self.state.take().ok_or_else(without_state)?;
        debug_assert!(!state.is_past_now, "WARM-A: events after the warm-up are committed");
        warming::reset(&*self.model, &mut state.whole, &self.settings)?;
        self.state = Some(state);
        match rest {
            None => Ok(warming),
            // By the last look of the first part; the rest is still to come.
            Some(_) if watch.stopped() => Ok(Step { interrupted: true, ..warming }),
            Some(rest) => Ok(warming.before(rest(self, watch)?)),
        }
    }

    /// Handles the first `events` events, whenever they are due, on the sequential engine: for a
    /// look at each.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until).
    pub fn run_events(&mut self, events: u64) -> Result<Step, RunError> {
        let mut watch = std::mem::take(&mut self.watch);
        let step = self.run_some(events, &mut watch);
        self.watch = watch;
        debug_assert!(
            step.as_ref().is_ok_and(|step| step.totals.committed_events <= events) || step.is_err(),
            "SESSION-A: more events than were asked for"
        );
        step
    }

    fn run_some(&mut self, events: u64, watch: &mut Watch<'_>) -> Result<Step, RunError> {
        let carry_out = |events, end| {
            move |session: &Self, watch: &mut Watch<'_>, whole| {
                let settings = Settings { leaves_cut: true, end, ..session.settings.clone() };
                // This rank alone knows what it has committed.
                watch.session = watch.session.map(|before| Before { events: 0, ..before });
                let job = Job { settings: &settings, watch, ranks: &Ranks::alone() };
                E::run_some(session.model(), job, (whole, events))
            }
        };
        let Some(warm_up) = self.warm_up_left()? else {
            return self.step(watch, f64::INFINITY, &carry_out(events, f64::INFINITY));
        };
        let warming = self.step(watch, f64::INFINITY, &carry_out(events, warm_up))?;
        let left = events - warming.totals.committed_events;
        if warming.interrupted || (left == 0 && self.warm_up_left()?.is_some()) {
            return Ok(warming);
        }
        // All that is left is due at the end of the warm-up, or after it.
        let state = self.state.as_mut().ok_or_else(without_state)?;
        state.now = VirtualTime::new(warm_up).unwrap_or(state.now);
        state.is_past_now = false;
        let end = f64::INFINITY;
        let rest =
            |session: &mut Self, watch: &mut _| session.step(watch, end, &carry_out(left, end));
        self.end_warm_up(warming, watch, (left > 0).then_some(&rest))
    }

    /// Runs all events up to the end that the simulation was given, or all there are.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until), with the key `end`.
    pub fn run_to_end(&mut self) -> Result<Step, RunError> {
        self.run_until(self.settings.end).map_err(|error| match error {
            RunError::Config(ConfigError { key, value, allowed }) if key == "until" => {
                ConfigError::new("end", value, allowed).into()
            }
            other => other,
        })
    }

    /// Lets an engine go on from here. Where it stops by itself, all events before `until` are
    /// committed, if that is finite.
    fn step<'w>(
        &mut self,
        watch: &mut Watch<'w>,
        until: f64,
        carry_out: CarryOut<'_, Self, Watch<'w>, M>,
    ) -> Result<Step, RunError> {
        let mut state = self.state.take().ok_or_else(without_state)?;
        debug_assert!(until >= state.now.get(), "SESSION-A: a step back to {until}");
        let end = VirtualTime::new(self.settings.end).unwrap_or(VirtualTime::MAX);
        let events = if self.home.ranks() > 1 { state.totals.committed_events } else { 0 };
        let begun = state.now;
        let seconds = state.pace.map(|pace| pace * (until - begun.get()));
        let step = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        watch.session = Some(Before { end, wall: state.wall, events, step });
        watch.is_ended = false;
        let log_end = state.whole.0.log_end;
        let started = Instant::now();
        let report = carry_out(self, watch, state.whole)?;
        let wall = started.elapsed();
        let Report { interrupted, end_time, totals, details, output, .. } = report;
        match VirtualTime::new(until) {
            Ok(until) if !interrupted => (state.now, state.is_past_now) = (until, false),
            _ if totals.committed_events > 0 => {
                (state.now, state.is_past_now) = (end_time.max(state.now), true);
            }
            _ => {}
        }
        state.whole = output.cut();
        // An engine without undo logs does not know where those before it ended.
        state.whole.0.log_end = state.whole.0.log_end.max(log_end);
        state.totals.append(&totals);
        debug_assert_eq!(
            state.whole.0.committed(),
            state.totals.committed_events,
            "SESSION-A: events are lost or doubled"
        );
        debug_assert_eq!(
            state.whole.0.lps.len(),
            self.model.lp_count(),
            "CUT-A: an engine has left out an LP"
        );
        state.wall += wall;
        let passed = state.now.get() - begun.get();
        state.pace = (passed > 0.0).then(|| wall.as_secs_f64() / passed);
        state.details.clone_from(&details);
        self.state = Some(state);
        Ok(Step { interrupted: interrupted && watch.stopped(), totals, details, wall })
    }

    /// Runs the engine up to that time, from a cut on or from the start.
    pub(super) fn carry_out(
        &self,
        watch: &mut Watch<'_>,
        until: f64,
        from: Option<Whole<M>>,
    ) -> StepEnded<M> {
        let settings = Settings { leaves_cut: true, end: until, ..self.settings.clone() };
        ranks::step::<M, E>(self.model(), &settings, &self.home, watch, from)
    }
}
