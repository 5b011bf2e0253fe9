//! The rows of a sweep on their way to a file or a pipe; `sweep` makes them.
//!
//! # Invariants
//!
//! - **ROWS-A.** A file has the row of each run that is done, as a whole line: whoever kills the
//!   sweep loses none. At the end the rows are in the order of the sweep.
//! - **ROWS-B.** A pipe or a terminal has each row as soon as its run is done, in whatever order
//!   that is.
//! - **ROWS-C.** Each row names its run in the column `run`: the model and all that was set. A file
//!   that is gone on with has rows of runs of this sweep only.
//!
//! A Parquet file is written at the end: the types of its columns follow from all rows. Until then
//! the rows are in a file `NAME.rows` beside it, as JSON, which ROWS-A and ROWS-C hold for.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;
use warpline::files;

use crate::{
    args::TableFormat,
    failure::Failure,
    output::Output,
    table::{self, Row},
};

/// The column that names a run.
pub(super) const RUN: &str = "run";

/// Writes the rows of a sweep.
#[derive(Debug)]
pub(super) struct Rows {
    output: Output,
    format: TableFormat,
    /// The first line of a CSV table, when it is known.
    header: Option<String>,
    /// The line of each run in a file, by the number of the run.
    lines: BTreeMap<usize, String>,
    /// The rows of a Parquet file, and the file where they are until it is written.
    kept: BTreeMap<usize, Row>,
    journal: Option<Output>,
    count: usize,
    is_file: bool,
    is_sorted: bool,
}

impl Rows {
    /// Rows that take the place of what the output held.
    pub(super) fn new(output: Output, format: TableFormat) -> Result<Self, Failure> {
        let is_file = output.is_file();
        let is_kept = is_file && format == TableFormat::Parquet;
        let journal = output.path().filter(|_| is_kept).map(journal_of);
        let journal = journal.map(|path| Output::open(Some(&path))).transpose()?;
        Ok(Self {
            output,
            format,
            header: None,
            lines: BTreeMap::new(),
            kept: BTreeMap::new(),
            journal,
            count: 0,
            is_file,
            is_sorted: true,
        })
    }

    /// Rows that go on after those that a file has. Returns the runs that are done, too; `runs` are
    /// the names of all runs.
    pub(super) fn resume(
        path: &Path,
        format: TableFormat,
        runs: &[String],
    ) -> Result<(Self, BTreeSet<usize>), Failure> {
        let refuse = |what: String| {
            Failure::Configuration(format!(
                "--resume cannot go on with {}: {what}\n  what to do: give the same command as \
                 before with --resume, or another --output without it",
                path.display()
            ))
        };
        let is_parquet = format == TableFormat::Parquet;
        let source = if is_parquet { journal_of(path) } else { path.to_owned() };
        let text = match files::read_text(&source, files::LIMIT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if is_parquet && fs::metadata(path).is_ok_and(|file| file.len() > 0) {
                    let what = "it has no rows of a sweep that has not ended, in a file beside it";
                    return Err(refuse(format!("{what} ({})", source.display())));
                }
                String::new()
            }
            other => other.map_err(|error| refuse(format!("it cannot be read ({error})")))?,
        };
        let mut rows = Self::new(Output::open(Some(path))?, format)?;
        if !rows.is_file {
            return Err(refuse("it is no regular file".to_owned()));
        }
        // A line without its end was cut off: its run is made once more.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let there = match format {
            TableFormat::Csv => csv_rows(whole),
            _ => json_rows(whole),
        };
        let (header, there) = there.map_err(&refuse)?;
        let mut numbers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, run) in runs.iter().enumerate().rev() {
            numbers.entry(run).or_default().push(number);
        }
        for (run, line) in there {
            let number = numbers.get_mut(&*run).and_then(Vec::pop).ok_or_else(|| {
                let own = runs.first().map_or("", String::as_str);
                refuse(format!(
                    "it has a row of `{run}`, which is no run of this sweep (one that \
                                is: `{own}`), or has it twice"
                ))
            })?;
            if is_parquet {
                let row = serde_json::from_str(&line).map_err(|error| refuse(error.to_string()))?;
                rows.kept.insert(number, row);
            } else {
                rows.insert(number, line);
            }
        }
        rows.header = header.filter(|_| !rows.lines.is_empty());
        let done: BTreeSet<_> = rows.lines.keys().chain(rows.kept.keys()).copied().collect();
        let kept = if done.is_empty() { 0 } else { whole.len() };
        rows.journal.as_mut().unwrap_or(&mut rows.output).keep(kept as u64)?;
        Ok((rows, done))
    }

    /// Takes the line of a run in the file.
    fn insert(&mut self, number: usize, line: String) {
        self.is_sorted &= self.lines.last_key_value().is_none_or(|(last, _)| *last < number);
        self.lines.insert(number, line);
    }

    /// How many rows were added.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Adds the row of a run (ROWS-A, ROWS-B).
    pub(super) fn write(&mut self, number: usize, row: Row) -> Result<(), Failure> {
        self.count += 1;
        if self.format == TableFormat::Parquet {
            if let Some(journal) = &mut self.journal {
                journal.write_report(&table::line(&row, TableFormat::Json)?)?;
            }
            self.kept.insert(number, row);
            return Ok(());
        }
        let header = match self.format {
            TableFormat::Csv => Some(table::header(&row)?),
            _ => None,
        };
        let line = table::line(&row, self.format)?;
        if self.header.is_none() {
            self.output
                .write_report(&format!("{}{line}", header.as_deref().unwrap_or_default()))?;
            self.header = header;
        } else if header.is_some() && header != self.header {
            return Err(Failure::Run(format!(
                "a run has other columns than the rows before it:\n{}{line}",
                header.unwrap_or_default()
            )));
        } else {
            self.output.write_report(&line)?;
        }
        if self.is_file {
            self.insert(number, line);
        }
        Ok(())
    }

    /// Writes a Parquet file, or sorts another one (ROWS-A). Without rows, it leaves a file as it
    /// is.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if !self.kept.is_empty() {
            let rows: Vec<_> = self.kept.into_values().collect();
            self.output.write(table::parquet(&rows)?)?;
            if let Some(path) = self.journal.as_ref().and_then(Output::path) {
                // All of it is in the Parquet file; if it stays, no harm is done.
                let _ = fs::remove_file(path);
            }
            return Ok(());
        }
        if !self.is_file || self.is_sorted {
            return Ok(());
        }
        let all: String = self.header.into_iter().chain(self.lines.into_values()).collect();
        self.output.rewrite(all.as_bytes())
    }
}

/// Where the rows of a Parquet file are until it is written.
fn journal_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".rows");
    name.into()
}

/// The header of a table, if it has one, and its rows: the name of the run, and the line.
type There = (Option<String>, Vec<(String, String)>);

fn csv_rows(text: &str) -> Result<There, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let broken = |error: csv::Error| format!("it is no table of a sweep ({error})");
    let header = reader.headers().map_err(broken)?.clone();
    if text.is_empty() {
        return Ok((None, Vec::new()));
    }
    let column = header.iter().position(|name| name == RUN);
    let column = column.ok_or_else(|| format!("it has no column `{RUN}`"))?;
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut begin = reader.position().byte() as usize;
    let first = text[..begin].to_owned();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(broken)? {
        let end = reader.position().byte() as usize;
        let run = record.get(column).unwrap_or_default().to_owned();
        rows.push((run, text[begin..end].to_owned()));
        begin = end;
    }
    Ok((Some(first), rows))
}

fn json_rows(text: &str) -> Result<There, String> {
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line)
            .map_err(|error| format!("it is no table of a sweep ({error})"))?;
        let run = row[RUN].as_str().ok_or_else(|| format!("it has a row without `{RUN}`"))?;
        Ok((run.to_owned(), format!("{line}\n")))
    };
    Ok((Some(String::new()), text.lines().map(row).collect::<Result<_, String>>()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn row(run: usize) -> Row {
        Row::from_iter([
            ("value".to_owned(), json!(10 * run)),
            (RUN.into(), json!(format!("r{run}"))),
        ])
    }

    fn names() -> Vec<String> {
        (0..4).map(|run| format!("r{run}")).collect()
    }

    /// ROWS-A, ROWS-C: a file has each row at once; what is gone on with is kept, and all is sorted
    /// in the end.
    #[test]
    fn a_file_has_each_row_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let text = || fs::read_to_string(&path).unwrap();
        let open = || Output::open(Some(&path)).unwrap();
        for format in [TableFormat::Csv, TableFormat::Json] {
            let mut rows = Rows::new(open(), format).unwrap();
            rows.write(2, row(2)).unwrap();
            assert!(text().contains("20") && text().ends_with('\n'));
            rows.write(0, row(0)).unwrap();
            assert!(text().find("20") < text().find("r0"));
            drop(rows);
            // Killed, in the middle of a line.
            fs::write(&path, text() + "10,r").unwrap();

            let (mut rows, done) = Rows::resume(&path, format, &names()).unwrap();
            assert_eq!(done, [0, 2].into());
            rows.write(3, row(3)).unwrap();
            rows.write(1, row(1)).unwrap();
            assert_eq!((rows.count(), text().lines().last().unwrap().contains("r1")), (2, true));
            rows.finish().unwrap();
            let runs: Vec<_> =
                text().lines().filter_map(|line| line.find('r').map(|_| line.to_owned())).collect();
            let order: Vec<_> = runs
                .iter()
                .filter_map(|line| names().iter().position(|run| line.contains(run)))
                .collect();
            assert_eq!(order, [0, 1, 2, 3], "{runs:?}");
            assert_eq!(text().lines().count(), if format == TableFormat::Csv { 5 } else { 4 });
            // All is done.
            let before = text();
            let (rows, done) = Rows::resume(&path, format, &names()).unwrap();
            assert_eq!(done.len(), 4);
            rows.finish().unwrap();
            assert_eq!(text(), before);
        }
    }

    /// ROWS-C: what is not of this sweep is refused, and not touched.
    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let refusal = |text: &str, format| {
            fs::write(&path, text).unwrap();
            let refused = Rows::resume(&path, format, &names());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            refused.map(|_| ()).unwrap_err().message()
        };
        let (csv, json) = (TableFormat::Csv, TableFormat::Json);
        assert!(refusal("value,run\n1,r9\n", csv).contains("a row of `r9`, which is no run"));
        assert!(refusal("value,run\n1,r1\n1,r1\n", csv).contains("twice"));
        assert!(refusal("value\n1\n", csv).contains("no column `run`"));
        assert!(refusal("value,run\n1,r1,3\n", csv).contains("no table of a sweep"));
        assert!(refusal("value,run\n1,r1\n", json).contains("no table of a sweep"));
        assert!(refusal("{\"value\":1}\n", json).contains("without `run`"));
        assert!(refusal("PAR1", TableFormat::Parquet).contains("rows.csv.rows"));
        // Other columns are found with the first row.
        fs::write(&path, "other,run\n1,r1\n").unwrap();
        let (mut rows, _) = Rows::resume(&path, csv, &names()).unwrap();
        let error = rows.write(2, row(2)).unwrap_err().message();
        assert!(error.contains("other columns") && error.contains("20,r2"), "{error}");
    }
}
