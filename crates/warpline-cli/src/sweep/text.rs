//! The rows of a sweep for people: a table of what varies, the results and the time; `sweep` writes
//! it on a terminal.

use serde_json::Value;

use crate::{
    format::{align_right, grouped, significant, table},
    table::Row,
};

/// The columns of characters that a line may fill.
const WIDTH: usize = 100;
/// Columns behind the results, and what they are called.
const LAST: [(&str, &str); 3] =
    [("longest_warm_up", "longest_warm_up"), ("parallelism", "parallelism"), ("wall_seconds", "s")];

/// The table of these rows: `keys` tell a row from the others and stand in front of `results`. A
/// table that is too wide goes on below, with the keys once more.
pub(super) fn text(rows: &[Row], keys: &[&str], results: &[&str]) -> String {
    let cells = |name: &str, title: &str| -> Vec<String> {
        let cells = rows.iter().map(|row| row.get(name).map_or_else(String::new, cell));
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
        let text = text(&[row(8, 12345.0), row(10, 0.5)], &["channels"], &["calls", "drops"]);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().map(words).collect();
        assert_eq!(lines[0], ["channels", "calls", "drops", "s"]);
        assert_eq!(lines[1], ["8", "12", "345", "-", "0.250000"]);
        assert_eq!((lines.len(), lines[2][1].as_str()), (3, "0.500000"));
    }

    /// No line is longer than it may be, and each part has the keys.
    #[test]
    fn a_wide_table_goes_on_below() {
        let names: Vec<String> =
            (0..20).map(|n| format!("a_result_with_a_long_name_{n}")).collect();
        let results: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut wide = row(8, 1.0);
        wide.extend(names.iter().map(|name| (name.clone(), json!(1.5))));
        let text = text(&[wide], &["channels"], &results);
        assert!(text.lines().all(|line| line.trim_end().len() <= WIDTH), "{text}");
        let headers = text.lines().filter(|line| line.trim_start().starts_with("channels"));
        assert!(headers.count() > 3, "{text}");
        assert!(names.iter().all(|name| text.contains(name.as_str())), "{text}");
    }
}
