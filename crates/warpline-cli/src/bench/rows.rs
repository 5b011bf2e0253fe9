//! What is measured: variants, their samples, and the ratios between them.

use warpline::{
    pending::PendingKind,
    settings::{Aggregation, EngineKind},
};
use warpline_lab::yardstick::Yardstick;

use super::Workload;
use crate::{args::CommonArgs, format::counted, timewarp_args::Policies};

/// Something that handles a workload's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Bare(Yardstick),
    Sequential(PendingKind),
    /// An engine with workers.
    Parallel {
        engine: EngineKind,
        workers: usize,
    },
    /// One worker each.
    Ranks {
        engine: EngineKind,
        ranks: usize,
        /// Whether they are processes, and not threads.
        mpi: bool,
        aggregation: Aggregation,
    },
}

impl Variant {
    pub(super) fn name(self) -> String {
        match self {
            Self::Bare(yardstick) => format!("bare {}", yardstick.name()),
            Self::Sequential(kind) => format!("sequential {kind}"),
            Self::Parallel { engine, workers } => {
                format!("{engine}, {}", counted(workers, "worker"))
            }
            Self::Ranks { engine, ranks, mpi, aggregation } => {
                let over = if mpi { "MPI" } else { "threads" };
                let aggregation = match aggregation {
                    Aggregation::Off => ", no aggregation".to_owned(),
                    Aggregation::Bytes(bytes) => format!(", {bytes} bytes together"),
                    Aggregation::Adaptive => String::new(),
                };
                format!("{engine}, {}, {over}{aggregation}", counted(ranks, "rank"))
            }
        }
    }

    /// What it measures, as `--only` and reports call it.
    pub(super) fn subject(self) -> &'static str {
        self.engine().map_or("bare", EngineKind::name)
    }

    fn engine(self) -> Option<EngineKind> {
        match self {
            Self::Bare(_) => None,
            Self::Sequential(_) => Some(EngineKind::Sequential),
            Self::Parallel { engine, .. } | Self::Ranks { engine, .. } => Some(engine),
        }
    }

    /// Its sample as a run, as flags of `run` would set it up; `None` for a bare loop.
    pub(super) fn run(self, policies: &Policies) -> Result<Option<CommonArgs>, clap::Error> {
        let Some(engine) = self.engine() else { return Ok(None) };
        let mut run = CommonArgs::of(engine)?;
        run.timewarp.policies = policies.clone();
        match self {
            Self::Bare(_) => {}
            Self::Sequential(pending) => run.pending = pending,
            Self::Parallel { workers, .. } => run.timewarp.workers = Some(workers),
            Self::Ranks { ranks, aggregation, .. } => {
                run.timewarp.workers = Some(1);
                (run.ranks.ranks, run.ranks.aggregation) = (ranks, aggregation);
            }
        }
        Ok(Some(run))
    }

    /// Whether it may serve as the yardstick: a bare loop that handles events in their order.
    fn is_hold(self) -> bool {
        matches!(self, Self::Bare(yardstick) if yardstick != Yardstick::Windows)
    }
}

/// A variant's samples on one workload, in million events per second, a sample per round.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) workload: Workload,
    pub(super) variant: Variant,
    /// How many other processes keep a core busy meanwhile.
    pub(super) busy: usize,
    pub(super) rates: Vec<f64>,
    /// Whether one sample is enough.
    pub(super) retired: bool,
}

impl Row {
    pub(super) const fn new(workload: Workload, variant: Variant) -> Self {
        Self { workload, variant, busy: 0, rates: Vec::new(), retired: false }
    }

    /// The variant, and how it was disturbed.
    pub(super) fn name(&self) -> String {
        let name = self.variant.name();
        match self.busy {
            0 => name,
            1 => format!("{name}, a core busy"),
            busy => format!("{name}, {busy} busy programs"),
        }
    }

    pub(super) fn least(&self) -> f64 {
        self.rates.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(super) fn greatest(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// The sequential engine on the same workload, disturbed in the same way.
    pub(super) fn sequential_in<'r>(&self, rows: &'r [Self]) -> Option<&'r Self> {
        self.sibling(rows, Variant::Sequential(PendingKind::default()), self.busy)
    }

    /// For a row with busy cores, the one without.
    pub(super) fn undisturbed_in<'r>(&self, rows: &'r [Self]) -> Option<&'r Self> {
        (self.busy > 0).then(|| self.sibling(rows, self.variant, 0))?
    }

    fn sibling<'r>(&self, rows: &'r [Self], variant: Variant, busy: usize) -> Option<&'r Self> {
        let is_it = |row: &&Self| (row.variant, row.busy) == (variant, busy);
        rows.iter().filter(|row| row.workload == self.workload).find(is_it)
    }
}

/// Retires the bare loops that are far too slow to become the yardstick: they take most of the
/// time.
pub(super) fn retire(rows: &mut [Row]) {
    for workload in Workload::all() {
        let best = yardstick_of(rows, workload).map_or(0.0, |row| median(&row.rates));
        let bare =
            |row: &&mut Row| row.workload == workload && matches!(row.variant, Variant::Bare(_));
        for row in rows.iter_mut().filter(bare) {
            row.retired = median(&row.rates) < best / 3.0;
        }
    }
}

/// The bare loop with the best median on a workload.
pub(super) fn yardstick_of(rows: &[Row], workload: Workload) -> Option<&Row> {
    let holds = rows.iter().filter(|row| row.workload == workload && row.variant.is_hold());
    holds.max_by(|a, b| median(&a.rates).total_cmp(&median(&b.rates)))
}

/// The median over the rounds of a row's rate by another's; NaN where there is no other.
pub(super) fn ratio_to(other: Option<&Row>, row: &Row) -> f64 {
    let others = other.map_or(&[][..], |other| &other.rates);
    let ratios: Vec<_> = row.rates.iter().zip(others).map(|(a, b)| a / b).collect();
    median(&ratios)
}

pub(super) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Memory, table, to_json};
    use super::*;

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    fn seed() -> Workload {
        Workload::named("W1").expect("a workload")
    }

    const fn time_warp(workers: usize) -> Variant {
        Variant::Parallel { engine: EngineKind::TimeWarp, workers }
    }

    fn row(variant: Variant, rates: &[f64]) -> Row {
        Row { rates: rates.to_vec(), ..Row::new(seed(), variant) }
    }

    #[test]
    fn hopeless_loops_are_sampled_once() {
        let mut rows = [
            row(Variant::Sequential(PendingKind::Heap), &[1.0]),
            row(time_warp(1), &[1.0]),
            row(Variant::Bare(Yardstick::StdHeap), &[9.0]),
            row(Variant::Bare(Yardstick::Hold(PendingKind::Heap)), &[4.0]),
            row(Variant::Bare(Yardstick::Hold(PendingKind::Splay)), &[2.0]),
        ];
        retire(&mut rows);
        assert_eq!(rows.map(|row| row.retired), [false, false, false, false, true]);
    }

    /// The best loop in order is the yardstick, windows are not, and ratios are taken per round.
    #[test]
    fn ratios_are_to_the_best_hold_loop() {
        let rows = [
            row(Variant::Sequential(PendingKind::Heap), &[1.0, 8.0, 3.0]),
            row(Variant::Bare(Yardstick::StdHeap), &[2.0, 8.0, 4.0]),
            row(Variant::Bare(Yardstick::Hold(PendingKind::Heap)), &[1.0, 1.0, 1.0]),
            row(Variant::Bare(Yardstick::Windows), &[9.0, 9.0, 9.0]),
        ];
        let yardstick = yardstick_of(&rows, seed());
        assert_eq!(ratio_to(yardstick, &rows[0]), 0.75);
        assert_eq!(ratio_to(yardstick, &rows[1]), 1.0);
        let memory = Memory { workload: seed(), variant: rows[0].variant, bytes: Some(1024 * 100) };
        let text = table::to_text(&rows, &[memory]);
        assert!(text.contains("bare hold std-heap *") && text.contains("100 bytes per"), "{text}");
        assert!(!text.contains("undisturbed"), "{text}");
        let json = to_json(&rows, &[memory]);
        assert_eq!(json["rows"][0]["ratio"], 0.75);
        assert_eq!(json["memory"][0]["peak_resident_bytes"], 1024 * 100);
    }

    /// Time Warp is compared with the sequential engine in the same round, and with a busy core
    /// with its own rate without one.
    #[test]
    fn time_warp_is_compared_per_round() {
        let rows = [
            row(Variant::Sequential(PendingKind::Heap), &[9.0; 3]),
            row(Variant::Sequential(PendingKind::default()), &[2.0, 4.0, 8.0]),
            row(time_warp(1), &[9.0; 3]),
            row(time_warp(2), &[3.0, 6.0, 4.0]),
            Row { busy: 1, ..row(time_warp(2), &[1.5, 6.0, 1.0]) },
            Row { busy: 2, ..row(time_warp(2), &[1.0; 3]) },
        ];
        assert_eq!(ratio_to(rows[3].sequential_in(&rows), &rows[3]), 1.5);
        assert_eq!(ratio_to(rows[4].undisturbed_in(&rows), &rows[4]), 0.5);
        assert!(rows[3].undisturbed_in(&rows).is_none());
        let json = to_json(&rows, &[]);
        assert_eq!(json["rows"][3]["ratio_to_sequential"], 1.5);
        assert_eq!(json["rows"][4]["ratio_to_undisturbed"], 0.5);
        assert!(json["rows"][3]["ratio_to_undisturbed"].is_null());
        let text = table::to_text(&rows, &[]);
        assert!(text.contains("timewarp, 2 workers, a core busy"), "{text}");
        assert!(text.contains("timewarp, 2 workers, 2 busy programs"), "{text}");
        assert!(text.contains("to undisturbed") && !text.contains("yardstick"), "{text}");
    }
}
