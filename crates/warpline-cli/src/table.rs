//! Tables of runs: a row for each run, written as CSV, JSON lines or Parquet.
//!
//! `run` writes them with a [`TableWriter`], and `sweep` with the functions here; a call from
//! another language takes the rows as they are.

use std::{
    borrow::Cow,
    io::{self, IsTerminal},
    path::Path,
};

use serde_json::{Map, Value};
use warpline::files;

use crate::{
    args::{CommonArgs, TableFormat},
    failure::Failure,
    output::Output,
    report::RunReport,
    warm_up::IntervalResults,
};

/// The row of a run: its name in the table for each value.
pub(crate) type Row = Map<String, Value>;

/// The row of a run that these flags have described; `first` has the cells that tell it from the
/// other runs.
pub(crate) fn row(first: Row, run: &RunReport, common: &CommonArgs) -> Row {
    let mut row = first;
    for (key, value) in run.to_json() {
        match (key.as_str(), value) {
            ("results", Value::Object(results)) => row.extend(results),
            // The whole process's memory says nothing about one of many runs.
            ("parameters" | "peak_resident_bytes", _) | ("interrupted", Value::Bool(false)) => {}
            // What the run says wins: a replication's seed is not the one that was varied.
            (_, value) => {
                row.insert(key, value);
            }
        }
    }
    // The one figure of the critical path that a cell can have, empty in rows of other engines.
    if common.profile.critical_path.is_some() {
        let path = row.get("critical_path");
        let parallelism = path.and_then(|path| path.get("parallelism")).cloned();
        row.insert("parallelism".to_owned(), parallelism.into());
    }
    if common.find_warmup.is_some() {
        let longest = run.intervals.as_ref().and_then(IntervalResults::longest);
        row.insert("longest_warm_up".to_owned(), longest.into());
    }
    row
}

/// The format of a sweep that says none: text on a terminal.
pub(crate) fn default_format(path: Option<&Path>) -> TableFormat {
    match path.is_none() && io::stdout().is_terminal() {
        true => TableFormat::Text,
        false => TableFormat::Csv,
    }
}

/// Refuses a format that this build does not have, or that standard output cannot show, before
/// anything runs.
pub(crate) fn check(format: TableFormat, path: Option<&Path>) -> Result<(), Failure> {
    refuse(format, path.is_none() && io::stdout().is_terminal())
}

fn refuse(format: TableFormat, on_terminal: bool) -> Result<(), Failure> {
    let why = match format {
        TableFormat::Parquet if !cfg!(feature = "parquet") => {
            "--format parquet is not in this build: build Warpline with `--features parquet`, or \
             write csv"
        }
        TableFormat::Parquet if on_terminal => {
            "--format parquet writes no text, so not on a terminal: add `--output FILE`"
        }
        _ => return Ok(()),
    };
    Err(Failure::Configuration(why.to_owned()))
}

/// Writes the rows of a table: as they come, where the format allows that.
#[derive(Debug)]
pub(crate) struct TableWriter {
    output: Output,
    format: TableFormat,
    rows: usize,
    /// The rows of a Parquet file, whose types follow from all of them.
    kept: Vec<Row>,
}

impl TableWriter {
    /// A table in a format that [`check`] has passed.
    pub(crate) const fn new(output: Output, format: TableFormat) -> Self {
        Self { output, format, rows: 0, kept: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn write(&mut self, row: Row) -> Result<(), Failure> {
        self.rows += 1;
        if self.format == TableFormat::Parquet {
            self.kept.push(row);
            return Ok(());
        }
        let has_header = self.rows == 1 && self.format == TableFormat::Csv;
        let header = if has_header { header(&row)? } else { String::new() };
        self.output.write_report(&(header + &line(&row, self.format)?))
    }

    /// Writes what has been kept. A table without rows leaves its file as it is.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let file = parquet(&self.kept)?;
        self.output.write(file)
    }
}

/// The rows as a Parquet file. A value that is no cell in some row has no column.
#[cfg(feature = "parquet")]
pub(crate) fn parquet(rows: &[Row]) -> Result<Vec<u8>, Failure> {
    let mut names: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(Row::keys) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.retain(|name| rows.iter().filter_map(|row| row.get(*name)).all(is_cell));
    let column = |name: &String| {
        let cells = rows.iter().map(|row| row.get(name).cloned().unwrap_or_default());
        (name.clone(), cells.collect())
    };
    let file = crate::arrow::parquet(names.into_iter().map(column).collect());
    file.map_err(|error| Failure::Run(format!("the table cannot be written as Parquet: {error}")))
}

#[cfg(not(feature = "parquet"))]
pub(crate) fn parquet(_: &[Row]) -> Result<Vec<u8>, Failure> {
    unreachable!("`check` has refused Parquet")
}

/// Whether a cell of a table can hold the value: objects and lists are no cells, and not every
/// engine has them.
const fn is_cell(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

/// The first line of a CSV table with such rows.
pub(crate) fn header(row: &Row) -> Result<String, Failure> {
    csv(cells(row).map(|(name, _)| files::cell(name)))
}

/// A row as a line of text, in a format that has lines.
pub(crate) fn line(row: &Row, format: TableFormat) -> Result<String, Failure> {
    if format == TableFormat::Json {
        let object = serde_json::to_string(row);
        return object.map(|text| text + "\n").map_err(|error| Failure::Run(error.to_string()));
    }
    csv(cells(row).map(|(_, value)| match value {
        Value::String(text) => files::cell(text),
        Value::Null => "".into(),
        other => other.to_string().into(),
    }))
}

fn cells(row: &Row) -> impl Iterator<Item = (&String, &Value)> {
    row.iter().filter(|(_, value)| is_cell(value))
}

fn csv<'c>(cells: impl Iterator<Item = Cow<'c, str>>) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let cannot = |error: csv::Error| Failure::Run(format!("a row cannot be written: {error}"));
    writer.write_record(cells.map(|cell| cell.into_owned())).map_err(cannot)?;
    let bytes = writer.into_inner().map_err(|error| Failure::Run(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a model or a user calls a thing is text in a table, whatever it begins with; numbers
    /// stay numbers.
    #[test]
    fn no_cell_is_a_formula() {
        let cells =
            [("=name", Value::from("+1")), ("number", (-1.5).into()), ("other", "-x".into())];
        let row: Row = cells.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        assert_eq!(header(&row).unwrap(), "'=name,number,other\n");
        assert_eq!(line(&row, TableFormat::Csv).unwrap(), "'+1,-1.5,'-x\n");
    }

    /// Only a build that has the format writes it, and never on a terminal.
    #[test]
    fn parquet_is_refused_with_advice() {
        let advice = |format, on_terminal| refuse(format, on_terminal).err().map(|it| it.message());
        assert_eq!(advice(TableFormat::Csv, true), None);
        let (file, terminal) =
            (advice(TableFormat::Parquet, false), advice(TableFormat::Parquet, true));
        if cfg!(feature = "parquet") {
            assert_eq!(file, None);
            assert!(terminal.is_some_and(|it| it.contains("add `--output FILE`")));
        } else {
            assert!(file.is_some_and(|it| it.contains("build Warpline with `--features parquet`")));
        }
    }
}
