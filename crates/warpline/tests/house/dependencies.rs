//! Checks of the crates that the workspace uses: their licenses, where they come from, and which
//! are there in two versions. They stand in for `cargo deny`, which takes longer to build than they
//! do to run; advisories need its database.

use std::collections::BTreeMap;

use serde_json::Value;

/// Licenses that a program of whoever uses Warpline can live with, by their SPDX names.
const LICENSES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// Crates whose license is none of these, in the answer of `cargo metadata`.
pub(crate) fn licenses(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let refused = packages.filter_map(|package| {
        let (name, license) = (package["name"].as_str()?, package["license"].as_str());
        let is_allowed = license.is_some_and(allows);
        (!is_allowed).then(|| format!("{name}: the license is {}", license.unwrap_or("unknown")))
    });
    refused.collect()
}

/// Crates of a lock file that are of neither the workspace nor the package registry.
pub(crate) fn sources(lock: &str) -> Vec<String> {
    let foreign = |package: &BTreeMap<&str, &str>| {
        let source = package.get("source").filter(|source| !source.starts_with("registry+"))?;
        Some(format!("{}: it comes from {source}", package["name"]))
    };
    packages(lock).iter().filter_map(foreign).collect()
}

/// Crates of a lock file that are there in several versions, but for those that are `known`; and
/// those that are known and are not.
pub(crate) fn duplicates(lock: &str, known: &[(&str, &str)]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let packages = packages(lock);
    for package in &packages {
        versions.entry(package["name"]).or_default().push(package["version"]);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let is_known = |name: &str| known.iter().any(|(known, _)| *known == name);
    let found = versions.iter().filter(|(name, _)| !is_known(name));
    let found = found.map(|(name, versions)| format!("{name} is there as {}", versions.join(", ")));
    let gone = known.iter().filter(|(name, _)| !versions.contains_key(name));
    let gone = gone.map(|(name, _)| format!("{name} is there once: take it from the list"));
    found.chain(gone).collect()
}

/// The packages of a lock file, each with the values that are one text.
fn packages(lock: &str) -> Vec<BTreeMap<&str, &str>> {
    lock.split("[[package]]").skip(1).map(values).collect()
}

fn values(package: &str) -> BTreeMap<&str, &str> {
    let lines = package.lines().filter_map(|line| line.split_once(" = "));
    lines.map(|(key, value)| (key, value.trim_matches('"'))).collect()
}

/// Whether one of the choices of a license expression is allowed.
fn allows(expression: &str) -> bool {
    // The form of old crates has a slash for OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let is_allowed = any(&mut words);
    is_allowed && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>) -> bool {
    let mut is_allowed = all(words);
    while words.next_if_eq(&"OR").is_some() {
        is_allowed |= all(words);
    }
    is_allowed
}

fn all(words: &mut Words<'_>) -> bool {
    let mut is_allowed = license(words);
    while words.next_if_eq(&"AND").is_some() {
        is_allowed &= license(words);
    }
    is_allowed
}

fn license(words: &mut Words<'_>) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        return any(words) & (words.next() == Some(")"));
    }
    match words.next_if_eq(&"WITH").and_then(|_| words.next()) {
        Some(exception) => LICENSES.contains(&&*format!("{word} WITH {exception}")),
        None => LICENSES.contains(&word),
    }
}

#[test]
fn a_choice_that_is_allowed_is_enough() {
    for good in [
        "MIT",
        "MIT/GPL-3.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND Zlib",
        "MIT OR GPL-3.0 AND X",
    ] {
        assert!(allows(good), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "MIT WITH X", "(MIT"]
    {
        assert!(!allows(bad), "{bad}");
    }
    let metadata = serde_json::json!({ "packages": [
        { "name": "a", "license": "MIT" }, { "name": "b", "license": "GPL-3.0" },
        { "name": "c", "license": null },
    ] });
    assert_eq!(licenses(&metadata), ["b: the license is GPL-3.0", "c: the license is unknown"]);
}

#[test]
fn foreign_and_doubled_crates_are_found() {
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\n\
                name = \"a\"\nversion = \"2.0.0\"\nsource = \"git+https://example.org/a\"\n\n\
                [[package]]\nname = \"b\"\nversion = \"1.0.0\"\n";
    assert_eq!(sources(lock), ["a: it comes from git+https://example.org/a"]);
    assert_eq!(duplicates(lock, &[]), ["a is there as 1.0.0, 2.0.0"]);
    assert_eq!(duplicates(lock, &[("a", "")]), Vec::<String>::new());
    let gone = duplicates(lock, &[("a", ""), ("b", "")]);
    assert_eq!(gone, ["b is there once: take it from the list"]);
}
