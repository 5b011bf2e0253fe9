//! The verdicts of figures as a file of results: a row for each claim, with its rule and what was
//! found.
//!
//! [`run()`](crate::run()) writes it after each figure. A file that is there keeps the rows of all
//! other figures, so that one file has the verdicts of them all, however many commands measured
//! them. All of them are of one machine.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::{
    Claim, Figure, Findings, Host, LabError, Origin, Settings, Source, Test, figures,
    results::{Destination, Results, wrong},
};

const COLUMNS: [&str; 7] = ["figure", "claim", "wanted", "found", "verdict", "rounds", "measured"];
/// At more places than this, what was found is given as a range.
const PLACES_MOST: usize = 2;

/// A file of verdicts.
#[derive(Debug)]
pub(crate) struct Verdicts {
    destination: Destination,
    rows: Vec<Vec<Value>>,
}

impl Verdicts {
    /// Tries the file, and reads what it has.
    ///
    /// # Errors
    ///
    /// [`LabError::Results`] if it cannot be written, or has something else than the verdicts of
    /// this machine.
    pub(crate) fn open(path: &Path) -> Result<Self, LabError> {
        let destination = Destination::open(path)?;
        let Some(before) = destination.before() else {
            return Ok(Self { destination, rows: Vec::new() });
        };
        let now = empty();
        if before.columns != now.columns {
            let columns = before.columns.join(", ");
            return Err(wrong(path, format!("it has no verdicts: its columns are {columns}")));
        }
        if before.machine != now.machine {
            let machine = &before.machine;
            return Err(wrong(path, format!("it has the verdicts of another machine: {machine}")));
        }
        let rows = before.rows.clone();
        Ok(Self { destination, rows })
    }

    /// Writes the verdicts of a figure in place of those that it had.
    pub(crate) fn write(
        &mut self,
        figure: &dyn Figure,
        findings: &Findings,
        settings: &Settings,
    ) -> Result<(), LabError> {
        self.rows.retain(|row| row[0] != figure.name());
        let rounds = match findings.source {
            Source::Samples => Value::from(settings.samples),
            Source::Computed => Value::from("computed"),
        };
        let date = Host::detect().date;
        self.rows.extend(findings.claims.iter().map(|claim| {
            let [text, wanted, found] = [text(claim), wanted(claim), found(&claim.tests)];
            let verdict = claim.verdict().to_string();
            let cells = [json!(figure.name()), json!(text), json!(wanted), json!(found)];
            cells.into_iter().chain([json!(verdict), rounds.clone(), json!(date)]).collect()
        }));
        let place = |row: &Vec<Value>| figures::ALL.iter().position(|other| row[0] == other.name());
        self.rows.sort_by_key(|row| place(row).unwrap_or(usize::MAX));
        debug_assert!(self.rows.iter().all(|row| row.len() == COLUMNS.len()), "a row too short");
        self.destination.write(Results { rows: self.rows.clone(), ..empty() })
    }
}

/// A file without rows.
fn empty() -> Results {
    let mut results =
        Results::new("Verdicts on claims", Map::new(), COLUMNS.map(str::to_owned).to_vec());
    "warpline lab FIGURE --claims FILE, figure by figure".clone_into(&mut results.command);
    "found is the median over the rounds; what was computed is the same on every machine"
        .clone_into(&mut results.how);
    results.sources.insert("crates/warpline-lab/src".to_owned(), None);
    results
}

fn text(claim: &Claim) -> String {
    match claim.origin {
        Origin::Paper => claim.text.clone(),
        Origin::Own => format!("ours: {}", claim.text),
    }
}

/// The rule, where it is the same at all places.
fn wanted(claim: &Claim) -> String {
    match claim.rule() {
        Some(rule) => rule.to_string(),
        None if claim.tests.is_empty() => String::new(),
        None => "differs by place".to_owned(),
    }
}

/// What was found: at each of a few places, or from the least to the greatest.
fn found(tests: &[Test]) -> String {
    if tests.len() <= PLACES_MOST {
        let texts = tests.iter().map(|Test { place, found, .. }| format!("{place}: {found:.2}"));
        return texts.collect::<Vec<_>>().join("; ");
    }
    let numbers = || tests.iter().map(|test| test.found);
    let (least, greatest) =
        (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
    format!("{least:.2} to {greatest:.2} at {} places", tests.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    #[test]
    fn what_was_found_in_short() {
        let claim = |places: usize| {
            let names = (1..=places).map(|place| (format!("here {place}"), place as f64));
            names.fold(Claim::own("a"), |claim, (name, found)| {
                claim.test(name, found, Bounds::Above(1.02))
            })
        };
        assert_eq!(text(&claim(1)), "ours: a");
        assert_eq!([wanted(&claim(0)), found(&claim(0).tests)], ["", ""]);
        assert_eq!(found(&claim(2).tests), "here 1: 1.00; here 2: 2.00");
        assert_eq!(found(&claim(3).tests), "1.00 to 3.00 at 3 places");
        assert_eq!(wanted(&claim(3)), "above 1.02");
        let other = claim(1).test("there", 1.0, Bounds::AtMost(2.0));
        assert_eq!(wanted(&other), "differs by place");
    }
}
