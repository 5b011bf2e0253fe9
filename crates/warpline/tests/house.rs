//! The rules of the house: what every file of the workspace has to look like.
//!
//! The tests here read the sources and the documents; `house/` has one check per rule, each with a
//! test that sees it fail. A broken rule is reported with its file and line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use source::{Problem, Source};

#[path = "house/assertions.rs"]
mod assertions;
#[path = "house/dependencies.rs"]
mod dependencies;
#[path = "house/imports.rs"]
mod imports;
#[path = "house/labels.rs"]
mod labels;
#[path = "house/layout.rs"]
mod layout;
#[path = "house/links.rs"]
mod links;
#[path = "house/map.rs"]
mod map;
#[path = "house/packages.rs"]
mod packages;
#[path = "house/source.rs"]
mod source;
#[path = "house/spelling.rs"]
mod spelling;

/// Files of more than [`LINES_MAX`] lines, and why each is not split.
const LONG_FILES: &[(&str, &str)] =
    &[("crates/warpline/tests/pending.rs", "all scripts share one interpreter")];
const LINES_MAX: usize = 500;
const MAP_LINES_MAX: usize = 200;

/// Crates that are there in several versions, and who needs the older ones. The list may only
/// shrink.
const DOUBLES: &[(&str, &str)] = &[
    ("embedded-io", "postcard has two of its own, for formats that are not used here"),
    ("getrandom", "ahash and const-random, which arrow has"),
    ("glam", "nalgebra has one for each version that it converts to, none of which is built"),
    ("miniz_oxide", "png"),
    ("num-bigint", "num-rational"),
    ("r-efi", "getrandom, on systems without an operating system"),
    ("syn", "macros that have not moved to 3 yet"),
];

/// Words that stay as they are although they are British: the file they are in, and why.
const SPELLED_OTHERWISE: &[(&str, &str, &str)] = &[
    ("crates/warpline/tests/house/spelling.rs", "*", "it lists the words"),
    ("crates/warpline/tests/house.rs", "utilisation", "it is listed here"),
    ("crates/warpline-models/src/hypercube.rs", "utilisation", "a key of reports"),
];

/// All Rust sources and documents, in the order of their paths.
fn workspace() -> Vec<Source> {
    files(&["crates", "docs"], &["rs", "md"])
}

/// The files with these extensions at the root and below these directories, in the order of their
/// paths.
fn files(directories: &[&str], extensions: &[&str]) -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    for entry in directories {
        collect(&root.join(entry), &mut paths);
    }
    for entry in fs::read_dir(&root).expect("the root of the workspace") {
        let path = entry.expect("an entry of the root").path();
        if path.is_file() {
            paths.push(path);
        }
    }
    let is_one = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    let paths = paths.iter().filter(|path| is_one(path));
    let mut sources: Vec<_> = paths.map(|path| read(&root, path)).collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap_or_else(|e| panic!("{directory:?}: {e}")) {
        let path = entry.expect("an entry of a directory").path();
        if !path.is_dir() {
            paths.push(path);
        } else if !path.ends_with("target") {
            collect(&path, paths);
        }
    }
}

fn read(root: &Path, path: &Path) -> Source {
    let relative = path.strip_prefix(root).expect("a path below the root");
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    Source::new(&relative.to_string_lossy(), &text)
}

/// Fails with a list of the problems, if there are any.
#[track_caller]
fn assert_none(problems: &[Problem]) {
    let list: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "{} problems:\n{}", list.len(), list.join("\n"));
}

/// The checks have something to look at.
#[test]
fn the_workspace_is_read() {
    let sources = workspace();
    let count = |extension: &str| sources.iter().filter(|s| s.path.ends_with(extension)).count();
    assert!(count(".rs") > 150 && count(".md") > 8, "{} and {}", count(".rs"), count(".md"));
    assert!(labels::defined(&sources).len() > 80, "{} labels", labels::defined(&sources).len());
}

/// Each invariant is checked somewhere: by an assertion or by a test, which names its label.
#[test]
fn labels_are_cited() {
    assert_none(&labels::not_cited(&workspace()));
}

/// Invariants are asserted where they are relied on.
#[test]
fn functions_say_what_holds() {
    assert_none(&assertions::too_few(&workspace()));
}

/// A label means one invariant.
#[test]
fn labels_are_unique() {
    assert_none(&labels::defined_twice(&workspace()));
}

/// A label that is cited is defined.
#[test]
fn cited_labels_exist() {
    assert_none(&labels::not_defined(&workspace()));
}

/// Two copies of a file fit side by side.
#[test]
fn lines_end_at_column_100() {
    assert_none(&layout::long_lines(&workspace()));
}

/// Each module says what it is.
#[test]
fn modules_begin_with_their_docs() {
    assert_none(&layout::modules_without_docs(&workspace()));
}

/// A doc comment says what the item is, and not where that is said.
#[test]
fn docs_say_something() {
    assert_none(&layout::empty_docs(&workspace()));
}

/// A file that grows is split, or has a reason not to be.
#[test]
fn files_are_short() {
    assert_none(&layout::long_files(&workspace(), LINES_MAX, LONG_FILES));
}

#[test]
fn spelling_is_american() {
    assert_none(&spelling::british(&workspace(), SPELLED_OTHERWISE));
}

/// A reader of the documents has no list of what was wanted.
#[test]
fn documents_speak_to_their_reader() {
    assert_none(&links::private_phrases(&workspace()));
}

#[test]
fn links_lead_somewhere() {
    assert_none(&links::dead(&workspace(), |path| root().join(path).exists()));
}

/// Who was sent to a heading finds it.
#[test]
fn links_lead_to_headings() {
    assert_none(&links::dead_anchors(&workspace()));
}

/// Whoever looks for a decision finds it in the index.
#[test]
fn decisions_are_in_the_index() {
    assert_none(&map::not_in_the_index(&workspace()));
}

/// A map is read in one sitting, and has all that there is.
#[test]
fn the_map_is_short_and_whole() {
    assert_none(&map::long(&workspace(), MAP_LINES_MAX));
    assert_none(&map::not_on_it(&workspace()));
}

/// A1: the vocabulary is the same on every machine.
#[test]
fn the_core_knows_no_machine() {
    assert_none(&map::machine_in_the_core(&workspace()));
}

/// A module can be read with nothing in mind but what it stands on.
#[test]
fn modules_import_each_other_in_no_circle() {
    assert_none(&imports::circles(&workspace()));
}

/// Whoever uses Warpline takes in what it uses.
#[test]
fn licenses_of_all_crates_are_known() {
    assert_eq!(dependencies::licenses(&metadata(&["--locked"])), Vec::<String>::new());
}

/// What `cargo metadata` says.
fn metadata(flags: &[&str]) -> serde_json::Value {
    let outcome = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1"])
        .args(flags)
        .current_dir(root())
        .output()
        .expect("cargo, which runs this test");
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    serde_json::from_slice(&outcome.stdout).expect("JSON")
}

/// Whoever looks at a crate in a registry sees what it is, and finds its sources and licenses.
#[test]
fn crates_can_be_published() {
    let metadata = metadata(&["--no-deps"]);
    assert_eq!(packages::lacking(&metadata), Vec::<String>::new());
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    for package in packages::published(&metadata) {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        // Links, which a package has as files; where there are no links, they hold a path.
        for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let own = manifest.with_file_name(license);
            assert!(read(&own) == read(&root().join(license)), "{own:?} is another text");
        }
    }
}

/// What only an owner knows is filled in before a release: a page has the list.
#[test]
fn placeholders_are_listed() {
    let kinds = ["cff", "md", "rs", "toml", "yml"];
    assert_none(&packages::placeholders(&files(&[".github", "crates", "docs"], &kinds)));
}

/// What is cited is the version that there is.
#[test]
fn the_citation_has_the_version() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file of the root");
    let version = format!("\nversion = \"{}\"\n", env!("CARGO_PKG_VERSION"));
    assert!(read("Cargo.toml").contains(&version), "the workspace has another version");
    let version = format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"));
    assert!(read("CITATION.cff").contains(&version), "CITATION.cff has another version");
}

/// Crates come from the package registry, one version of each.
#[test]
fn crates_are_there_once() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("a lock file");
    assert_eq!(dependencies::sources(&lock), Vec::<String>::new());
    assert_eq!(dependencies::duplicates(&lock, DOUBLES), Vec::<String>::new());
}
