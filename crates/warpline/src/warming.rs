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

use std::{
    mem,
    time::{Duration, Instant},
};

use warpline_core::{LogicalProcess, Model, VirtualTime};

use crate::{
    ConfigError, Details, EngineKind, Report, RunError,
    cut::{Ended, Rest, Whole},
    engines::{self, Engines, Job},
    panics,
    report::PartSums,
    run,
    settings::Settings,
    watch::Before,
};

/// Runs a model from its start to its end.
pub(crate) fn run<M: Model, E: Engines>(model: &M, job: Job<'_, '_>) -> Ended<M> {
    let Job { settings, watch, ranks } = job;
    let &Settings { warm_up, end, .. } = settings;
    if warm_up == 0.0 {
        return E::run(model, Job { settings, watch, ranks }, None);
    }
    check(model, settings)?;
    let started = Instant::now();
    let whole_end = VirtualTime::new(end).unwrap_or(VirtualTime::MAX);
    // The progress is that of the whole run.
    let before = Before { end: whole_end, wall: Duration::ZERO, events: 0, step: None };
    watch.session = Some(before);
    let first =
        Settings { end: warm_up, leaves_cut: true, reports_if_stopped: true, ..settings.clone() };
    let warming = E::run(model, Job { settings: &first, watch, ranks }, None)?;
    // One that was stopped is reported as far as it came, at rank 0 only.
    let Some(mut warming) = warming else { return Ok(None) };
    if let Rest::Output(_) = warming.output {
        return Ok(Some(warming));
    }
    let mut whole = mem::replace(&mut warming.output, Rest::Cut(Whole::default())).cut();
    let has_reset = reset(model, &mut whole, settings);
    if ranks.count() > 1 {
        // Or the others would wait for a rank that has failed (RANK-A).
        ranks.dismissing(ranks.agree(has_reset))?;
    } else {
        has_reset?;
    }
    let events = if ranks.count() > 1 { warming.totals.committed_events } else { 0 };
    watch.session = Some(Before { wall: started.elapsed(), events, ..before });
    let second = Settings { begun: warm_up, ..settings.clone() };
    let ended = E::run(model, Job { settings: &second, watch, ranks }, Some(whole))?;
    Ok(ended.map(|report| as_one(warming, report, started)))
}

/// The report of a run whose warm-up has this one.
fn as_one<M: Model>(
    warming: Report<Rest<M>>,
    mut report: Report<Rest<M>>,
    started: Instant,
) -> Report<Rest<M>> {
    let mut parts = PartSums::default();
    parts.add(&warming.totals, warming.details);
    let Details { local_share, .. } = report.details;
    parts.add(&report.totals, mem::take(&mut report.details));
    report.details = Details { local_share, ..parts.details() };
    report.totals = parts.totals;
    report.wall = started.elapsed();
    report
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
