//! Checkpoints of a run: the run that writes them and goes on with one, and `warpline checkpoint
//! info`, which says what is in a file.
//!
//! Called by `run`. A run with these flags is a session: it stops where a checkpoint is due, writes
//! it, and goes on.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use clap::Subcommand;
use serde_json::json;
use warpline::{
    AnyModel, Report, RunError, Simulation,
    any_model::{AnyOutput, AnySession},
    session::Checkpoint,
};
use warpline_models::catalog::Recording;

use crate::{
    args::{InfoFormat, RunArgs},
    checkpoint_args::{CheckpointArgs, Every},
    failure::Failure,
    format::{grouped, significant},
    output::Output,
    progress::Caller,
    ranks::Launch,
    refusals::refuse_trace,
};

/// When the next checkpoint is due by the clock.
#[derive(Debug, Default)]
pub(crate) struct Due(Mutex<Option<Instant>>);

impl Due {
    /// Whether it is.
    pub(crate) fn is_now(&self) -> bool {
        let due = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        due.is_some_and(|due| Instant::now() >= due)
    }

    fn renew(&self, every: Option<Every>) {
        let due = match every {
            Some(Every::Wall(wall)) => Instant::now().checked_add(wall),
            _ => None,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = due;
    }
}

/// What a run in steps leaves beside its report.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// What the report says of it.
    pub(crate) notes: Vec<String>,
    /// Why the last checkpoint could not be written: the run goes on.
    pub(crate) failure: Option<Failure>,
}

/// Refuses what a run in steps cannot do.
pub(crate) fn refuse(args: &RunArgs, flag: &str) -> Result<(), Failure> {
    refuse_trace(args, flag)?;
    if args.common.find_warmup.is_some() || args.common.profile.critical_path.is_some() {
        return Err(Failure::Configuration(format!(
            "{flag} takes a run of an engine, and not an analysis: leave the analysis out"
        )));
    }
    Ok(())
}

/// Runs a simulation up to its end, or until it is stopped. Where another process has the report,
/// there is none.
pub(crate) fn carry_out<'a>(
    launch: &'a Launch,
    simulation: Simulation<'a, AnyModel>,
    args: &CheckpointArgs,
    (due, end): (&Due, f64),
    recording: Option<&dyn Recording>,
    caller: Caller<'_>,
) -> Result<Option<(Report<AnyOutput>, Steps)>, Failure> {
    let session = launch.session(simulation, args.resume.as_deref())?;
    let Some(mut session) = session else { return Ok(None) };
    let mut steps = Steps::default();
    if let Some(path) = &args.resume {
        let now = session.now()?.get();
        steps.notes.push(format!(
            "resumed from {} at virtual time {}",
            path.display(),
            significant(now)
        ));
        if now > end {
            let (end, now) = (significant(end), significant(now));
            return Err(Failure::Configuration(format!(
                "--end {end} is before the virtual time of the checkpoint, {now}"
            )));
        }
    }
    if let Some(path) = &args.checkpoint {
        session.check_saving(path)?;
    }
    if let Some(path) = &args.resume {
        go_on_recording(path, session.attached(), recording)?;
    }
    let mark = || recording.map_or(Ok(Vec::new()), Recording::mark);
    if args.checkpoint.is_some() {
        mark().map_err(Failure::refused)?;
    }
    let is_interrupted = loop {
        due.renew(args.checkpoint_every);
        let until = next_stop(&*session, args.checkpoint_every, end)?;
        let step = session.run_until(until).map_err(|error| launch.failure(error))?;
        let is_complete = !step.interrupted && until >= end;
        let is_over = is_complete || caller.has_stopped();
        if let Some(path) = &args.checkpoint {
            // The run itself is worth more than a file beside it.
            let saved = mark().map_err(|error| Failure::Run(error.to_string()));
            let saved = saved.and_then(|mark| Ok(session.save_with(path, &mark)?));
            steps.failure = saved.err().inspect(|error| {
                if !is_over {
                    eprintln!("warning: {}\n  the run goes on", error.message());
                }
            });
        }
        if is_over {
            break !is_complete;
        }
    };
    let mut report = session.report()?;
    report.interrupted = is_interrupted;
    if let Some(path) = args.checkpoint.as_deref().filter(|_| steps.failure.is_none()) {
        let now = significant(session.now()?.get());
        steps.notes.push(format!(
            "checkpoint of virtual time {now}: --resume {} goes on from there",
            path.display()
        ));
    }
    Ok(Some((report, steps)))
}

/// Lets files go on where they were at a checkpoint.
fn go_on_recording(
    path: &Path,
    mark: &[u8],
    recording: Option<&dyn Recording>,
) -> Result<(), Failure> {
    let refused = |what: String| Failure::Configuration(format!("{}: {what}", path.display()));
    match (recording, mark.is_empty()) {
        (None, true) => Ok(()),
        (None, false) => Err(refused(
            "it is of a run that recorded something, and this one does not: ask for the same files"
                .to_owned(),
        )),
        (Some(_), true) => Err(refused(
            "it is of a run that recorded nothing: leave files and measures out".to_owned(),
        )),
        (Some(recording), false) => {
            recording.go_on(mark).map_err(|error| refused(error.to_string()))
        }
    }
}

/// Where the run stops next, if nothing stops it before.
fn next_stop(
    session: &dyn AnySession<'_>,
    every: Option<Every>,
    end: f64,
) -> Result<f64, RunError> {
    let Some(Every::Virtual(every)) = every else { return Ok(end) };
    // Where nothing happens, nothing is written.
    let next = session.next_event_time()?.map_or(f64::INFINITY, |time| time.get());
    let next = next.max(session.now()?.get());
    let stop = ((next / every).floor() + 1.0) * every;
    // Rounded, that may be the time of the next event, which would never be handled.
    Ok(if next >= end { end } else { stop.max(next.next_up()).min(end) })
}

/// The subcommands of `checkpoint`.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// Say of which run a checkpoint is, and of which point
    Info {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Form of the description
        #[arg(long, value_enum, default_value_t)]
        format: InfoFormat,
    },
}

/// Says what is in a checkpoint.
pub(crate) fn execute(command: &CheckpointCommand) -> Result<(), Failure> {
    let CheckpointCommand::Info { file, format } = command;
    let checkpoint = Checkpoint::read(file).map_err(RunError::from)?;
    let text = match format {
        InfoFormat::Text => describe(file, &checkpoint),
        InfoFormat::Json => format!("{:#}\n", to_json(&checkpoint)),
    };
    Output::open(None)?.write(text)
}

fn describe(file: &Path, checkpoint: &Checkpoint) -> String {
    let line = |name: &str, value: String| format!("  {name:<17}{value}\n");
    let mut text = format!("{}: a run of {}\n", file.display(), checkpoint.model);
    text += &line("virtual time", significant(checkpoint.now));
    text += &line(
        "events",
        format!(
            "{} committed, {} pending",
            grouped(checkpoint.totals.committed_events),
            grouped(checkpoint.pending_events)
        ),
    );
    text += &line("LPs", grouped(checkpoint.lps));
    text += &line("seed", checkpoint.seed.to_string());
    text += &line("digest", checkpoint.totals.digest.to_string());
    text += &line("wall time", format!("{:.2} s", checkpoint.wall_seconds));
    text += &line("written by", format!("Warpline {}", checkpoint.version));
    text += "parameters\n";
    let parameters = match &*checkpoint.parameters {
        "()" => "not known: the model does not tell them (`Model::parameters`)",
        known => known,
    };
    parameters.lines().for_each(|parameter| text += &format!("  {parameter}\n"));
    text
}

fn to_json(checkpoint: &Checkpoint) -> serde_json::Value {
    json!({
        "model": checkpoint.model,
        "parameters": checkpoint.parameters,
        "seed": checkpoint.seed,
        "lps": checkpoint.lps,
        "virtual_time": checkpoint.now,
        "committed_events": checkpoint.totals.committed_events,
        "pending_events": checkpoint.pending_events,
        "digest": checkpoint.totals.digest.to_string(),
        "wall_seconds": checkpoint.wall_seconds,
        "version": checkpoint.version,
    })
}
