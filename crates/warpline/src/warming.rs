//! Runs with a warm-up: the statistics of all LPs begin anew at its end.
//!
//! Called once per run, and by sessions. Such a run is two runs of its engine with a cut between
//! them, at which nothing can be undone. Each rank resets the LPs that it has, so none of them
//! travels.
//!
//! # Invariants
//!
//! - **WARM-A.** What is reset is not in the digest, and no event sees the cut: a run with a
//!   warm-up commits what a run without one commits.

use std::time::{Duration, Instant};

use warpline_core::{LogicalProcess, Model, VirtualTime};

use crate::{
    ConfigError, EngineKind, RunError,
    cut::{Ended, Whole},
    engines::{self, Engines, Job},
    panics, run,
    settings::Settings,
    watch::Before,
};

/// Runs a model from its start to its end.
pub(crate) fn run<M: Model, E: Engines>(model: &M, job: Job<'_, '_>) -> Ended<M> {
    let Job { settings, watch, ranks } = job;
    let warm_up = settings.warm_up;
    if warm_up == 0.0 {
        return E::run(model, Job { settings, watch, ranks }, None);
    }
    check(model, settings)?;
    let first = Settings { end: warm_up, leaves_cut: true, ..settings.clone() };
    let end = VirtualTime::new(settings.end).unwrap_or(VirtualTime::MAX);
    let (started, none) = (Instant::now(), Duration::ZERO);
    // The progress is that of the whole run.
    watch.session = Some(Before { end, wall: none, events: 0, step: None });
    let report = E::run(model, Job { settings: &first, watch, ranks }, None)?;
    let before = report.unwrap_or_else(|| unreachable!("RANK-A: each rank has its part"));
    let mut whole = before.output.cut();
    // One that was stopped is reported as far as it came.
    let until = if before.interrupted { warm_up } else { settings.end };
    if !before.interrupted {
        reset(model, &mut whole, settings)?;
    }
    let events = if ranks.count() > 1 { before.totals.committed_events } else { 0 };
    let wall = started.elapsed();
    watch.session = Some(Before { end, wall, events, step: None });
    let second = Settings { end: until, ..settings.clone() };
    let ended = E::run(model, Job { settings: &second, watch, ranks }, Some(whole));
    watch.session = None;
    Ok(ended?.map(|mut report| {
        let digest = report.totals.digest;
        let mut totals = before.totals;
        totals.append(&report.totals);
        totals.digest = digest;
        report.totals = totals;
        report.wall += wall;
        report.interrupted |= before.interrupted;
        debug_assert!(
            report.interrupted || report.totals.committed_events >= events,
            "WARM-A: events of the warm-up are lost"
        );
        report
    }))
}

/// Refuses a warm-up that cannot be.
pub(crate) fn check<M: Model>(model: &M, settings: &Settings) -> Result<(), RunError> {
    let &Settings { warm_up, end, ref engine, .. } = settings;
    if warm_up == 0.0 {
        return Ok(());
    }
    let refused = |allowed: &str| ConfigError::check(false, "warmup", warm_up, allowed);
    if !(warm_up > 0.0 && warm_up.is_finite()) {
        refused("a virtual time of 0 or more")?;
    }
    if warm_up >= end {
        refused(&format!("less than the end, {end}: nothing of the run would be left"))?;
    }
    if !(M::Lp::STATISTICS.is_some() && model.has_statistics()) {
        refused(
            "left out for a model whose LPs do not say where their statistics are \
             (`LogicalProcess::STATISTICS`)",
        )?;
    }
    let kind: EngineKind = engine.kind();
    if !engines::takes_cuts(kind) {
        refused(&format!("left out for {kind}, which looks at a whole run"))?;
    }
    Ok(())
}

/// Lets the statistics of these LPs begin anew.
pub(crate) fn reset<M: Model>(
    model: &M,
    whole: &mut Whole<M>,
    settings: &Settings,
) -> Result<(), RunError> {
    let now = VirtualTime::new(settings.warm_up).unwrap_or(VirtualTime::ZERO);
    let reset = || {
        for lp in &mut whole.0.lps {
            M::Lp::STATISTICS.reset(model, &mut lp.state, now);
        }
    };
    panics::catch(reset).map_err(|fault| run::model_error(fault, None, &settings.parallel()))
}
