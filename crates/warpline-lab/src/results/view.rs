//! A table of a document as a view of a file's rows: some rows, laid out in two directions.
//!
//! Measurements have a row for each place (workload, engine, pool …); a reader wants one of these
//! down and another one across. `pages` renders views.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Results;

/// Which rows, and how they are laid out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// The column whose values name the lines.
    down: String,
    /// The column whose values name the columns.
    across: String,
    /// The column of the numbers.
    value: String,
    /// Digits after the decimal point.
    #[serde(default = "two")]
    digits: usize,
    /// What is shown for a name of a line or a column; a name that is not here is left out, unless
    /// there is none at all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<String, String>,
}

const fn two() -> usize {
    2
}

impl View {
    /// Headings and lines of the table; an error names the column that the file does not have.
    pub(super) fn of(&self, results: &Results) -> Result<(Vec<String>, Vec<Vec<String>>), String> {
        let column = |name: &String| {
            let found = results.columns.iter().position(|column| column == name);
            found.ok_or_else(|| format!("there is no column `{name}`"))
        };
        let (down, across) = (column(&self.down)?, column(&self.across)?);
        let value = column(&self.value)?;
        let (lines, columns) = (self.places(results, down), self.places(results, across));
        let cell = |line: &String, column: &String| {
            let is_it = |row: &&Vec<Value>| {
                text(&row[down], 0) == *line && text(&row[across], 0) == *column
            };
            let found = results.rows.iter().find(is_it);
            found.map_or_else(String::new, |row| text(&row[value], self.digits))
        };
        let named = |name: &String| self.names.get(name).unwrap_or(name).clone();
        let heads = [self.down.clone()].into_iter().chain(columns.iter().map(named)).collect();
        let line = |line: &String| {
            let cells = columns.iter().map(|column| cell(line, column));
            [named(line)].into_iter().chain(cells).collect()
        };
        Ok((heads, lines.iter().map(line).collect()))
    }

    /// The names in a column that are shown, in the order of their rows.
    fn places(&self, results: &Results, column: usize) -> Vec<String> {
        let mut places = Vec::new();
        for row in &results.rows {
            let name = text(&row[column], 0);
            let is_shown = self.names.is_empty() || self.names.contains_key(&name);
            if is_shown && !places.contains(&name) {
                places.push(name);
            }
        }
        places
    }
}

/// A cell as a document shows it: a text as it is, a number with so many digits.
pub(super) fn text(cell: &Value, digits: usize) -> String {
    match cell {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.digits$}", number.as_f64().unwrap_or(f64::NAN))
        }
        other => other.to_string(),
    }
}

/// A line of a table.
pub(super) fn row(cells: &[String]) -> String {
    let cells: String = cells
        .iter()
        .map(|cell| if cell.is_empty() { " |".to_owned() } else { format!(" {cell} |") })
        .collect();
    format!("|{cells}\n")
}
