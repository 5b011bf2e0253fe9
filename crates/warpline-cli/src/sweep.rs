//! `warpline sweep`: every combination of lists of parameter values, one row per run.

use std::ffi::OsString;

use rayon::prelude::*;
use serde_json::Value;
use warpline::Stream;
use warpline_models::catalog::{ModelParams, Prepared};

use crate::{
    Application,
    application::Request,
    args::{CommonArgs, SweepArgs},
    configuration::{flag_names, unknown},
    failure::Failure,
    interrupt,
    output::Output,
    progress::{self, Caller},
    ranks::{Launch, refuse_mpi_for},
    reads::{self, Unread},
    report::RunReport,
    run::{pool, prepare, refuse_files},
    table::{self, Row, TableWriter},
    values::Vary,
};

/// Flags of the sweep as a whole, which cannot differ from run to run.
const NOT_VARIED: [&str; 7] =
    ["vary", "format", "output", "config", "quiet", "jobs", "replications"];

/// Runs every combination, and writes a row for each run as the runs are done.
pub(crate) fn execute(
    application: &Application,
    words: &[OsString],
    args: &SweepArgs,
) -> Result<(), Failure> {
    refuse_mpi_for("sweep")?;
    let sweep = Sweep::new(application, words, args)?;
    let path = args.common.output.as_deref();
    table::check(args.format, path)?;
    let mut table = TableWriter::new(Output::open(path)?, args.format);
    let show = progress::of_runs(args.common.quiet, sweep.runs(), "sweeping");
    let caller = Caller { stop: interrupt::flag(), show: &show };
    let outcome = sweep.run(caller, |row| table.write(row));
    drop(show);
    if interrupt::requested() {
        let rows = table.rows();
        eprintln!("interrupted: {rows} of {} runs are in the report", sweep.runs());
    }
    // The rows that are done are written, whatever ended the sweep.
    let finished = table.finish();
    outcome.and(finished)
}

/// All runs of a sweep, which are checked before anything runs.
pub(crate) struct Sweep<'a> {
    points: Vec<Point>,
    common: &'a CommonArgs,
}

impl<'a> Sweep<'a> {
    /// The sweep of a command line, whose flags are `args`.
    pub(crate) fn new(
        application: &Application,
        words: &[OsString],
        args: &'a SweepArgs,
    ) -> Result<Self, Failure> {
        check_keys(application, words, &args.vary)?;
        let points = points(application, words, &args.vary)?;
        reads::refuse_for_all(points.iter().map(|point| &point.unread[..]))?;
        points.iter().try_for_each(|Point { params, common, .. }| {
            params.files().and(common.files()).check()
        })?;
        Ok(Self { points, common: &args.common })
    }

    /// How many runs there are.
    const fn runs(&self) -> usize {
        self.points.len() * self.common.replications
    }

    /// Runs them all, and hands over each row. Rows come in the order of the runs, a few at a time,
    /// so that little is lost if the sweep is stopped.
    pub(crate) fn run(
        &self,
        caller: Caller<'_>,
        mut write: impl FnMut(Row) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { points, common } = self;
        let all = self.runs();
        let runs: Vec<(&Point, usize)> = points
            .iter()
            .flat_map(|point| (0..common.replications).map(move |number| (point, number)))
            .collect();
        let threads = points.iter().map(|point| point.common.threads(all)).max().unwrap_or(1);
        let jobs = common.jobs_of(threads);
        let pool = pool(jobs)?;
        let count = caller.counting(all);
        let mut failure = None;
        for some in runs.chunks(4 * pool.current_num_threads()) {
            let row = |(point, number): &(&Point, usize)| {
                let row = point.run(*number, jobs, caller);
                count();
                row
            };
            let rows: Vec<_> = pool.install(|| some.par_iter().map(row).collect());
            for row in rows {
                match row {
                    Ok(Some(row)) => write(row)?,
                    Ok(None) => {}
                    // The rows that are done come first.
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if failure.is_some() || caller.has_stopped() {
                break;
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Refuses keys that are no flags of the model, before anything runs.
fn check_keys(application: &Application, words: &[OsString], vary: &[Vary]) -> Result<(), Failure> {
    let mut known = flag_names(application, &words[1], &words[2]);
    known.retain(|flag| !NOT_VARIED.contains(&flag.as_str()));
    for (i, Vary { key, .. }) in vary.iter().enumerate() {
        if !known.contains(key) {
            return Err(Failure::Configuration(unknown("key in --vary", key, &known)));
        }
        if vary[..i].iter().any(|other| other.key == *key) {
            return Err(Failure::Configuration(format!("--vary names `{key}` twice")));
        }
    }
    Ok(())
}

/// One combination of values, as a complete configuration.
#[derive(Debug)]
struct Point {
    values: Vec<(String, String)>,
    params: ModelParams,
    common: CommonArgs,
    unread: Vec<Unread>,
}

/// All combinations; the last list varies fastest. Each is parsed and checked as a command line.
fn points(
    application: &Application,
    words: &[OsString],
    vary: &[Vary],
) -> Result<Vec<Point>, Failure> {
    let mut combinations = vec![Vec::new()];
    for Vary { key, values } in vary {
        combinations = combinations
            .iter()
            .flat_map(|combination: &Vec<(String, String)>| {
                values.iter().map(|value| {
                    let last = (key.clone(), value.clone());
                    combination.iter().cloned().chain([last]).collect()
                })
            })
            .collect();
    }
    // One parser for all points: making it takes longer than using it.
    let mut parser = application.command();
    let point = |values| point(application, &mut parser, words, values);
    combinations.into_iter().map(point).collect()
}

fn point(
    application: &Application,
    parser: &mut clap::Command,
    words: &[OsString],
    values: Vec<(String, String)>,
) -> Result<Point, Failure> {
    let flags = values.iter().map(|(key, value)| OsString::from(format!("--{key}={value}")));
    let matches = parser.try_get_matches_from_mut(words.iter().cloned().chain(flags))?;
    match application.request(&matches)? {
        Request::Sweep(params, SweepArgs { common, .. }, unread) => {
            // A parameter that is out of its range is found before anything runs.
            params.model()?;
            Ok(Point { values, params, common, unread })
        }
        _ => unreachable!("the command line of a sweep is a sweep"),
    }
}

impl Point {
    /// What an error calls this run.
    fn name(&self, number: usize) -> String {
        let values: Vec<_> =
            self.values.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{}, replication {number}", values.join(" "))
    }

    fn report(&self, seed: u64, jobs: usize, caller: Caller<'_>) -> Result<RunReport, Failure> {
        let Self { common, params, .. } = self;
        refuse_files(params, "a sweep")?;
        let Prepared { model, end, recording, .. } = prepare(params, &common.setup(seed))?;
        let end = common.end.unwrap_or(end);
        let simulation = common.simulation(model, end, caller.stop).seed(seed);
        let report =
            Launch::Here(common.ranks.ranks).run(&mut simulation.engine(common.engine(jobs)))?;
        let report = report.ok_or(Failure::Silent)?;
        // There are no files that could fail, but there may be measures.
        let recorded = recording.map(|recording| recording.finish(report.end_time.get()));
        let recorded = recorded.unwrap_or_default();
        Ok(RunReport { recorded, ..RunReport::new(report, params) })
    }

    /// The row of one replication; `None` if it was interrupted.
    fn run(&self, number: usize, jobs: usize, caller: Caller<'_>) -> Result<Option<Row>, Failure> {
        if caller.has_stopped() {
            return Ok(None);
        }
        let seed = Stream::replication_seed(self.common.seed, number as u64);
        let run = self.report(seed, jobs, caller);
        let run = run.map_err(|failure| failure.of(&self.name(number)))?;
        if run.report.interrupted {
            return Ok(None);
        }
        let mut first: Row =
            self.values.iter().map(|(key, value)| (key.clone(), number_or_text(value))).collect();
        first.insert("replication".into(), number.into());
        Ok(Some(table::row(first, &run, &self.common)))
    }
}

fn number_or_text(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| text.into())
}
