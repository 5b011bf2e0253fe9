//! Networks as tables: a route per line, with the columns `from`, `to` and `km`.
//!
//! The first line names the columns. More of them, in any order, are `motorway`, `one_way` (yes or
//! no), and for both ends `from_lon`, `from_lat`, `from_x`, `from_y`, `from_interarrival`,
//! `from_leave`, and the same with `to_`. The first line that names a junction gives its values.
//! Lines that begin with `#` are comments.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{
    attributes::{self, Attributes},
    draft::Draft,
};
use crate::{
    error::{FileError, Flaw, quoted},
    network::{Network, Route},
};

const COLUMNS: &str = "the first line names the columns: from, to, km, and perhaps motorway, \
                       one_way, from_lon, from_lat, from_interarrival, from_leave, to_lon, ...";

/// Reads a network.
pub(super) fn read(path: &Path, text: &str) -> Result<Network, FileError> {
    let mut reader =
        ReaderBuilder::new().comment(Some(b'#')).trim(Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| broken(path, &error))?.clone();
    let columns: Vec<_> =
        header.iter().enumerate().filter(|(_, name)| attributes::can_count(name)).collect();
    for needed in ["from", "to"] {
        if !columns.iter().any(|(_, name)| *name == needed) {
            let what = format!("there is no column `{needed}`");
            return Err(Flaw::new(what, COLUMNS).at(path, 1));
        }
    }
    let (mut draft, mut geographic) = (Draft::default(), false);
    for row in reader.records() {
        let row = row.map_err(|error| broken(path, &error))?;
        let line = row.position().map(|position| position.line() as usize);
        let added = add(&mut draft, &columns, &row).map_err(|flaw| flaw.at(path, line))?;
        geographic |= added;
    }
    Ok(draft.finish(geographic))
}

/// Adds the route of a row and its ends; says whether positions are degrees.
fn add(draft: &mut Draft, columns: &[(usize, &str)], row: &StringRecord) -> Result<bool, Flaw> {
    let cell =
        |&(column, name): &(usize, &str)| Some((name.to_owned(), row.get(column)?.to_owned()));
    let cells: Attributes = columns.iter().filter_map(cell).collect();
    let mut geographic = false;
    let mut end = |which: &str| -> Result<usize, Flaw> {
        let name = &cells[which];
        if let Some(number) = draft.find(name) {
            return Ok(number);
        }
        let (junction, degrees) = attributes::junction(name, &cells, &format!("{which}_"))?;
        geographic |= degrees;
        draft.add_junction(junction)
    };
    let (from, to) = (end("from")?, end("to")?);
    let one_way = match cells.get("one_way").map(|word| word.to_lowercase()).as_deref() {
        None | Some("" | "no" | "false" | "0") => false,
        Some("yes" | "true" | "1") => true,
        Some(word) => {
            return Err(Flaw::new(format!("`one_way` is {}", quoted(word)), "yes or no"));
        }
    };
    let name = attributes::route_name(&cells, &cells["from"], &cells["to"]);
    let km = attributes::km(&cells)?;
    draft.add_route(Route { name, from, to, km, one_way })?;
    Ok(geographic)
}

fn broken(path: &Path, error: &csv::Error) -> FileError {
    let line = error.position().map(|position| position.line() as usize);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} values for {expected_len} columns")
        }
        _ => error.to_string(),
    };
    Flaw::new(what, "each line has a value, perhaps empty, for each column").at(path, line)
}
