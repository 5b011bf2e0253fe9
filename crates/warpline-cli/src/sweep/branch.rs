//! `warpline branch`: a run up to a point of virtual time, and from there a future for every
//! combination of parameter values.
//!
//! All futures of a replication have the same past, and their random streams go on from the same
//! point. So what the parameters change is seen in the differences between futures, with narrower
//! intervals than the results themselves have (common random numbers).
//!
//! # References
//!
//! A. M. Law, *Simulation Modeling and Analysis*, 5th edition, 2015, sections 10.2.1 (paired-t
//! confidence intervals) and 11.2 (common random numbers).

use std::{ffi::OsString, sync::atomic::AtomicBool};

use rayon::prelude::*;
use warpline::{
    AnyModel, Figure, Results, RunError, Simulation, Stream, any_model::AnySession,
    replication::Estimate, session::Checkpoint,
};
use warpline_models::catalog::{ModelParams, Prepared};

use super::{NOT_VARIED, Point, check_keys, number_or_text, points};
use crate::{
    Application,
    args::{BranchArgs, TableFormat},
    failure::Failure,
    format::{align_right, counted, estimate, significant, table as text_table},
    interrupt,
    output::Output,
    oversubscription,
    progress::{Caller, Runs},
    ranks::refuse_mpi_for,
    reads,
    refusals::refuse_files,
    report::RunReport,
    run::{pool, prepare},
    table::{self, Row, TableWriter},
    values::Bytes,
    warm_up,
};

/// Runs all futures, and writes what they have come to.
pub(crate) fn execute(
    application: &Application,
    words: &[OsString],
    params: &ModelParams,
    args: &BranchArgs,
) -> Result<(), Failure> {
    refuse_mpi_for("branch")?;
    let branches = Branches::new(application, words, params, args)?;
    let path = args.common.output.as_deref();
    let format = args.format.unwrap_or_else(|| table::default_format(path));
    table::check(format, path)?;
    let output = Output::open(path)?;
    let replications = args.common.replications;
    let progress = Runs::new(args.common.quiet, replications, "branching");
    let show = |status| progress.show(status);
    let caller = Caller { stop: interrupt::flag(), show: &show };
    interrupt::keep_report();
    let (done, failures) = branches.run(caller)?;
    drop(progress);
    if interrupt::requested() {
        let (done, of) = (done.len(), counted(replications, "replication"));
        eprintln!("interrupted: {done} of {of} are in the report");
    }
    let written = match format {
        TableFormat::Text => {
            let mut output = output;
            output.write_report(&branches.text(&done))
        }
        format => {
            let mut table = TableWriter::new(output, format);
            let rows = branches.rows(&done).try_for_each(|row| table.write(row));
            rows.and_then(|()| table.finish())
        }
    };
    Failure::of_all(failures.into_iter().chain(written.err()).collect::<Vec<_>>())
}

/// The past, and all futures.
struct Branches<'a> {
    params: &'a ModelParams,
    args: &'a BranchArgs,
    points: Vec<Point>,
}

/// The futures of a replication.
struct Futures {
    replication: usize,
    at: f64,
    reports: Vec<(RunReport, Vec<Figure>)>,
}

impl<'a> Branches<'a> {
    /// Checks everything before anything runs.
    fn new(
        application: &Application,
        words: &[OsString],
        params: &'a ModelParams,
        args: &'a BranchArgs,
    ) -> Result<Self, Failure> {
        check_keys(application, words, &args.vary)?;
        let is_varied = |key| args.vary.iter().any(|vary| vary.key == key);
        let refused = |what: &str| Err(Failure::Configuration(what.to_owned()));
        if is_varied("seed") {
            return refused(
                "--vary seed: futures have the random streams of their past; --replications makes \
                 several pasts",
            );
        }
        if is_varied("warmup") {
            return refused("--vary warmup: futures have the statistics of their past");
        }
        let points = points(application, words, &args.vary)?;
        debug_assert!(NOT_VARIED.contains(&"at"), "a past has one end");
        reads::refuse_for_all(points.iter().map(|point| &point.unread[..]))?;
        refuse_files(params, "branches")?;
        let output = args.common.output.as_deref();
        let files = args.common.files().reading("from", args.from.as_deref());
        params.files().and(files).printing_unless(output).check()?;
        let (flag, at) = match &args.from {
            Some(path) => ("--from", Checkpoint::read(path).map_err(RunError::from)?.now),
            None => ("--at", args.at.unwrap_or_default()),
        };
        for Point { params, common, .. } in &points {
            oversubscription::refuse(common, args.common.replications)?;
            let end = common.end.unwrap_or_else(|| params.end());
            warm_up::check(common, end)?;
            if at > end {
                let (at, end) = (significant(at), significant(end));
                let what = format!("{flag} {at} is beyond the end of the run, {end}");
                return Err(Failure::Configuration(what));
            }
            if common.ranks.ranks > 1
                || common.find_warmup.is_some()
                || common.profile.critical_path.is_some()
            {
                let what = "`branch` takes runs of an engine on a single rank: leave --ranks, \
                            --find-warmup and --critical-path out";
                return Err(Failure::Configuration(what.to_owned()));
            }
        }
        Ok(Self { params, args, points })
    }

    /// Runs all replications, some at one time. Returns those that were complete, and what failed.
    fn run(&self, caller: Caller<'_>) -> Result<(Vec<Futures>, Vec<Failure>), Failure> {
        let common = &self.args.common;
        let replications = common.replications;
        let jobs = common.jobs_of(common.threads(replications), replications);
        let count = caller.counting(replications);
        let one = |replication| {
            let futures = self.replication(replication, jobs, caller);
            count();
            futures.map_err(|failure| {
                common.as_typed(failure).of(&format!("replication {replication}"))
            })
        };
        self.check(jobs)?;
        let all: Vec<_> =
            pool(jobs)?.install(|| (0..replications).into_par_iter().map(one).collect());
        let (mut done, mut failures) = (Vec::new(), Vec::new());
        for futures in all {
            match futures {
                Ok(futures) => done.extend(futures),
                Err(failure) => failures.push(failure),
            }
        }
        Ok((done, failures))
    }

    /// Finds what keeps futures from going on with the model before a long past, and once for all
    /// replications. A checkpoint has its past already.
    fn check(&self, jobs: usize) -> Result<(), Failure> {
        if self.args.from.is_some() {
            return Ok(());
        }
        let seed = self.args.common.seed;
        let past = self.past(seed, jobs, interrupt::flag())?.session()?;
        self.points.iter().try_for_each(|point| point.begin(&*past, seed, 1).map(drop))
    }

    /// The run that all futures of a replication have in common.
    fn past<'s>(
        &self,
        seed: u64,
        jobs: usize,
        stop: &'s AtomicBool,
    ) -> Result<Simulation<'s, AnyModel>, Failure> {
        let common = &self.args.common;
        let Prepared { model, .. } = prepare(self.params, &common.setup(seed))?;
        let at = self.args.at.unwrap_or_default();
        let end = |point: &Point| point.common.end.unwrap_or_else(|| point.params.end());
        let end = self.points.iter().map(end).fold(at, f64::max);
        Ok(common.simulation(model, end, stop).seed(seed).engine(common.engine(jobs)))
    }

    /// A past and all its futures; nothing if it was interrupted.
    fn replication(
        &self,
        replication: usize,
        jobs: usize,
        caller: Caller<'_>,
    ) -> Result<Option<Futures>, Failure> {
        let seed = Stream::replication_seed(self.args.common.seed, replication as u64);
        let simulation = self.past(seed, jobs, caller.stop)?;
        let past = match &self.args.from {
            Some(checkpoint) => simulation.resume(checkpoint)?,
            None => {
                let mut past = simulation.session()?;
                past.run_until(self.args.at.unwrap_or_default())?;
                past
            }
        };
        let at = past.now()?.get();
        let mut reports = Vec::new();
        for point in &self.points {
            if caller.has_stopped() {
                return Ok(None);
            }
            reports.push(point.future(&*past, seed, jobs)?);
        }
        Ok((!caller.has_stopped()).then_some(Futures { replication, at, reports }))
    }

    /// A row for each future.
    fn rows<'r>(&'r self, done: &'r [Futures]) -> impl Iterator<Item = Row> + 'r {
        done.iter().flat_map(move |Futures { replication, at, reports }| {
            self.points.iter().zip(reports).map(move |(point, (report, _))| {
                let values = point.values.iter();
                let mut first: Row =
                    values.map(|(key, value)| (key.clone(), number_or_text(value))).collect();
                first.insert("replication".into(), (*replication).into());
                first.insert("at".into(), (*at).into());
                table::row(first, report, &point.common)
            })
        })
    }

    /// The results of each future, and how they differ from those of the first one.
    fn text(&self, done: &[Futures]) -> String {
        let Some(first) = done.first() else { return String::new() };
        let figures = first.reports.first().map(|(_, figures)| &figures[..]).unwrap_or_default();
        let keys: Vec<&str> = self.args.vary.iter().map(|vary| vary.key.as_str()).collect();
        let mut table = text_table();
        let header = ["figure"].into_iter().chain(keys.iter().copied());
        table.set_header(header.chain(["value", "by the first", "unit"]));
        for (nth, figure) in figures.iter().enumerate() {
            for (number, point) in self.points.iter().enumerate() {
                let value = |futures: &Futures, number: usize| futures.reports[number].1[nth].value;
                let plain = Estimate::of(done.iter().map(|futures| value(futures, number)));
                let paired = Estimate::of(
                    done.iter().map(|futures| value(futures, number) - value(futures, 0)),
                );
                let name = if number == 0 { figure.name.to_string() } else { String::new() };
                let difference = if number == 0 { String::new() } else { estimate(&paired, true) };
                let values = point.values.iter().map(|(_, value)| value.clone());
                let cells = [name].into_iter().chain(values);
                let rest = [estimate(&plain, false), difference, figure.unit.to_string()];
                table.add_row(cells.chain(rest).collect::<Vec<_>>());
            }
        }
        align_right(&mut table, 1..keys.len() + 3);
        let (at, replications) = (significant(first.at), done.len());
        let intervals = if replications > 1 { ", with 95 % confidence intervals" } else { "" };
        let (name, of) = (self.params.name(), counted(replications, "replication"));
        let head = format!("{name}: branches at virtual time {at}, {of}");
        format!("{head}{intervals}\n{table}\n")
    }
}

/// A future that has begun.
struct Begun<'a> {
    future: Box<dyn AnySession<'a> + 'a>,
    end: f64,
    warm_up: Option<f64>,
    /// What the model says of itself.
    notes: Vec<String>,
}

impl Point {
    /// Begins this future of a past.
    fn begin<'a>(
        &self,
        past: &dyn AnySession<'a>,
        seed: u64,
        jobs: usize,
    ) -> Result<Begun<'a>, Failure> {
        let Self { params, common, .. } = self;
        let Prepared { model, end, notes, .. } = prepare(params, &common.setup(seed))?;
        let warm_up = common.warm_up_of(&model);
        let mut future = past.branch_as(model)?;
        future.set_engine(common.engine(jobs))?;
        future.set_memory(common.memory.map(|Bytes(bytes)| bytes));
        Ok(Begun { future, end: common.end.unwrap_or(end), warm_up, notes })
    }

    /// What this future of a past comes to.
    fn future(
        &self,
        past: &dyn AnySession<'_>,
        seed: u64,
        jobs: usize,
    ) -> Result<(RunReport, Vec<Figure>), Failure> {
        let Begun { mut future, end, warm_up, notes } = self.begin(past, seed, jobs)?;
        future.run_until(end)?;
        let report = future.report()?;
        let figures = report.output.figures();
        Ok((RunReport { warm_up, notes, ..RunReport::new(report, &self.params) }, figures))
    }
}
