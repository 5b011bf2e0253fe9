//! `warpline bench`: the engines on the standard workloads, as ratios to bare loops.
//!
//! All variants of a workload are run in turn, round after round, so that a change in the speed of
//! the machine hits all of them; loops that turn out hopeless in the first round are left out of the
//! others. A ratio is the median of the ratios within each round. A run whose digest differs from
//! the workload's other runs is a failure, not a number.

mod table;
mod workload;
mod yardstick;

use clap::Args;
use serde_json::{Value, json};
use warpline::{CommitDigest, PendingKind, Results, Simulation};
use warpline_models::catalog::WithModel;

use crate::{failure::Failure, interrupt, output::Output, progress, system};

pub(crate) use workload::Workload;
use yardstick::Yardstick;

/// The flags of `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Workloads to measure [default: all]
    #[arg(value_enum, value_name = "WORKLOAD")]
    workloads: Vec<Workload>,
    /// Rounds, each with one sample of every variant
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Share of each workload's full length that a sample runs
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    length: f64,
    /// Measure the sequential engine with every pending set, not only the default one
    #[arg(long)]
    all_pending: bool,
    /// Print JSON, with every sample
    #[arg(long)]
    json: bool,
    /// File for the report [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<std::path::PathBuf>,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a number greater than 0 and at most 1".to_owned()),
    }
}

/// Something that handles a workload's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Bare(Yardstick),
    Sequential(PendingKind),
}

impl Variant {
    fn name(self) -> String {
        match self {
            Self::Bare(yardstick) => format!("bare {}", yardstick.name()),
            Self::Sequential(kind) => format!("sequential {kind}"),
        }
    }

    /// Whether it may serve as the yardstick: a bare loop that handles events in their order.
    fn is_hold(self) -> bool {
        matches!(self, Self::Bare(yardstick) if yardstick != Yardstick::Windows)
    }
}

/// A variant's samples on one workload, in million events per second, a sample per round.
#[derive(Debug)]
struct Row {
    workload: Workload,
    variant: Variant,
    rates: Vec<f64>,
    /// Whether one sample is enough.
    retired: bool,
}

impl Row {
    fn new(workload: Workload, variant: Variant) -> Self {
        Self { workload, variant, rates: Vec::new(), retired: false }
    }
}

/// Retires the bare loops that are far too slow to become the yardstick: they take most of the time.
fn retire(rows: &mut [Row]) {
    for workload in Workload::ALL {
        let best = yardstick_of(rows, workload).map_or(0.0, |row| median(&row.rates));
        let bare =
            |row: &&mut Row| row.workload == workload && matches!(row.variant, Variant::Bare(_));
        for row in rows.iter_mut().filter(bare) {
            row.retired = median(&row.rates) < best / 3.0;
        }
    }
}

/// Runs the benchmark and prints its table.
pub(crate) fn execute(args: &BenchArgs) -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        return Err(Failure::Configuration(
            "this is a debug build: build with --release to measure anything".to_owned(),
        ));
    }
    let mut output = Output::open(args.output.as_deref())?;
    let mut workloads = match args.workloads.as_slice() {
        [] => Workload::ALL.to_vec(),
        some => some.to_vec(),
    };
    let mut rows: Vec<Row> =
        workloads.iter().flat_map(|&workload| rows_of(workload, args)).collect();
    let bar = progress::of_pieces(args.quiet, rows.len() * args.samples as usize, "measuring");
    for round in 0..args.samples {
        let mut known = None;
        for row in &mut rows {
            if interrupt::requested() {
                break;
            }
            bar.inc(1);
            if row.retired {
                continue;
            }
            bar.set_message(format!("{} {}", row.workload.name(), row.variant.name()));
            row.rates.push(sample(row, args.length, &mut known)?);
        }
        if round == 0 {
            retire(&mut rows);
        }
    }
    bar.finish_and_clear();
    if interrupt::requested() {
        rows.retain(|row| !row.rates.is_empty());
        workloads.clear();
    }
    let memory = workloads.iter().map(|&workload| Ok((workload, workload.resident_bytes()?)));
    let memory = memory.collect::<Result<Vec<_>, Failure>>()?;
    let text = if args.json {
        format!("{:#}\n", to_json(&rows, &memory))
    } else {
        table::to_text(&rows, &memory)
    };
    output.write(&text)
}

fn rows_of(workload: Workload, args: &BenchArgs) -> Vec<Row> {
    let kinds = if args.all_pending { PendingKind::ALL } else { &PendingKind::ALL[..1] };
    let engines = kinds.iter().map(|&kind| Variant::Sequential(kind));
    let bare = Yardstick::all(&workload.bare()).into_iter().map(Variant::Bare);
    // The engine goes first: it tells how many events the bare loops are to handle.
    engines.chain(bare).map(|variant| Row::new(workload, variant)).collect()
}

/// What the first run of a workload in a round told: the others must agree with it.
#[derive(Clone, Copy, Debug)]
struct Known {
    workload: Workload,
    events: u64,
    digest: CommitDigest,
}

/// One sample, in million events per second.
fn sample(row: &Row, length: f64, known: &mut Option<Known>) -> Result<f64, Failure> {
    let Row { workload, variant, .. } = *row;
    let same = known.filter(|known| known.workload == workload);
    match variant {
        Variant::Sequential(kind) => {
            let run = Run { kind, end: workload.end() * length };
            let (events, digest, rate) = workload.params().dispatch(run)??;
            if let Some(same) = same
                && same.digest != digest
            {
                let (workload, variant) = (workload.name(), variant.name());
                return Err(Failure::Run(format!(
                    "{workload}: {variant} committed other events (digest {digest}) than the \
                     default pending set (digest {})",
                    same.digest
                )));
            }
            *known = same.or(Some(Known { workload, events, digest }));
            Ok(rate / 1e6)
        }
        Variant::Bare(yardstick) => {
            let events = same.map_or(1_000_000, |known| known.events);
            Ok(1e3 / yardstick.nanoseconds_per_event(&workload.bare(), events))
        }
    }
}

/// A run of the sequential engine on a model that is yet to be made.
struct Run {
    kind: PendingKind,
    end: f64,
}

impl WithModel for Run {
    type Output = Result<(u64, CommitDigest, f64), Failure>;

    fn with<M: warpline::Model<Output: Results + 'static>>(self, model: M) -> Self::Output {
        let report = Simulation::new(model).end(self.end).pending(self.kind).run()?;
        Ok((report.committed_events, report.digest, report.events_per_second()))
    }
}

/// The bare loop with the best median on a workload.
fn yardstick_of(rows: &[Row], workload: Workload) -> Option<&Row> {
    let holds = rows.iter().filter(|row| row.workload == workload && row.variant.is_hold());
    holds.max_by(|a, b| median(&a.rates).total_cmp(&median(&b.rates)))
}

/// The median over the rounds of a row's rate by the yardstick's.
fn ratio(rows: &[Row], row: &Row) -> f64 {
    let Some(yardstick) = yardstick_of(rows, row.workload) else { return f64::NAN };
    let ratios: Vec<_> = row.rates.iter().zip(&yardstick.rates).map(|(a, b)| a / b).collect();
    median(&ratios)
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

fn to_json(rows: &[Row], memory: &[(Workload, Option<u64>)]) -> Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "workload": row.workload.name(),
                "variant": row.variant.name(),
                "million_events_per_second": row.rates,
                "median": median(&row.rates),
                "min": row.rates.iter().copied().fold(f64::INFINITY, f64::min),
                "max": row.rates.iter().copied().fold(0.0, f64::max),
                "ratio": ratio(rows, row),
            })
        })
        .collect();
    let memory: Vec<_> = memory
        .iter()
        .map(|(workload, bytes)| {
            json!({
                "workload": workload.name(),
                "pending_events": workload.population(),
                "peak_resident_bytes": bytes,
            })
        })
        .collect();
    json!({ "machine": system::processor(), "rows": rows, "memory": memory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    fn row(variant: Variant, rates: &[f64]) -> Row {
        Row { rates: rates.to_vec(), ..Row::new(Workload::Seed, variant) }
    }

    #[test]
    fn hopeless_loops_are_sampled_once() {
        let mut rows = [
            row(Variant::Sequential(PendingKind::Heap), &[1.0]),
            row(Variant::Bare(Yardstick::StdHeap), &[9.0]),
            row(Variant::Bare(Yardstick::Hold(PendingKind::Heap)), &[4.0]),
            row(Variant::Bare(Yardstick::Hold(PendingKind::Splay)), &[2.0]),
        ];
        retire(&mut rows);
        assert_eq!(rows.map(|row| row.retired), [false, false, false, true]);
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
        assert_eq!(ratio(&rows, &rows[0]), 0.75);
        assert_eq!(ratio(&rows, &rows[1]), 1.0);
        let text = table::to_text(&rows, &[(Workload::Seed, Some(1024 * 100))]);
        assert!(text.contains("bare hold std-heap *") && text.contains("100 bytes per"), "{text}");
        assert_eq!(to_json(&rows, &[])["rows"][0]["ratio"], 0.75);
    }

    /// Every variant of every small workload runs; two runs that differ are a failure.
    #[test]
    fn samples_are_taken_and_compared() {
        for workload in [Workload::Seed, Workload::Local, Workload::Hypercube] {
            let mut known = None;
            for kind in PendingKind::ALL {
                let row = Row::new(workload, Variant::Sequential(*kind));
                assert!(sample(&row, 0.002, &mut known).is_ok_and(|rate| rate > 0.0));
            }
            let other = Row::new(workload, Variant::Sequential(PendingKind::Heap));
            assert!(sample(&other, 0.003, &mut known).is_err(), "a longer run has another digest");
            for yardstick in Yardstick::all(&workload.bare()) {
                let row = Row::new(workload, Variant::Bare(yardstick));
                assert!(sample(&row, 0.002, &mut known).is_ok_and(|rate| rate > 0.0));
            }
        }
    }
}
