//! Far more workers, or ranks, than cores: neighbors are merged, and nothing but the time depends
//! on it.

use std::{num::NonZero, process::Command, thread};

use serde_json::Value;

const MODEL: &str = "run phold --lps 4 --population 16 --lookahead 0.5 --end 20";

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

#[track_caller]
fn json(line: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let output = command.args(line.split_whitespace()).args(["--format", "json"]).output();
    let output = output.expect("the command starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {stderr}");
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// A crowd commits what one worker does, on every engine and with tables of places, too; the report
/// says that few worked. Red if tables are not changed with the number of workers.
#[test]
fn crowds_are_merged() {
    let cores = cores();
    let (workers, last) = (16 * cores + 1, 16 * cores);
    if workers > 1024 {
        return;
    }
    let digest = &json(&format!("{MODEL} --engine sequential"))["digest"];
    let ranks = format!("--ranks 2 --placement {workers},0,{last},{}", workers + last);
    for engine in [
        "speculative --balance off",
        &format!("conservative --balance off --placement {last},0,1,0"),
        "conservative --synchronization null-messages",
        &format!("conservative {ranks}"),
        &format!("conservative --synchronization null-messages {ranks}"),
        &format!("timewarp {ranks}"),
        &format!("timewarp --placement {last},0,1,0"),
    ] {
        let line = format!("{MODEL} --workers {workers} --oversubscribe --engine {engine}");
        let report = json(&line);
        assert_eq!(&report["digest"], digest, "`{line}`");
        let remarks = report["remarks"].to_string();
        assert!(remarks.contains("would mostly wait"), "`{line}`: {remarks}");
    }
}

/// The same of ranks that are threads. (Red if tables are not changed with the number of ranks.)
#[test]
fn crowds_of_ranks_are_merged() {
    let cores = cores();
    let digest = &json(&format!("{MODEL} --engine sequential"))["digest"];
    let (ranks, most) = (4 * cores.max(2) + 1, 8 * cores.max(2));
    for engine in [
        "conservative",
        "timewarp",
        &format!("timewarp --workers 2 --placement {},0,{most},1", most + 1),
    ] {
        let line = format!("{MODEL} --ranks {ranks} --oversubscribe --engine {engine}");
        let report = json(&line);
        assert_eq!(&report["digest"], digest, "`{line}`");
        let remarks = report["remarks"].to_string();
        assert!(remarks.contains(&format!("{ranks} ranks on")), "`{line}`: {remarks}");
    }
}
