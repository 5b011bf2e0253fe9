//! What can run a stage: an engine with a number of workers.

use std::fmt;

use warpline_core::Model;

use crate::{EngineKind, counted::counted, crowd, handling, settings::Balance};

/// Windows do not go on to times that are so many lookaheads that rounding takes what a lookahead
/// ensures. (A run without an end may have any times: there a stage ends before that.)
const LOOKAHEADS_MAX: f64 = 1e13;

/// The conservative engine refuses a lookahead so short that 1 cannot be divided by it.
const LOOKAHEAD_LEAST: f64 = f64::MIN_POSITIVE;

/// A worker with this number of LPs may have many events in a window.
const LPS_EACH: usize = 256;
/// With fewer, it may have them later, as soon as many events are pending: with this number, if the
/// model has as many as two such workers.
const LPS_EACH_LEAST: usize = 32;
const LPS_LEAST: usize = 2 * LPS_EACH;
/// A worker with this number of LPs has so many events within a lookahead that it rarely waits.
const LPS_EACH_MANY: usize = 16_384;

/// What a model tells of itself before it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    pub(crate) lps: usize,
    pub(crate) lookahead: Option<f64>,
    /// Whether speculation copies much: states that own memory, or large ones, whose fields do not
    /// save what changes.
    pub(crate) copies_much: bool,
    /// Whether it copies hardly anything.
    pub(crate) copies_little: bool,
}

impl Traits {
    pub(crate) fn of<M: Model>(model: &M) -> Self {
        let copies_much = const { handling::copies_much::<M>() };
        let copies_little = const { handling::copies_little::<M>() };
        let (lps, lookahead) = (model.lp_count(), model.lookahead());
        Self { lps, lookahead, copies_much, copies_little }
    }
}

/// An engine with a number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) engine: EngineKind,
    pub(crate) workers: usize,
}

/// What runs a model, in the order in which it is tried.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    pub(crate) all: Vec<Candidate>,
    /// Whether the first one with windows is worth its hand-over as soon as each of its workers has
    /// many pending events, if the sequential engine begins.
    pub(crate) may_have_much: bool,
    /// Who begins instead of the first one if that has few events in a window: windows that are
    /// as wide as it pays.
    pub(crate) wider: Option<usize>,
    /// Whether not each worker has an idle core, where it was looked at.
    pub(crate) is_shared: bool,
    /// How wide windows without rollbacks are.
    pub(crate) lookahead: Option<f64>,
    /// What the first events of some LPs tell.
    pub(crate) forecast: Option<Forecast>,
}

/// What the first events of some LPs tell of a run before it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forecast {
    /// About how many events will be pending when all LPs have started.
    pub(crate) pending: f64,
    /// About how many events will be handled until the end.
    pub(crate) events: f64,
}

impl From<Vec<Candidate>> for Candidates {
    fn from(all: Vec<Candidate>) -> Self {
        let (wider, lookahead, forecast) = (None, None, None);
        Self { all, may_have_much: false, wider, is_shared: false, lookahead, forecast }
    }
}

impl Candidate {
    /// All that can run a model until `end`, on at most this number of workers, in the order in
    /// which they are tried; `idle` of them may have a core of their own now.
    ///
    /// The sequential engine begins: no other program, no window and no state can make it much
    /// slower than it is known to be, and who begins is not compared before. Then comes what is
    /// probably the best: all workers before few, and windows without rollbacks, if the model
    /// allows them, before those with rollbacks; or after them, where speculation copies little:
    /// its windows are as wide as it pays, and not as a lookahead lets them be. (That gains nothing
    /// where a worker has very many LPs, and to hand those over takes long.) Where every worker
    /// has many LPs and an idle core, windows have many events, and a hand-over takes as long as a
    /// good part of a short run: there the best begins, and the sequential engine is the next one.
    /// If only some workers have an idle core, it begins with as many. But not speculation that
    /// copies much: that may lose more than any trial.
    pub(crate) fn all(
        workers: usize,
        (cores, idle): (usize, usize),
        model: Traits,
        end: f64,
    ) -> Candidates {
        let Traits { lps, lookahead, copies_much, copies_little } = model;
        let is_shared = idle < workers;
        let is_early = |lookahead| end.is_infinite() || end < LOOKAHEADS_MAX * lookahead;
        let is_conservative =
            lookahead.is_some_and(|lookahead| lookahead >= LOOKAHEAD_LEAST && is_early(lookahead));
        let workers = uncrowded(workers, cores).min(lps.max(1));
        let mut all = Vec::new();
        let mut add = |engine, workers| all.push(Self { engine, workers });
        let suits = is_conservative || !copies_much;
        let first = halves(workers).find(|&workers| workers <= idle).unwrap_or(1);
        let may_have_much = first > 1 && lps >= LPS_LEAST.max(LPS_EACH_LEAST * first) && suits;
        let has_much = may_have_much && lps >= LPS_EACH * first;
        if !has_much {
            add(EngineKind::Sequential, 1);
        }
        let mut counts: Vec<_> = halves(workers).collect();
        if may_have_much {
            counts.sort_by_key(|&workers| workers != first);
        }
        let mut engines = vec![EngineKind::Speculative];
        if is_conservative {
            let may_gain = copies_little && lps < LPS_EACH_MANY * counts[0];
            engines.insert(usize::from(may_gain), EngineKind::Conservative);
        }
        for workers in counts {
            engines.iter().for_each(|&engine| add(engine, workers));
        }
        if has_much {
            all.insert(1, Self { engine: EngineKind::Sequential, workers: 1 });
        }
        debug_assert!(
            (1..all.len()).all(|number| !all[..number].contains(&all[number])),
            "a candidate would be tried twice: {all:?}"
        );
        let may_be_wider = copies_little && all[0].engine == EngineKind::Conservative;
        let wider = Self { engine: EngineKind::Speculative, workers: first };
        let wider = all.iter().position(|&one| may_be_wider && one == wider);
        Candidates { all, may_have_much, wider, is_shared, lookahead, forecast: None }
    }

    /// One engine with this number of workers, and with fewer ones; or only with as many, if that
    /// is wanted. A crowd is left out in any case. Where one worker is faster than several of the
    /// speculative engine, nothing is gained by handling events early, and the sequential engine
    /// works in its place. (Windows without rollbacks are faster than that with one worker, too.)
    pub(crate) fn of(
        engine: EngineKind,
        workers: usize,
        cores: usize,
        balance: Balance,
    ) -> Vec<Self> {
        let workers = uncrowded(workers, cores);
        if balance == Balance::Off {
            return vec![Self { engine, workers }];
        }
        let candidate = |count| {
            let is_alone = count == 1 && workers > 1 && engine == EngineKind::Speculative;
            let engine = if is_alone { EngineKind::Sequential } else { engine };
            Self { engine, workers: count }
        };
        halves(workers).map(candidate).collect()
    }
}

/// How many of these workers work at the most: a worker of a window has a thread of its own.
pub(crate) const fn uncrowded(workers: usize, cores: usize) -> usize {
    crowd::uncrowded(workers, cores, crowd::THREADS_PER_CORE)
}

/// A number of workers, half as many, and so on down to one.
fn halves(workers: usize) -> impl Iterator<Item = usize> {
    let counts = std::iter::successors(Some(workers), |&workers| Some(workers / 2));
    counts.take_while(|&workers| workers > 0)
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.engine, self.workers) {
            (EngineKind::Sequential, _) => write!(f, "sequential"),
            (engine, workers) => write!(f, "{engine} with {}", counted(workers, "worker")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_in_their_order() {
        let names = |workers, lps, lookahead| {
            let model = Traits { lps, lookahead, copies_much: false, copies_little: false };
            let all = Candidate::all(workers, (8, 8), model, 1e3).all;
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names(1, 100, None), ["sequential", "speculative with 1 worker"]);
        assert_eq!(
            names(2, 511, Some(0.5)),
            [
                "sequential",
                "conservative with 2 workers",
                "speculative with 2 workers",
                "conservative with 1 worker",
                "speculative with 1 worker",
            ]
        );
        assert_eq!(
            names(2, 512, Some(0.5))[..2],
            ["conservative with 2 workers", "sequential"],
            "each worker has many LPs"
        );
        assert_eq!(names(1, 1 << 20, Some(0.5))[0], "sequential");
        let light = |lookahead| {
            let model = Traits { lps: 512, lookahead, copies_much: false, copies_little: true };
            let all = Candidate::all(2, (8, 8), model, 1e3).all;
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            light(Some(0.5)),
            [
                "speculative with 2 workers",
                "sequential",
                "conservative with 2 workers",
                "speculative with 1 worker",
                "conservative with 1 worker",
            ]
        );
        assert_eq!(light(None).len(), 3, "windows without rollbacks need a lookahead");
        let may_have_much = |workers, lps, lookahead, copies_much| {
            let model = Traits { lps, lookahead, copies_much, copies_little: false };
            Candidate::all(workers, (16, 16), model, 1e3).may_have_much
        };
        assert!(may_have_much(16, 512, None, false) && may_have_much(2, 512, Some(1.0), true));
        assert!(!may_have_much(2, 511, None, false) && !may_have_much(16, 511, None, false));
        assert!(may_have_much(17, 1 << 20, None, false), "8 of them have a core each");
        assert!(!may_have_much(2, 1 << 20, None, true) && !may_have_much(1, 1 << 20, None, false));
        let large =
            Traits { lps: 1 << 20, lookahead: Some(0.5), copies_much: false, copies_little: false };
        let beside_another = Candidate::all(2, (2, 1), large, 1e3).all;
        assert_eq!(beside_another[0].engine, EngineKind::Sequential);
        let begin = |workers, idle, model| {
            let all = Candidate::all(workers, (16, idle), model, 1e3).all;
            (all[0].to_string(), all[1].to_string(), all[3].workers)
        };
        let with = |workers| format!("conservative with {workers} workers");
        assert_eq!(begin(16, 16, large), (with(16), "sequential".to_owned(), 8));
        assert_eq!(begin(16, 15, large), (with(8), "sequential".to_owned(), 16));
        assert_eq!(begin(17, 16, large), (with(8), "sequential".to_owned(), 17));
        let few = Traits { lps: 1024, ..large };
        assert_eq!(begin(16, 7, few), (with(4), "sequential".to_owned(), 16), "256 LPs each");
        assert_eq!(begin(16, 15, few), ("sequential".to_owned(), with(8), 16));
        let light = Traits { copies_little: true, ..large };
        assert_eq!(begin(2, 2, light).0, with(2), "a lookahead has many events of so many LPs");
        let many = Traits { lps: 4 * LPS_EACH_MANY, ..light };
        assert_eq!(begin(16, 4, many).0, with(4), "of those that begin");
        let wider = |model| Candidate::all(2, (2, 2), model, 1e3).wider;
        assert_eq!((wider(light), wider(large)), (Some(2), None));
        let fewer = Traits { lps: 2 * LPS_EACH_MANY - 1, ..light };
        assert_eq!(begin(2, 2, fewer).0, "speculative with 2 workers");
        assert_eq!(wider(fewer), None, "it begins");
        let first = |model| Candidate::all(2, (2, 2), model, 1e3).all[0].engine;
        let heavy = Traits { copies_much: true, ..large };
        assert_eq!(first(heavy), EngineKind::Conservative, "which copies nothing");
        assert_eq!(first(Traits { lookahead: None, ..large }), EngineKind::Speculative);
        assert_eq!(first(Traits { lookahead: None, ..heavy }), EngineKind::Sequential);
        assert_eq!(names(1, 9, Some(1e-12)).len(), 2, "times are too many lookaheads");
        assert_eq!(
            names(5, 9, Some(0.0)).len(),
            4,
            "5, 2 and 1 workers, and the sequential engine"
        );
        let endless = |lookahead| {
            let model = Traits { lookahead: Some(lookahead), ..large };
            Candidate::all(2, (2, 2), model, f64::INFINITY).all[0].engine
        };
        assert_eq!(endless(1e-12), EngineKind::Conservative, "times may be early");
        assert_eq!(endless(1e-310), EngineKind::Speculative, "1 cannot be divided by it");
        assert_eq!(names(5, 0, None).len(), 2, "no more workers than LPs, but one");
    }

    /// Far more workers than cores are not tried.
    #[test]
    fn crowds_are_left_out() {
        let counts = |workers, balance| {
            let all = Candidate::of(EngineKind::Speculative, workers, 2, balance);
            all.iter().map(|candidate| candidate.workers).collect::<Vec<_>>()
        };
        assert_eq!(counts(8, Balance::On), [8, 4, 2, 1]);
        assert_eq!(counts(9, Balance::On), [2, 1]);
        assert_eq!(counts(1000, Balance::On), [2, 1]);
        assert_eq!(counts(8, Balance::Off), [8]);
        assert_eq!(counts(1000, Balance::Off), [2]);
        let names = |engine, workers| {
            let all = Candidate::of(engine, workers, 8, Balance::On);
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let two = ["speculative with 2 workers", "sequential"];
        assert_eq!(names(EngineKind::Speculative, 2), two);
        assert_eq!(names(EngineKind::Speculative, 1), ["speculative with 1 worker"]);
        assert_eq!(names(EngineKind::TimeWarp, 2)[1], "timewarp with 1 worker");
        assert_eq!(names(EngineKind::Conservative, 2)[1], "conservative with 1 worker");
        let model =
            Traits { lps: 1 << 20, lookahead: Some(0.5), copies_much: false, copies_little: false };
        let all = Candidate::all(1000, (2, 2), model, 1e3).all;
        assert!(all.iter().all(|candidate| candidate.workers <= 2), "{all:?}");
    }
}
