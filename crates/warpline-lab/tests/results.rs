//! The documents of this repository and the files of results behind them: fails where they differ.
//!
//! With the argument `update` it makes the tables of the documents and the list of results from the
//! files; with `changed` it names the results whose sources have changed since; and with `measured
//! PROGRAM NAME...` it notes that this program has measured those results just now, as
//! `docs/results/measure.py` does.

use std::{env, path::Path, process::ExitCode};

use warpline_lab::{LabError, results};

/// What differs, and how it is made again. RES-A. Red when a number of a table or of a file is
/// changed by hand.
fn check(root: &Path) -> Result<Vec<String>, LabError> {
    let mut problems = results::differences(root)?;
    if !problems.is_empty() {
        let again = "cargo test -p warpline-lab --test results -- update";
        problems.push(format!("Make tables and list from the files with: {again}"));
    }
    Ok(problems)
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut words = env::args().skip(1);
    let (lines, is_check) = match words.next().as_deref() {
        Some("update") => (results::update(&root), false),
        Some("changed") => (results::changed(&root), false),
        Some("measured") => {
            let program = words.next().unwrap_or_default();
            (results::measured(&root, Path::new(&program), words), false)
        }
        // Anything else is a choice of tests.
        _ => (check(&root), true),
    };
    match lines {
        Ok(lines) => {
            for line in &lines {
                eprintln!("{line}");
            }
            if is_check && !lines.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
