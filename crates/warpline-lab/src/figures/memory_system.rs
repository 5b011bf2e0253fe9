//! The common part of figures 1, 2, 5 and 6, which show how a memory system serves the buffers of a
//! run.
//!
//! They ask a [`MemorySystem`]: [`Replay`](crate::replay::Replay), which has a model of the paper's
//! machine, or one that a test makes up. Counters of this machine are no memory system, because
//! they cannot tell a send's lock from its misses; they are in the tables of real runs.

use std::fmt;
use warpline::settings::PoolKind;

use warpline_models::phold::PholdParams;

use super::MIB;
use crate::{Axis, Bounds, Claim, Curve, Dot, LabError, Plot, Settings, Table};

/// A model of a machine's caches and pages, which tells what a run of Time Warp costs there.
pub trait MemorySystem: fmt::Debug + Sync {
    /// The costs of the run.
    ///
    /// # Errors
    ///
    /// When the run fails.
    fn costs(&self, run: &BufferRun) -> Result<MemoryCosts, LabError>;

    /// The machine and the method, for the text.
    fn describe(&self) -> String;
}

/// A run whose accesses to event buffers are studied.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferRun {
    /// PHOLD; the payload is the size of a message.
    pub model: PholdParams,
    /// The virtual time at which it ends.
    pub end: f64,
    /// The seed of all random streams.
    pub seed: u64,
    /// The number of workers that share the LPs.
    pub workers: usize,
    /// The kind of buffer pool.
    pub pool: PoolKind,
    /// Bytes of event buffers, of all workers together.
    pub memory: u64,
}

/// The costs of a run on a memory system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryCosts {
    /// References that missed the worker's cache.
    pub cache_misses: f64,
    /// References to pages that were not mapped to the worker's cache.
    pub page_misses: f64,
    /// The average time of a send to another worker.
    pub remote_send: SendTime,
}

/// The parts of the time of a send to another worker, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SendTime {
    /// Locking the free pool.
    pub lock: f64,
    /// Cache misses while the message is written.
    pub caching: f64,
    /// Writing the message.
    pub copy: f64,
    /// Everything else: allocating and enqueuing the buffer.
    pub rest: f64,
}

impl SendTime {
    /// All of it.
    #[must_use]
    pub fn total(self) -> f64 {
        self.lock + self.caching + self.copy + self.rest
    }
}

/// A curve to compute: its name, and the run and the number at each place.
pub(super) struct Query<'a> {
    pub(super) name: String,
    pub(super) run: &'a dyn Fn(f64) -> BufferRun,
    pub(super) number: fn(&MemoryCosts) -> f64,
}

/// Asks the memory system for every curve at every place; returns the plot and the table.
pub(super) fn plot(
    system: &dyn MemorySystem,
    title: &str,
    [x, y]: [Axis; 2],
    places: &[f64],
    queries: &[Query<'_>],
) -> Result<(Plot, Table), LabError> {
    let mut table = Table {
        header: vec!["curve".to_owned(), x.label.clone(), y.label.clone()],
        rows: Vec::new(),
    };
    // Several curves may show the same run.
    let mut known: Vec<(BufferRun, MemoryCosts)> = Vec::new();
    let mut costs_of = |run: BufferRun| {
        if let Some((_, costs)) = known.iter().find(|(other, _)| *other == run) {
            return Ok(*costs);
        }
        let costs = system.costs(&run)?;
        known.push((run, costs));
        Ok::<_, LabError>(costs)
    };
    let mut curves = Vec::new();
    for Query { name, run, number } in queries {
        let mut dots = Vec::new();
        for &x in places {
            let y = number(&costs_of(run(x))?);
            table.rows.push(vec![name.clone(), x.to_string(), y.to_string()]);
            dots.push(Dot { x, y, low: y, high: y, hollow: false });
        }
        curves.push(Curve::new(name, dots));
    }
    Ok((Plot { title: title.to_owned(), x, y, curves }, table))
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

/// A curve rises where it is this many times what it is at its first place.
const RISES: f64 = 2.0;

/// The last place before a curve rises; none if it does not.
pub(super) fn knee(curve: &Curve) -> Option<f64> {
    let first = curve.dots.first()?.y;
    let rise = curve.dots.windows(2).find(|pair| pair[1].y > RISES * first)?;
    Some(rise[0].x)
}

/// Tests where the knee of a curve is; one without a knee is not where it should be.
pub(super) fn test_knee(claim: Claim, curve: &Curve, wanted: Bounds) -> Claim {
    let place = format!("{}, last memory before misses more than double (MiB)", curve.name);
    claim.test(place, knee(curve).unwrap_or(f64::INFINITY), wanted)
}

/// The run of figures 5 and 6: PHOLD as in figure 4 on eight processors, about a million events.
pub(super) fn million_events(settings: &Settings, pool: PoolKind, mebibytes: f64) -> BufferRun {
    BufferRun {
        model: PholdParams { payload: settings.payload, ..PholdParams::default() },
        end: settings.shortened(1_000.0),
        seed: settings.seed,
        workers: 8,
        pool,
        memory: (mebibytes * MIB as f64) as u64,
    }
}

/// The axis of figures 5 and 6.
pub(super) fn memory_axis() -> Axis {
    Axis::new("memory for event buffers (MiB, all workers)")
}
