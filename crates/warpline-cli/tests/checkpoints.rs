//! Runs that stop and go on: with `--checkpoint` and `--resume`, by signals, and killed.
//!
//! # Mutations that it is against
//!
//! - `run` of `checkpoints.rs` does not write at the end, or not where a signal ends the run
//! - `next_stop` stops at the end only
//! - `Due::is_now` always says no: the killed run has written nothing
//! - `keep_as_previous` removes the file and renames nothing

#![cfg(target_os = "linux")]

mod common;
mod interrupt;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use common::{command, refuses, stdout};
use interrupt::{await_run, ended, send, started};
use serde_json::Value;

const MODEL: &str = "phold --lps 64 --population 512 --lookahead 0.1";

/// The report of a run.
fn report(at: &Path, line: &str) -> Value {
    serde_json::from_str(&stdout(at, &format!("run {line} --format json"))).expect("a report")
}

fn digest(report: &Value) -> &str {
    report["digest"].as_str().expect("a digest")
}

/// A run goes on where another one has ended, on any engine, and `info` tells what is there.
#[test]
fn runs_go_on_where_others_have_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let whole = report(at, &format!("{MODEL} --end 90"));
    let first = report(at, &format!("{MODEL} --end 30 --checkpoint a.ckpt"));
    assert!(first["notes"][0].as_str().is_some_and(|note| note.contains("--resume a.ckpt")));
    let engines = ["sequential", "timewarp", "conservative", "speculative", "auto"];
    for engine in engines {
        let line = format!("{MODEL} --end 90 --resume a.ckpt --engine {engine} --verify");
        let resumed = report(at, &line);
        assert_eq!(digest(&resumed), digest(&whole), "{engine}");
        assert_eq!(resumed["committed_events"], whole["committed_events"], "{engine}");
        assert_eq!(resumed["results"], whole["results"], "{engine}");
        assert_eq!(resumed["verified"], true, "{engine}");
    }
    let info = stdout(at, "checkpoint info a.ckpt --format json");
    let info: Value = serde_json::from_str(&info).expect("json");
    assert_eq!(info["digest"], first["digest"]);
    assert_eq!((&info["virtual_time"], &info["lps"]), (&30.0.into(), &64.into()));
    let text = stdout(at, "checkpoint info a.ckpt");
    assert!(text.contains("a run of phold") && text.contains("population: 512"), "{text}");

    // Every 20 units: at 40, 60, 80 and 90, the last two of which stay.
    let line = format!("{MODEL} --end 90 --resume a.ckpt --checkpoint b.ckpt");
    let resumed = report(at, &format!("{line} --checkpoint-every 20t --engine timewarp"));
    assert_eq!(digest(&resumed), digest(&whole));
    for (file, time) in [("b.ckpt", "90"), ("b.ckpt.previous", "80")] {
        let text = stdout(at, &format!("checkpoint info {file}"));
        assert!(text.contains(&format!("virtual time     {time}\n")), "{text}");
    }
}

/// Futures have a common past: the one with the past's own parameters is the run itself, and each
/// is the same from a checkpoint. Text tells how they differ.
#[test]
fn futures_branch_from_a_past() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let model = "pcs --cells 6x6 --portables 400";
    let whole = report(at, &format!("{model} --end 90"));
    report(at, &format!("{model} --end 30 --checkpoint a.ckpt"));
    let rows = |line: &str| -> Vec<Value> {
        let vary = format!("branch {model} --vary channels=8,10,12 --end 90 --format json {line}");
        let rows = stdout(at, &vary);
        rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect()
    };
    let from_past = rows("--at 30 --engine speculative");
    let from_file = rows("--from a.ckpt --engine timewarp");
    for (one, other) in from_past.iter().zip(&from_file) {
        assert_eq!((&one["digest"], &one["channels"]), (&other["digest"], &other["channels"]));
        assert_eq!(one["calls"], other["calls"]);
    }
    assert_eq!((from_past.len(), &from_past[1]["digest"]), (3, &whole["digest"]));
    assert_ne!(from_past[0]["digest"], whole["digest"]);

    let line = format!("branch {model} --at 30 --end 90 --replications 4 --format text");
    let text = stdout(at, &format!("{line} --vary channels=8,12"));
    let first = text.lines().nth(2).expect("a row");
    let second = text.lines().nth(3).expect("a row");
    assert!(text.starts_with("pcs: branches at virtual time 30, 4 replication(s)"), "{text}");
    assert!(first.contains("blocking_probability") && first.contains(" 8 "), "{text}");
    assert!(second.contains(" 12 ") && second.matches('±').count() == 2, "{text}");
    let refused = |line: &str, says: &str| refuses(at, &format!("branch {line}"), 2, &[says]);
    refused(&format!("{model} --vary channels=8"), "--at <T>");
    refused(&format!("{model} --at 30 --vary seed=1,2"), "--replications makes several pasts");
    refused(&format!("{model} --at 30 --end 20 --vary channels=8"), "beyond the end of the run");
    refused(&format!("{model} --at 30 --vary portables=9"), "--channels, --stay");
}

/// A run that stops at multiples of a time comes past events at these very times, however they are
/// rounded. Red if `next_stop` does not look at the next event: it stays at 33 for ever.
#[test]
fn stops_are_behind_the_next_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let model = "phold --lps 4 --population 8 --mean 0 --lookahead 1 --end 40";
    let whole = report(at, model);
    let stopped = report(at, &format!("{model} --checkpoint a.ckpt --checkpoint-every 1.1t"));
    assert_eq!(digest(&stopped), digest(&whole));
    let tiny = report(at, &format!("{model} --checkpoint ./a.ckpt --checkpoint-every 1e-17t"));
    assert_eq!(digest(&tiny), digest(&whole));
    let line = format!("{model}0 --checkpoint ./a.ckpt --resume a.ckpt --engine timewarp");
    assert_eq!(digest(&report(at, &line)), digest(&report(at, &format!("{model}0"))));
}

/// What a signal ends is written, and goes on.
#[test]
fn signals_leave_a_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (engine, signal, status) in [("auto", "TERM", 143), ("timewarp", "INT", 130)] {
        let line = format!(
            "run {MODEL} --end 1e300 --checkpoint {engine}.ckpt --engine {engine} --format json"
        );
        let mut child = started(&mut command(at, &line));
        await_run(&mut child);
        send(signal, &child);
        let output = ended(child, |_| ());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{engine}: {stderr}");
        let ended: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(ended["interrupted"], true);
        let info = stdout(at, &format!("checkpoint info {engine}.ckpt --format json"));
        let info: Value = serde_json::from_str(&info).expect("json");
        assert_eq!(info["digest"], ended["digest"]);
        let now = info["virtual_time"].as_f64().expect("a time");
        let line = format!("{MODEL} --end {}", now + 1.0);
        let whole = report(at, &line);
        let resumed = report(at, &format!("{line} --resume {engine}.ckpt"));
        assert_eq!(digest(&resumed), digest(&whole), "{engine}");
    }
}

/// A run that is killed again and again, each time after it has written something, ends as one that
/// was left alone.
#[test]
fn killed_runs_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (at, file) = (folder.path(), folder.path().join("run.ckpt"));
    let written = || fs::metadata(&file).map(|data| (data.ino(), data.mtime_nsec())).ok();
    // No run comes to that end before it is killed; the last one gets a nearer one.
    let line = format!("run {MODEL} --checkpoint run.ckpt --checkpoint-every 0.01s --quiet");
    for (kill, engine) in
        (0..10).zip(["auto", "timewarp", "speculative", "sequential"].iter().cycle())
    {
        let resume = if kill > 0 { "--resume run.ckpt" } else { "" };
        let line = format!("{line} --engine {engine} --end 1e9 {resume}");
        let before = written();
        let mut child = started(&mut command(at, &line));
        let began = Instant::now();
        while written() == before {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing is written");
            assert!(child.try_wait().expect("a child").is_none(), "the run has ended");
            thread::yield_now();
        }
        // At some moment after that, most of them while the next one is written.
        (0..kill * 20_000).for_each(|_| std::hint::spin_loop());
        child.kill().expect("it can be killed");
        child.wait().expect("a child");
    }
    let info = stdout(at, "checkpoint info run.ckpt --format json");
    let info: Value = serde_json::from_str(&info).expect("json");
    let end = info["virtual_time"].as_f64().expect("a time") + 10.0;
    let resumed = report(at, &format!("{MODEL} --end {end} --resume run.ckpt"));
    let whole = report(at, &format!("{MODEL} --end {end}"));
    assert_eq!(digest(&resumed), digest(&whole));
    assert_eq!(resumed["committed_events"], whole["committed_events"]);
}

/// What cannot be is refused with what to do.
#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    report(at, &format!("{MODEL} --end 3 --checkpoint a.ckpt"));
    let refused =
        |line: &str, status, says: &[&str]| refuses(at, &format!("run {line}"), status, says);
    let other = "phold --lps 64 --population 256 --lookahead 0.1 --resume a.ckpt";
    refused(other, 1, &["a.ckpt: it is of other parameters", "`population: 512` there"]);
    refused("pcs --resume a.ckpt", 1, &["it is of the model phold, and not of pcs"]);
    refused(&format!("{MODEL} --seed 2 --resume a.ckpt"), 1, &["it is of seed 1, and not of 2"]);
    refused(&format!("{MODEL} --end 2 --resume a.ckpt"), 2, &["--end 2 is before"]);
    refused(&format!("{MODEL} --resume none.ckpt"), 1, &["none.ckpt: No such file"]);
    refused(&format!("{MODEL} --checkpoint-every 5s"), 2, &["--checkpoint <FILE>"]);
    let line = format!("{MODEL} --checkpoint a.ckpt");
    refused(&format!("{line} --replications 3"), 2, &["leave --replications out"]);
    refused(
        &format!("{line} --ranks 2 --engine timewarp"),
        2,
        &["--checkpoint takes a run on a single rank"],
    );
    refused(&format!("{line} --trace t.json"), 2, &["--trace shows one run"]);
    refused(&format!("{line} --find-warmup"), 2, &["leave the analysis out"]);
    refused(&format!("{line} --checkpoint-every 5"), 2, &["30s, 10min or 2h"]);
    refused("circuit --vcd w.vcd --checkpoint c.ckpt", 2, &["leave the files out"]);
    fs::write(at.join("text"), "no checkpoint").expect("a file");
    refuses(at, "checkpoint info text", 1, &["text: it is no checkpoint of Warpline"]);
    // Before anything runs.
    let nowhere = format!("{MODEL} --end 1e300 --checkpoint none/a.ckpt");
    refused(&nowhere, 1, &["none/a.ckpt: No such file"]);
    let own = format!("{MODEL} --end 3 --checkpoint a.ckpt --output a.ckpt.previous");
    refused(&own, 2, &["a.ckpt.previous"]);
    let branch = "branch pcs --cells 6x6 --portables 400 --at 10 --end 20";
    refuses(at, &format!("{branch} --vary memory=1KiB,64MiB"), 1, &["out of event buffers"]);
}
