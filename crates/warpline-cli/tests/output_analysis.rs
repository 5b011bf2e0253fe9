//! How well a result is known: replications until it is known well enough (`--precision`), and the
//! beginning of a run that is not typical (`--find-warmup`).
//!
//! Mutations that turn this red: `replicate_to` stops after the first ten; `Cutter::cut` subtracts
//! nothing; the last interval ends before the run does.

use std::process::{Command, Output};

use serde_json::{Value, json};

fn warpline(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(line.split_whitespace()).output().expect("the command starts")
}

#[track_caller]
fn report_of(line: &str) -> Value {
    let output = warpline(line);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {stderr}");
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

const RUN: &str = "run pcs --cells 4x4 --portables 400 --end 30 --format json --precision";

/// It takes as many replications as the precision does, whatever runs at one time.
#[test]
fn replications_go_on_until_a_result_is_known() {
    let report = report_of(&format!("{RUN} handoff_drop_probability:6%"));
    let of = |key: &str| report[key]["handoff_drop_probability"].as_f64().expect("a number");
    let (samples, relative) = (&report["replications"], of("half_width_95") / of("results"));
    assert_eq!(report["precision_reached"], json!(true));
    assert!(samples.as_u64().is_some_and(|samples| (11..1000).contains(&samples)), "{samples}");
    assert!(relative <= 0.06 / 1.06 && relative > 0.03, "{relative}");
    let again = report_of(&format!("{RUN} handoff_drop_probability:6% --jobs 1"));
    assert_eq!((&again["results"], &again["digests"]), (&report["results"], &report["digests"]));
    let rougher = report_of(&format!("{RUN} handoff_drop_probability:90%"));
    assert_eq!(rougher["replications"], json!(10));
}

/// A limit ends them, too, and the report says so.
#[test]
fn replications_have_a_limit() {
    let output = warpline(&format!("{RUN} 0.1% --replications 12"));
    assert_eq!(output.status.code(), Some(4));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!(
        (&report["replications"], &report["precision_reached"]),
        (&json!(12), &json!(false))
    );
    assert_eq!(report["interrupted"], json!(false));
    let text =
        warpline("run pcs --cells 4x4 --portables 400 --end 5 --precision 0.1% --replications 3");
    let text = String::from_utf8(text.stdout).expect("the report is UTF-8");
    assert!(text.contains("3 of 3 at most, and not precise enough"), "{text}");
}

#[test]
fn mistakes_are_explained() {
    let refused = |value: &str, says: &str| {
        let output = warpline(&format!("{RUN} {value}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    };
    for value in ["5", "0%", "100%", "%", "nan%", "calls:"] {
        refused(value, "percentage between 0 and 100");
    }
    refused("dropped_calls:5%", "one of blocking_probability, ");
    refused("5% --verify", "--verify");
}

/// INTERVALS-A: a run in intervals commits what any other does, and what is counted in its
/// intervals is what is counted in the run.
#[test]
fn intervals_together_are_the_run() {
    for (run, counts) in [
        ("pcs --cells 4x4 --portables 400 --end 30", &["calls", "handoffs"][..]),
        ("phold --lps 16 --population 64 --end 30", &["handled"]),
        ("hypercube --dimension 4 --messages 64 --end 30", &["delivered"]),
        ("traffic --lps 137 --end 2000", &["cars_in", "cars_out", "jams", "stops", "accidents"]),
    ] {
        let whole = report_of(&format!("run {run} --engine sequential --format json"));
        let cut = report_of(&format!("run {run} --engine intervals --find-warmup 7 --format json"));
        assert_eq!((&cut["digest"], &cut["engine"]), (&whole["digest"], &json!("intervals")));
        assert_eq!(cut["results"], whole["results"]);
        let end = whole["end_time"].as_f64().expect("a number");
        assert_eq!(cut["intervals"]["length"], json!(end / 7.0));
        for count in counts {
            let parts = cut["intervals"]["results"][count].as_array().expect("a list");
            let parts: Vec<f64> = parts.iter().filter_map(Value::as_f64).collect();
            assert_eq!(whole["results"][count], parts.iter().sum::<f64>(), "{run} {count}");
            assert!(whole["results"][count].is_u64(), "{run} {count} is a count");
            assert_eq!(parts.len(), 7);
        }
        let one = report_of(&format!("run {run} --engine intervals --find-warmup 1 --format json"));
        for (name, value) in whole["results"].as_object().expect("an object") {
            let of_interval = &one["intervals"]["results"][name][0];
            assert_eq!(of_interval.as_f64(), value.as_f64(), "{run} {name}");
        }
    }
}

/// All portables are idle at first, so it takes some mean idle and call times until the channels
/// are as busy as they stay. Without that time nothing is left to be left out.
#[test]
fn a_warm_up_is_found() {
    let longest = |line: &str| {
        let report = report_of(&format!("{PCS} --end 240 --replications 8 --format json {line}"));
        assert_eq!(report["replications"], json!(8));
        report["warm_up"]["longest"].as_f64().expect("the run is long enough")
    };
    let found = longest("--find-warmup");
    assert!((2.0..120.0).contains(&found), "{found} minutes");
    let text = warpline(&format!("{PCS} --end 240 --find-warmup")).stdout;
    let text = String::from_utf8(text).expect("the report is UTF-8");
    assert!(text.contains("from 250 intervals of 0.96") && text.contains("MSER-5"), "{text}");
}

const PCS: &str = "run pcs --cells 8x8 --portables 1600";

/// Each point of a sweep has a warm-up of its own.
#[test]
fn a_sweep_has_a_column_of_warm_ups() {
    let sweep = "sweep phold --lps 16 --population 64 --end 60 --vary seed=1,2 --find-warmup 50";
    let table = String::from_utf8(warpline(sweep).stdout).expect("the table is UTF-8");
    let column = |line: &str| line.split(',').next_back().map(str::to_owned);
    let rows: Vec<_> = table.lines().map(column).collect();
    assert_eq!((rows.len(), rows[0].as_deref()), (3, Some("longest_warm_up")), "{table}");
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let refused = |line: &str, says: &str| {
        let output = warpline(line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    };
    refused("run phold --find-warmup 0", "find-warmup");
    refused("run phold --find-warmup --end 0", "above 0");
    refused("run phold --find-warmup --engine timewarp", "find-warmup");
    refused("run circuit --find-warmup", "`Model::difference`");
    refused("run traffic --find-warmup --map map.svg", "not with --find-warmup");
}
