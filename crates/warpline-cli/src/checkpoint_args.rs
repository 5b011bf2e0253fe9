//! The flags of checkpoints: where they are written, how often, and with which one a run goes on.

use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use clap::Args;
use warpline::{files::Files, session::previous};

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
            "t" => return number.map(Self::Virtual).ok_or_else(expected_time),
            "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(expected_time()),
        };
        let wall = number.and_then(|number| Duration::try_from_secs_f64(number * seconds).ok());
        wall.map(Self::Wall).ok_or_else(expected_time)
    }
}

fn expected_time() -> String {
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

    /// The files of these flags. A run may go on from the file that it writes, and from the one
    /// before it.
    pub(crate) fn files(&self, files: Files) -> Files {
        let written = self.checkpoint.as_deref();
        let older = written.map(previous);
        let is_own = |path: &Path| {
            let same = |other: &Path| match (fs::canonicalize(path), fs::canonicalize(other)) {
                (Ok(one), Ok(other)) => one == other,
                _ => path == other,
            };
            written.is_some_and(same) || older.as_deref().is_some_and(same)
        };
        let resumed = self.resume.as_deref();
        let older = older.as_deref().filter(|_| resumed.is_none_or(|path| !is_own(path)));
        files
            .reading("resume", resumed.filter(|path| !is_own(path)))
            .writing("checkpoint", written)
            .writing("checkpoint", older)
    }
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
