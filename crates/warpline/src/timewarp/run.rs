//! A run from its start to its end, on all workers, on one that works alone, or on both by turns.

use std::time::Instant;

use warpline_core::Model;

use super::{
    all_workers::{all_workers, conclude},
    alone, diagnosis,
    refusals::refuse_what_the_model_lacks,
    shared::TimeWarpShared,
    staged,
};
use crate::{
    crowd,
    cut::{Ended, Whole},
    run::{Outcome, Ranks, Run},
    settings::{Parts, Pool, Settings, TimeWarp},
    watch::Watch,
};

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings<TimeWarp>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    if settings.engine.is_alone(ranks.count()) {
        return alone::run(model, settings, watch, from).map(Some);
    }
    if staged::suits(settings, watch, ranks) {
        return staged::run(model, settings, watch, ranks, from);
    }
    let run = Run { model, settings: settings.parallel(), ranks, started: Instant::now() };
    let settings = &settings.with(uncrowded(&settings.engine, ranks));
    let timeline = watch.timeline.clone();
    let make = |wires| {
        run.settings.validate()?;
        refuse_what_the_model_lacks(model, settings)?;
        Ok(TimeWarpShared { timeline, ..TimeWarpShared::new(model, settings, ranks, wires, from)? })
    };
    let mut lps = 0;
    let mut ended = run.carry_out(make, |whole: &mut TimeWarpShared<M>, started| {
        lps = whole.directory.lp_count();
        let results = all_workers(model, whole, watch, started, ranks);
        let mut outcome = conclude(model, whole, results, watch, started, ranks);
        if let Outcome::Done(conclusion) = &mut outcome {
            let (asked, working) = (run.settings.workers, settings.engine.workers);
            conclusion.details.remarks.extend(crowd::remark("worker", asked, working));
        }
        outcome
    })?;
    if let Some(report) = ended.as_mut().filter(|report| report.ranks > 1) {
        // Only now the events of all ranks are known.
        let few = diagnosis::few_on_ranks(report.totals.committed_events, lps);
        report.details.remarks.extend(few);
    }
    Ok(ended)
}

/// The engine with as many workers on each rank as can work. All can where they take turns anyway,
/// and have to where something is said of each of them.
pub(crate) fn uncrowded(engine: &TimeWarp, ranks: &Ranks<'_>) -> TimeWarp {
    let asked = (engine.workers, &engine.placement);
    let has_sizes = matches!(engine.pool, Pool::Partitioned { parts: Parts::Sizes(_), .. });
    match ranks.uncrowded(asked, crowd::WORKERS_PER_THREAD) {
        Some((workers, placement)) if !engine.instrumentation.in_turn && !has_sizes => {
            TimeWarp { workers, placement, ..engine.clone() }
        }
        _ => engine.clone(),
    }
}
