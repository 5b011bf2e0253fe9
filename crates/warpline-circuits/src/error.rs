//! What is wrong with a netlist, for the person who wrote it.
//!
//! Made by the readers of netlists and by the generators; printed by the command.

use std::{fmt, sync::Arc};

/// A netlist that cannot be read or simulated: where, what is wrong, and what to do.
///
/// An error of a deck has all that is wrong with it: each on a line of its own in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}; {remedy}{}", lines_of(.others))]
pub struct NetlistError {
    /// The file, and the line in it.
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// What the author of the netlist can do about it.
    pub remedy: String,
    /// What else is wrong with the netlist.
    pub others: Vec<NetlistError>,
    pub(crate) kind: Kind,
}

/// What an error says about the errors beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: it is wrong in any case.
    #[default]
    Own,
    /// A name is unknown: the line that defines it may be one that is wrong.
    UnknownName,
    /// To read on would take for ever.
    Last,
}

impl NetlistError {
    /// An error at a place.
    pub(crate) fn new(place: &Place, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Complaint::new(what, remedy).at(place)
    }

    /// The same error as one of a kind.
    pub(crate) fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

/// Each error on a line of its own.
fn lines_of(errors: &[NetlistError]) -> String {
    errors.iter().map(|error| format!("\n{error}")).collect()
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
        NetlistError {
            place: place.clone(),
            what: self.what,
            remedy: self.remedy,
            others: Vec::new(),
            kind: Kind::Own,
        }
    }
}

/// A place in a netlist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
