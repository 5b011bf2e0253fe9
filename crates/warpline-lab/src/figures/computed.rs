//! The common part of figures 1, 2, 5 and 6, which show how a memory system serves the buffers of a
//! run: curves, knees, and tests of numbers without noise.

use std::fmt;

use rayon::prelude::*;
use warpline::settings::{Pool, PoolKind};
use warpline_models::phold::PholdParams;

use super::MIB;
use crate::{
    Axis, Bounds, Claim, Constant, Curve, Dot, LabError, Plot, Settings, Table,
    machine::{MachineParams, Replacement},
    memory_system::{BufferRun, Fetch, MemoryCosts, MemorySystem},
};

/// A curve to compute: its name, and the run and the number at each place.
pub(super) struct Query<'a> {
    pub(super) name: String,
    pub(super) run: &'a dyn Fn(f64) -> BufferRun,
    pub(super) number: fn(&MemoryCosts) -> f64,
}

/// What the tables of all these figures have, beside the numbers of their plot.
const COLUMNS: [&str; 5] = [
    "sub-cache misses",
    "cache misses",
    "of these from another ring",
    "page misses",
    "wait per received message (microseconds)",
];

/// Asks the memory system for every curve at every place; returns the plot and the table.
pub(super) fn plot(
    system: &dyn MemorySystem,
    title: &str,
    [x, y]: [Axis; 2],
    places: &[f64],
    queries: &[Query<'_>],
) -> Result<(Plot, Table), LabError> {
    let mut table = Table {
        header: ["curve", &*x.label, &*y.label]
            .into_iter()
            .chain(COLUMNS)
            .map(str::to_owned)
            .collect(),
        rows: Vec::new(),
    };
    // Several curves may show the same run; and no run depends on another one.
    let mut runs = Vec::new();
    let mut place_of = |run: BufferRun| {
        let known = runs.iter().position(|other| *other == run);
        known.unwrap_or_else(|| {
            runs.push(run);
            runs.len() - 1
        })
    };
    let shown: Vec<Vec<_>> = queries
        .iter()
        .map(|query| places.iter().map(|&x| place_of((query.run)(x))).collect())
        .collect();
    let costs: Result<Vec<_>, _> = runs.par_iter().map(|run| system.costs(run)).collect();
    let costs = costs?;
    let mut curves = Vec::new();
    for (Query { name, number, .. }, shown) in queries.iter().zip(shown) {
        let mut dots = Vec::new();
        for (&x, run) in places.iter().zip(shown) {
            let costs = costs[run];
            let y = number(&costs);
            let MemoryCosts { sub_misses, cache_misses, far_misses, page_misses, .. } = costs;
            let numbers = [x, y, sub_misses, cache_misses, far_misses, page_misses, costs.receive];
            table
                .rows
                .push([name.clone()].into_iter().chain(numbers.map(|n| n.to_string())).collect());
            dots.push(Dot { x, y, low: y, high: y, hollow: false });
        }
        curves.push(Curve::new(name, dots));
    }
    Ok((Plot { title: title.to_owned(), x, y, curves }, table))
}

/// Each pool at each place, for runs that go on beside each other; the results are in this order.
pub(super) fn each_pool<X: Copy + Send>(
    places: &[X],
) -> impl ParallelIterator<Item = (PoolKind, X)> {
    let of = |&pool: &PoolKind| places.iter().map(move |&place| (pool, place));
    PoolKind::ALL.iter().flat_map(of).collect::<Vec<_>>().into_par_iter()
}

/// Tests that the curve `upper` lies above `lower` at every place that is `wanted`: by any amount,
/// because a memory system that is computed has no noise. A place where both are zero is no test.
pub(super) fn test_higher(
    claim: Claim,
    curves: &[Curve],
    [upper, lower]: [&str; 2],
    wanted: impl Fn(f64) -> bool,
) -> Claim {
    let dots = |name: &str| {
        let curve = curves.iter().find(|curve| curve.name == name);
        curve.map_or(&[][..], |curve| &curve.dots)
    };
    let pairs = dots(upper).iter().zip(dots(lower));
    let pairs = pairs.filter(|(a, b)| wanted(a.x) && (a.y, b.y) != (0.0, 0.0));
    pairs.fold(claim, |claim, (a, b)| {
        claim.test(format!("{upper} / {lower} at {}", a.x), a.y / b.y, Bounds::Above(1.0))
    })
}

/// A curve rises where it is this many times what it is at its first place, and this part of its
/// greatest value: the first number alone would make a knee of a handful of misses where there were
/// none.
const RISES: (f64, f64) = (2.0, 0.02);

/// The last place before a curve rises; none if it does not.
pub(super) fn knee(curve: &Curve) -> Option<f64> {
    let first = curve.dots.first()?.y;
    let greatest = curve.dots.iter().map(|dot| dot.y).fold(0.0, f64::max);
    let least = (RISES.0 * first).max(RISES.1 * greatest);
    let rise = curve.dots.windows(2).find(|pair| pair[1].y > least)?;
    Some(rise[0].x)
}

/// Tests where the knee of a curve is; one without a knee is not where it should be.
pub(super) fn test_knee(claim: Claim, curve: &Curve, wanted: Bounds) -> Claim {
    let place = format!("{}, the last MiB before misses rise", curve.name);
    claim.test(place, knee(curve).unwrap_or(f64::INFINITY), wanted)
}

/// What the paper does not say, and what figures 1, 2, 5 and 6 and `knee` depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    /// The size of a message in figures 5 and 6.
    pub(super) bytes: usize,
    pub(super) replacement: Replacement,
}

/// The first guess is plotted; claims are tested with both, so that none of them decides. With
/// messages of these sizes, a million events use every buffer of 130 MiB several times, so that
/// pages can be missed again.
pub(super) const GUESSES: [Guess; 2] = [
    Guess { bytes: 512, replacement: Replacement::Lru },
    Guess { bytes: 1_000, replacement: Replacement::Random(1) },
];

impl fmt::Display for Guess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, replacement } = self;
        write!(f, "messages of {bytes} bytes, {replacement}")
    }
}

/// What is computed with the first guess, and its claims, which are tested with both: those of the
/// second one as further places.
pub(super) fn with_both_guesses<T>(
    compute: impl Fn(Guess) -> Result<T, LabError>,
    claims: impl Fn(&T) -> Vec<Claim>,
) -> Result<(T, Vec<Claim>), LabError> {
    let [first, second] = GUESSES;
    let (computed, other) = (compute(first)?, compute(second)?);
    let claims = Claim::all_tested_too(claims(&computed), &second.to_string(), claims(&other));
    Ok((computed, claims))
}

/// The constants of the model of the machine: those that counts of misses and the parts of a send
/// depend on, which are all that claims of these figures are about.
pub(super) fn constants() -> Vec<Constant> {
    let [first, second] = GUESSES.map(|guess| guess.replacement);
    let mut constants = MachineParams::ksr2().constants_of_counts();
    constants.push(Constant::varied(
        format!("replacement: {first}, or {second}"),
        "the paper says nothing about it",
    ));
    constants
}

/// The size of the messages, for the lists of figures 5 and 6 and of `knee`.
pub(super) fn message_size() -> Constant {
    let [first, second] = GUESSES.map(|guess| guess.bytes);
    Constant::varied(format!("messages of {first} or {second} bytes"), "the paper gives no size")
}

/// The run of figures 5 and 6: PHOLD as in figure 4 on eight processors, about a million events.
pub(super) fn million_events(
    settings: &Settings,
    pool: Pool,
    Guess { bytes, replacement }: Guess,
    mebibytes: f64,
) -> BufferRun {
    BufferRun {
        model: PholdParams { payload: bytes, ..PholdParams::default() },
        end: settings.shortened(1_000.0),
        seed: settings.seed,
        workers: 8,
        pool,
        memory: (mebibytes * MIB as f64) as u64,
        fetch: Fetch::Exclusive,
        replacement,
    }
}

/// The axis of figures 5 and 6.
pub(super) fn memory_axis() -> Axis {
    Axis::new("memory for event buffers (MiB, all workers)")
}
