//! What a deck has that makes no difference, for a remark in the report.
//!
//! Every part of [`read`](super::read) adds what it skips.

use std::collections::BTreeMap;

use crate::error::Place;

/// The most lines that a remark names for one thing.
const LINES_MAX: usize = 4;

/// Something in a deck that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it is, or begins.
    pub place: Place,
    /// Its last line, if it has more than one.
    pub last_line: Option<usize>,
    /// What it is: the name of a card, or words.
    pub what: String,
}

impl Note {
    pub(super) fn new(place: &Place, what: impl Into<String>) -> Self {
        Self { place: place.clone(), last_line: None, what: what.into() }
    }

    /// Its line; with the file, if that is another one than the deck.
    fn line(&self, deck: &str) -> String {
        let line = self.place.line.unwrap_or_default();
        let lines = match self.last_line {
            Some(last) => format!("{line} to {last}"),
            None => line.to_string(),
        };
        if *self.place.file == *deck { lines } else { format!("{lines} of {}", self.place.file) }
    }
}

/// Puts the notes in the order of lines, those of the deck itself first, and keeps each once.
pub(super) fn sort(deck: &str, notes: &mut Vec<Note>) {
    let key = |note: &Note| (*note.place.file != *deck, note.place.clone(), note.what.clone());
    notes.sort_by_cached_key(key);
    notes.dedup();
}

/// What the report says of a deck: of what has no effect, and of the cards that name the only nets
/// that are saved.
pub(super) fn remark(deck: &str, notes: &[Note], saving: &[Note]) -> Option<String> {
    let skipped = (!notes.is_empty()).then(|| format!("no effect has {}", listed(deck, notes)));
    let saved = (!saving.is_empty())
        .then(|| format!("the nets that are written are those of {}", listed(deck, saving)));
    let parts: Vec<_> = skipped.into_iter().chain(saved).collect();
    (!parts.is_empty()).then(|| format!("{deck}: {}", parts.join("; ")))
}

/// What the notes say, each thing once: `.control (lines 10 to 12), .op (line 14)`.
pub(super) fn listed(deck: &str, notes: &[Note]) -> String {
    let mut order: Vec<&str> = Vec::new();
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for note in notes {
        let known = lines.entry(&note.what).or_default();
        if known.is_empty() {
            order.push(&note.what);
        }
        known.push(note.line(deck));
    }
    let item = |what: &&str| {
        let all = &lines[what];
        let more = match all.len().saturating_sub(LINES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let word = if all.len() == 1 && !all[0].contains(" to ") { "line" } else { "lines" };
        format!("{what} ({word} {}{more})", all[..all.len().min(LINES_MAX)].join(", "))
    };
    order.iter().map(item).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_listed_once() {
        let note = |file: &str, line, what: &str| Note::new(&Place::line(&file.into(), line), what);
        let block = Note { last_line: Some(14), ..note("a", 11, ".control") };
        let mut notes = vec![note("a", 9, ".op"), block, note("b", 3, "ac"), note("a", 20, ".op")];
        assert_eq!(
            listed("a", &notes),
            ".op (lines 9, 20), .control (lines 11 to 14), ac (line 3 of b)"
        );
        notes = (1..8).map(|line| note("a", line, "ac")).collect();
        assert_eq!(listed("a", &notes), "ac (lines 1, 2, 3, 4 and 3 more)");
    }
}
