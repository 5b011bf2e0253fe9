//! Assertions of invariants: how many there are for each function of a crate.
//!
//! What is counted is the text of a crate's modules without comments and tests: functions that have
//! a body, and uses of `assert!`, `assert_eq!`, `assert_ne!`, and of the same with `debug_` before.
//! Tests are what follows a `#[cfg(test)] mod name {`, and the files and folders named `tests` or
//! `simulated`.

use crate::source::{Problem, Source};

/// The crates that are counted: those of the engines.
const CRATES: [&str; 2] = ["warpline", "warpline-memory"];
/// There are so many assertions for ten functions, at least.
const ASSERTIONS_MIN: usize = 3;

/// Crates with too few assertions.
pub(crate) fn too_few(sources: &[Source]) -> Vec<Problem> {
    CRATES.iter().filter_map(|name| too_few_in(sources, name)).collect()
}

fn too_few_in(sources: &[Source], name: &str) -> Option<Problem> {
    let modules = sources.iter().filter(|source| is_counted(source, name));
    let counts = modules.clone().map(|source| count(&source.text));
    let [functions, assertions] =
        counts.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
    let missing = (ASSERTIONS_MIN * functions).div_ceil(10).saturating_sub(assertions);
    let what = || {
        format!(
            "{name} has {assertions} assertions for {functions} functions: {missing} more are to \
             say what holds, in files such as {}",
            bare(modules.clone()).join(", ")
        )
    };
    (missing > 0).then(|| modules.clone().next().map(|source| source.problem(1, what())))?
}

/// The files in which the most are missing.
fn bare<'s>(modules: impl Iterator<Item = &'s Source>) -> Vec<&'s str> {
    let missing = |source: &Source| {
        let [functions, assertions] = count(&source.text);
        (ASSERTIONS_MIN * functions).saturating_sub(10 * assertions)
    };
    let mut all: Vec<_> = modules.collect();
    all.sort_by_key(|source| std::cmp::Reverse(missing(source)));
    all.iter().take(5).map(|source| &*source.path).collect()
}

fn is_counted(source: &Source, name: &str) -> bool {
    let mut parts = source.path.split(['/', '.']);
    source.path.starts_with(&format!("crates/{name}/src/"))
        && source.is_rust()
        && !parts.any(|part| part == "tests" || part == "simulated")
}

/// How many functions and assertions there are in the text of a file.
fn count(text: &str) -> [usize; 2] {
    let code = code(text);
    let functions = code.match_indices("fn ").filter(|&(at, word)| {
        let is_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        is_word && has_body(&code[at + word.len()..])
    });
    let names = ["assert!(", "assert_eq!(", "assert_ne!("];
    let assertions = names.iter().map(|name| code.matches(name).count()).sum();
    [functions.count(), assertions]
}

/// The text without comments, up to its tests.
fn code(text: &str) -> String {
    let mut lines = text.lines().peekable();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or("");
        if line.starts_with("#[cfg(") && line.contains("test") && is_module(next) {
            break;
        }
        code.extend([line.split("//").next().unwrap_or(""), "\n"]);
    }
    code
}

fn is_module(line: &str) -> bool {
    let line = line.trim_start_matches("pub(crate) ");
    line.starts_with("mod ") && line.ends_with('{')
}

/// Whether what follows `fn ` is a name, and a body after it.
fn has_body(rest: &str) -> bool {
    let mut depth = 0_i32;
    let end = rest.chars().find(|&c| {
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        depth == 0 && "{;".contains(c)
    });
    rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && end == Some('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
/// A fn of which one reads: assert!(true).
trait Law { fn said(&self) -> [u8; 2]; }
fn done(list: [u8; 2]) {
    assert!(true); // assert!(true)
    debug_assert_eq!(1, 1);
}
type Pointer = fn(u8) -> u8;
#[cfg(test)]
mod tests {
    fn more() { assert!(true); }
}
";

    #[test]
    fn functions_and_assertions_are_counted() {
        assert_eq!(count(FILE), [1, 2]);
    }

    #[test]
    fn too_few_assertions_are_seen() {
        let file = |path: &str, text: &str| Source::new(path, text);
        let path = "crates/warpline-memory/src/lists.rs";
        let bare = "fn one() {}\nfn two() {}\nfn three() {}\nfn four() {}\n";
        let enough = "fn five() {\n    assert_ne!(1, 2);\n    debug_assert!(true);\n}\n";
        let problems = too_few(&[file(path, bare)]);
        assert_eq!(crate::source::places(&problems), [format!("{path}:1")]);
        assert!(problems[0].what.contains("0 assertions for 4 functions: 2 more"));
        assert!(too_few(&[file(path, &format!("{bare}{enough}"))]).is_empty());
        let tests = file("crates/warpline-memory/src/lists/tests.rs", enough);
        assert_eq!(too_few(&[file(path, bare), tests]).len(), 1, "tests do not count");
    }
}
