//! Checks of the map, of the index of decisions, and of what the map says of the lowest crate.

use crate::{
    links,
    source::{Problem, Source},
};

const MAP: &str = "ARCHITECTURE.md";
const DECISIONS: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";

/// What of the standard library belongs to a machine.
const OF_A_MACHINE: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread", "time"];

/// The map, if it has more lines than `max`.
pub(crate) fn long(sources: &[Source], max: usize) -> Vec<Problem> {
    let map = sources.iter().filter(|source| source.path == MAP);
    let long = map.map(|map| (map, map.text.lines().count())).filter(|(_, lines)| *lines > max);
    let what = "details go to the documents, reasons to the decisions";
    long.map(|(map, lines)| map.problem(lines, format!("{lines} lines: {what}"))).collect()
}

/// Crates, and modules at the root of the engine's crate, that the map does not name.
pub(crate) fn not_on_it(sources: &[Source]) -> Vec<Problem> {
    let Some(map) = sources.iter().find(|source| source.path == MAP) else { return Vec::new() };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let is_named = |name: &str| map.text.split(|c| !is_part(c)).any(|word| word == name);
    let mut problems = Vec::new();
    for root in sources.iter().filter(|source| source.path.ends_with("/src/lib.rs")) {
        let name = root.path.trim_start_matches("crates/").trim_end_matches("/src/lib.rs");
        if !is_named(name) {
            problems.push(root.problem(1, format!("{name} is not in {MAP}")));
        }
        for (line, module) in root.lines().filter_map(|(line, text)| Some((line, module(text)?))) {
            if name == "warpline" && !is_named(module) {
                problems.push(root.problem(line, format!("{module} is not in {MAP}")));
            }
        }
    }
    problems
}

/// The name in a line that says that a module is in a file of its own.
fn module(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    line.strip_prefix("mod ")?.strip_suffix(';')
}

/// Decisions to which no line of the index leads.
pub(crate) fn not_in_the_index(sources: &[Source]) -> Vec<Problem> {
    let index = sources.iter().find(|source| source.path == INDEX);
    let index = index.map_or("", |index| &index.text);
    let mut problems = Vec::new();
    for page in sources.iter().filter(|source| source.path != INDEX) {
        let Some(name) = page.path.strip_prefix(DECISIONS) else { continue };
        let headings =
            page.lines().filter_map(|(line, text)| Some((line, text.strip_prefix("## ")?)));
        for (line, heading) in headings {
            let link = format!("- [{heading}]({name}#{})", links::anchor(heading));
            if !index.lines().any(|line| line == link) {
                problems.push(page.problem(line, format!("{INDEX} needs: {link}")));
            }
        }
    }
    problems
}

/// Places where the lowest crate uses what belongs to a machine.
pub(crate) fn machine_in_the_core(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_core = |source: &&Source| source.path.starts_with("crates/warpline-core/src/");
    for source in sources.iter().filter(is_core).filter(|source| source.is_rust()) {
        for (number, line) in source.lines() {
            let code = line.split("//").next().unwrap_or_default();
            let path = code.split_once("std::").map_or("", |(_, path)| path);
            let mut words = path.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(word) = words.find(|word| OF_A_MACHINE.contains(word)) {
                problems.push(source.problem(number, format!("std::{word} is of a machine")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::places;

    #[test]
    fn a_long_map_is_seen() {
        let sources = [Source::new(MAP, "1\n2\n3\n"), Source::new("docs/a.md", "1\n2\n3\n4\n")];
        assert_eq!(places(&long(&sources, 2)), ["ARCHITECTURE.md:3"]);
        assert!(long(&sources, 3).is_empty());
    }

    #[test]
    fn a_module_that_is_not_on_the_map_is_seen() {
        let root = "mod a;\npub mod cut;\npub mod nodes {\n}\nmod cu;\n";
        let sources = [
            Source::new(MAP, "`warpline` has a, cut/ and recut.\n"),
            Source::new("crates/warpline/src/lib.rs", root),
            Source::new("crates/warpline-x/src/lib.rs", "mod y;\n"),
        ];
        let missing = ["crates/warpline/src/lib.rs:5", "crates/warpline-x/src/lib.rs:1"];
        assert_eq!(places(&not_on_it(&sources)), missing);
    }

    #[test]
    fn a_decision_without_a_line_in_the_index_is_seen() {
        let page = "# Decisions\n\n## One `a`\n\ntext\n\n## Two\n";
        let sources = [
            Source::new("docs/decisions/a.md", page),
            Source::new(INDEX, "- [One `a`](a.md#one-a)\n"),
            Source::new("docs/b.md", "## Three\n"),
        ];
        assert_eq!(places(&not_in_the_index(&sources)), ["docs/decisions/a.md:7"]);
    }

    #[test]
    fn a_clock_in_the_core_is_seen() {
        let text = "use std::{fmt, time::Instant};\n// std::thread\nlet time = std::fmt::x();\n\
                    use std::mem;\n";
        let core = Source::new("crates/warpline-core/src/a.rs", text);
        let other = Source::new("crates/warpline/src/a.rs", text);
        assert_eq!(
            places(&machine_in_the_core(&[core, other])),
            ["crates/warpline-core/src/a.rs:1"]
        );
    }
}
