//! Lines of a deck: without comments, continued, and with the included files in their places.
//!
//! Called by [`read`](super::read). The first line of a deck is its title. A line that begins with
//! `*`, and what follows `;`, `//` or a `$` after a blank, is a comment; a line that begins with
//! `+` continues the one before. `.control` blocks are skipped: they are for the program that runs
//! the deck interactively.

use std::sync::Arc;

use super::{errors::Errors, notes::Note};
use crate::error::{Kind, NetlistError, Place, quoted};

/// How deep files can include each other.
const DEPTH_MAX: usize = 16;
/// The most files that a deck can include.
const FILES_MAX: usize = 4096;
/// The most bytes in a deck and its files.
pub(crate) const BYTES_MAX: usize = 256 << 20;

/// Finds the text of an included file: given the file that includes it, and the name there; returns
/// the name of the file, and its text.
pub type Include<'a> = dyn FnMut(&str, &str) -> std::io::Result<(String, String)> + 'a;

/// A line with its continuation lines, in lower case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) place: Place,
    pub(super) text: String,
}

/// The lines of a deck.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    pub(super) notes: Vec<Note>,
    pub(super) errors: Errors,
    files: usize,
    bytes: usize,
}

/// Reads the lines of a deck; what is wrong with them is among their errors.
pub(super) fn read(file: &str, text: &str, include: &mut Include<'_>) -> Lines {
    let title = text.lines().next().unwrap_or_default().trim();
    // A deck without a title begins with an empty comment, because programs skip an empty line.
    let title = if title == "*" { "" } else { title };
    let mut lines = Lines { title: title.to_owned(), ..Lines::default() };
    let outcome = lines.file(file, text, 0, include);
    lines.errors.keep(outcome);
    lines
}

impl Lines {
    fn file(
        &mut self,
        file: &str,
        text: &str,
        depth: usize,
        include: &mut Include<'_>,
    ) -> Result<(), NetlistError> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > BYTES_MAX {
            let what = format!("the deck and its files have more than {} MiB", BYTES_MAX >> 20);
            return Err(NetlistError::new(&Place::file(file), what, "split the circuit"));
        }
        let name: Arc<str> = file.into();
        // The line that a `+` continues, and the begin of a `.control` block.
        let (mut last, mut control) = (None, None);
        for (number, line) in text.lines().enumerate().skip(usize::from(depth == 0)) {
            let place = Place::line(&name, number + 1);
            let line = line.trim();
            let word = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            if let Some(begin) = &control {
                if word == ".endc" {
                    let last_line = Some(number + 1);
                    self.notes.push(Note { last_line, ..Note::new(begin, ".control") });
                    control = None;
                }
            } else if word == ".control" {
                (control, last) = (Some(place), None);
            } else if line.is_empty() || line.starts_with('*') {
                continue;
            } else if matches!(word.as_str(), ".include" | ".inc" | ".incl") {
                let outcome = self.include(&place, line[word.len()..].trim(), depth, include);
                self.errors.keep(outcome);
                last = None;
            } else if word == ".end" {
                return Ok(());
            } else {
                let outcome = self.line(place, without_comment(line), &mut last);
                self.errors.keep(outcome);
            }
            if self.errors.are_enough() {
                return Ok(());
            }
        }
        match control {
            None => Ok(()),
            Some(place) => {
                Err(NetlistError::new(&place, "the .control block does not end", "write .endc"))
            }
        }
    }

    fn line(
        &mut self,
        place: Place,
        text: &str,
        last: &mut Option<usize>,
    ) -> Result<(), NetlistError> {
        let Some(more) = text.strip_prefix('+') else {
            if !text.trim().is_empty() {
                self.lines.push(Line { place, text: text.to_ascii_lowercase() });
                *last = Some(self.lines.len() - 1);
            }
            return Ok(());
        };
        let Some(line) = last.and_then(|index| self.lines.get_mut(index)) else {
            let what = "there is no line that `+` could continue";
            return Err(NetlistError::new(&place, what, "remove the `+`"));
        };
        line.text.push(' ');
        line.text.push_str(&more.to_ascii_lowercase());
        Ok(())
    }

    fn include(
        &mut self,
        place: &Place,
        argument: &str,
        depth: usize,
        include: &mut Include<'_>,
    ) -> Result<(), NetlistError> {
        let quote = argument.chars().next().filter(|c| matches!(c, '"' | '\''));
        let name = match quote {
            Some(quote) => argument[1..].split(quote).next(),
            None => argument.split_whitespace().next(),
        };
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(NetlistError::new(
                place,
                ".include has no file",
                "write .include \"FILE\"",
            ));
        };
        self.files += 1;
        if depth == DEPTH_MAX || self.files > FILES_MAX {
            let what = format!("{} is included too deep, or is one file too many", quoted(name));
            let remedy = format!(
                "include at most {FILES_MAX} files, {DEPTH_MAX} deep, and none from within itself"
            );
            return Err(NetlistError::new(place, what, remedy).of(Kind::Last));
        }
        let (file, text) = include(&place.file, name).map_err(|error| {
            let what = format!("{} cannot be read: {error}", quoted(name));
            NetlistError::new(place, what, "names are relative to the file that includes")
        })?;
        self.file(&file, &text, depth + 1, include)
    }
}

fn without_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    let begins = |at: usize| match bytes[at] {
        b';' => true,
        b'/' => bytes.get(at + 1) == Some(&b'/'),
        b'$' => at == 0 || bytes[at - 1].is_ascii_whitespace() || bytes[at - 1] == b',',
        _ => false,
    };
    let end = (0..bytes.len()).find(|&at| begins(at)).unwrap_or(bytes.len());
    line[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str, name: &str) -> std::io::Result<(String, String)> {
        Err(std::io::Error::new(std::io::ErrorKind::NotFound, format!("no {name}")))
    }

    fn texts(text: &str, include: &mut Include<'_>) -> Result<Vec<(String, String)>, String> {
        let lines = read("a.cir", text, include);
        lines.errors.finish().map_err(|error| error.to_string())?;
        Ok(lines.lines.into_iter().map(|line| (line.place.to_string(), line.text)).collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        Ok(expected.iter().map(|(place, text)| ((*place).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn comments_go_and_continued_lines_are_joined() {
        let text = "m1 is the title\n* comment\nM1 a b ; why\n\n  * more\n+ c $ why\nR1 a$b // c\n\
                    ;\n.control\nrun\n.endc\nC1\n.END\nafter";
        let expected = [("a.cir:3", "m1 a b  c"), ("a.cir:7", "r1 a$b"), ("a.cir:12", "c1")];
        assert_eq!(texts(text, &mut none), pairs(&expected));
        let lines = read("a.cir", text, &mut none);
        assert_eq!(lines.title, "m1 is the title");
        let [note] = &lines.notes[..] else { panic!("{:?}", lines.notes) };
        assert_eq!((note.place.line, note.last_line), (Some(9), Some(11)));
    }

    #[test]
    fn files_are_included_in_their_place() {
        let mut include = |from: &str, name: &str| {
            let text = match name {
                "B.lib" => "* no title\nr1\n.inc 'sub/c'\n.end\nr9",
                "sub/c" => "r2",
                _ => panic!("{name}"),
            };
            Ok((format!("{from}>{name}"), text.to_owned()))
        };
        let text = "title\n.INCLUDE \"B.lib\"\nr3\n+ x";
        let expected =
            [("a.cir>B.lib:2", "r1"), ("a.cir>B.lib>sub/c:1", "r2"), ("a.cir:3", "r3  x")];
        assert_eq!(texts(text, &mut include), pairs(&expected));
    }

    #[test]
    fn what_is_wrong_with_lines_is_told() {
        assert_eq!(
            texts("t\n+ r1", &mut none),
            Err("a.cir:2: there is no line that `+` could continue; remove the `+`".to_owned())
        );
        assert_eq!(
            texts("t\n.include b", &mut none),
            Err("a.cir:2: `b` cannot be read: no b; names are relative to the file that includes"
                .to_owned())
        );
        assert_eq!(
            texts("t\n.control", &mut none),
            Err("a.cir:2: the .control block does not end; write .endc".to_owned())
        );
        let mut itself =
            |_: &str, name: &str| Ok((name.to_owned(), ".include b\n.include b".to_owned()));
        let error = texts("t\n.include b", &mut itself).expect_err("no end");
        assert!(error.starts_with("b:1: `b` is included too deep"), "{error}");
    }
}
