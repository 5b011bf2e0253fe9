//! Checks of the form of files: lines, lengths, the first comment.

use crate::source::{Problem, Source};

const COLUMNS_MAX: usize = 100;

/// Lines of Rust that go beyond the last column. URLs and rows of tables cannot be broken.
pub(crate) fn long_lines(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for (number, line) in source.lines() {
            let columns = line.chars().count();
            let is_row = line.trim_start().trim_start_matches(['/', '!']).starts_with(" |");
            if columns > COLUMNS_MAX && !is_row && !line.contains("://") {
                problems.push(source.problem(number, format!("{columns} columns")));
            }
        }
    }
    problems
}

/// Modules that do not begin with `//!`.
pub(crate) fn modules_without_docs(sources: &[Source]) -> Vec<Problem> {
    let modules = sources.iter().filter(|source| source.is_module());
    modules
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.problem(1, "begins without a doc comment of the module"))
        .collect()
}

/// Doc comments that only point elsewhere.
pub(crate) fn empty_docs(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for (number, line) in source.lines() {
            let seen = line.trim().strip_prefix("/// See ").and_then(|seen| seen.strip_suffix('.'));
            if seen.is_some_and(|seen| seen == "the module" || is_name(seen)) {
                problems.push(source.problem(number, "say what it is, in six words"));
            }
        }
    }
    problems
}

/// Whether a text is a name, in backquotes or as a link.
fn is_name(text: &str) -> bool {
    let inner = text.trim_matches(['[', ']']).strip_prefix('`');
    inner.and_then(|inner| inner.strip_suffix('`')).is_some_and(|name| !name.contains('`'))
}

/// Sources with more lines than `max` that are not in `known`, and files in `known` that need not
/// be there.
pub(crate) fn long_files(sources: &[Source], max: usize, known: &[(&str, &str)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let lines = source.text.lines().count();
        let is_known = known.iter().any(|(path, _)| *path == source.path);
        if (lines > max) != is_known {
            let what = if is_known { "is listed as long" } else { "split it, or list it" };
            problems.push(source.problem(lines, format!("{lines} lines: {what}")));
        }
    }
    let is_there = |path: &str| sources.iter().any(|source| source.path == path);
    for (path, _) in known.iter().filter(|(path, _)| !is_there(path)) {
        problems.push(Source::new(path, "").problem(0, "is listed as long, and does not exist"));
    }
    problems
}

#[test]
fn a_long_line_is_seen() {
    let long = "x".repeat(101);
    let url = format!("// https://example.org/{long}");
    let text = format!("{}\n{long}\n{url}\n//! | {long} |\n", "ü".repeat(100));
    let sources = [Source::new("a.rs", &text), Source::new("a.md", &long)];
    assert_eq!(crate::source::places(&long_lines(&sources)), ["a.rs:2"]);
}

#[test]
fn a_module_without_docs_is_seen() {
    let sources = [
        Source::new("crates/a/src/b.rs", "use c;\n"),
        Source::new("crates/a/src/c.rs", "//! It is c.\n"),
        Source::new("crates/a/tests/d.rs", "use c;\n"),
    ];
    assert_eq!(crate::source::places(&modules_without_docs(&sources)), ["crates/a/src/b.rs:1"]);
}

#[test]
fn an_empty_doc_is_seen() {
    let text = "//! X.\n\n    /// See the module.\n    struct X;\n/// See the module. And more.\n\
                /// See `x`.\n/// See [`x`].\n/// See `x`, and `y`.\n";
    let found = crate::source::places(&empty_docs(&[Source::new("a.rs", text)]));
    assert_eq!(found, ["a.rs:3", "a.rs:6", "a.rs:7"]);
}

#[test]
fn a_long_file_is_seen() {
    let sources = [Source::new("a.rs", "1\n2\n3\n"), Source::new("b.rs", "1\n2\n")];
    let found = |known: &[(&str, &str)]| crate::source::places(&long_files(&sources, 2, known));
    assert_eq!(found(&[]), ["a.rs:3"]);
    assert!(found(&[("a.rs", "a table")]).is_empty());
    assert_eq!(found(&[("a.rs", "a table"), ("b.rs", "another")]), ["b.rs:2"]);
    assert_eq!(found(&[("a.rs", "a table"), ("gone.rs", "another")]), ["gone.rs:0"]);
}
