//! The table of a run's statistics over time and by bins (`--statistics FILE`): a row for each step
//! of a series and for each bar.
//!
//! Called by `run`. A model's [statistics](warpline::statistics) that have more than a few numbers
//! are pictures of its result; here they are numbers again.

use std::{io::Write, path::Path};

use serde_json::{Value, json};
use warpline::{
    files::PartialFile,
    picture::{Picture, Shape},
};

use crate::{
    args::TableFormat,
    failure::Failure,
    output,
    table::{self, Row},
};

/// A file that will have the table.
pub(crate) struct StatisticsFile {
    file: PartialFile,
    format: TableFormat,
}

impl StatisticsFile {
    /// Finds out, before the run, whether the file can be written.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => TableFormat::Csv,
            Some("json" | "jsonl") => TableFormat::Json,
            Some("parquet") => TableFormat::Parquet,
            _ => {
                return Err(Failure::Configuration(format!(
                    "--statistics {}: the name ends in .csv, .json or .parquet",
                    path.display()
                )));
            }
        };
        table::check(format, Some(path))?;
        Ok(Self { file: output::beside("--statistics", path)?, format })
    }

    /// Writes what the pictures of a result say.
    pub(crate) fn write(self, pictures: &[Picture]) -> Result<(), Failure> {
        let path = self.file.path().to_owned();
        let rows = rows(pictures);
        if rows.is_empty() {
            return Err(Failure::Run(format!(
                "--statistics {}: the model has no series and no histograms",
                path.display()
            )));
        }
        let bytes = match (self.format, rows.first()) {
            (TableFormat::Parquet, _) => table::parquet(&rows)?,
            (TableFormat::Csv, Some(first)) => {
                let mut text = table::header(first)?;
                for row in &rows {
                    text += &table::line(row, TableFormat::Csv)?;
                }
                text.into_bytes()
            }
            (format, _) => {
                let lines = rows.iter().map(|row| table::line(row, format));
                lines.collect::<Result<String, _>>()?.into_bytes()
            }
        };
        let written = self.file.fill(|file| file.write_all(&bytes));
        written.map_err(|error| {
            Failure::Run(format!("{} could not be written: {error}", path.display()))
        })
    }
}

/// A row for each step and each bar of these pictures.
pub(crate) fn rows(pictures: &[Picture]) -> Vec<Row> {
    pictures.iter().flat_map(rows_of).collect()
}

/// The rows of a picture, if its numbers are in steps of time or in bars.
fn rows_of(picture: &Picture) -> Vec<Row> {
    let Picture { title, unit, shape, .. } = picture;
    let row = |[from, until, bin]: [Value; 3], value: f64| {
        let cells = [
            ("statistic", json!(title)),
            ("unit", json!(unit)),
            ("from", from),
            ("until", until),
            ("bin", bin),
            ("value", json!(value)),
        ];
        cells.into_iter().map(|(name, cell)| (name.to_owned(), cell)).collect()
    };
    match shape {
        Shape::Steps { start, width, values, .. } => {
            let at = |step: usize| json!(start + width * step as f64);
            let steps = values.iter().enumerate();
            steps.map(|(n, value)| row([at(n), at(n + 1), Value::Null], *value)).collect()
        }
        Shape::Bars { labels, values, .. } => {
            let bars = labels.iter().zip(values);
            bars.map(|(bin, value)| row([Value::Null, Value::Null, json!(bin)], *value)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pictures() -> Vec<Picture> {
        let picture = |title: &'static str, shape| Picture {
            title: title.into(),
            meaning: "".into(),
            unit: "h".into(),
            shape,
        };
        let values = vec![3.0, 0.5];
        let steps = Shape::Steps { axis: "".into(), start: 1.0, width: 2.0, values };
        let labels = vec!["0".to_owned(), "0.5".to_owned()];
        let bars = Shape::Bars { axis: "".into(), labels, values: vec![7.0, f64::NAN] };
        let lanes = Shape::Lanes { axis: "".into(), names: Vec::new(), lines: Vec::new() };
        vec![picture("came", steps), picture("waits", bars), picture("other", lanes)]
    }

    #[test]
    fn a_row_for_each_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("statistics.csv");
        StatisticsFile::open(&path).expect("can be written").write(&pictures()).expect("written");
        let text = std::fs::read_to_string(&path).expect("a file");
        let lines = [
            "statistic,unit,from,until,bin,value",
            "came,h,1.0,3.0,,3.0",
            "came,h,3.0,5.0,,0.5",
            "waits,h,,,0,7.0",
            "waits,h,,,0.5,",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
        let refused = StatisticsFile::open(&folder.path().join("a.txt")).err().expect("refused");
        assert!(refused.message().contains(".csv, .json or .parquet"));
    }
}
