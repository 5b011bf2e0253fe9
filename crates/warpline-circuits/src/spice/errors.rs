//! What is wrong with a deck: kept line by line, so that one reading tells all of it.
//!
//! Every part of [`read`](super::read) adds what it finds. What may only follow from an earlier
//! error is left out: where an `.include` has failed, each of its models is unknown.

use crate::error::{Kind, NetlistError};

/// The most errors that are reported of one deck.
const ERRORS_MAX: usize = 20;

/// The errors that were found so far.
#[derive(Debug, Default)]
pub(super) struct Errors {
    found: Vec<NetlistError>,
    /// How many there were when this part of the reading began.
    earlier: usize,
    is_last: bool,
}

impl Errors {
    /// What a result has; its error is kept.
    pub(super) fn keep<T>(&mut self, result: Result<T, NetlistError>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Adds an error, unless it is there already, as in another instance of a subcircuit, or may
    /// follow from one of an earlier part.
    fn add(&mut self, error: NetlistError) {
        let follows = error.kind == Kind::UnknownName && self.earlier > 0;
        let is_known =
            |known: &NetlistError| known.place == error.place && known.what == error.what;
        if self.are_enough() || follows || self.found.iter().any(is_known) {
            return;
        }
        self.is_last = error.kind == Kind::Last;
        self.found.push(error);
    }

    /// Begins the next part of the reading.
    pub(super) const fn next_part(&mut self) {
        self.earlier = self.found.len();
    }

    /// Whether there are any.
    pub(super) const fn are_there(&self) -> bool {
        !self.found.is_empty()
    }

    /// Whether there are as many as are reported, so that the reading can end.
    pub(super) const fn are_enough(&self) -> bool {
        self.is_last || self.found.len() == ERRORS_MAX
    }

    /// All errors as one, in the order of their lines, if there are any.
    pub(super) fn finish(mut self) -> Result<(), NetlistError> {
        let is_full = self.found.len() == ERRORS_MAX;
        let line = |error: &NetlistError| error.place.line.unwrap_or(usize::MAX);
        self.found.sort_by(|a, b| (&a.place.file, line(a)).cmp(&(&b.place.file, line(b))));
        if let Some(last) = self.found.last().filter(|_| is_full) {
            let what = format!("these are the first {ERRORS_MAX} errors, and there may be more");
            let place = crate::error::Place::file(&last.place.file);
            self.found.push(NetlistError::new(&place, what, "mend them, and run again"));
        }
        let mut found = self.found.into_iter();
        match found.next() {
            None => Ok(()),
            Some(first) => Err(NetlistError { others: found.collect(), ..first }),
        }
    }
}
