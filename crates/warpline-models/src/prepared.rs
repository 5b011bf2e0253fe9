//! A model that is ready for a run, and what the run writes and tells beside its report.
//!
//! Made by the [parameters](crate::catalog::Parameters) of a model, used by the command.

use std::{fmt, path::PathBuf};

use warpline::AnyModel;

/// Why a model could not be made: for people, in full.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// What a model is made for: a run, as far as it concerns the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSetup {
    /// The seed.
    pub seed: u64,
    /// The virtual time at which it ends, if it is not the model's own.
    pub end: Option<f64>,
    /// Whether this process records the outputs. If another one does, the model is the same and
    /// sends its outputs there.
    pub records: bool,
    /// Whether the [pictures](warpline::Results::pictures) of the result will be looked at, so that
    /// the run may collect what they need. It commits the same in any case.
    pub pictures: bool,
    /// Whether the run goes on with a checkpoint, so that the files which an earlier one has
    /// written are opened, and stay as they are until [`Recording::go_on`].
    pub resumes: bool,
}

/// A model that is ready for a run.
#[derive(Debug)]
pub struct Prepared {
    /// The model.
    pub model: AnyModel,
    /// The virtual time at which the run ends, unless `--end` gives another one.
    pub end: f64,
    /// What takes the outputs of the run, if something is recorded of it; nothing is once this is
    /// dropped.
    pub recording: Option<Box<dyn Recording>>,
    /// The files that were read for it and that no parameter names, such as those that a netlist
    /// includes.
    pub included: Vec<PathBuf>,
    /// What the user should know of the model beside its results, a sentence each.
    pub notes: Vec<String>,
}

impl Prepared {
    /// A model of which nothing is recorded, for a run without an end of its own.
    #[must_use]
    pub const fn of(model: AnyModel) -> Self {
        let end = f64::INFINITY;
        Self { model, end, recording: None, included: Vec::new(), notes: Vec::new() }
    }
}

/// Takes the outputs of a run as they are committed, and writes them to files. A file that cannot
/// be written does not end the run, whose report would be lost.
pub trait Recording: fmt::Debug + Send + Sync {
    /// Completes the files. The run has come to the virtual time `reached`.
    fn finish(&self, reached: f64) -> Recorded;

    /// How far the files are written, for [`go_on`](Self::go_on); all of that is on the disk then.
    ///
    /// # Errors
    ///
    /// When a file could not be written, or a run cannot go on with it.
    fn mark(&self) -> Result<Vec<u8>, Refusal> {
        Err(NOT_GONE_ON.into())
    }

    /// Goes on where a run was when it made this mark. Called before anything is recorded.
    ///
    /// # Errors
    ///
    /// When files are not as that run has left them.
    fn go_on(&self, mark: &[u8]) -> Result<(), Refusal> {
        let _ = mark;
        Err(NOT_GONE_ON.into())
    }
}

const NOT_GONE_ON: &str = "a run in steps does not go on with files of this model: leave the files \
                           out";

/// What a recording has beside its files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The files that were written.
    pub files: Vec<PathBuf>,
    /// What was measured.
    pub measures: Vec<Measured>,
    /// Why other files could not be written: for people, in full.
    pub failures: Vec<String>,
}

/// A measure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its value, or why there is none.
    pub value: Result<f64, String>,
    /// The unit of the value.
    pub unit: &'static str,
}
