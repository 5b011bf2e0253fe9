//! The list of all results, `docs/results/README.md`: where they are shown, and which of them have
//! sources that have changed since.
//!
//! `pages` writes it. Its last column is what was true when it was written; [`changed`] says what
//! is true now.

use std::{collections::BTreeMap, path::Path};

use super::{FOLDER, Results, all, sources, view::row};
use crate::LabError;

/// What a file's last column says, by its name.
pub(super) type States = BTreeMap<String, String>;

/// What the list says of sources that are as they were.
const SAME: &str = "as they were";

const HEAD: &str = "# Results

Each file here is a measurement behind the tables of the documents: the command that makes it, when
and on which machine it was run, the commit, and the files and folders of this repository that the
numbers depend on, with a digest of each as it was at that time: of its code, without comments and
tests. `warpline bench --results FILE` and
`warpline lab FIGURE --results FILE` write such a file: one that is there keeps its title, its views
and which sources it names. They write no digest of a source that has changed since the program
was built.

A table stands in a document between the lines `<!-- results: NAME -->` and `<!-- end -->`, and is
made from `NAME.json`; `<!-- results: NAME VIEW -->` lays the rows out as a view of the file says:
`down` and `across` are columns whose values name lines and columns, `value` is the column of the
numbers, with `digits`, and `names` says which values are shown, and how they are called.

    docs/results/measure.py NAME                           # measures, where no such command can
    cargo test -p warpline-lab --test results -- changed   # names those whose sources have changed
    cargo test -p warpline-lab --test results -- update    # makes the tables and this page

Without an argument this test fails where a table differs from its file, where a table of numbers is
in no file, where a sentence has a number with two digits after the point that no table of its page
has (a rule or a setting is written as code), and where this page is not the list of the files. It
does not fail because sources have changed: the column `sources` is as of the last `update`, and
`changed` says what is true now. What is *past* is no figure of the program as it is: it compares
two programs, or is of something that was tried, and tells why the program is as it is. Figures that
are older than this folder name the commit that
published them. Commands are as they were typed then: `--buffer-quota N` is
`--pool sender:quota=N` now, `--fossil on-the-fly` is `--pool partitioned:on-the-fly`,
`--few-buffers N` is `--flow few-buffers=N`, and examples that measure (`send_cost`, `saving_cost`,
`move_cost`) are built with `--features measurements`.
";

/// The page.
pub(super) fn page(
    results: &BTreeMap<String, Results>,
    pages: &[(String, String)],
    states: &States,
) -> String {
    let mut text = HEAD.to_owned();
    text += "\n| results | measured | commit | shown in | sources |\n|---|---|---|---|---|\n";
    for (name, results) in results {
        let marker = format!("<!-- results: {name} ");
        let shown = pages.iter().filter(|(_, text)| text.contains(&marker));
        let shown: Vec<_> = shown.map(|(path, _)| linked(path)).collect();
        let cells = [
            format!("[{name}]({name}.json): {}", results.title),
            results.date.clone(),
            results.commit.clone().unwrap_or_default(),
            shown.join(", "),
            state(results, states.get(name).is_some_and(|state| state == SAME)),
        ];
        text += &row(&cells);
    }
    text
}

/// The last column: what the file itself says, or whether the sources are as they were.
fn state(results: &Results, is_same: bool) -> String {
    match (&results.stale, &results.past) {
        (Some(why), _) => format!("**stale**: {why}"),
        (None, Some(what)) => format!("past: {what}"),
        (None, None) => if is_same { SAME } else { "changed since" }.to_owned(),
    }
}

/// A link to a document from the folder of results.
fn linked(path: &str) -> String {
    match path.strip_prefix("docs/") {
        Some(name) => format!("[{name}](../{name})"),
        None => format!("[{path}](../../{path})"),
    }
}

/// The list's path from the root.
pub(super) fn path() -> String {
    format!("{FOLDER}/README.md")
}

/// What is true of each file's sources now.
pub(super) fn states(root: &Path, results: &BTreeMap<String, Results>) -> States {
    let state =
        |results: &Results| state(results, sources::changed(root, &results.sources).is_empty());
    results.iter().map(|(name, results)| (name.clone(), state(results))).collect()
}

/// What a list says of them.
pub(super) fn states_in(page: &str) -> States {
    let state = |line: &str| {
        let name = line.strip_prefix("| [")?.split_once(']')?.0;
        let (_, state) = line.strip_suffix(" |")?.rsplit_once(" | ")?;
        Some((name.to_owned(), state.to_owned()))
    };
    page.lines().filter_map(state).collect()
}

/// The results that may not be those of the sources as they are: a line for each, with its date and
/// what has changed.
///
/// # Errors
///
/// [`LabError::Results`] if a file cannot be read or is none of results.
pub fn changed(root: &Path) -> Result<Vec<String>, LabError> {
    let line = |(name, results): (String, Results)| {
        let changed = sources::changed(root, &results.sources);
        let why = match (&results.stale, changed.as_slice()) {
            (Some(why), _) => format!("stale: {why}"),
            (None, []) => return None,
            (None, _) if results.past.is_some() => return None,
            (None, changed) => format!("changed since: {}", changed.join(", ")),
        };
        Some(format!("{name} ({}): {why}", results.date))
    };
    Ok(all(root)?.into_iter().filter_map(line).collect())
}
