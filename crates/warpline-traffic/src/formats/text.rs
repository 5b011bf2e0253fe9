//! Networks as the text that the traffic model of the NUMA paper is configured by: every node with
//! its interarrival time and its leaving probability, every edge with its length (section 4).
//!
//! ```text
//! [INTERSECTIONS]
//! Milano, 45, 0.3
//! Piacenza, 60, 0.25
//! [ROUTES]
//! A1, Milano, Piacenza, 57
//! ```
//!
//! Values are separated by commas, semicolons or tabs, or by blanks where a line has none of these.
//! Lines that begin with `#` are comments.

use std::path::Path;

use super::{
    attributes::{interarrival, parse},
    draft::Draft,
};
use crate::{
    error::{FileError, Flaw, quoted},
    network::{Junction, Network, Route},
};

const INTERSECTION: &str =
    "an intersection is: name, mean interarrival time (s), leave probability";
const ROUTE: &str = "a route is: name, from, to, length (km)";

#[derive(Clone, Copy)]
enum Section {
    None,
    Intersections,
    Routes,
}

/// Reads a network.
pub(super) fn read(path: &Path, text: &str) -> Result<Network, FileError> {
    let (mut draft, mut section) = (Draft::default(), Section::None);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let done = match heading(line) {
            Some(heading) => heading.map(|next| section = next),
            None => add(&mut draft, section, line),
        };
        done.map_err(|flaw| flaw.at(path, index + 1))?;
    }
    Ok(draft.finish(false))
}

/// The section that a line begins, if it is a heading.
fn heading(line: &str) -> Option<Result<Section, Flaw>> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?.trim();
    Some(match name.to_uppercase().as_str() {
        "INTERSECTIONS" => Ok(Section::Intersections),
        "ROUTES" => Ok(Section::Routes),
        _ => Err(Flaw::new(
            format!("there is no section {}", quoted(name)),
            "[INTERSECTIONS] or [ROUTES]",
        )),
    })
}

fn add(draft: &mut Draft, section: Section, line: &str) -> Result<(), Flaw> {
    let values = values(line);
    match (section, values.as_slice()) {
        (Section::None, _) => {
            Err(Flaw::new("a line before the first section", "begin with [INTERSECTIONS]"))
        }
        (Section::Intersections, &[name, mean, leave]) => {
            let junction = Junction {
                name: name.to_owned(),
                at: None,
                interarrival: interarrival(parse("mean interarrival time", mean)?),
                leave: parse("leave probability", leave)?,
            };
            draft.add_junction(junction).map(|_| ())
        }
        (Section::Routes, &[name, from, to, km]) => {
            let km = parse("length", km)?;
            let (from, to) = (draft.number_of(from)?, draft.number_of(to)?);
            draft.add_route(Route { name: name.to_owned(), from, to, km, one_way: false })
        }
        (section, values) => {
            let form = if matches!(section, Section::Routes) { ROUTE } else { INTERSECTION };
            Err(Flaw::new(format!("{} values in this line", values.len()), form))
        }
    }
}

/// The values of a line.
fn values(line: &str) -> Vec<&str> {
    let separator = [',', ';', '\t'].into_iter().find(|&separator| line.contains(separator));
    match separator {
        Some(separator) => line.split(separator).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    }
}
