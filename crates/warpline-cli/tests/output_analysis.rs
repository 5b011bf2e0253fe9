//! Replications until the results are known well enough (`--precision`).
//!
//! A mutation that turns this red: `replicate_to` stops after the first ten.

use std::process::{Command, Output};

use serde_json::{Value, json};

fn warpline(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(line.split_whitespace()).output().expect("the command starts")
}

#[track_caller]
fn told(line: &str) -> Value {
    let output = warpline(line);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {stderr}");
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

const RUN: &str = "run pcs --cells 4x4 --portables 400 --end 30 --format json --precision";

/// It takes as many replications as the precision does, whatever runs at one time.
#[test]
fn replications_go_on_until_a_result_is_known() {
    let report = told(&format!("{RUN} handoff_drop_probability:6%"));
    let of = |key: &str| report[key]["handoff_drop_probability"].as_f64().expect("a number");
    let (samples, relative) = (&report["replications"], of("half_width_95") / of("results"));
    assert_eq!(report["precision_reached"], json!(true));
    assert!(samples.as_u64().is_some_and(|samples| (11..1000).contains(&samples)), "{samples}");
    assert!(relative <= 0.06 / 1.06 && relative > 0.03, "{relative}");
    let again = told(&format!("{RUN} handoff_drop_probability:6% --jobs 1"));
    assert_eq!((&again["results"], &again["digests"]), (&report["results"], &report["digests"]));
    let rougher = told(&format!("{RUN} handoff_drop_probability:90%"));
    assert_eq!(rougher["replications"], json!(10));
}

/// A limit ends them, too, and the report says so.
#[test]
fn replications_have_a_limit() {
    let report = told(&format!("{RUN} 0.1% --replications 12"));
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
