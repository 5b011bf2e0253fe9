//! What is wrong with a file, for the person who wrote it.
//!
//! Made by the readers of networks (`formats/`) and by what writes files; printed by the command.

use std::path::Path;

/// A file that cannot be read as a network, or cannot be written: where, what is wrong, and what is
/// allowed.
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

/// What is wrong at a place that the caller adds, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) what: String,
    pub(crate) allowed: String,
}

impl Flaw {
    pub(crate) fn new(what: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { what: what.into(), allowed: allowed.into() }
    }

    /// The error in a line of a file.
    pub(crate) fn at(self, file: &Path, line: impl Into<Option<usize>>) -> FileError {
        let Self { what, allowed } = self;
        FileError { file: file.display().to_string(), line: line.into(), what, allowed }
    }
}

/// What a user wrote, in quotes, without control characters, and cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    const CHARACTERS_MAX: usize = 40;
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let cut: String = text.chars().take(CHARACTERS_MAX).map(clean).collect();
    let dots = if text.chars().nth(CHARACTERS_MAX).is_some() { "..." } else { "" };
    format!("`{cut}{dots}`")
}
