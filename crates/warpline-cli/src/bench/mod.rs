//! `warpline bench`: the engines on the standard workloads, as ratios to each other and to bare
//! loops.
//!
//! All variants of a workload are run in turn, round after round, so that a change in the speed of
//! the machine hits all of them; loops that are far too slow in the first round are left out of
//! the others. A ratio is the median of the ratios within each round. A run whose digest differs
//! from the workload's other runs is a failure, not a number.

mod busy;
mod memory;
mod process;
mod results;
mod rows;
mod sample;
mod sends;
mod table;
mod workload;

use clap::{ArgMatches, Args, ValueEnum};
use serde_json::{Value, json};
use warpline::{
    files::Files,
    pending::PendingKind,
    settings::{Aggregation, EngineKind},
};
use warpline_lab::{results::Destination, yardstick::Yardstick};
use warpline_net::has_mpirun;

use crate::{
    failure::Failure,
    interrupt,
    output::Output,
    oversubscription, progress,
    reads::{self, Unread},
    system,
    timewarp_args::Policies,
    values::one_to,
};

pub(crate) use busy::{SpinArgs, spin};
pub(crate) use workload::Workload;

use memory::Memory;
use rows::{Row, Variant, median, ratio_to, retire, yardstick_of};
use sample::Sampler;

/// The flags of `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Workloads to measure [default: all]
    #[arg(value_name = "WORKLOAD", ignore_case = true, value_parser = Workload::parser())]
    workloads: Vec<Workload>,
    /// Measure only these, as a list: auto, sequential, conservative, speculative, timewarp, bare
    /// [default: all]
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    only: Vec<Kind>,
    /// Numbers of workers to measure parallel engines with, as a list [default: 1 and the number
    /// of cores]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = one_to::<1024>)]
    workers: Vec<usize>,
    /// Numbers of ranks to measure parallel engines with, of one worker each, as a list: as
    /// threads, and over MPI where this was built for it
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = one_to::<1024>)]
    ranks: Vec<usize>,
    /// With --ranks: bytes of messages that are sent together, as a list of auto, off and numbers
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "auto")]
    aggregation: Vec<Aggregation>,
    /// Measure more workers or ranks than four for each core
    #[arg(long)]
    oversubscribe: bool,
    /// Measure the engines also while this number of other processes keep cores busy, as a list;
    /// without a number: one process, on the last core
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        value_parser = one_to::<64>,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1"
    )]
    busy: Vec<usize>,
    /// Rounds, each with one sample of every variant
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    samples: u32,
    /// Share of each workload's full length that a sample runs
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    length: f64,
    /// Measure the sequential engine with every pending set, not only the default one
    #[arg(long)]
    all_pending: bool,
    /// Measure instead what a message between two workers costs, with each pool
    #[arg(long, conflicts_with_all = ["workloads", "only", "workers", "busy", "all_pending"])]
    sends: bool,
    /// Print JSON, with every sample
    #[arg(long)]
    json: bool,
    /// File for the report [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<std::path::PathBuf>,
    /// File for the results, in the form of those in docs/results
    #[arg(long, value_name = "FILE")]
    results: Option<std::path::PathBuf>,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    pub(crate) policies: Policies,
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The engine that chooses engines
    Auto,
    /// The sequential engine
    Sequential,
    /// The conservative engine, where the workload has a lookahead
    Conservative,
    /// The speculative engine
    Speculative,
    /// Time Warp
    Timewarp,
    /// The bare loops
    Bare,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a number greater than 0 and at most 1".to_owned()),
    }
}

impl BenchArgs {
    fn workloads(&self) -> Vec<Workload> {
        match self.workloads.as_slice() {
            [] => Workload::all().collect(),
            some => some.to_vec(),
        }
    }

    fn measures(&self, kind: Kind) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }

    /// The numbers of workers to measure with, the least first.
    fn workers(&self) -> Vec<usize> {
        let mut workers = match self.workers.as_slice() {
            [] => vec![1, system::cores()],
            some => some.to_vec(),
        };
        workers.sort_unstable();
        workers.dedup();
        workers
    }

    /// An engine on several ranks.
    fn rank_variants(&self, workload: Workload, engine: EngineKind) -> Vec<Variant> {
        let kind = match engine {
            EngineKind::Conservative => Kind::Conservative,
            _ => Kind::Timewarp,
        };
        let can_run = engine != EngineKind::Conservative || workload.has_lookahead();
        let mut variants = Vec::new();
        for &ranks in self.ranks.iter().filter(|_| self.measures(kind) && can_run) {
            for mpi in if has_mpirun() { &[false, true][..] } else { &[false] } {
                for &aggregation in &self.aggregation {
                    variants.push(Variant::Ranks { engine, ranks, mpi: *mpi, aggregation });
                }
            }
        }
        variants
    }

    /// The variants that are measured on a workload.
    fn variants(&self, workload: Workload) -> Vec<Variant> {
        let mut variants = Vec::new();
        // The engines go first: they tell how many events the bare loops are to handle.
        if self.measures(Kind::Sequential) {
            let kinds = if self.all_pending { PendingKind::ALL } else { &PendingKind::ALL[..1] };
            variants.extend(kinds.iter().map(|&kind| Variant::Sequential(kind)));
        }
        for (kind, engine) in [
            (Kind::Auto, EngineKind::Auto),
            (Kind::Conservative, EngineKind::Conservative),
            (Kind::Speculative, EngineKind::Speculative),
            (Kind::Timewarp, EngineKind::TimeWarp),
        ] {
            let can_run = engine != EngineKind::Conservative || workload.has_lookahead();
            if self.measures(kind) && can_run {
                let all = self.workers().into_iter();
                variants.extend(all.map(|workers| Variant::Parallel { engine, workers }));
            }
        }
        for engine in [EngineKind::Conservative, EngineKind::TimeWarp] {
            variants.extend(self.rank_variants(workload, engine));
        }
        if self.measures(Kind::Bare) {
            variants.extend(Yardstick::all(workload.bare()).into_iter().map(Variant::Bare));
        }
        variants
    }

    /// The rows of a workload: each variant, undisturbed and disturbed.
    fn rows(&self, workload: Workload) -> Vec<Row> {
        let of = |variant| {
            let is_bare = matches!(variant, Variant::Bare(_));
            let busy = self.busy.iter().copied().filter(move |_| !is_bare);
            [0].into_iter().chain(busy).map(move |busy| Row { busy, ..Row::new(workload, variant) })
        };
        self.variants(workload).into_iter().flat_map(of).collect()
    }

    /// Refuses numbers of workers and ranks that are too many for this machine.
    fn refuse_crowds(&self) -> Result<(), Failure> {
        let most = |counts: &[usize]| counts.iter().copied().max().unwrap_or_default();
        let ranks = oversubscription::refuse_crowd(1, most(&self.ranks), 1);
        ranks.and_then(|()| oversubscription::refuse_crowd(1, 1, most(&self.workers)))
    }

    /// The flags that were typed and that nothing reads that is measured.
    pub(crate) fn unread(&self, matches: &ArgMatches) -> Result<Vec<Unread>, clap::Error> {
        if self.sends {
            return Ok(reads::unread_by_all(matches, &[], "messages between workers (--sends)"));
        }
        let (mut runs, mut subjects) = (Vec::new(), Vec::new());
        let variants = self.workloads().into_iter().map(|workload| self.variants(workload));
        for variant in variants.flatten() {
            runs.extend(variant.run(&self.policies)?);
            if !subjects.contains(&variant.subject()) {
                subjects.push(variant.subject());
            }
        }
        let measured = match subjects.as_slice() {
            [] => "nothing: the workload has no lookahead".to_owned(),
            some => some.join(" and "),
        };
        Ok(reads::unread_by_all(matches, &runs, &measured))
    }
}

/// Runs the benchmark and prints its table.
pub(crate) fn execute(args: &BenchArgs) -> Result<(), Failure> {
    if !args.oversubscribe {
        args.refuse_crowds()?;
    }
    if cfg!(debug_assertions) {
        return Err(Failure::Configuration(
            "this is a debug build: build with --release to measure anything".to_owned(),
        ));
    }
    let files = Files::default().reading("pool", args.policies.pool.file.as_deref());
    let files = files.writing("output", args.output.as_deref());
    let files = files.writing("results", args.results.as_deref());
    files.printing_unless(args.output.as_deref()).check()?;
    let mut output = Output::open(args.output.as_deref())?;
    let destination = args.results.as_deref().map(Destination::open).transpose()?;
    if args.sends {
        let costs = sends::measure(args);
        let kept = destination.map_or(Ok(()), |file| file.write(results::of_sends(&costs, args)));
        output.write_report(&sends::report(&costs, args))?;
        return Ok(kept?);
    }
    interrupt::keep_report();
    let rows = measure(args)?;
    let memory = if interrupt::requested() { Vec::new() } else { memory::measure(args)? };
    let kept = destination.map_or(Ok(()), |file| file.write(results::of(&rows, &memory, args)));
    let text = if args.json {
        format!("{:#}\n", to_json(&rows, &memory))
    } else {
        table::to_text(&rows, &memory)
    };
    output.write_report(&text)?;
    Ok(kept?)
}

/// Takes all samples; after an interrupt, those there are.
fn measure(args: &BenchArgs) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Row> =
        args.workloads().into_iter().flat_map(|workload| args.rows(workload)).collect();
    let mut sampler = Sampler::new(args.length, &args.policies);
    let bar = progress::of_pieces(args.quiet, rows.len() * args.samples as usize, "measuring");
    for round in 0..args.samples {
        for row in &mut rows {
            bar.inc(1);
            if interrupt::requested() || row.retired {
                continue;
            }
            bar.set_message(format!("{} {}", row.workload.name(), row.name()));
            row.rates.extend(sampler.sample(row.workload, row.variant, row.busy)?);
        }
        if round == 0 {
            retire(&mut rows);
        }
    }
    bar.finish_and_clear();
    rows.retain(|row| !row.rates.is_empty());
    Ok(rows)
}

fn to_json(rows: &[Row], memory: &[Memory]) -> Value {
    let values: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "workload": row.workload.name(),
                "variant": row.name(),
                "million_events_per_second": row.rates,
                "median": median(&row.rates),
                "min": row.least(),
                "max": row.greatest(),
                "ratio": ratio_to(yardstick_of(rows, row.workload), row),
                "ratio_to_sequential": ratio_to(row.sequential_in(rows), row),
                "ratio_to_undisturbed": ratio_to(row.undisturbed_in(rows), row),
            })
        })
        .collect();
    let memory: Vec<_> = memory.iter().map(|memory| memory.to_json()).collect();
    json!({ "machine": system::processor(), "rows": values, "memory": memory })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArgs,
    }

    /// The flags of a line.
    pub(super) fn arguments(line: &str) -> BenchArgs {
        Line::parse_from(["bench"].into_iter().chain(line.split_whitespace())).bench
    }

    fn variants(line: &str) -> Vec<String> {
        let rows = arguments(line).rows(Workload::named("W1").expect("a workload"));
        rows.iter().map(Row::name).collect()
    }

    /// The flags choose the variants, and the sequential engine comes first.
    #[test]
    fn variants_are_chosen() {
        let all = variants("");
        assert_eq!(all[..2], ["sequential ladder", "auto, 1 worker"]);
        assert!(all.iter().any(|name| name == "timewarp, 1 worker"));
        assert!(all.iter().any(|name| name.starts_with("bare")));
        assert_eq!(
            variants("--only timewarp,sequential --workers 4,2,4"),
            ["sequential ladder", "timewarp, 2 workers", "timewarp, 4 workers"]
        );
        assert_eq!(
            variants("--only timewarp,bare --workers 2 --busy=1,4")[..4],
            [
                "timewarp, 2 workers",
                "timewarp, 2 workers, a core busy",
                "timewarp, 2 workers, 4 busy programs",
                "bare hold ladder",
            ]
        );
        assert!(variants("--only bare").iter().all(|name| name.starts_with("bare")));
    }
}
