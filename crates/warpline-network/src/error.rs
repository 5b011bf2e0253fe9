//! What is wrong with a file or a network, for the person who wrote it.
//!
//! Made by the readers (`formats.rs`) and by what writes tables; printed by the command.

use std::path::Path;

use warpline::ConfigError;

/// A file that cannot be read as a network or as packets, or cannot be written: where, what is
/// wrong, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {what}; {allowed}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct FileError {
    /// The file.
    pub file: String,
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What is allowed, or what to do.
    pub allowed: String,
}

impl FileError {
    pub(crate) fn new(
        file: &Path,
        line: impl Into<Option<usize>>,
        what: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        let (file, line) = (file.display().to_string(), line.into());
        Self { file, line, what: what.into(), allowed: allowed.into() }
    }
}

/// Why a network could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// A parameter is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}
