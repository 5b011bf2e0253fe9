//! The documents: their blocks, which are made from files of results.
//!
//! A block is what stands between `<!-- results: NAME -->` (or `<!-- results: NAME VIEW -->`) and
//! `<!-- end -->`: the table of `docs/results/NAME.json`, and a line that says where it comes from.
//! The test `results` calls [`update`] and [`differences`].

use std::{collections::BTreeMap, fs, path::Path};

use super::{BEGIN, END, FOLDER, Results, all, list, loose, sources, view, wrong};
use crate::LabError;

/// A document: its path from the root of the repository, and its text.
type Page = (String, String);

/// Makes all blocks of all documents, and the list of results, from the files; returns the paths
/// that have changed.
///
/// # Errors
///
/// [`LabError::Results`] if a file is none of results, or a block has no file or no end;
/// [`LabError::Write`].
pub fn update(root: &Path) -> Result<Vec<String>, LabError> {
    let results = all(root)?;
    let mut written = Vec::new();
    let pages = documents(root)?;
    for (path, text) in &pages {
        write(root, path, text, &made(path, text, &results)?, &mut written)?;
    }
    let states = list::states(root, &results);
    let (path, was) = list_page(root);
    write(root, &path, &was, &list::page(&results, &pages, &states), &mut written)?;
    Ok(written)
}

/// What is not as it should be: blocks that differ from their files (RES-A), measurements in tables
/// and sentences outside of blocks, sources that are not there, and a list that is not that of the
/// files. Whether sources have changed is no difference.
///
/// # Errors
///
/// As [`update`].
pub fn differences(root: &Path) -> Result<Vec<String>, LabError> {
    let results = all(root)?;
    let pages = documents(root)?;
    let mut problems = Vec::new();
    for (path, text) in &pages {
        if made(path, text, &results)? != *text {
            problems.push(format!("{path}: a table differs from its file of results"));
        }
        problems.extend(loose::tables(text).into_iter().map(|line| {
            format!("{path}:{line}: numbers that no file of results has (see {FOLDER}/README.md)")
        }));
        problems.extend(loose::figures(text).into_iter().map(|(line, figure)| {
            format!("{path}:{line}: {figure} is in no table of results of this page")
        }));
    }
    for (name, results) in &results {
        let is_gone = |path: &&String| sources::files(&root.join(path)).is_err();
        let gone = results.sources.keys().filter(is_gone);
        problems.extend(gone.map(|path| format!("{FOLDER}/{name}.json: there is no {path}")));
    }
    let (path, text) = list_page(root);
    if list::page(&results, &pages, &list::states_in(&text)) != text {
        problems.push(format!("{path}: not the list of the files"));
    }
    Ok(problems)
}

/// All documents but the list of results.
fn documents(root: &Path) -> Result<Vec<Page>, LabError> {
    let failed = |error: std::io::Error| wrong(root, error.to_string());
    let mut paths = sources::files(&root.join("docs")).map_err(failed)?;
    paths.push(root.join("crates/warpline-python/README.md"));
    for entry in fs::read_dir(root).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort_unstable();
    let mut pages = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if name != list::path() {
            pages.push((name, fs::read_to_string(&path).map_err(failed)?));
        }
    }
    Ok(pages)
}

/// The list of results, as it is; empty where there is none.
fn list_page(root: &Path) -> Page {
    (list::path(), fs::read_to_string(root.join(list::path())).unwrap_or_default())
}

fn write(
    root: &Path,
    path: &str,
    was: &str,
    text: &str,
    written: &mut Vec<String>,
) -> Result<(), LabError> {
    if was != text {
        let file = root.join(path);
        fs::write(&file, text).map_err(|source| LabError::Write { path: file, source })?;
        written.push(path.to_owned());
    }
    Ok(())
}

/// The document with its blocks made anew.
fn made(path: &str, text: &str, results: &BTreeMap<String, Results>) -> Result<String, LabError> {
    let wrong = |line: usize, why| wrong(Path::new(path), format!("line {line}: {why}"));
    let mut made = String::with_capacity(text.len());
    let mut open = None;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let bare = line.trim_end();
        if let Some(begin) = bare.strip_prefix(BEGIN) {
            if let Some(begun) = open.replace(number) {
                return Err(wrong(begun, "a block without an end".to_owned()));
            }
            let words = begin.trim_end_matches("-->").trim();
            made += line;
            made += &block(path, words, results).map_err(|why| wrong(number, why))?;
        } else if bare == END {
            open = None;
        }
        if open.is_none() {
            made += line;
        }
    }
    match open {
        None => Ok(made),
        Some(begun) => Err(wrong(begun, "a block without an end".to_owned())),
    }
}

/// A block's table and the line below it.
fn block(page: &str, words: &str, all: &BTreeMap<String, Results>) -> Result<String, String> {
    let (name, view) = words.split_once(' ').map_or((words, None), |(name, v)| (name, Some(v)));
    let results = all.get(name).ok_or_else(|| format!("there is no {FOLDER}/{name}.json"))?;
    let (heads, lines) = match view {
        None => {
            let cells = |row: &Vec<_>| row.iter().map(|cell| view::text(cell, 2)).collect();
            (results.columns.clone(), results.rows.iter().map(cells).collect())
        }
        Some(view) => {
            let found = results.views.get(view);
            found.ok_or_else(|| format!("{name} has no view `{view}`"))?.of(results)?
        }
    };
    let mut text = format!("{}{}\n", view::row(&heads), "|---".repeat(heads.len()) + "|");
    text.extend(lines.iter().map(|line: &Vec<String>| view::row(line)));
    Ok(format!("{text}\n{}\n", results.caption(&link(page, name))))
}

/// The way from a document to a file of results.
fn link(page: &str, name: &str) -> String {
    let up = |page: &str| "../".repeat(page.matches('/').count());
    match page.strip_prefix("docs/") {
        Some(page) => format!("{}results/{name}.json", up(page)),
        None => format!("{}{FOLDER}/{name}.json", up(page)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn results() -> BTreeMap<String, Results> {
        let results = json!({
            "title": "rates", "command": "warpline bench W1", "date": "2026-11-21",
            "machine": "one core", "rounds": 7, "how": "medians", "sources": {},
            "views": { "by-engine": {
                "down": "engine", "across": "workload", "value": "rate", "digits": 1,
                "names": { "seq": "sequential", "tw": "Time Warp", "W1": "W1" },
            } },
            "columns": ["workload", "engine", "rate"],
            "rows": [
                ["W1", "seq", 2.25], ["W1", "bare", 9], ["W2", "seq", 1], ["W1", "tw", "0.70"],
            ],
        });
        BTreeMap::from([("a".to_owned(), serde_json::from_value(results).expect("results"))])
    }

    const BY_ENGINE: &str = "\
# Page

<!-- results: a by-engine -->
| engine | W1 |
|---|---|
| sequential | 2.2 |
| Time Warp | 0.70 |

*[Results](results/a.json): `warpline bench W1`; 7 rounds; medians; one core, 2026-11-21.*
<!-- end -->
below
";

    /// RES-A. The same text again, whatever was between the markers.
    #[test]
    fn a_block_is_made_from_its_file() {
        let text = "# Page\n\n<!-- results: a by-engine -->\n| 9 |\n<!-- end -->\nbelow\n";
        assert_eq!(made("docs/p.md", text, &results()).expect("it is made"), BY_ENGINE);
        assert_eq!(made("docs/p.md", BY_ENGINE, &results()).expect("it is made"), BY_ENGINE);
        let whole = made("README.md", "<!-- results: a -->\n<!-- end -->\n", &results());
        let whole = whole.expect("it is made");
        assert!(whole.contains("| W1 | seq | 2.25 |\n| W1 | bare | 9 |\n"), "{whole}");
        assert!(whole.contains("(docs/results/a.json)"), "{whole}");
        assert_eq!(link("docs/decisions/b.md", "a"), "../results/a.json");
        assert_eq!(link("crates/c/README.md", "a"), "../../docs/results/a.json");
    }

    #[test]
    fn a_block_without_end_file_view_or_column_is_an_error() {
        for (text, why) in [
            ("<!-- results: a -->\n", "line 1: a block without an end"),
            ("\n<!-- results: a -->\n<!-- results: a -->\n", "line 2: a block without an end"),
            ("<!-- results: b -->\n<!-- end -->\n", "there is no docs/results/b.json"),
            ("<!-- results: a c -->\n<!-- end -->\n", "a has no view `c`"),
        ] {
            let error = made("p.md", text, &results()).expect_err("it is wrong").to_string();
            assert!(error.contains("p.md") && error.contains(why), "{error}");
        }
        let mut results = results();
        results.get_mut("a").expect("it is there").columns[2] = "rates".to_owned();
        let text = "<!-- results: a by-engine -->\n<!-- end -->\n";
        let error = made("p.md", text, &results).expect_err("it is wrong").to_string();
        assert!(error.contains("no column `rate`"), "{error}");
    }
}
