//! The rows of a sweep for people: a table of what varies, the results and the time; `sweep` writes
//! it on a terminal.
//!
//! Rows come as runs end, in columns whose widths are known before; a table that is too wide for a
//! line is made of all rows at the end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::number_or_text;
use crate::{
    format::{align_right, grouped, significant, table},
    table::Row,
};

/// The columns of characters that a line may fill.
const WIDTH: usize = 100;
/// Columns behind the results, and what they are called.
const LAST: [(&str, &str); 3] =
    [("longest_warm_up", "longest_warm_up"), ("parallelism", "parallelism"), ("wall_seconds", "s")];

/// The width of a column of results, in which most numbers fit.
const RESULT: usize = 11;

/// A table of the runs of a sweep, for people.
#[derive(Debug)]
pub(super) struct TextTable {
    /// What tells the runs from each other, with the widths of its columns.
    keys: Vec<(String, usize)>,
    results: Vec<String>,
    /// The columns of a table whose rows come as runs end, when the first row is there: name, title
    /// and width.
    columns: Option<Vec<(String, String, usize)>>,
    /// The rows of a table that is too wide for that, by their runs.
    kept: BTreeMap<usize, Row>,
    count: usize,
}

impl TextTable {
    /// A table with these keys, which have these values, and these results.
    pub(super) fn new<'n>(
        keys: Vec<(String, Vec<String>)>,
        results: impl Iterator<Item = &'n str>,
    ) -> Self {
        let width = |(key, values): (String, Vec<String>)| {
            let values = values.iter().map(|value| cell(&number_or_text(value)).chars().count());
            let width = values.chain([key.chars().count()]).max().unwrap_or_default();
            (key, width)
        };
        Self {
            keys: keys.into_iter().map(width).collect(),
            results: results.map(str::to_owned).collect(),
            columns: None,
            kept: BTreeMap::new(),
            count: 0,
        }
    }

    /// How many rows it has.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Adds the row of a run, and returns what can be shown of the table now.
    pub(super) fn add(&mut self, number: usize, row: Row) -> String {
        self.count += 1;
        let mut text = String::new();
        if self.count == 1 {
            let columns = self.columns_of(&row);
            let width: usize = columns.iter().map(|(.., width)| 2 + width).sum();
            if width <= WIDTH {
                text = line(columns.iter().map(|(_, title, width)| (title.clone(), *width)));
                self.columns = Some(columns);
            }
        }
        let Some(columns) = &self.columns else {
            self.kept.insert(number, row);
            return text;
        };
        let cells = columns.iter().map(|(name, _, width)| (cell_of(&row, name), *width));
        text + &line(cells)
    }

    /// What is not shown yet.
    pub(super) fn rest(self) -> String {
        if self.kept.is_empty() {
            return String::new();
        }
        let rows: Vec<Row> = self.kept.into_values().collect();
        let keys: Vec<&str> = self.keys.iter().map(|(key, _)| &**key).collect();
        let results: Vec<&str> = self.results.iter().map(|name| &**name).collect();
        blocks(&rows, &keys, &results)
    }

    /// The columns of a table with such rows.
    fn columns_of(&self, row: &Row) -> Vec<(String, String, usize)> {
        let keys = self.keys.iter().map(|(key, width)| (key.clone(), key.clone(), *width));
        let results = self.results.iter().map(|name| (&**name, &**name)).chain(LAST);
        let is_key = |name: &str| self.keys.iter().any(|(key, _)| key == name);
        let results = results.filter(|(name, _)| row.contains_key(*name) && !is_key(name));
        let results = results.map(|(name, title)| {
            (name.to_owned(), title.to_owned(), title.chars().count().max(RESULT))
        });
        keys.chain(results).collect()
    }
}

/// A line of cells with the widths of their columns.
fn line(cells: impl Iterator<Item = (String, usize)>) -> String {
    let cells: String = cells.map(|(cell, width)| format!(" {cell:>width$} ")).collect();
    format!("{}\n", cells.trim_end())
}

fn cell_of(row: &Row, name: &str) -> String {
    row.get(name).map_or_else(String::new, cell)
}

/// The table of these rows: `keys` tell a row from the others and stand in front of `results`. A
/// table that is too wide goes on below, with the keys once more.
fn blocks(rows: &[Row], keys: &[&str], results: &[&str]) -> String {
    let cells = |name: &str, title: &str| -> Vec<String> {
        let cells = rows.iter().map(|row| cell_of(row, name));
        [title.to_owned()].into_iter().chain(cells).collect()
    };
    let is_there = |name: &str| rows.iter().any(|row| row.get(name).is_some());
    let results = results.iter().filter(|name| is_there(name) && !keys.contains(name));
    let last = LAST.iter().filter(|(name, _)| is_there(name) && !keys.contains(name));
    let others = results.map(|name| cells(name, name));
    let others = others.chain(last.map(|(name, title)| cells(name, title)));
    let keys: Vec<_> = keys.iter().map(|key| cells(key, key)).collect();
    let mut blocks = vec![keys.clone()];
    for column in others {
        let block = blocks.last().map_or(&[][..], Vec::as_slice);
        let width = block.iter().chain([&column]).map(|column| width(column)).sum::<usize>();
        if width > WIDTH && block.len() > keys.len() {
            blocks.push(keys.clone());
        }
        if let Some(block) = blocks.last_mut() {
            block.push(column);
        }
    }
    blocks.iter().map(|block| format_block(block)).collect::<Vec<_>>().join("\n")
}

/// The width of a column, with the blanks around it.
fn width(column: &[String]) -> usize {
    2 + column.iter().map(|cell| cell.chars().count()).max().unwrap_or_default()
}

fn format_block(columns: &[Vec<String>]) -> String {
    let mut table = table();
    let line = |at: usize| columns.iter().map(move |column| column[at].as_str());
    table.set_header(line(0));
    for at in 1..columns.first().map_or(0, Vec::len) {
        table.add_row(line(at));
    }
    align_right(&mut table, 0..columns.len());
    format!("{table}\n")
}

/// A value as people read it.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => grouped(whole),
            (None, number) => significant(number.unwrap_or(f64::NAN)),
        },
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(channels: u64, calls: f64) -> Row {
        let row = json!({
            "channels": channels, "engine": "auto", "calls": calls, "drops": null,
            "wall_seconds": 0.25, "digest": "abc"
        });
        row.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_row_has_what_varies_and_what_came_out() {
        let rows = [row(8, 12345.0), row(10, 0.5)];
        let text = blocks(&rows, &["channels"], &["calls", "drops"]);
        let values = ["8", "10"].map(str::to_owned).into();
        let names = ["calls", "drops"].into_iter();
        let mut table = TextTable::new(vec![("channels".to_owned(), values)], names);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().map(words).collect();
        assert_eq!(lines[0], ["channels", "calls", "drops", "s"]);
        assert_eq!(lines[1], ["8", "12", "345", "-", "0.250000"]);
        assert_eq!((lines.len(), lines[2][1].as_str()), (3, "0.500000"));
        // The same row by row, the second one first.
        let [first, second] = rows.map(|row| table.add(usize::from(row["channels"] == 8), row));
        assert_eq!(words(&first), [&lines[0][..], &lines[1]].concat());
        assert_eq!(words(&second), lines[2]);
        assert_eq!(first.lines().map(str::len).max(), Some(second.trim_end().len()));
        assert_eq!((table.count(), &*table.rest()), (2, ""));
    }

    /// No line is longer than it may be, and each part has the keys.
    #[test]
    fn a_wide_table_goes_on_below() {
        let names: Vec<String> =
            (0..20).map(|n| format!("a_result_with_a_long_name_{n}")).collect();
        let results: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut wide = row(8, 1.0);
        wide.extend(names.iter().map(|name| (name.clone(), json!(1.5))));
        let values = vec![("channels".to_owned(), vec!["8".to_owned()])];
        let mut table = TextTable::new(values, results.iter().copied());
        assert_eq!(table.add(0, wide), "");
        let text = table.rest();
        assert!(text.lines().all(|line| line.trim_end().len() <= WIDTH), "{text}");
        let headers = text.lines().filter(|line| line.trim_start().starts_with("channels"));
        assert!(headers.count() > 3, "{text}");
        assert!(names.iter().all(|name| text.contains(name.as_str())), "{text}");
    }
}
