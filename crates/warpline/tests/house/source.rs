//! A file as the checks see it.

use std::fmt;

/// A file of the workspace.
#[derive(Clone)]
pub(crate) struct Source {
    /// From the root of the workspace, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.replace('\\', "/"), text: text.to_owned() }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is compiled into a library or a program.
    pub(crate) fn is_module(&self) -> bool {
        self.is_rust() && self.path.starts_with("crates/") && self.path.contains("/src/")
    }

    /// The lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    pub(crate) fn problem(&self, line: usize, what: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line, what: what.into() }
    }
}

/// One problem or none, as `path:line`, for the tests of the checks.
#[cfg(test)]
pub(crate) fn places(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|problem| format!("{}:{}", problem.path, problem.line)).collect()
}
