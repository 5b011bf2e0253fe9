//! What is wrong with a netlist, for the person who wrote it.
//!
//! Made by the readers of netlists and by the generators; printed by the command.

use std::{fmt, sync::Arc};

/// A netlist that cannot be read or simulated: where, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}; {remedy}")]
pub struct NetlistError {
    /// The file, and the line in it.
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// What the author of the netlist can do about it.
    pub remedy: String,
}

impl NetlistError {
    /// An error at a place.
    pub(crate) fn new(place: &Place, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: place.clone(), what: what.into(), remedy: remedy.into() }
    }
}

/// What is wrong, and what to do: an error whose place the caller adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    what: String,
    remedy: String,
}

impl Complaint {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }

    /// The error at a place.
    pub(crate) fn at(self, place: &Place) -> NetlistError {
        NetlistError { place: place.clone(), what: self.what, remedy: self.remedy }
    }
}

/// A place in a netlist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file, as it was named by the user or by an `.include`.
    pub file: Arc<str>,
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<usize>,
}

impl Place {
    /// The file as a whole.
    pub(crate) fn file(file: &str) -> Self {
        Self { file: file.into(), line: None }
    }

    /// A line of a file.
    pub(crate) fn line(file: &Arc<str>, line: usize) -> Self {
        Self { file: Arc::clone(file), line: Some(line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
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
