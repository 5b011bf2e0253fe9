//! The rows of a sweep on their way to a file or a pipe; `sweep` makes them.
//!
//! # Invariants
//!
//! - **ROWS-A.** A file has the row of each run that is done, as a whole line: whoever kills the
//!   sweep loses none. At the end the rows are in the order of the sweep.
//! - **ROWS-B.** A pipe or a terminal has the rows in the order of the sweep, each as soon as all
//!   runs before it are done.
//! - **ROWS-C.** Each row names its run in the column `run`: the model and all that was set. A file
//!   that is gone on with has rows of runs of this sweep only.
//!
//! A Parquet file is written at the end: the types of its columns follow from all rows.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    path::Path,
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
    /// By the number of its run: the line of each run in a file; of a pipe, what waits for runs
    /// before it, with nothing for a run that has no row.
    lines: BTreeMap<usize, Option<String>>,
    /// The rows of a Parquet file.
    kept: BTreeMap<usize, Row>,
    /// The run that a pipe waits for.
    next: usize,
    count: usize,
    is_file: bool,
    is_sorted: bool,
}

impl Rows {
    /// Rows that take the place of what the output held.
    pub(super) fn new(output: Output, format: TableFormat) -> Self {
        let is_file = output.is_file();
        Self {
            output,
            format,
            header: None,
            lines: BTreeMap::new(),
            kept: BTreeMap::new(),
            next: 0,
            count: 0,
            is_file,
            is_sorted: true,
        }
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
        if format == TableFormat::Parquet {
            return Err(refuse("a Parquet file is written at the end of a sweep".to_owned()));
        }
        let text = match files::read_text(path, files::LIMIT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other.map_err(|error| refuse(format!("it cannot be read ({error})")))?,
        };
        let mut rows = Self::new(Output::open(Some(path))?, format);
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
            rows.is_sorted &= rows.lines.last_key_value().is_none_or(|(last, _)| *last < number);
            rows.lines.insert(number, Some(line));
        }
        rows.header = header.filter(|_| !rows.lines.is_empty());
        let kept = if rows.lines.is_empty() { 0 } else { whole.len() };
        rows.output.keep(kept as u64)?;
        let done = rows.lines.keys().copied().collect();
        Ok((rows, done))
    }

    /// How many rows were added.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Adds the row of a run, or learns that it has none.
    pub(super) fn write(&mut self, number: usize, row: Option<Row>) -> Result<(), Failure> {
        self.count += usize::from(row.is_some());
        if self.format == TableFormat::Parquet {
            self.kept.extend(row.map(|row| (number, row)));
            return Ok(());
        }
        let Some(row) = row else {
            self.lines.insert(number, None);
            return self.pass_on();
        };
        let header = match self.format {
            TableFormat::Csv => Some(table::header(&row)?),
            _ => None,
        };
        let mut line = table::line(&row, self.format)?;
        if self.header.is_none() {
            self.header.clone_from(&header);
            let header = header.unwrap_or_default();
            if self.is_file {
                self.output.write_report(&format!("{header}{line}"))?;
            } else {
                self.output.write(header)?;
            }
        } else if header.is_some() && header != self.header {
            return Err(Failure::Run(format!(
                "a run has other columns than the rows before it:\n{}{line}",
                header.unwrap_or_default()
            )));
        } else if self.is_file {
            self.output.write_report(&line)?;
        }
        if self.is_file {
            self.is_sorted &= self.lines.last_key_value().is_none_or(|(last, _)| *last < number);
        } else {
            line.shrink_to_fit();
        }
        self.lines.insert(number, Some(line));
        self.pass_on()
    }

    /// Gives a pipe the rows that have waited long enough (ROWS-B).
    fn pass_on(&mut self) -> Result<(), Failure> {
        while !self.is_file
            && let Some(line) = self.lines.remove(&self.next)
        {
            self.next += 1;
            line.map_or(Ok(()), |line| self.output.write_report(&line))?;
        }
        Ok(())
    }

    /// Writes what is left, and sorts a file (ROWS-A). Without rows, it leaves a file as it is.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if !self.kept.is_empty() {
            let rows: Vec<_> = self.kept.into_values().collect();
            return self.output.write(table::parquet(&rows)?);
        }
        let mut lines = self.lines.into_values().flatten();
        if !self.is_file {
            return lines.try_for_each(|line| self.output.write_report(&line));
        }
        if self.is_sorted {
            return Ok(());
        }
        let all: String = self.header.into_iter().chain(lines).collect();
        self.output.rewrite(all.as_bytes())
    }
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
            let mut rows = Rows::new(open(), format);
            rows.write(2, Some(row(2))).unwrap();
            assert!(text().contains("20") && text().ends_with('\n'));
            rows.write(0, Some(row(0))).unwrap();
            assert!(text().find("20") < text().find("r0"));
            drop(rows);
            // Killed, in the middle of a line.
            fs::write(&path, text() + "10,r").unwrap();

            let (mut rows, done) = Rows::resume(&path, format, &names()).unwrap();
            assert_eq!(done, [0, 2].into());
            rows.write(3, Some(row(3))).unwrap();
            rows.write(1, Some(row(1))).unwrap();
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
        assert!(refusal("", TableFormat::Parquet).contains("Parquet"));
        // Other columns are found with the first row.
        fs::write(&path, "other,run\n1,r1\n").unwrap();
        let (mut rows, _) = Rows::resume(&path, csv, &names()).unwrap();
        let error = rows.write(2, Some(row(2))).unwrap_err().message();
        assert!(error.contains("other columns") && error.contains("20,r2"), "{error}");
    }
}
