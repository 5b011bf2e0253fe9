//! `warpline run`: one model, one run or several replications, one report.

use std::{ops::ControlFlow, time::Instant};

use clap::{CommandFactory, FromArgMatches};
use serde_json::Value;
use warpline::{PendingKind, Report, Results, RunError, Simulation};
use warpline_models::catalog::{ModelParams, WithModel};

use crate::{
    args::{Cli, Command, CommonArgs, Model, RunArgs, RunFormat},
    failure::Failure,
    output::Output,
    progress,
    report::{ReplicationsReport, RunReport},
};

/// The run that `warpline` without arguments makes: three days of the GTW paper's network.
const DEMO: [&str; 5] = ["warpline", "run", "pcs", "--warmup=60", "--end=4320"];

/// Runs the demonstration, and says what to try next.
pub(crate) fn demo() -> Result<(), Failure> {
    eprintln!(
        "Simulating three days of a wireless network: 64 x 32 cells, 50 000 portables\n\
         (the same as `warpline {}`)\n",
        DEMO[1..].join(" ")
    );
    let matches = Cli::command().try_get_matches_from(DEMO)?;
    if let Some(Command::Run { model }) = Cli::from_arg_matches(&matches)?.command {
        execute(model)?;
    }
    eprintln!(
        "\nWhat to try next (`warpline` is `cargo run --release --` here):\n  \
         warpline run pcs --mobility high              portables that move five times as often\n  \
         warpline run pcs --end 300 --replications 8   with confidence intervals\n  \
         warpline run phold --lps 65536 --population 1048576 --end 10\n  \
         warpline sweep pcs --end 300 --vary channels=8,10,12\n  \
         warpline bench W1 W2                          how fast it is on this machine\n  \
         warpline run pcs --help                       everything that can be set"
    );
    Ok(())
}

/// Runs what was asked for, and writes the report.
pub(crate) fn execute(model: Model<RunArgs>) -> Result<(), Failure> {
    let (params, args) = model.into_parts();
    let mut output = Output::open(args.common.output.as_deref())?;
    let action = Run { args: &args, params: &params };
    let (text, difference) = in_pool(args.common.jobs, || params.clone().dispatch(action))???;
    output.write(&text)?;
    match difference {
        None => Ok(()),
        Some(difference) => Err(Failure::Difference(difference)),
    }
}

/// Does something with this many threads for what runs in parallel.
pub(crate) fn in_pool<T: Send>(
    jobs: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build();
    let pool =
        pool.map_err(|error| Failure::Run(format!("threads could not be started: {error}")))?;
    Ok(pool.install(work))
}

/// A run of a model that is yet to be made.
struct Run<'a> {
    args: &'a RunArgs,
    params: &'a ModelParams,
}

impl WithModel for Run<'_> {
    /// The report, and the difference that `--verify` found.
    type Output = Result<(String, Option<String>), Failure>;

    fn with<M: warpline::Model<Output: Results + 'static>>(self, model: M) -> Self::Output {
        let Self { args, params } = self;
        let common = &args.common;
        let end = common.end_of(params);
        if common.replications > 1 {
            return replications(common, params, model, end)
                .map(|report| (format_as(args.format, &report), None));
        }
        let mut show = progress::of_run(common.quiet);
        let mut simulation = common.simulation(model, end).observe(move |progress| {
            show(progress);
            ControlFlow::Continue(())
        });
        let report = simulation.run()?;
        let difference = match args.verify && !report.interrupted {
            true => compare(common.pending, simulation, &report)?,
            false => None,
        };
        let report = RunReport::new(report, params);
        let mut text = format_as(args.format, &report);
        if args.verify && difference.is_none() && args.format == RunFormat::Text {
            text += "verified: the same events were committed with another pending set\n";
        }
        Ok((text, difference))
    }
}

/// A report in both forms.
trait Told {
    fn text(&self) -> String;
    fn json(&self) -> Value;
}

impl Told for RunReport {
    fn text(&self) -> String {
        self.to_text()
    }
    fn json(&self) -> Value {
        Value::Object(self.to_json())
    }
}

impl Told for ReplicationsReport {
    fn text(&self) -> String {
        self.to_text()
    }
    fn json(&self) -> Value {
        self.to_json()
    }
}

fn format_as(format: RunFormat, report: &impl Told) -> String {
    match format {
        RunFormat::Text => report.text(),
        RunFormat::Json => format!("{:#}\n", report.json()),
    }
}

/// Runs again with another pending set; says what differs, if anything does.
fn compare<M: warpline::Model<Output: Results>>(
    pending: PendingKind,
    simulation: Simulation<'_, M>,
    report: &Report<M::Output>,
) -> Result<Option<String>, RunError> {
    let other = match pending {
        PendingKind::Heap => PendingKind::Ladder,
        _ => PendingKind::Heap,
    };
    let again = simulation.pending(other).run()?;
    let figures = |report: &Report<M::Output>| -> Vec<u64> {
        report.output.figures().iter().map(|figure| figure.value.to_bits()).collect()
    };
    let equal = again.digest == report.digest && figures(&again) == figures(report);
    Ok((!equal && !again.interrupted).then(|| {
        format!(
            "--verify found a difference: with pending set {pending} {} events were committed, \
             digest {}; with {other} {}, digest {} (seed {})",
            report.committed_events,
            report.digest,
            again.committed_events,
            again.digest,
            report.seed
        )
    }))
}

fn replications<M: warpline::Model<Output: Results>>(
    common: &CommonArgs,
    params: &ModelParams,
    model: M,
    end: f64,
) -> Result<ReplicationsReport, Failure> {
    let started = Instant::now();
    let bar = progress::of_pieces(common.quiet, common.replications, "replicating");
    let replications =
        common.simulation(model, end).replicate(common.replications, |_| bar.inc(1))?;
    bar.finish_and_clear();
    let estimates = replications.estimates();
    let runs = replications.reports.into_iter().map(|report| RunReport::new(report, params));
    Ok(ReplicationsReport {
        runs: runs.collect(),
        estimates,
        requested: common.replications,
        wall_seconds: started.elapsed().as_secs_f64(),
    })
}
