//! Results as files: what was measured, how, when, on which machine, and from which sources.
//!
//! `warpline bench --results FILE` and `warpline lab FIGURE --results FILE` write one through
//! a [`Destination`]. Those behind published figures lie in `docs/results/`: the tables of the
//! documents are made from them (`pages`), and `docs/results/README.md` lists them (`list`). The
//! test `results` fails where a page and a file differ; it also makes both, and names the results
//! whose sources have changed since.
//!
//! # Invariants
//!
//! - **RES-A.** What a document shows between its markers is what the file of results has.
//! - **RES-B.** A file has the digest of a source only if the program that measured was built after
//!   the source's last change.

mod list;
mod loose;
mod pages;
mod sources;
mod view;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use warpline::files;

use crate::{Host, LabError, output};

pub use list::changed;
pub use pages::{differences, update};
use sources::Digests;
use view::View;

/// The folder of published results, from the root of the repository.
pub const FOLDER: &str = "docs/results";
/// The lines of a document between which a block stands; the first one goes on with its name.
const BEGIN: &str = "<!-- results: ";
const END: &str = "<!-- end -->";

/// What a measurement depends on if its file says nothing else: the engines and the models.
const ENGINES: [&str; 4] = [
    "crates/warpline-core/src",
    "crates/warpline-memory/src",
    "crates/warpline-models/src",
    "crates/warpline/src",
];

/// A file of results: a table, and where it comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// What the table shows, in a line.
    pub title: String,
    /// The command line that measures it again.
    pub command: String,
    /// When it was measured (UTC): year-month-day.
    pub date: String,
    /// Processor, cores that could be used, system.
    pub machine: String,
    /// The commit in whose working tree the command was run, `-dirty` if files were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// How many times each number was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// How the numbers were made from the samples, and what they mean.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub how: String,
    /// Choices that the command line does not show.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// Why the numbers are not those of the sources, where digests cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// What the numbers are of, if that is not the program as it is: they tell why it became so,
    /// and are not to be measured again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<String>,
    /// Files and folders that the numbers depend on, from the root of the repository, with their
    /// digests at the time of the measurement.
    pub sources: Digests,
    /// Other tables that documents make from the rows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub views: BTreeMap<String, View>,
    /// The names of the columns, with units.
    pub columns: Vec<String>,
    /// The rows: texts, and numbers.
    pub rows: Vec<Vec<Value>>,
}

impl Results {
    /// Results of this process, now: `settings` is what its command line does not show.
    #[must_use]
    pub fn new(title: &str, settings: Map<String, Value>, columns: Vec<String>) -> Self {
        let Host { processor, cores, system, date } = Host::detect();
        Self {
            title: title.to_owned(),
            command: command_line(std::env::args().skip(1)),
            date,
            machine: format!("{processor}, {cores} core(s), {system}"),
            commit: None,
            rounds: None,
            how: String::new(),
            settings,
            stale: None,
            past: None,
            sources: ENGINES.into_iter().map(|path| (path.to_owned(), None)).collect(),
            views: BTreeMap::new(),
            columns,
            rows: Vec::new(),
        }
    }

    /// Reads a file of results.
    ///
    /// # Errors
    ///
    /// [`LabError::Results`] if it cannot be read or is none.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = files::read_text(path, files::LIMIT);
        let text = text.map_err(|error| wrong(path, error.to_string()))?;
        let results: Self =
            serde_json::from_str(&text).map_err(|error| wrong(path, error.to_string()))?;
        match results.rows.iter().position(|row| row.len() != results.columns.len()) {
            None => Ok(results),
            Some(row) => Err(wrong(path, format!("row {} is not as long as the columns", row + 1))),
        }
    }

    /// Notes the commit, and the digests of sources as they are; `program` has measured.
    fn stamp(&mut self, root: Option<&Path>, program: &Path) {
        let built = fs::metadata(program).and_then(|program| program.modified()).ok();
        self.commit = root.and_then(commit);
        for (source, digest) in &mut self.sources {
            let source = root.map(|root| root.join(source));
            // RES-B: else the program is not made of what is there now.
            let is_built = |source: &PathBuf| {
                let newest = sources::newest(source).ok();
                newest.zip(built).is_some_and(|(newest, built)| newest <= built)
            };
            *digest = source.filter(is_built).and_then(|source| sources::digest(&source).ok());
        }
    }

    /// The file: as `serde_json` writes it, but a row in a line.
    fn to_json(&self) -> String {
        let without = Self { rows: Vec::new(), ..self.clone() };
        let head = format!("{:#}", serde_json::json!(without));
        let rows: Vec<_> =
            self.rows.iter().map(|row| format!("    {}", Value::from(row.clone()))).collect();
        head.replace("\"rows\": []", &format!("\"rows\": [\n{}\n  ]", rows.join(",\n"))) + "\n"
    }

    /// Where it comes from, in a line below its table; `link` leads to the file.
    fn caption(&self, link: &str) -> String {
        let rounds = self.rounds.map(|rounds| format!("{rounds} rounds"));
        let parts = [rounds, Some(self.how.clone()), Some(self.machine.clone())];
        let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let stale = self.stale.as_ref().map_or(String::new(), |why| format!(" **Stale**: {why}."));
        let command = match self.command.as_str() {
            "" => String::new(),
            command => format!("`{command}`; "),
        };
        format!("*[Results]({link}): {command}{}, {}.*{stale}", parts.join("; "), self.date)
    }
}

/// A file for results, which was found to be writable before anything is measured.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    /// What the file had.
    before: Option<Results>,
}

impl Destination {
    /// Tries the folder with a temporary file, and reads the file if it is there.
    ///
    /// # Errors
    ///
    /// [`LabError::Results`] if it cannot be written, or has something else than results.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let exists = fs::metadata(path).is_ok_and(|file| file.len() > 0);
        let before = exists.then(|| Results::read(path)).transpose()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let tried = tempfile::tempfile_in(folder.unwrap_or_else(|| Path::new(".")));
        tried.map_err(|error| wrong(path, format!("it cannot be written: {error}")))?;
        Ok(Self { path: path.to_owned(), before })
    }

    /// What the file had, if it was there.
    pub(crate) const fn before(&self) -> Option<&Results> {
        self.before.as_ref()
    }

    /// Writes the file. One that was there keeps its title, its views, and which sources it names;
    /// their digests are those of now.
    ///
    /// # Errors
    ///
    /// [`LabError::Write`].
    pub fn write(&self, mut results: Results) -> Result<(), LabError> {
        if let Some(Results { title, views, sources, .. }) = &self.before {
            results.title.clone_from(title);
            results.views.clone_from(views);
            results.sources.clone_from(sources);
        }
        let root = root_of(&self.path);
        results.stamp(root.as_deref(), &std::env::current_exe().unwrap_or_default());
        output::write(&self.path, results.to_json().as_bytes())
    }
}

/// Notes in published files that `program` has measured their rows just now.
///
/// # Errors
///
/// [`LabError::Results`] if a file cannot be read or is none of results, [`LabError::Write`] if it
/// cannot be written.
pub fn measured(
    root: &Path,
    program: &Path,
    names: impl Iterator<Item = String>,
) -> Result<Vec<String>, LabError> {
    let mut noted = Vec::new();
    for name in names {
        let path = root.join(FOLDER).join(format!("{name}.json"));
        let mut results = Results::read(&path)?;
        results.date = Host::detect().date;
        results.stamp(Some(root), program);
        output::write(&path, results.to_json().as_bytes())?;
        noted.push(name);
    }
    Ok(noted)
}

/// All results of a repository, by their names.
///
/// # Errors
///
/// [`LabError::Results`] if a file cannot be read or is none of results.
fn all(root: &Path) -> Result<BTreeMap<String, Results>, LabError> {
    let mut results = BTreeMap::new();
    let folder = root.join(FOLDER);
    for path in sources::files(&folder).map_err(|error| wrong(&folder, error.to_string()))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "json") {
            results.insert(name, Results::read(&path)?);
        }
    }
    Ok(results)
}

/// The error of a file.
pub(crate) fn wrong(path: &Path, reason: String) -> LabError {
    LabError::Results { path: path.to_owned(), reason }
}

/// The repository that a file lies in: the nearest folder that has published results.
fn root_of(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find(|folder| folder.join(FOLDER).is_dir()).map(Path::to_owned)
}

/// The commit of a working tree; `None` where there is no git, or no repository of it.
fn commit(root: &Path) -> Option<String> {
    let mut git = Command::new("git");
    let output = git.arg("-C").arg(root).args(["describe", "--always", "--dirty"]).output().ok()?;
    let name = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(name.trim().to_owned())
}

/// The flags that say where results go.
const TO_FILES: [&str; 2] = ["--results", "--claims"];

/// A command line as one types it, without [those](TO_FILES).
fn command_line(words: impl Iterator<Item = String>) -> String {
    let mut line = "warpline".to_owned();
    let mut words = words;
    while let Some(word) = words.next() {
        if TO_FILES.contains(&word.as_str()) {
            words.next();
        } else if !TO_FILES.iter().any(|flag| word.starts_with(&format!("{flag}="))) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/%+".contains(c);
            line.push(' ');
            line += &if word.chars().all(plain) { word } else { format!("'{word}'") };
        }
    }
    line
}

#[cfg(test)]
mod tests;
