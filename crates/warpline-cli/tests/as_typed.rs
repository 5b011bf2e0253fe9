//! What people type: times with units, ranges, keys of files; and that errors speak of it.

mod common;

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::tempdir;

use common::{stdout, warpline};

#[track_caller]
fn report_of(line: &str) -> Value {
    let text = stdout(Path::new("."), &format!("{line} --format json"));
    serde_json::from_str(&text).expect("the report is JSON")
}

/// The command must fail with this status and say this.
#[track_caller]
fn refuses(line: &str, status: i32, says: &str) {
    common::refuses(Path::new("."), line, status, &[says]);
}

const PCS: &str = "run pcs --cells 4x4 --portables 100 --engine sequential";
const PHOLD: &str = "run phold --lps 8 --population 16 --end 20";

#[test]
fn times_have_units() {
    for (line, end) in [
        (format!("{PCS} --end 2h"), 120.0),
        (format!("{PCS} --end 90s"), 1.5),
        ("run traffic --lps 137 --end 3min".to_owned(), 180.0),
        ("run circuit --generate chain:3 --end 10n".to_owned(), 1e-8),
        ("run circuit --generate chain:3 --end 2.5ns".to_owned(), 2.5e-9),
    ] {
        assert_eq!(report_of(&line)["end_time"], json!(end), "{line}");
    }
    let report = report_of(&format!("{PCS} --end 2h --warmup 1h --call 180s"));
    assert_eq!((&report["warmup"], &report["parameters"]["call"]), (&json!(60.0), &json!(3.0)));
    report_of(&format!(
        "{PCS} --end 2h --engine timewarp --workers 1 --window 5min --time-barrier 90s"
    ));
    report_of(&format!("{PCS} --end 2h --engine speculative --workers 1 --width 30s"));
    for flag in ["--end", "--window", "--time-barrier"] {
        refuses(
            &format!("{PHOLD} --engine timewarp {flag} 10s"),
            2,
            "the model has no unit of time",
        );
    }
    refuses(&format!("{PCS} --end 5m"), 2, "write `min` for minutes");
    refuses(&format!("{PCS} --end soon"), 2, "expected a time");
    refuses(&format!("{PCS} --end=-1h"), 2, "0 or more");
}

#[test]
fn a_warm_up_ends_before_the_run() {
    for (line, says) in [
        (format!("{PCS} --end 5 --warmup 10"), "`warmup` is 10, but must be less than `end`, 5"),
        (format!("{PCS} --end 5 --warmup 5 --replications 2"), "less than `end`, 5"),
        ("run traffic --lps 137 --warmup 100000".to_owned(), "less than `end`, 86400"),
        ("sweep pcs --end 5 --warmup 1 --vary warmup=1,7".to_owned(), "`warmup` is 7"),
        (format!("{PCS} --end 5 --find-warmup 3"), "`find-warmup` is 3, but must be at least 50"),
        (format!("{PCS} --end 5 --find-warmup 49 --replications 2"), "at least 50"),
    ] {
        refuses(&line, 2, says);
    }
    report_of(&format!("{PCS} --end 5 --warmup 4.9"));
    // Statistics have to be there.
    refuses(&format!("{PHOLD} --warmup 5"), 2, "do not say where their statistics are");
    refuses(&format!("{PCS} --end 5 --warmup 1 --find-warmup 50"), 2, "cannot be used with");
    refuses("branch pcs --at 3 --end 5 --vary warmup=1,2", 2, "the statistics of their past");
    report_of(&format!("{PCS} --end 5 --find-warmup 50"));
    report_of(&format!("{PCS} --end 0"));
}

/// Not the engine behind a flag, and not what the standard library calls a number.
#[test]
fn errors_name_what_was_typed() {
    let run = "run circuit --generate chain:3 --end 1n --find-warmup";
    refuses(run, 2, "`find-warmup` is 250, but must be left out for a model that does not say");
    refuses(&format!("{PHOLD} --critical-path --ranks 2"), 2, "this is --critical-path");
    for flag in ["--critical-path", "--find-warmup"] {
        let full = format!("{PHOLD} --memory 100 {flag}");
        refuses(&full, 1, &format!("\n  run: {flag}, worker 0"));
        refuses(&format!("{full} --replications 2"), 1, &format!("\n  run: {flag}, worker 0"));
        let sweep = full.replacen("run", "sweep", 1);
        refuses(&format!("{sweep} --vary seed=1"), 1, &format!("\n  run: {flag}, worker 0"));
        let says = format!(
            "{flag} runs on an engine of its own, and this is --engine timewarp\n  what to do: \
             leave --engine out"
        );
        refuses(&format!("{PHOLD} {flag} --engine timewarp"), 2, &says);
    }
    refuses(&format!("{PHOLD} --memory 100 --engine profile"), 1, "run: engine profile, worker 0");
    refuses(
        &format!("{PCS} --end 1 --engine conservative"),
        2,
        "auto, sequential, timewarp or spec",
    );
    refuses("run traffic --speed 300", 2, "`speed` is 300, but must be at most `speed-max`, 180");
    refuses("run traffic --speed 30", 2, "`speed` is 30, but must be at least `speed-min`, 40");
    refuses("run traffic --speed-max 90", 2, "`speed-max` is 90, but must be at least the mean");
    for (flag, says) in [
        ("--lps ten", "expected a whole number, 0 or more"),
        ("--population -3", "expected a whole number, 0 or more"),
        ("--remote half", "expected a number"),
        ("--workers 1.5", "expected a whole number from 1 to"),
        ("--seed 99999999999999999999", "the number is too large"),
    ] {
        refuses(&format!("{PHOLD} {flag}"), 2, says);
    }
    let at = tempdir().expect("a directory");
    fs::write(at.path().join("a.toml"), "lps = \"ten\"").expect("written");
    let output = warpline(at.path(), "run phold --config a.toml");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("error: a.toml: ") && stderr.contains("whole number"), "{stderr}");
}

#[test]
fn a_precision_that_is_not_reached_has_a_status() {
    let line = format!("{PCS} --end 5 --precision calls:0.001% --replications 3");
    let output = warpline(Path::new("."), &line);
    let [text, error] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert!(text.contains("3 of 3 at most, and not precise enough"), "{text}");
    assert!(error.contains("--precision was not reached within 3 replications"), "{error}");
    stdout(Path::new("."), &format!("{PCS} --end 50 --precision calls:90%"));
}

/// On a terminal a sweep is a table for people; a pipe gets CSV.
#[test]
fn a_sweep_can_be_read() {
    let line = "sweep phold --lps 8 --population 16 --end 5 --jobs 1 --vary seed=1:3";
    let text = stdout(Path::new("."), &format!("{line} --format text"));
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((lines[0][0], lines[0].last()), ("seed", Some(&"s")), "{text}");
    assert_eq!((lines.len(), lines[3][0]), (4, "3"), "{text}");
    assert!(!text.contains("digest"), "{text}");
    let piped = stdout(Path::new("."), line);
    assert!(piped.lines().next().is_some_and(|line| line.contains(",digest,")), "{piped}");
    refuses(&format!("{line} --format text --output rows --resume"), 2, "--resume goes on with");
}

/// The parser of a key reads the values of a range, whatever its units.
#[test]
fn ranges_have_units() {
    let sweep = |line: &str| {
        let text = stdout(Path::new("."), &format!("sweep {line} --jobs 1 --format json"));
        let rows = text.lines().map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
        rows.map(|row| (row["end_time"].clone(), row["warmup"].clone())).collect::<Vec<_>>()
    };
    let ends = |line: &str| sweep(line).into_iter().map(|(end, _)| end).collect::<Vec<_>>();
    let pcs = "pcs --cells 4x4 --portables 10 --engine sequential";
    assert_eq!(ends(&format!("{pcs} --vary end=1h:3h:1h")), [60.0, 120.0, 180.0]);
    assert_eq!(ends(&format!("{pcs} --vary end=30min:2h:45min")), [30.0, 75.0, 120.0]);
    let circuit = "circuit --generate chain:3 --vary end=10n:30n:10n";
    assert_eq!(ends(circuit), [1e-8, 2e-8, 3e-8]);
    let warm_ups = sweep(&format!("{pcs} --end 5 --vary warmup=1min:3min"));
    assert!(warm_ups.iter().map(|(_, warm_up)| warm_up).eq(&[json!(1.0), json!(2.0), json!(3.0)]));
    refuses(&format!("sweep {pcs} --vary end=1q:3q:1q"), 2, "`q` is no unit of time");
    refuses(&format!("sweep {pcs} --vary end=1:3h:1h"), 2, "has different units");
}

/// Flags whose value may be left out are true in a file, and lists are lists there.
#[test]
fn files_have_what_can_be_typed() {
    let at = tempdir().expect("a directory");
    let at = at.path();
    let file = |text: &str| fs::write(at.join("a.toml"), text).expect("written");
    file("critical-path = true\nend = 5\nlps = 8\npopulation = 16");
    assert!(stdout(at, "run phold --config a.toml").contains("critical path"));
    file("find-warmup = true\nend = 60\nlps = 8\npopulation = 16");
    assert!(stdout(at, "run phold --config a.toml").contains("250 intervals"));
    file("find-warmup = false\ncritical-path = false\nend = 5\nlps = 8\npopulation = 16");
    assert!(!stdout(at, "run phold --config a.toml").contains("critical path"));
    file("end = \"2h\"\ncells = \"4x4\"\nportables = 10");
    assert!(stdout(at, "run pcs --config a.toml").contains("virtual time 120"));

    let rows = |line: &str| {
        let text = stdout(at, &format!("{line} --jobs 1"));
        let cells = |line: &str| line.split(',').take(2).collect::<Vec<_>>().join(",");
        text.lines().skip(1).map(cells).collect::<Vec<_>>()
    };
    file("end = 5\npopulation = 16\n[vary]\nlps = [8, 16]\nseed = \"1:2\"");
    assert_eq!(rows("sweep phold --config a.toml"), ["8,1", "8,2", "16,1", "16,2"]);
    // What is typed of a list wins.
    for vary in ["--vary lps=4", "--vary=lps=4"] {
        assert_eq!(rows(&format!("sweep phold --config a.toml {vary}")), ["1,4", "2,4"]);
    }
    file("end = 5\npopulation = 16\nvary = [\"lps=8\", \"seed=3:4\"]");
    assert_eq!(rows("sweep phold --config a.toml"), ["8,3", "8,4"]);
}
