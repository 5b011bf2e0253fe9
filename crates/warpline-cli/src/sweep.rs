//! `warpline sweep`: every combination of lists of parameter values, one row per run. Runs go on in
//! parallel on the threads of this process, and under `mpirun` on those of all ranks.

pub(crate) mod branch;
mod dealing;
mod means;
mod rows;
mod text;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
};

use clap::{ArgMatches, parser::ValueSource};
use serde_json::Value;
use warpline::Stream;
use warpline_models::catalog::{ModelParams, Prepared};

use crate::{
    Application,
    application::Request,
    args::{BranchArgs, CommonArgs, SweepArgs, TableFormat},
    configuration::{flag_names, unknown},
    failure::Failure,
    format::counted,
    interrupt,
    output::Output,
    oversubscription,
    progress::{Caller, Runs},
    ranks::Launch,
    reads::{self, Unread},
    refusals::refuse_files,
    report::RunReport,
    run::{pool, prepare},
    table::{self, Row},
    values::Vary,
    warm_up,
};

use dealing::Dealer;
use means::Means;
use rows::{RUN, Rows};
use text::TextTable;

/// Flags of the sweep as a whole, which cannot differ from run to run.
const NOT_VARIED: [&str; 10] =
    ["vary", "format", "output", "config", "quiet", "jobs", "replications", "resume", "at", "from"];

/// The most failures of runs that are reported one by one.
const FAILURES_MAX: usize = 10;

/// Runs every combination, and writes the row of each run when it is done.
pub(crate) fn execute(
    application: &Application,
    words: &[OsString],
    args: &SweepArgs,
) -> Result<(), Failure> {
    let launch = Launch::of_whole_runs()?;
    // A failure before anything runs ends the other ranks, too.
    let failed = |failure| launch.give_up(failure);
    let output = args.common.output.as_deref();
    let format = args.format.unwrap_or_else(|| table::default_format(output));
    let sweep = checked(application, words, args, format).map_err(failed)?;
    if let Some(transport) = launch.transport()
        && !launch.is_first()
    {
        let caller = Caller { stop: interrupt::flag(), show: &|_| {} };
        let pool = pool(sweep.jobs(sweep.runs())).map_err(failed)?;
        return dealing::work(&sweep, transport, &pool, caller, None).map_err(|_| Failure::Silent);
    }
    if format == TableFormat::Text {
        let output = Output::open(output).map_err(failed)?;
        return execute_as_text(application, words, &sweep, &launch, output);
    }
    execute_as_table(args, format, &sweep, &launch)
}

/// The sweep of a command line, and whether its rows can be written as it says.
fn checked<'a>(
    application: &Application,
    words: &[OsString],
    args: &'a SweepArgs,
    format: TableFormat,
) -> Result<Sweep<'a>, Failure> {
    let sweep = Sweep::new(application, words, args)?;
    sweep.points.iter().try_for_each(|Point { params, common, .. }| {
        params.files().printing_unless(common.output.as_deref()).check()
    })?;
    table::check(format, args.common.output.as_deref())?;
    if format == TableFormat::Text && args.resume {
        let what = "--resume goes on with rows of csv or json, and not with --format text";
        return Err(Failure::Configuration(what.to_owned()));
    }
    Ok(sweep)
}

/// One row per run, for programs; the rows of an earlier call stay if this one resumes it.
fn execute_as_table(
    args: &SweepArgs,
    format: TableFormat,
    sweep: &Sweep<'_>,
    launch: &Launch,
) -> Result<(), Failure> {
    let path = args.common.output.as_deref();
    let opened = || match path.filter(|_| args.resume) {
        Some(path) => Rows::resume(path, format, &sweep.names()),
        None => Ok((Rows::new(Output::open(path)?, format)?, BTreeSet::new())),
    };
    let (mut rows, done) = opened().map_err(|failure| launch.give_up(failure))?;
    let progress = Runs::new(args.common.quiet, sweep.runs() - done.len(), "sweeping");
    let show = |status| progress.show(status);
    let caller = Caller { stop: interrupt::flag(), show: &show };
    interrupt::keep_report();
    let mut failures = sweep.run_on(launch, caller, &done, &mut |number, row| {
        progress.make_way(|| rows.write(number, row))
    });
    drop(progress);
    if interrupt::requested() {
        let rows = done.len() + rows.count();
        eprintln!("interrupted: {rows} of {} are in the report", counted(sweep.runs(), "run"));
    }
    // The rows that are done are written, whatever ended the sweep.
    failures.extend(rows.finish().err());
    Failure::of_all(failures)
}

/// The same for people: a table whose rows come as runs end, or, if it is too wide for that, when
/// the sweep has ended; and of replications the means.
fn execute_as_text(
    application: &Application,
    words: &[OsString],
    sweep: &Sweep<'_>,
    launch: &Launch,
    mut output: Output,
) -> Result<(), Failure> {
    let progress = Runs::new(sweep.common.quiet, sweep.runs(), "sweeping");
    let show = |status| progress.show(status);
    let caller = Caller { stop: interrupt::flag(), show: &show };
    interrupt::keep_report();
    let figures = application.entry(&words[2].to_string_lossy()).map(|model| model.results());
    let mut means = Means::new(sweep, figures.unwrap_or_default());
    let mut table = TextTable::new(sweep.keys(), means.names());
    let mut failures = sweep.run_on(launch, caller, &BTreeSet::new(), &mut |number, row| {
        means.note(number, &row);
        let text = table.add(number, row);
        progress.make_way(|| output.write_report(&text))
    });
    drop(progress);
    if interrupt::requested() {
        let (rows, runs) = (table.count(), counted(sweep.runs(), "run"));
        eprintln!("interrupted: {rows} of {runs} are in the report");
    }
    failures.extend(output.write_report(&(table.rest() + &means.text())).err());
    Failure::of_all(failures)
}

/// All runs of a sweep, which are checked before anything runs.
#[derive(Debug)]
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
        let runs = points.len() * args.common.replications;
        points.iter().try_for_each(|point| oversubscription::refuse(&point.common, runs))?;
        Ok(Self { points, common: &args.common })
    }

    /// What tells the runs from each other, each with the values that it has.
    fn keys(&self) -> Vec<(String, Vec<String>)> {
        let varied = self.points.first().map_or(&[][..], |point| &point.values);
        let values = |nth: usize| self.points.iter().map(move |point| point.values[nth].1.clone());
        let varied = varied.iter().enumerate();
        let varied = varied.map(|(nth, (key, _))| (key.clone(), values(nth).collect()));
        let replications = self.common.replications;
        let several = (replications > 1)
            .then(|| ("replication".to_owned(), vec![(replications - 1).to_string()]));
        varied.chain(several).collect()
    }

    /// How many runs there are.
    const fn runs(&self) -> usize {
        self.points.len() * self.common.replications
    }

    /// The name of each run, as its row has it.
    fn names(&self) -> Vec<String> {
        self.all().map(|(point, number)| point.run_name(number)).collect()
    }

    /// All runs in their order: the point, and the number of the replication.
    fn all(&self) -> impl Iterator<Item = (&Point, usize)> {
        let replications = self.common.replications;
        self.points.iter().flat_map(move |point| (0..replications).map(move |n| (point, n)))
    }

    /// What comes of the run with this number, which counts from 0 over all runs.
    fn outcome(
        &self,
        number: usize,
        jobs: usize,
        caller: Caller<'_>,
    ) -> Result<Option<Row>, Failure> {
        let replications = self.common.replications;
        self.points[number / replications].run(number % replications, jobs, caller)
    }

    /// How many of this number of runs go on at one time in a process.
    fn jobs(&self, runs: usize) -> usize {
        let all = self.runs();
        let threads = self.points.iter().map(|point| point.common.threads(all)).max().unwrap_or(1);
        self.common.jobs_of(threads, runs)
    }

    /// As [`run`](Self::run), on the ranks of this process's job.
    fn run_on(
        &self,
        launch: &Launch,
        caller: Caller<'_>,
        done: &BTreeSet<usize>,
        write: &mut dyn FnMut(usize, Row) -> Result<(), Failure>,
    ) -> Vec<Failure> {
        let Some(transport) = launch.transport() else { return self.run(caller, done, write) };
        let pool = match pool(self.jobs(self.runs())) {
            Ok(pool) => pool,
            // The others would wait for this rank.
            Err(failure) => return vec![launch.give_up(failure)],
        };
        let left = (0..self.runs()).filter(|number| !done.contains(number));
        let dealer = Dealer::new(left, caller, write);
        let worked = dealing::work(self, transport, &pool, caller, Some(&dealer));
        first_failures(dealer.into_failures().into_iter().chain(worked.err()).collect())
    }

    /// Runs all but those that are done, and hands over the number and the row of each run when it
    /// has ended, if it has one. Runs begin in their order. One that fails ends none of the others;
    /// a row that cannot be written does. Returns what failed.
    pub(crate) fn run(
        &self,
        caller: Caller<'_>,
        done: &BTreeSet<usize>,
        mut write: impl FnMut(usize, Row) -> Result<(), Failure>,
    ) -> Vec<Failure> {
        let runs: Vec<_> = (0..self.runs()).filter(|number| !done.contains(number)).collect();
        let jobs = self.jobs(runs.len());
        let pool = match pool(jobs) {
            Ok(pool) => pool,
            Err(failure) => return vec![failure],
        };
        let count = caller.counting(runs.len());
        let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |sender: mpsc::Sender<_>| {
            // Ordering: Relaxed; what the numbers stand for is older than the threads, and the
            // flag publishes nothing but itself.
            while let Some(&number) = runs.get(next.fetch_add(1, Ordering::Relaxed))
                && !ended.load(Ordering::Relaxed)
            {
                let row = self.outcome(number, jobs, caller);
                count();
                if sender.send((number, row)).is_err() {
                    break;
                }
            }
        };
        let mut failures = Vec::new();
        pool.in_place_scope(|scope| {
            let (sender, rows) = mpsc::channel();
            for _ in 0..jobs {
                let (sender, work) = (sender.clone(), &work);
                scope.spawn(move |_| work(sender));
            }
            drop(sender);
            for (number, row) in rows {
                let row = row.map_err(|failure| failures.push(failure)).ok().flatten();
                if let Some(row) = row
                    && let Err(failure) = write(number, row)
                {
                    failures.push(failure);
                    // Ordering: Relaxed; as above.
                    ended.store(true, Ordering::Relaxed);
                }
            }
        });
        first_failures(failures)
    }
}

/// The first failures, and how many there are beside them.
fn first_failures(mut failures: Vec<Failure>) -> Vec<Failure> {
    let more = failures.len().saturating_sub(FAILURES_MAX);
    if more > 0 {
        failures.truncate(FAILURES_MAX);
        failures.push(Failure::Run(format!("{} failed", counted(more, "more run"))));
    }
    failures
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
    /// All that was set, also by a file: what tells the runs of one sweep from those of another.
    settings: String,
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
    let mut flags = flag_names(application, &words[1], &words[2]);
    flags.retain(|flag| !NOT_VARIED.contains(&flag.as_str()));
    flags.sort_unstable();
    let point = |values| point(application, &mut parser, words, &flags, values);
    combinations.into_iter().map(point).collect()
}

fn point(
    application: &Application,
    parser: &mut clap::Command,
    words: &[OsString],
    known: &[String],
    values: Vec<(String, String)>,
) -> Result<Point, Failure> {
    let flags = values.iter().map(|(key, value)| OsString::from(format!("--{key}={value}")));
    let matches = parser.try_get_matches_from_mut(words.iter().cloned().chain(flags))?;
    match application.request(&matches)? {
        Request::Sweep(params, SweepArgs { common, .. }, unread)
        | Request::Branch(params, BranchArgs { common, .. }, unread) => {
            // A parameter that is out of its range is found before anything runs.
            params.model()?;
            warm_up::check(&common, common.end.unwrap_or(params.end()))?;
            let settings = settings(&matches, known);
            Ok(Point { values, settings, params, common, unread })
        }
        _ => unreachable!("the command line of a sweep is a sweep, and that of branches too"),
    }
}

/// The flags that were typed or varied, in the order of their names, with their values.
fn settings(matches: &ArgMatches, flags: &[String]) -> String {
    let mut matches = matches;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let mut settings = String::new();
    for flag in flags {
        let id = flag.replace('-', "_");
        let Ok(Some(values)) = matches.try_get_raw(&id) else { continue };
        if matches.value_source(&id) == Some(ValueSource::CommandLine) {
            let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
            settings += &format!(" {flag}={}", values.join(","));
        }
    }
    settings
}

impl Point {
    /// What its row calls a run.
    fn run_name(&self, number: usize) -> String {
        format!("{}{} replication={number}", self.params.name(), self.settings)
    }

    /// What an error calls this run.
    fn name(&self, number: usize) -> String {
        let values: Vec<_> =
            self.values.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{}, replication {number}", values.join(" "))
    }

    fn report(&self, seed: u64, jobs: usize, caller: Caller<'_>) -> Result<RunReport, Failure> {
        let Self { common, params, .. } = self;
        refuse_files(params, "a sweep")?;
        let Prepared { model, end, recording, notes, .. } = prepare(params, &common.setup(seed))?;
        let end = common.end.unwrap_or(end);
        let warm_up = common.warm_up_of(&model);
        let simulation = common.simulation(model, end, caller.stop).seed(seed);
        let report =
            Launch::Here(common.ranks.ranks).run(&mut simulation.engine(common.engine(jobs)))?;
        let report = report.ok_or(Failure::Silent)?;
        // There are no files that could fail, but there may be measures.
        let recorded = recording.map(|recording| recording.finish(report.end_time.get()));
        let recorded = recorded.unwrap_or_default();
        Ok(RunReport { warm_up, recorded, notes, ..RunReport::new(report, params) })
    }

    /// The row of one replication; `None` if it was interrupted.
    fn run(&self, number: usize, jobs: usize, caller: Caller<'_>) -> Result<Option<Row>, Failure> {
        if caller.has_stopped() {
            return Ok(None);
        }
        let seed = Stream::replication_seed(self.common.seed, number as u64);
        let run = self.report(seed, jobs, caller);
        let run = run.map_err(|failure| self.common.as_typed(failure).of(&self.name(number)))?;
        if run.report.interrupted {
            return Ok(None);
        }
        let mut first: Row =
            self.values.iter().map(|(key, value)| (key.clone(), number_or_text(value))).collect();
        first.insert("replication".into(), number.into());
        first.insert(RUN.into(), Value::Null);
        let mut row = table::row(first, &run, &self.common);
        // In its place, whatever the model calls a result.
        row.insert(RUN.into(), self.run_name(number).into());
        Ok(Some(row))
    }
}

fn number_or_text(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| text.into())
}
