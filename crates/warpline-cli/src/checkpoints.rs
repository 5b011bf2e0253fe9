//! Checkpoints of a run: the flags, the run that writes them and goes on with one, and
//! `warpline checkpoint info`, which says what is in a file.
//!
//! Called by `run`. A run with these flags is a session: it stops where a checkpoint is due, writes
//! it, and goes on.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};
use serde_json::json;
use warpline::{
    AnyModel, Report, RunError, Simulation,
    any_model::AnyOutput,
    files::Files,
    session::{AnySession, Checkpoint},
};

use crate::{
    args::InfoFormat,
    failure::Failure,
    format::{grouped, significant},
    output::Output,
    progress::Caller,
};

/// How a run is stopped and continued.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Checkpoints")]
pub(crate) struct CheckpointArgs {
    /// File for the state of the run at its end, also where a signal ends it: --resume goes on from
    /// there. The one before it stays as FILE.previous
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Write it every so often, too: 10min of wall time (s, min, h), or 100t of virtual time
    #[arg(long, value_name = "TIME", requires = "checkpoint")]
    pub(crate) checkpoint_every: Option<Every>,
    /// Go on from a checkpoint of this model, with these parameters and this seed; engine, workers
    /// and end may be others
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

/// How often a checkpoint is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Every {
    Wall(Duration),
    Virtual(f64),
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(char::is_alphabetic);
        let number: Option<f64> = digits.trim().parse().ok();
        let number = number.filter(|number| number.is_finite() && *number > 0.0);
        let seconds = match &text[digits.len()..] {
            "t" => return number.map(Self::Virtual).ok_or_else(says),
            "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(says()),
        };
        let wall = number.and_then(|number| Duration::try_from_secs_f64(number * seconds).ok());
        wall.map(Self::Wall).ok_or_else(says)
    }
}

fn says() -> String {
    "expected a time above 0 with its unit: 30s, 10min or 2h of wall time, or 100t of virtual time"
        .to_owned()
}

impl CheckpointArgs {
    /// Whether the run is a session.
    pub(crate) const fn is_asked_for(&self) -> bool {
        self.checkpoint.is_some() || self.resume.is_some()
    }

    /// The flag that asks for it.
    pub(crate) const fn flag(&self) -> &'static str {
        if self.checkpoint.is_some() { "--checkpoint" } else { "--resume" }
    }

    /// The files of these flags. A run may go on from the file that it writes.
    pub(crate) fn files(&self, files: Files) -> Files {
        let resumed =
            self.resume.as_deref().filter(|&path| self.checkpoint.as_deref() != Some(path));
        files.reading("resume", resumed).writing("checkpoint", self.checkpoint.as_deref())
    }
}

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
    /// Checkpoints that could not be written: the run goes on.
    pub(crate) failures: Vec<Failure>,
}

/// Runs a simulation up to its end, or until it is stopped.
pub(crate) fn run(
    simulation: Simulation<'_, AnyModel>,
    args: &CheckpointArgs,
    (due, end): (&Due, f64),
    caller: Caller<'_>,
) -> Result<(Report<AnyOutput>, Steps), Failure> {
    let mut steps = Steps::default();
    let mut session = match &args.resume {
        None => simulation.session()?,
        Some(path) => {
            let session = simulation.resume(path)?;
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
            session
        }
    };
    loop {
        due.renew(args.checkpoint_every);
        let until = next_stop(&session, args.checkpoint_every, end)?;
        let step = session.run_until(until)?;
        let is_over = caller.has_stopped() || (!step.interrupted && until >= end);
        if let Some(path) = &args.checkpoint
            && let Err(error) = session.save(path)
        {
            // The run itself is worth more than a file beside it.
            steps.failures.push(error.into());
        }
        if is_over {
            break;
        }
    }
    let mut report = session.report()?;
    report.interrupted = caller.has_stopped();
    if let Some(path) = args.checkpoint.as_deref().filter(|_| steps.failures.is_empty()) {
        let now = significant(session.now()?.get());
        steps.notes.push(format!(
            "checkpoint of virtual time {now}: --resume {} goes on from there",
            path.display()
        ));
    }
    steps.failures.truncate(1);
    Ok((report, steps))
}

/// Where the run stops next, if nothing stops it before.
fn next_stop(session: &AnySession<'_>, every: Option<Every>, end: f64) -> Result<f64, RunError> {
    let Some(Every::Virtual(every)) = every else { return Ok(end) };
    // Where nothing happens, nothing is written.
    let next = session.next_event_time()?.map_or(f64::INFINITY, |time| time.get());
    let next = next.max(session.now()?.get());
    Ok(if next >= end { end } else { (((next / every).floor() + 1.0) * every).min(end) })
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
    checkpoint.parameters.lines().for_each(|parameter| text += &format!("  {parameter}\n"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_units() {
        let read = |text: &str| text.parse::<Every>();
        assert_eq!(read("10min"), Ok(Every::Wall(Duration::from_secs(600))));
        assert_eq!(read("0.5s"), Ok(Every::Wall(Duration::from_millis(500))));
        assert_eq!(read("2h"), Ok(Every::Wall(Duration::from_secs(7200))));
        assert_eq!(read("2.5t"), Ok(Every::Virtual(2.5)));
        for wrong in ["", "10", "0t", "-1s", "min", "1e400t", "5days", "1e300h"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
