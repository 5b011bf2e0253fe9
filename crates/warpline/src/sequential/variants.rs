//! The engines that are variants of the sequential one: checks, the profile, and intervals.
//!
//! Called by [`engines`](crate::engines).

use warpline_core::Model;

use super::{execute, execution::Chosen, intervals::Cutter};
use crate::{
    PendingKind, Report, RunError,
    checks::{self, SavingChecker},
    cut::{Rest, Whole},
    pending::AnyFamily,
    profile::Profiler,
    settings::{self, Intervals, Profile, ReverseCheck, SavingCheck, Settings},
    watch::Watch,
};

/// Runs `model` from its start to its end, and handles each event forward, back and forward again.
pub(crate) fn check_reversal<M: Model>(
    model: &M,
    settings: &Settings<ReverseCheck>,
    watch: &mut Watch<'_>,
) -> Result<Report<Rest<M>>, RunError> {
    checks::refuse_irreversible(model)?;
    // The checks take so long that the choice of the pending set does not matter.
    let settings = settings.with(settings::Sequential { pending: PendingKind::Heap });
    execute::<M, AnyFamily, Chosen<M>>(model, &settings, watch, Chosen::ThereAndBack, None)
}

/// Runs `model` from its start to its end, and undoes each event by what was saved of the state.
pub(crate) fn check_saving<M: Model>(
    model: &M,
    settings: &Settings<SavingCheck>,
    watch: &mut Watch<'_>,
) -> Result<Report<Rest<M>>, RunError> {
    let settings = settings.with(settings::Sequential { pending: PendingKind::Heap });
    let checker = Box::new(SavingChecker::new());
    execute::<M, AnyFamily, Chosen<M>>(model, &settings, watch, Chosen::Undone(checker), None)
}

/// Runs `model` from its start to its end, and finds how fast it could run in parallel.
pub(crate) fn profile<M: Model>(
    model: &M,
    settings: &Settings<Profile>,
    watch: &mut Watch<'_>,
) -> Result<Report<Rest<M>>, RunError> {
    let profiler = Box::new(Profiler::new(settings.engine));
    let settings = settings.with(settings::Sequential::default());
    execute::<M, AnyFamily, Chosen<M>>(model, &settings, watch, Chosen::Profiled(profiler), None)
}

/// Runs `model` from its start to its end, and finds the results of equal intervals.
pub(crate) fn in_intervals<M: Model>(
    model: &M,
    settings: &Settings<Intervals>,
    watch: &mut Watch<'_>,
) -> Result<Report<Rest<M>>, RunError> {
    let cutter = Box::new(Cutter::new(model, settings)?);
    let settings = settings.with(settings::Sequential::default());
    execute::<M, AnyFamily, Chosen<M>>(model, &settings, watch, Chosen::Cut(cutter), None)
}

/// Goes on from a cut with that many events at the most, and leaves another one.
pub(crate) fn some_events<M: Model>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
    (from, events): (Whole<M>, u64),
) -> Result<Report<Rest<M>>, RunError> {
    let settings = settings.with(settings::Sequential { pending: PendingKind::Heap });
    execute::<M, AnyFamily, Chosen<M>>(model, &settings, watch, Chosen::Some(events), Some(from))
}
