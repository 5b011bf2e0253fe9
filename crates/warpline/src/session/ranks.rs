//! Sessions on several ranks: rank 0 has the session and all of its state, and the others serve.
//!
//! Called by [`Session`](super::Session) for each step ([`lead`]), and by the ranks that have no
//! session ([`serve`]). Rank 0 divides its cut, sends each rank the part that its workers have, and
//! all carry out one run, which leaves a part on each rank; these come back. So between two steps a
//! session does not know ranks: it can be saved, branched and given other ranks.
//!
//! # Invariants
//!
//! - **SERVE-A.** Nothing that can fail at rank 0 alone happens between an order and the run, so
//!   each rank that got one takes part in the run (RANK-A). What can fail at one rank before or
//!   after the run is agreed upon.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use warpline_core::{LpId, Model, ModelError, Place, WireError};
use warpline_net::{Malformed, NetError, Transport};

use super::{
    StepEnded,
    codec::{Broken, Codec, Item},
    lacking,
};
use crate::{
    ConfigError, EngineKind, RunError, crowd,
    cut::{Rest, Whole},
    engines::{self, Engines, Job},
    panics,
    placement::LpDirectory,
    run::{self, Order, Ranks},
    settings::Settings,
    thread_ranks,
    watch::Watch,
};

/// Where the ranks of a session are.
#[derive(Clone, Debug)]
pub(crate) enum Home<'a> {
    /// They are this many threads of this program.
    Here(usize),
    /// This program has rank 0 of a network.
    Across(Arc<Lead<'a>>),
}

/// Where a session is, and who watches it.
pub(crate) type At<'a> = (Home<'a>, Watch<'a>);

impl Home<'_> {
    /// How many ranks there are.
    pub(super) fn ranks(&self) -> usize {
        match self {
            Self::Here(ranks) => *ranks,
            Self::Across(lead) => lead.network.ranks(),
        }
    }

    /// The engine that works here with these settings, and on how many ranks: what the report of a
    /// run in one piece says.
    pub(super) fn at_work(&self, settings: &Settings) -> (EngineKind, usize) {
        let ranks = match self {
            Self::Here(ranks) => thread_ranks::uncrowded(*ranks, settings).0,
            Self::Across(_) => self.ranks(),
        };
        debug_assert!(ranks <= self.ranks(), "RANK-A: more ranks work than there are");
        match settings.engine.kind() {
            EngineKind::Auto if self.ranks() > 1 => (EngineKind::TimeWarp, ranks),
            kind => (kind, ranks),
        }
    }
}

/// Rank 0 of a network. Its other ranks serve the session, and its branches, until all are dropped.
#[derive(Debug)]
pub(crate) struct Lead<'a> {
    network: &'a dyn Transport,
    /// For one step of one session at a time.
    turn: Mutex<()>,
}

impl<'a> Lead<'a> {
    pub(crate) fn of(network: &'a dyn Transport) -> Self {
        debug_assert_eq!(network.rank(), 0, "SERVE-A: a session at another rank");
        Self { network, turn: Mutex::default() }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        // A rank that is lost need not be told.
        let _ = Ranks::of(self.network).give(&Order::End);
    }
}

/// One step on these ranks; `settings` are those of the step.
pub(super) fn step<M: Model, E: Engines>(
    model: &M,
    settings: &Settings,
    home: &Home<'_>,
    watch: &mut Watch<'_>,
    from: Option<Whole<M>>,
) -> StepEnded<M> {
    debug_assert!(settings.leaves_cut, "SESSION-A: a step that nothing goes on from");
    match home {
        Home::Across(it) => {
            let _turn = it.turn.lock().unwrap_or_else(PoisonError::into_inner);
            lead::<M, E>(model, settings, &Ranks::of(it.network), watch, from)
        }
        Home::Here(1) => {
            let report = E::run(model, Job { settings, watch, ranks: &Ranks::alone() }, from)?;
            Ok(report.unwrap_or_else(|| unreachable!("a single rank gets the report")))
        }
        &Home::Here(asked) => {
            let (ranks, settings) = thread_ranks::uncrowded(asked, settings);
            let first = |end: &dyn Transport| {
                let on = &Ranks::of(end).sharing_cores(ranks);
                let ended = lead::<M, E>(model, &settings, on, watch, from);
                // They serve this step only.
                on.give(&Order::End)?;
                ended
            };
            let other = |end: &dyn Transport| {
                serve::<M, E>(model, &settings, || Ranks::of(end).sharing_cores(ranks))
            };
            let ends = thread_ranks::ends(ranks, settings.engine.workers());
            let mut report = thread_ranks::on_threads(ends, first, other)?;
            report.details.remarks.extend(crowd::remark("rank", asked, ranks));
            Ok(report)
        }
    }
}

/// Rank 0's part in a step.
fn lead<M: Model, E: Engines>(
    model: &M,
    settings: &Settings,
    ranks: &Ranks<'_>,
    watch: &mut Watch<'_>,
    from: Option<Whole<M>>,
) -> StepEnded<M> {
    debug_assert_eq!(ranks.me(), 0, "SERVE-A: rank {} leads", ranks.me());
    let codec = codec(model, ranks.count())?;
    settings.parallel().validate()?;
    let directory = || Ok(engines::directory(model, settings, ranks)?);
    let (directory, is_with_sender) = guard(settings, directory)?;
    let has_cut = from.is_some();
    let divide = |whole: Whole<M>| whole.divide(&directory, ranks.count(), is_with_sender);
    let mut parts = from.map_or_else(Vec::new, divide).into_iter();
    let own = parts.next();
    let wire = Parts { codec, model, settings, ranks };
    let others = (1..).zip(parts).map(|(rank, part)| wire.write(rank, part));
    let others = others.collect::<Result<Vec<_>, RunError>>()?;
    let &Settings { end: until, memory, .. } = settings;
    let order = || {
        ranks.give(&Order::Run { until, memory, has_cut })?;
        compare(model, settings, ranks)?;
        let mut others = (1..).zip(others);
        Ok(others.try_for_each(|(rank, part)| ranks.send_part(rank, &part))?)
    };
    ranks.dismissing(order())?;
    ranks.dismissing(ranks.agree(Ok(())))?;
    let report = E::run(model, Job { settings, watch, ranks }, own)?;
    let mut report = report.unwrap_or_else(|| unreachable!("RANK-A: each rank has its part"));
    let mut parts = vec![mem::replace(&mut report.output, Rest::Cut(Whole::default())).cut()];
    // The others have written theirs.
    ranks.dismissing(ranks.agree(Ok(())))?;
    // All of them, before one can fail to be read.
    let theirs = (1..ranks.count()).map(|rank| Ok((rank, ranks.next_part(rank)?)));
    let theirs = ranks.dismissing(theirs.collect::<Result<Vec<_>, RunError>>())?;
    let mut read = || {
        for (rank, bytes) in &theirs {
            parts.push(wire.read(*rank, *rank, bytes)?);
        }
        let unlike = |rank| malformed(rank, &WireError::new("not the LPs that it has"));
        Whole::unite(&directory, mem::take(&mut parts)).map_err(unlike)
    };
    let whole = ranks.dismissing(ranks.agree(read()))?;
    report.output = Rest::Cut(whole);
    Ok(report)
}

/// What a rank is for that serves the session of rank 0.
#[derive(Debug)]
pub struct Service<'r> {
    pub(crate) settings: &'r Settings,
    pub(crate) network: &'r dyn Transport,
}

impl Service<'_> {
    /// Serves until the session is over.
    pub(crate) fn carry_out<M: Model, E: Engines>(self, model: &M) -> Result<(), RunError> {
        debug_assert!(self.network.rank() > 0, "SERVE-A: rank 0 serves itself");
        serve::<M, E>(model, self.settings, || Ranks::of(self.network))
    }
}

/// Serves the session that rank 0 of a network has, until it is over. Each run gets new `ranks`.
fn serve<'t, M: Model, E: Engines>(
    model: &M,
    settings: &Settings,
    ranks: impl Fn() -> Ranks<'t>,
) -> Result<(), RunError> {
    let mut ended = Ok(());
    loop {
        let ranks = ranks();
        let Order::Run { until, memory, has_cut } = ranks.next_order()? else { return ended };
        let settings = Settings { leaves_cut: true, end: until, memory, ..settings.clone() };
        ended = follow::<M, E>(model, &settings, &ranks, has_cut);
        if matches!(ended, Err(RunError::Net(_))) {
            return ended;
        }
    }
}

/// The part of any other rank in a step.
fn follow<M: Model, E: Engines>(
    model: &M,
    settings: &Settings,
    ranks: &Ranks<'_>,
    has_cut: bool,
) -> Result<(), RunError> {
    debug_assert!(ranks.me() > 0, "SERVE-A: rank 0 follows");
    let codec = codec(model, ranks.count());
    compare(model, settings, ranks)?;
    let bytes = if has_cut { Some(ranks.next_part(0)?) } else { None };
    let own = codec.map_err(RunError::from).and_then(|codec| {
        let wire = Parts { codec, model, settings, ranks };
        let own = bytes.map(|bytes| wire.read(0, ranks.me(), &bytes)).transpose()?;
        Ok((wire, own))
    });
    let (wire, own) = ranks.agree(own)?;
    let watch = &mut Watch::default();
    let report = E::run(model, Job { settings, watch, ranks }, own)?;
    let report = report.unwrap_or_else(|| unreachable!("RANK-A: each rank has its part"));
    let part = report.output.cut();
    let bytes = ranks.agree(wire.write(ranks.me(), part))?;
    ranks.send_part(0, &bytes)?;
    ranks.agree(Ok(()))
}

/// Parts are read by what all ranks have.
fn compare<M: Model>(model: &M, settings: &Settings, ranks: &Ranks<'_>) -> Result<(), RunError> {
    guard(settings, || ranks.compare(model, &settings.parallel()))
}

/// How states and messages travel between ranks.
pub(super) fn codec<M: Model>(model: &M, ranks: usize) -> Result<Codec<M>, ConfigError> {
    let allowed = |lacks: Vec<_>| lacking::text("1 for a session of this model", &lacks);
    Codec::of(model).map_err(|lacks| ConfigError::new("ranks", ranks, allowed(lacks)))
}

/// How parts become bytes and are read, with errors that name what is wrong.
struct Parts<'r, 't, M: Model> {
    codec: Codec<M>,
    model: &'r M,
    settings: &'r Settings,
    ranks: &'r Ranks<'t>,
}

impl<M: Model> Parts<'_, '_, M> {
    /// The bytes of the part that a rank has.
    fn write(&self, owner: usize, part: Whole<M>) -> Result<Vec<u8>, RunError> {
        debug_assert!(owner < self.ranks.count(), "SERVE-A: a part of rank {owner}");
        let written = self.codec.naming(move || self.codec.write_part(&part));
        written.map_err(|broken| self.error(owner, broken))
    }

    /// The part that a rank has, as another one has sent it.
    fn read(&self, from: usize, owner: usize, bytes: &[u8]) -> Result<Whole<M>, RunError> {
        debug_assert!(
            owner > 0 && [0, owner].contains(&from),
            "SERVE-A: rank {from} has sent the part of rank {owner}"
        );
        let read = self.codec.naming(|| self.codec.read_part(bytes, self.model.lp_count()));
        let read = read.map_err(|broken| self.error(owner, broken))?;
        read.map_err(|error| match self.codec.broken(&error) {
            Some(broken) => self.error(owner, broken),
            None => malformed(from, &error),
        })
    }

    /// The error with the LP or the event, for a part that this rank has.
    fn error(&self, owner: usize, Broken { item, fault }: Broken) -> RunError {
        let Self { model, settings, ranks, .. } = *self;
        let (lp, event) = match item {
            Item::Frame => (None, None),
            Item::State(at) => {
                let all = (0..model.lp_count()).map(LpId::from_index);
                let directory = guard(settings, || Ok(engines::directory(model, settings, ranks)?));
                let of = |(it, _): (LpDirectory, _)| all.filter(move |&lp| it.rank(lp) == owner);
                (directory.ok().and_then(|directory| of(directory).nth(at)), None)
            }
            Item::Message(key, to) => (Some(to), Some(key)),
        };
        let error = run::model_error(fault, lp, &settings.parallel());
        match error {
            RunError::Model(ModelError { fault, place }) => {
                ModelError { fault, place: Place { event, ..place } }.into()
            }
            other => other,
        }
    }
}

/// Runs code of the model outside of any event.
fn guard<T>(
    settings: &Settings,
    code: impl FnOnce() -> Result<T, RunError>,
) -> Result<T, RunError> {
    let failed = |fault| Err(run::model_error(fault, None, &settings.parallel()));
    panics::catch(code).unwrap_or_else(failed)
}

fn malformed(from: usize, error: &WireError) -> RunError {
    let what = Malformed::Body(format!("its part of a cut: {error}"));
    NetError::Malformed { from, what }.into()
}
