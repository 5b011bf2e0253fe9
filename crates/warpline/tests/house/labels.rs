//! Checks of invariants' labels: a module defines `**NAME-A.**` in its docs, and an assertion or a
//! test cites `NAME-A`.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Problem, Source};

/// Where a label stands: the source and the line.
type Site<'s> = (&'s Source, usize);

/// The labels that modules define, with all places where they do.
pub(crate) fn defined(sources: &[Source]) -> BTreeMap<String, Vec<Site<'_>>> {
    let mut sites: BTreeMap<String, Vec<Site<'_>>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust() && !is_ours(source)) {
        for (number, line) in source.lines() {
            for label in definitions(line) {
                sites.entry(label.to_owned()).or_default().push((source, number));
            }
        }
    }
    sites
}

/// The labels that stand between `**` and `.**` in a module's docs.
fn definitions(line: &str) -> impl Iterator<Item = &str> {
    let docs = line.trim_start().strip_prefix("//!").unwrap_or("");
    docs.split("**").filter_map(|part| part.strip_suffix('.')).filter(|part| is_label(part))
}

/// Whether it is a file of these checks, which use made-up labels.
fn is_ours(source: &Source) -> bool {
    source.path.contains("tests/house")
}

/// Whether it looks like `NAME-A`.
fn is_label(word: &str) -> bool {
    word.split_once('-').is_some_and(|(name, letter)| {
        let is_upper = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
        name.len() > 1 && is_upper(name) && letter.len() == 1 && is_upper(letter)
    })
}

/// The words of a line that look like labels.
fn labels(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| is_label(word))
}

/// Labels that no assertion and no test cites.
pub(crate) fn not_cited(sources: &[Source]) -> Vec<Problem> {
    let cited = cited(sources);
    let problem = |(label, sites): (String, Vec<Site<'_>>)| {
        let (source, line) = sites[0];
        source.problem(line, format!("{label} is cited by no assertion and by no test"))
    };
    defined(sources).into_iter().filter(|(label, _)| !cited.contains(label)).map(problem).collect()
}

/// Labels that two modules define.
pub(crate) fn defined_twice(sources: &[Source]) -> Vec<Problem> {
    let defined = defined(sources);
    let again =
        defined.iter().flat_map(|(label, sites)| sites[1..].iter().map(move |s| (label, s)));
    again
        .map(|(label, (source, line))| source.problem(*line, format!("{label} is defined before")))
        .collect()
}

/// Labels that no module defines.
pub(crate) fn not_defined(sources: &[Source]) -> Vec<Problem> {
    let defined = defined(sources);
    // Only names of which some label is defined: `UTF-A` is none of ours.
    let name = |label: &str| label.split('-').next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = defined.keys().map(|label| name(label)).collect();
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| !is_ours(source)) {
        for (number, line) in source.lines() {
            for label in labels(line) {
                if names.contains(&name(label)) && !defined.contains_key(label) {
                    problems.push(source.problem(number, format!("{label} is not defined")));
                }
            }
        }
    }
    problems
}

/// The labels in assertions' messages and in tests.
fn cited(sources: &[Source]) -> BTreeSet<String> {
    let modules_of_tests = modules_of_tests(sources);
    let mut cited = BTreeSet::new();
    for source in sources.iter().filter(|source| source.is_rust() && !is_ours(source)) {
        let is_test_file = !source.path.contains("/src/")
            || modules_of_tests.iter().any(|module| {
                let rest = source.path.strip_prefix(module.as_str());
                rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            });
        let mut is_test = is_test_file;
        for (_, line) in source.lines() {
            // Tests are the last part of a file.
            is_test |= line.starts_with("#[cfg(") && line.contains("test");
            let text = if is_test { line } else { code(line) };
            cited.extend(labels(text).map(str::to_owned));
            if is_test && let Some(name) = line.trim_start().strip_prefix("fn ") {
                cited.extend(named(name));
            }
        }
    }
    cited
}

/// What a line has before its comment; nothing of an attribute.
fn code(line: &str) -> &str {
    if line.trim_start().starts_with("#[") || line.trim_start().starts_with("#![") {
        return "";
    }
    line.find("//").map_or(line, |at| &line[..at])
}

/// The labels that a test's name begins with: `key_a_…` is one for KEY-A.
fn named(name: &str) -> Option<String> {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let label = format!("{}-{}", words.next()?, words.next()?).to_uppercase();
    is_label(&label).then_some(label)
}

/// The paths, without `.rs`, of modules that are compiled for tests only.
fn modules_of_tests(sources: &[Source]) -> Vec<String> {
    let mut modules = Vec::new();
    for source in sources.iter().filter(|source| source.is_module()) {
        let mut is_gated = false;
        for (_, line) in source.lines() {
            if is_gated
                && let Some((_, name)) = line.split_once("mod ")
                && let Some(name) = name.strip_suffix(';')
            {
                let (directory, file) = source.path.rsplit_once('/').unwrap_or_default();
                let own = match file {
                    "mod.rs" | "lib.rs" | "main.rs" => directory,
                    _ => source.path.trim_end_matches(".rs"),
                };
                modules.push(format!("{own}/{name}"));
            }
            is_gated = line.starts_with("#[cfg(") && line.contains("test");
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::places;

    const DEFINITION: &str = "//! - **KEY-A.** An effect sorts after its cause.\n";

    fn not_cited_with(path: &str, text: &str) -> Vec<String> {
        let sources = [Source::new("crates/a/src/key.rs", DEFINITION), Source::new(path, text)];
        places(&not_cited(&sources))
    }

    #[test]
    fn a_label_that_nothing_cites_is_seen() {
        let comments = "//! By KEY-A.\n// KEY-A\nx(); // KEY-A\n#[expect(x, reason = \"KEY-A\")]\n";
        for text in ["", comments, "assert!(x, \"MONKEY-A\")", "assert!(x, \"KEY-AB KEY-B\")"] {
            assert_eq!(
                not_cited_with("crates/a/src/b.rs", text),
                ["crates/a/src/key.rs:1"],
                "{text}"
            );
        }
    }

    #[test]
    fn assertions_and_tests_cite() {
        assert!(not_cited_with("crates/a/src/b.rs", "assert!(x, \"KEY-A: {x}\");").is_empty());
        assert!(not_cited_with("crates/a/tests/b.rs", "/// KEY-A: it does.").is_empty());
        assert!(not_cited_with("crates/a/tests/b.rs", "    fn key_a_holds() {").is_empty());
        let tests = "x();\n#[cfg(test)]\nmod tests {\n    // KEY-A\n}\n";
        assert!(not_cited_with("crates/a/src/b.rs", tests).is_empty());
    }

    #[test]
    fn modules_for_tests_only_cite() {
        let module = |gate: &str| {
            let parent = format!("//! X.\n{gate}\nmod tried;\n");
            let sources = [
                Source::new("crates/a/src/key.rs", DEFINITION),
                Source::new("crates/a/src/mod.rs", &parent),
                Source::new("crates/a/src/tried/deep.rs", "// KEY-A"),
            ];
            not_cited(&sources).len()
        };
        assert_eq!((module("#[cfg(test)]"), module("#[cfg(unix)]")), (0, 1));
    }

    #[test]
    fn a_label_with_two_meanings_is_seen() {
        let sources = [Source::new("a.rs", DEFINITION), Source::new("b.rs", DEFINITION)];
        assert_eq!(places(&defined_twice(&sources)), ["b.rs:1"]);
        assert!(defined_twice(&sources[..1]).is_empty());
    }

    #[test]
    fn a_label_without_a_definition_is_seen() {
        let text = "// KEY-A, KEY-B and UTF-A\n";
        let sources = [Source::new("a.rs", DEFINITION), Source::new("b.md", text)];
        assert_eq!(places(&not_defined(&sources)), ["b.md:1"]);
    }
}
