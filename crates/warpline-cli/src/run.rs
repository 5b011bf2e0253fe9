//! `warpline run`: one model, one run or several replications, one report.

use std::{
    ffi::OsString,
    io::Write,
    ops::ControlFlow,
    panic::{self, AssertUnwindSafe},
    slice,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use serde_json::{Value, json};
use warpline::{
    AnyModel, Report, Results, Sequential, Simulation, any_model::AnyOutput, files::Files,
    monitor::Monitor, pending::PendingKind, settings::EngineKind,
};
use warpline_models::catalog::{ModelParams, Prepared, RunSetup};

use crate::{
    Application, Demonstration,
    application::Request,
    args::{CommonArgs, RunArgs, RunFormat},
    checkpoints::{self, Due},
    failure::Failure,
    format::counted,
    interrupt, memory,
    output::{self, Output},
    oversubscription, page,
    progress::{self, Caller, Status},
    ranks::Launch,
    refusals::{refuse_files, refuse_trace},
    report::{ReplicationsReport, RunReport},
    series::Series,
    statistics::{self, StatisticsFile},
    system,
    table::{self, Row, TableWriter},
    trace::{Trace, Written},
    warm_up,
};

/// Makes the run of a demonstration, and says what to try next.
pub(crate) fn demonstrate(
    application: &Application,
    demonstration: &Demonstration,
) -> Result<(), Failure> {
    let name = application.name();
    eprintln!("{}", demonstration.before(&name));
    let words: Vec<OsString> =
        [name.as_str()].iter().chain(demonstration.arguments).map(OsString::from).collect();
    let matches = application.command().try_get_matches_from(&words)?;
    if let Request::Run(params, args, _) = application.request(&matches)? {
        execute(application, &words, &params, &args)?;
    }
    eprint!("{}", demonstration.what_next(&name));
    Ok(())
}

/// Runs the model, and writes the report.
pub(crate) fn execute(
    application: &Application,
    words: &[OsString],
    params: &ModelParams,
    args: &RunArgs,
) -> Result<(), Failure> {
    let launch = Launch::new(&args.common.ranks, args.common.timewarp.workers())?;
    let output = args.common.output.as_deref();
    let files = params.files().and(args.files()).printing_unless(output);
    files.check().map_err(|error| launch.give_up(error.into()))?;
    // Only the process that has the report touches the file.
    let path = output.filter(|_| launch.is_first());
    let table = args.format.of_table();
    let checked = table.map_or(Ok(()), |format| table::check(format, path));
    let output = checked.and_then(|()| Output::open(path));
    let mut output = output.map_err(|failure| launch.give_up(failure))?;
    let page = args.report.as_deref().filter(|_| launch.is_first());
    let page = page.map(|path| output::beside("--report", path)).transpose();
    let page = page.map_err(|failure| launch.give_up(failure))?;
    let statistics = args.statistics.as_deref().filter(|_| launch.is_first());
    let statistics = statistics.map(StatisticsFile::open).transpose();
    let statistics = statistics.map_err(|failure| launch.give_up(failure))?;
    let quiet = args.common.quiet || !launch.is_first();
    // Only one of them: a bar is on the screen as soon as it is there.
    let show: Box<dyn Fn(Status) + Sync> = match args.most_replications() {
        1 => Box::new(progress::of_run(quiet)),
        several => {
            let runs = progress::Runs::new(quiet, several, "replicating");
            Box::new(move |status| runs.show(status))
        }
    };
    let caller = Caller { stop: interrupt::flag(), show: &*show };
    let watched = args.report.is_some();
    let outcome = outcome(params, args, files, &launch, caller, watched);
    let Some((report, mut failures)) = outcome.map_err(|failure| launch.reported(failure))? else {
        return Ok(());
    };
    // The report comes first: nothing that fails beside it costs it.
    let written = match table {
        None => output.write_report(&report.format_as(args.format)),
        Some(format) => {
            let mut table = TableWriter::new(output, format);
            let rows = report.rows(&args.common).try_for_each(|row| table.write(row));
            rows.and_then(|()| table.finish())
        }
    };
    failures.extend(written.err());
    if let (Some(file), AnyReport::Run(run)) = (statistics, &report) {
        failures.extend(file.write(&run.pictures).err());
    }
    if let Some(page) = page {
        let path = page.path().to_owned();
        let text = application.page(&report.json_for_page(words, &args.common));
        let written = page.fill(|page| page.write_all(text.as_bytes()));
        failures.extend(written.err().map(|error| {
            Failure::Run(format!("{} could not be written: {error}", path.display()))
        }));
    }
    failures.extend(report.precise_enough().err());
    Failure::of_all(failures)
}

/// Opens the file for the trace, without changing it.
fn open_trace(args: &RunArgs, launch: &Launch) -> Result<Option<Trace>, Failure> {
    let Some(path) = &args.trace else { return Ok(None) };
    // The first process writes what all ranks have recorded.
    let path = launch.is_first().then(|| path.clone());
    Trace::open(path, args.trace_memory).map(Some)
}

/// Threads for what runs in parallel.
pub(crate) fn pool(jobs: usize) -> Result<rayon::ThreadPool, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    pool.map_err(|error| Failure::Run(format!("threads could not be started: {error}")))
}

/// The report, and what failed beside it: files that could not be written, and the difference that
/// `--verify` found; nothing where another process has them.
/// `files` are those that were named. A single run is `watched` for plots of how it went on and for
/// the model's pictures; it is the same on all ranks.
pub(crate) fn outcome(
    params: &ModelParams,
    args: &RunArgs,
    files: Files,
    launch: &Launch,
    caller: Caller<'_>,
    watched: bool,
) -> Result<Option<(AnyReport, Vec<Failure>)>, Failure> {
    let outcome = outcome_of_engine(params, args, files, launch, caller, watched);
    outcome.map_err(|failure| args.common.as_typed(failure))
}

/// The same; failures name the engine, whatever has chosen it.
fn outcome_of_engine(
    params: &ModelParams,
    args: &RunArgs,
    files: Files,
    launch: &Launch,
    caller: Caller<'_>,
    watched: bool,
) -> Result<Option<(AnyReport, Vec<Failure>)>, Failure> {
    let common = &args.common;
    oversubscription::refuse(common, args.most_replications())?;
    if args.most_replications() > 1 {
        let flag = if args.precision.is_some() { "--precision" } else { "--replications" };
        launch.refuse_for(flag)?;
        if args.checkpoints.is_asked_for() {
            let of = args.checkpoints.flag();
            return Err(Failure::Configuration(format!(
                "{of} is of one run, and not of several: leave {flag} out"
            )));
        }
        if args.statistics.is_some() {
            return Err(Failure::Configuration(format!(
                "--statistics is of one run, and not of several: leave {flag} out"
            )));
        }
        // Nothing is recorded: one recording cannot hold several runs.
        refuse_files(params, flag)?;
        refuse_trace(args, flag)?;
        let Prepared { model, end, notes, .. } = prepare(params, &common.setup(common.seed))?;
        let end = common.end.unwrap_or(end);
        warm_up::check(common, end)?;
        interrupt::keep_report();
        let report = replications(args, params, model, end, caller)?;
        let report = AnyReport::Replications(ReplicationsReport { notes, ..report });
        return Ok(Some((report, Vec::new())));
    }
    let checkpoints = &args.checkpoints;
    if checkpoints.is_asked_for() {
        checkpoints::refuse(args, checkpoints.flag())?;
    }
    if common.warmup > 0.0 && !matches!(launch, Launch::Here(_)) {
        // The clocks of all processes are compared at the beginning and the end of one run.
        refuse_trace(args, "--warmup on several processes").map_err(|it| launch.give_up(it))?;
    }
    if common.find_warmup.is_some() {
        // Every interval has a result.
        refuse_files(params, "--find-warmup")?;
    }
    // The first process records what all ranks send it, and may be the only one that cannot.
    let setup = common.setup(common.seed);
    let resumes = checkpoints.resume.is_some();
    let pictures = watched || args.statistics.is_some();
    let setup = RunSetup { records: launch.is_first(), pictures, resumes, ..setup };
    let prepared = prepare(params, &setup);
    let Prepared { model, end, recording, included, notes } =
        prepared.map_err(|failure| launch.give_up(failure))?;
    let files = included.iter().fold(files, |all, path| all.reading("netlist", Some(path)));
    files.check().map_err(|error| launch.give_up(error.into()))?;
    interrupt::keep_report();
    let end = common.end.unwrap_or(end);
    warm_up::check(common, end).map_err(|error| launch.give_up(error))?;
    let warm_up = common.warm_up_of(&model);
    let (series, monitor) = (Mutex::new(Series::default()), Monitor::default());
    let trace = open_trace(args, launch).map_err(|failure| launch.give_up(failure))?;
    let mut simulation = common.simulation(model, end, caller.stop).monitor(&monitor);
    if let Some(trace) = &trace {
        simulation = simulation.timeline(trace.timeline());
    }
    let due = Due::default();
    let mut simulation = simulation.observe(|progress| {
        (caller.show)(Status::Run(*progress));
        if watched {
            lock(&series).observe(progress, &monitor);
        }
        if due.is_now() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let name = format!("{} on {}", params.name(), common.kind());
    let (mut notes, mut failures) = (notes, Vec::new());
    let (report, trace, simulation) = if checkpoints.is_asked_for() {
        let recording = recording.as_deref();
        let (due, carry_out) = ((&due, end), checkpoints::carry_out);
        let ended = carry_out(launch, simulation, checkpoints, due, recording, caller)?;
        let Some((report, steps)) = ended else { return Ok(None) };
        notes.extend(steps.notes);
        failures.extend(steps.failure);
        let again = if args.verify {
            let Prepared { model, .. } = prepare(params, &RunSetup { records: false, ..setup })?;
            Some(common.simulation(model, end, caller.stop))
        } else {
            None
        };
        (report, None, again)
    } else {
        let ended = run_traced(launch, &mut simulation, trace, &name)?;
        let Some((report, trace)) = ended else { return Ok(None) };
        (report, trace, Some(simulation))
    };
    let trace = trace.and_then(|trace| trace.map_err(|failure| failures.push(failure)).ok());
    let pictures = if pictures { report.output.pictures() } else { Vec::new() };
    let (series, activities) = {
        let series = lock(&series);
        (watched.then(|| series.to_json(&report)), series.activities())
    };
    // Before `--verify`, whose run has the same outputs once more.
    let recorded = recording.map(|recording| recording.finish(report.end_time.get()));
    let mut recorded = recorded.unwrap_or_default();
    failures.extend(recorded.failures.drain(..).map(Failure::Run));
    let again = simulation.filter(|_| args.verify && !report.interrupted);
    let again = again
        .and_then(|again| run_again(again, common).map_err(|failure| failures.push(failure)).ok());
    let mut report = RunReport {
        warm_up,
        notes,
        recorded,
        trace,
        series,
        activities,
        pictures,
        ..RunReport::new(report, params)
    };
    let again = again.filter(|again| !again.interrupted);
    if let Some(again) = again {
        let difference = difference(&report, &RunReport::new(again, params));
        report.verified = Some(difference.is_none());
        failures.extend(difference.map(Failure::Difference));
    }
    Ok(Some((AnyReport::Run(Box::new(report)), failures)))
}

/// A report, and what was written of the run.
type Traced = (Report<AnyOutput>, Option<Result<Written, Failure>>);

/// Runs the simulation, and writes its trace, whatever becomes of the run.
fn run_traced(
    launch: &Launch,
    simulation: &mut Simulation<'_, AnyModel>,
    trace: Option<Trace>,
    name: &str,
) -> Result<Option<Traced>, Failure> {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| launch.run(simulation)));
    match outcome {
        Ok(Ok(Some(report))) => Ok(Some((report, trace.and_then(|trace| trace.write(name))))),
        Ok(Ok(None)) => Ok(None),
        failed => {
            if let Some(trace) = trace {
                trace.write_of_failed(name);
            }
            failed.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
            unreachable!("a run that has not failed is done above")
        }
    }
}

/// The series, which only the observer and the end of the run touch.
fn lock(series: &Mutex<Series>) -> MutexGuard<'_, Series> {
    series.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the model, and what is recorded.
pub(crate) fn prepare(params: &ModelParams, run: &RunSetup) -> Result<Prepared, Failure> {
    memory::check(params)?;
    params.prepare(run).map_err(Failure::refused)
}

/// The run that `--verify` compares with: the oracle's; the oracle's own, by other means.
fn run_again(
    simulation: Simulation<'_, AnyModel>,
    common: &CommonArgs,
) -> Result<Report<AnyOutput>, Failure> {
    let pending = match (common.kind(), common.pending) {
        (EngineKind::Sequential, PendingKind::Heap) => PendingKind::Ladder,
        (EngineKind::Sequential, _) => PendingKind::Heap,
        (_, pending) => pending,
    };
    Ok(simulation.engine(Sequential { pending }).run()?)
}

/// What two runs that should have committed the same differ in, if in anything.
fn difference(one: &RunReport, other: &RunReport) -> Option<String> {
    let compared = |run: &RunReport| {
        let values = run.figures.iter().map(|figure| figure.value.to_bits());
        (run.report.digest, run.report.committed_events, values.collect::<Vec<_>>())
    };
    (compared(one) != compared(other)).then(|| {
        format!(
            "--verify found a difference: {} committed, digest {}; {} {}, digest {} \
             (seed {})\n  what to do: run it with --engine saving-check, which names a field that \
             is not saved, or what a handler depends on that it should not; if that finds nothing, \
             it is a bug of Warpline: please report it",
            counted(one.report.committed_events, "event"),
            one.report.digest,
            one.compared_with(),
            other.report.committed_events,
            other.report.digest,
            one.report.seed
        )
    })
}

/// The report of a run, or of several replications.
pub(crate) enum AnyReport {
    Run(Box<RunReport>),
    Replications(ReplicationsReport),
}

impl AnyReport {
    /// Fails if the results are not as precise as they are to be.
    fn precise_enough(&self) -> Result<(), Failure> {
        match self {
            Self::Replications(ReplicationsReport {
                reached: Some(false),
                interrupted: false,
                requested,
                ..
            }) => Err(Failure::NotPrecise(format!(
                "--precision was not reached within {}: allow more with \
                 --replications, run longer, or ask for less",
                counted(*requested, "replication")
            ))),
            _ => Ok(()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Run(report) => report.to_text(),
            Self::Replications(report) => report.to_text(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Run(report) => Value::Object(report.to_json()),
            Self::Replications(report) => report.to_json(),
        }
    }

    /// The same, with what the page of the run says beside it.
    pub(crate) fn json_for_page(&self, words: &[OsString], common: &CommonArgs) -> Value {
        let mut report = self.json();
        match self {
            Self::Run(run) => {
                report["pictures"] = json!(run.pictures);
                report["statistics"] = statistics::rows(&run.pictures).into();
                report["worker_activities"] = run.activities.clone();
            }
            Self::Replications(_) => {
                report["runs"] = self.rows(common).map(Value::Object).collect();
            }
        }
        report["command"] = page::repeating(words).into();
        report["machine"] = system::processor().into();
        report
    }

    /// A row for each replication; of a single run, one.
    pub(crate) fn rows(&self, common: &CommonArgs) -> impl Iterator<Item = Row> {
        let runs = match self {
            Self::Run(report) => slice::from_ref(&**report),
            Self::Replications(report) => &report.runs,
        };
        runs.iter().enumerate().map(|(number, run)| {
            let first = Row::from_iter([("replication".to_owned(), number.into())]);
            table::row(first, run, common)
        })
    }

    fn format_as(&self, format: RunFormat) -> String {
        match format {
            RunFormat::Json => format!("{:#}\n", self.json()),
            _ => self.text(),
        }
    }
}

fn replications(
    args: &RunArgs,
    params: &ModelParams,
    model: AnyModel,
    end: f64,
    caller: Caller<'_>,
) -> Result<ReplicationsReport, Failure> {
    let started = Instant::now();
    let (common, all) = (&args.common, args.most_replications());
    let jobs = common.jobs_of(common.threads(all), all);
    let warm_up = common.warm_up_of(&model);
    let simulation = common.simulation(model, end, caller.stop).engine(common.engine(jobs));
    let count = caller.counting(all);
    let replications = pool(jobs)?.install(|| match &args.precision {
        None => simulation.replicate(all, |_| count()),
        Some(precision) => simulation.replicate_to(precision, all, |_| count()),
    })?;
    let estimates = replications.estimates();
    let samples = replications.reports.len();
    let precision = args.precision.as_ref();
    let reached = precision.map(|precision| precision.is_reached(&estimates, samples));
    let interrupted = replications.interrupted;
    let runs = replications.reports.into_iter();
    let runs = runs.map(|report| RunReport { warm_up, ..RunReport::new(report, params) });
    Ok(ReplicationsReport {
        runs: runs.collect(),
        estimates,
        requested: all,
        interrupted,
        reached,
        notes: Vec::new(),
        wall_seconds: started.elapsed().as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use warpline::Simulation;
    use warpline_models::phold::PholdParams;

    use super::*;

    /// Runs that differ are found to differ, and equal runs are not.
    #[test]
    fn verify_finds_a_difference() {
        let params = PholdParams { lps: 4, population: 8, ..PholdParams::default() };
        let params = ModelParams::from(params);
        let run = |seed| {
            let model = params.model().expect("valid parameters");
            let report = Simulation::new(model).seed(seed).end(10.0).run().expect("sound");
            RunReport::new(report, &params)
        };
        assert_eq!(difference(&run(1), &run(1)), None);
        assert!(difference(&run(1), &run(2)).is_some_and(|text| text.contains("--verify")));
        let mut figures = run(1);
        figures.figures[0].value += 1.0;
        assert!(difference(&run(1), &figures).is_some());
    }
}
