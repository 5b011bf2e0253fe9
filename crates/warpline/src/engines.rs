//! Which engine carries out a run: the one place where engines are compiled for a type of model.
//!
//! Called once per run, through [`Runnable`](crate::Runnable).

use std::{borrow::Cow, fmt};

use warpline_core::{LpId, Model};

use crate::{
    Auto, ConfigError, Conservative, Engine, EngineKind, Intervals, Profile, Report, ReverseCheck,
    RunError, SavingCheck, Sequential, Speculative, TimeWarp, auto, conservative,
    cut::{Ended, Rest, Whole},
    placement::LpDirectory,
    run::Ranks,
    sequential,
    settings::{Placement, Settings, Weights},
    speculative, timewarp,
    watch::Watch,
};

/// A run that is to be made: the engine and the settings, the watch, and the other ranks.
pub struct Job<'r, 'w> {
    pub(crate) settings: &'r Settings,
    pub(crate) watch: &'r mut Watch<'w>,
    pub(crate) ranks: &'r Ranks<'r>,
}

impl fmt::Debug for Job<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("settings", self.settings).finish_non_exhaustive()
    }
}

/// A trial that is to be made before a run with these settings.
pub struct Trial<'r> {
    pub(crate) settings: &'r Settings,
    /// How many events it has at most; `None` for a number that fits the model.
    pub(crate) events: Option<u64>,
}

impl Trial<'_> {
    fn events(&self, lps: usize) -> u64 {
        self.events.unwrap_or_else(|| (256 * lps as u64).max(1 << 16))
    }
}

impl fmt::Debug for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("events", &self.events).finish_non_exhaustive()
    }
}

/// Engines that are compiled for a model: one, by the type of its settings, or several, as pairs.
pub trait Engines: 'static {
    /// Whether this engine is one of them.
    #[doc(hidden)]
    fn has(kind: EngineKind) -> bool;

    /// The engine with default settings, if it is a single one.
    #[doc(hidden)]
    fn only() -> Option<Engine> {
        None
    }

    /// Runs a model on the engine of the job, from a cut on or from its start.
    #[doc(hidden)]
    fn run<M: Model>(model: &M, job: Job<'_, '_>, from: Option<Whole<M>>) -> Ended<M>;

    /// Handles a number of events at the most, on the sequential engine, and leaves a cut.
    #[doc(hidden)]
    fn run_some<M: Model>(
        _: &M,
        _: Job<'_, '_>,
        _: (Whole<M>, u64),
    ) -> Result<Report<Rest<M>>, RunError> {
        Err(not_compiled(&Engine::Sequential(Sequential::default())))
    }

    /// Counts the events of each LP at the beginning of a run, on the sequential engine.
    #[doc(hidden)]
    fn count<M: Model>(_: &M, _: Trial<'_>) -> Result<Vec<u64>, RunError> {
        let allowed = "a table, or the sequential engine among those that the model was compiled \
                       with (`warpline::Only`)";
        Err(ConfigError::new("placement-weights", "trial", allowed).into())
    }
}

/// All engines.
pub(crate) type All = (
    (Sequential, ((ReverseCheck, SavingCheck), (Profile, Intervals))),
    (Conservative, (TimeWarp, (Speculative, Auto))),
);

impl<A: Engines, B: Engines> Engines for (A, B) {
    fn has(kind: EngineKind) -> bool {
        A::has(kind) || B::has(kind)
    }

    fn run<M: Model>(model: &M, job: Job<'_, '_>, from: Option<Whole<M>>) -> Ended<M> {
        let has = A::has(job.settings.engine.kind());
        if has { A::run(model, job, from) } else { B::run(model, job, from) }
    }

    fn run_some<M: Model>(
        model: &M,
        job: Job<'_, '_>,
        from: (Whole<M>, u64),
    ) -> Result<Report<Rest<M>>, RunError> {
        let has = A::has(EngineKind::Sequential);
        if has { A::run_some(model, job, from) } else { B::run_some(model, job, from) }
    }

    fn count<M: Model>(model: &M, trial: Trial<'_>) -> Result<Vec<u64>, RunError> {
        if A::has(EngineKind::Sequential) { A::count(model, trial) } else { B::count(model, trial) }
    }
}

/// Implements [`Engines`] for the settings of one engine.
macro_rules! engine {
    (
        $engine:ident,
        |$model:ident, $settings:ident, $watch:ident, $ranks:ident, $from:ident| $run:expr
        $(, counts by $count:path, runs some by $some:path)?
    ) => {
        impl Engines for $engine {
            fn has(kind: EngineKind) -> bool {
                kind == EngineKind::$engine
            }

            fn only() -> Option<Engine> {
                Some($engine::default().into())
            }

            fn run<M: Model>($model: &M, job: Job<'_, '_>, $from: Option<Whole<M>>) -> Ended<M> {
                let Job { settings, watch: $watch, ranks: $ranks } = job;
                let Engine::$engine(engine) = &settings.engine else {
                    return Err(not_compiled(&settings.engine));
                };
                let $settings = &settings.with(engine.clone());
                $run
            }

            $(
                fn run_some<M: Model>(
                    model: &M,
                    Job { settings, watch, .. }: Job<'_, '_>,
                    from: (Whole<M>, u64),
                ) -> Result<Report<Rest<M>>, RunError> {
                    $some(model, settings, watch, from)
                }

                fn count<M: Model>(model: &M, trial: Trial<'_>) -> Result<Vec<u64>, RunError> {
                    $count(model, trial.settings, trial.events(model.lp_count()))
                }
            )?
        }
    };
}

engine!(Sequential, |model, settings, watch, ranks, from| {
    check_on_ranks(EngineKind::Sequential, ranks.count())?;
    sequential::run(model, settings, watch, from).map(Some)
}, counts by sequential::count, runs some by sequential::some_events);
engine!(ReverseCheck, |model, settings, watch, ranks, from| {
    check_on_ranks(EngineKind::ReverseCheck, ranks.count())?;
    refuse_cuts(EngineKind::ReverseCheck, from.is_some() || settings.leaves_cut)?;
    sequential::check_reversal(model, settings, watch).map(Some)
});
engine!(SavingCheck, |model, settings, watch, ranks, from| {
    check_on_ranks(EngineKind::SavingCheck, ranks.count())?;
    refuse_cuts(EngineKind::SavingCheck, from.is_some() || settings.leaves_cut)?;
    sequential::check_saving(model, settings, watch).map(Some)
});
engine!(Profile, |model, settings, watch, ranks, from| {
    check_on_ranks(EngineKind::Profile, ranks.count())?;
    refuse_cuts(EngineKind::Profile, from.is_some() || settings.leaves_cut)?;
    sequential::profile(model, settings, watch).map(Some)
});
engine!(Intervals, |model, settings, watch, ranks, from| {
    check_on_ranks(EngineKind::Intervals, ranks.count())?;
    refuse_cuts(EngineKind::Intervals, from.is_some() || settings.leaves_cut)?;
    sequential::in_intervals(model, settings, watch).map(Some)
});
engine!(Conservative, |model, settings, watch, ranks, from| {
    conservative::run(model, settings, watch, ranks, from)
});
engine!(TimeWarp, |model, settings, watch, ranks, from| {
    timewarp::run(model, settings, watch, ranks, from)
});
engine!(Speculative, |model, settings, watch, ranks, from| {
    check_on_ranks(EngineKind::Speculative, ranks.count())?;
    speculative::run(model, settings, watch, ranks, from)
});

engine!(Auto, |model, settings, watch, ranks, from| {
    auto::run(model, settings, watch, ranks, from)
});

#[cold]
fn not_compiled(engine: &Engine) -> RunError {
    ConfigError::new("engine", engine.kind(), COMPILED).into()
}

pub(crate) const COMPILED: &str = "one of the engines that the model was compiled with \
                                   (`warpline::Only`): choose one of them with \
                                   `Simulation::engine`";

/// Refuses an engine that takes a single rank, if there are several.
pub(crate) fn check_on_ranks(engine: EngineKind, ranks: usize) -> Result<(), ConfigError> {
    use EngineKind::{Auto, Conservative, TimeWarp};
    let ok = ranks == 1 || matches!(engine, Auto | Conservative | TimeWarp);
    ConfigError::check(ok, "engine", engine, ON_RANKS)
}

pub(crate) const ON_RANKS: &str = "auto, conservative or timewarp for a run on several ranks";

/// Where the LPs of a model are in a run of several ranks, as rank 0 sees it; and whether an event
/// of a cut begins with its sender (BEGIN-A), and not with its receiver.
pub(crate) fn directory<M: Model>(
    model: &M,
    settings: &Settings,
    ranks: &Ranks<'_>,
) -> Result<(LpDirectory, bool), ConfigError> {
    let of_time_warp = |engine: &TimeWarp| {
        let TimeWarp { workers, placement, .. } = timewarp::uncrowded(engine, ranks);
        (workers, placement, true)
    };
    let (workers, placement, is_with_sender) = match &settings.engine {
        Engine::Conservative(engine) => {
            let Conservative { workers, placement, .. } = conservative::uncrowded(engine, ranks);
            (workers, placement, false)
        }
        Engine::TimeWarp(engine) => of_time_warp(engine),
        Engine::Auto(engine) => of_time_warp(&auto::on_ranks(engine)),
        other => return Err(ConfigError::new("engine", other.kind(), ON_RANKS)),
    };
    let all = workers.saturating_mul(ranks.count());
    let directory = LpDirectory::new(model, model.lp_count(), &placement, all, 0..workers)?;
    debug_assert!(
        directory.lp_count() == 0 || directory.rank(LpId::new(0)) < ranks.count(),
        "PLACE-A: an LP is at a rank that there is not"
    );
    Ok((directory, is_with_sender))
}

/// Engines that look at a whole run neither begin with a cut nor leave one.
pub(crate) fn refuse_cuts(engine: EngineKind, has_cut: bool) -> Result<(), ConfigError> {
    let allowed = "auto, sequential, conservative, speculative or timewarp for a session";
    ConfigError::check(!has_cut, "engine", engine, allowed)
}

/// Whether an engine begins with cuts and leaves them.
pub(crate) const fn takes_cuts(engine: EngineKind) -> bool {
    use EngineKind::{Intervals, Profile, ReverseCheck, SavingCheck};
    !matches!(engine, Intervals | Profile | ReverseCheck | SavingCheck)
}

/// The settings with the weights that a trial has counted, if they ask for one.
pub(crate) fn after_trial(
    count: impl FnOnce(Trial<'_>) -> Result<Vec<u64>, RunError>,
    settings: &Settings,
) -> Result<Cow<'_, Settings>, RunError> {
    let mut engine = settings.engine.clone();
    let placement = engine.placement_mut();
    let Some(Placement::Blocks(weights) | Placement::Graph(weights)) = placement else {
        return Ok(Cow::Borrowed(settings));
    };
    let &mut Weights::Trial { events } = weights else { return Ok(Cow::Borrowed(settings)) };
    *weights = Weights::Table(count(Trial { settings, events })?.into());
    Ok(Cow::Owned(settings.with(engine)))
}

/// How many bytes of a memory limit one event takes.
pub(crate) fn event_bytes<M: Model>(engine: &Engine) -> u64 {
    match engine {
        Engine::Conservative(_) => conservative::event_bytes::<M>(),
        Engine::Speculative(_) | Engine::Auto(_) => speculative::event_bytes::<M>(),
        Engine::TimeWarp(engine) => timewarp::event_bytes::<M>(engine),
        _ => {
            let workers = engine.workers();
            timewarp::event_bytes::<M>(&TimeWarp { workers, ..TimeWarp::default() })
        }
    }
}
