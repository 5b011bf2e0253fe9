//! Runs that stop and go on: with `--checkpoint` and `--resume`, by signals, and killed.
//! `KILLS=250 cargo test -p warpline-cli --test checkpoints killed` kills 1 000 of them.
//!
//! # Mutations that it is against
//!
//! - `run` of `checkpoints.rs` does not write at the end, or not where a signal ends the run
//! - `next_stop` stops at the end only
//! - `Due::is_now` always says no: the killed run has written nothing
//! - `keep_as_previous` removes the file and renames nothing
//! - `PartialFile::go_on` does not cut off what comes after the mark
//! - `Series::go_on`, `RawWriter::go_on`, `Measures::go_on` or `FixedNets::go_on` forgets something

#![cfg(target_os = "linux")]

mod common;
mod interrupt;

use std::{
    env, fs,
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
    for engine in [
        "sequential",
        "timewarp",
        "conservative",
        "speculative",
        "auto",
        "timewarp --ranks 3",
        "conservative --ranks 2 --checkpoint-every 20t --checkpoint r.ckpt",
    ] {
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
    let rows_of = |command: &str, line: &str| -> Vec<Value> {
        let vary = "--vary channels=8,10,12 --end 90 --format json";
        let vary = format!("{command} {model} {vary} {line}");
        let rows = stdout(at, &vary);
        rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect()
    };
    let from_past = rows_of("branch", "--at 30 --engine speculative");
    let from_file = rows_of("branch", "--from a.ckpt --engine timewarp");
    let swept = rows_of("sweep", "--from a.ckpt --engine sequential");
    for ((one, other), third) in from_past.iter().zip(&from_file).zip(&swept) {
        assert_eq!((&one["digest"], &one["channels"]), (&other["digest"], &other["channels"]));
        assert_eq!(one["calls"], other["calls"]);
        assert_eq!((&one["digest"], &one["calls"]), (&third["digest"], &third["calls"]));
    }
    assert_eq!(swept.len(), 3);
    assert_eq!((from_past.len(), &from_past[1]["digest"]), (3, &whole["digest"]));
    assert_ne!(from_past[0]["digest"], whole["digest"]);

    let line = format!("branch {model} --at 30 --end 90 --replications 4 --format text");
    let text = stdout(at, &format!("{line} --vary channels=8,12"));
    let first = text.lines().nth(2).expect("a row");
    let second = text.lines().nth(3).expect("a row");
    assert!(text.starts_with("pcs: branches at virtual time 30, 4 replications"), "{text}");
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
    for (engine, more, signal, status) in [
        ("auto", "", "TERM", 143),
        ("timewarp", "", "INT", 130),
        ("conservative", "--ranks 2", "TERM", 143),
    ] {
        let line = format!("run {MODEL} --end 1e300 --engine {engine} {more} --format json");
        let line = format!("{line} --checkpoint {engine}.ckpt");
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

/// A model, the files that it writes, and how far a run of it goes on in a test.
type Writing = (&'static str, &'static [&'static str], f64);

/// Models of which each writes what no other one does.
const WRITING: [Writing; 4] = [
    (MODEL, &[], 10.0),
    (
        "network --topology fat-tree:4 --packet-table packets.csv --link-table links.csv",
        &["packets.csv", "links.csv"],
        1e6,
    ),
    (
        "traffic --network grid:4x4 --series-step 7 --series series.csv --segments segments.csv \
         --map map.svg",
        &["series.csv", "segments.csv", "map.svg"],
        900.0,
    ),
    (
        "circuit --generate ring:15 --vcd w.vcd --raw w.raw --crossings w.csv",
        &["w.vcd", "w.raw", "w.csv"],
        2e-9,
    ),
];

/// Whether files of two folders are the same, byte for byte.
fn assert_same_files(one: &Path, other: &Path, (model, files, _): Writing) {
    for file in files {
        let [one, other] = [one, other].map(|at| fs::read(at.join(file)).expect("a file"));
        assert!(!one.is_empty(), "{model}: {file}");
        assert!(one == other, "{model}: {file}, {} bytes and {}", one.len(), other.len());
    }
}

/// A run that is killed again and again, each time after it has written something, ends as one that
/// was left alone, with the same files.
#[test]
fn killed_runs_go_on() {
    // Of each model.
    let kills = env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(13);
    for writing in WRITING {
        let (model, _, more) = writing;
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [at, other] = [folders[0].path(), folders[1].path()];
        let file = at.join("run.ckpt");
        let written = || fs::metadata(&file).map(|data| (data.ino(), data.mtime_nsec())).ok();
        // No run comes to that end before it is killed; the last one gets a nearer one.
        let line = format!("run {model} --checkpoint run.ckpt --checkpoint-every 0.01s --quiet");
        let engines = ["auto", "timewarp", "timewarp --ranks 2", "speculative", "sequential"];
        let engines = engines.iter().cycle();
        for (kill, engine) in (0..kills).zip(engines) {
            let resume = if kill > 0 { "--resume run.ckpt" } else { "" };
            let line = format!("{line} --engine {engine} --end {:e} {resume}", more * 1e9);
            let before = written();
            let mut child = started(&mut command(at, &line));
            let began = Instant::now();
            while written() == before {
                assert!(began.elapsed() < Duration::from_secs(60), "nothing is written");
                assert!(child.try_wait().expect("a child").is_none(), "the run has ended");
                thread::yield_now();
            }
            // At some moment after that, most of them while the next one is written.
            (0..kill % 16 * 20_000).for_each(|_| std::hint::spin_loop());
            child.kill().expect("it can be killed");
            child.wait().expect("a child");
        }
        let info = stdout(at, "checkpoint info run.ckpt --format json");
        let info: Value = serde_json::from_str(&info).expect("json");
        let end = info["virtual_time"].as_f64().expect("a time") + more;
        let resumed = report(at, &format!("{model} --end {end:e} --resume run.ckpt"));
        let whole = report(other, &format!("{model} --end {end:e}"));
        assert_eq!(digest(&resumed), digest(&whole), "{model}");
        assert_eq!(resumed["committed_events"], whole["committed_events"], "{model}");
        assert_same_files(at, other, writing);
    }
}

/// Files go on where the run does, on any engine: also those that were complete, and what a deck
/// measures. Files that are not as the run has left them are refused, and stay.
#[test]
fn files_go_on_with_the_run() {
    let deck = "Two inverters\n\
        .model n nmos level=1 vto=0.7 kp=1e-4\n.model p pmos level=1 vto=-0.7 kp=5e-5\n\
        vdd vdd 0 5\nvin in 0 pulse(0 5 1n 0.1n 0.1n 4n 10n)\n\
        mp1 a in vdd vdd p w=4u l=1u\nmn1 a in 0 0 n w=2u l=1u\nc1 a 0 20f\n\
        mp2 out a vdd vdd p w=4u l=1u\nmn2 out a 0 0 n w=2u l=1u\nc2 out 0 20f\n\
        .tran 0.1n 40n\n.measure tran d trig v(in) val=2.5 rise=1 targ v(out) val=2.5 rise=3\n\
        .end\n";
    let measured: Writing = ("circuit --netlist deck.cir --vcd w.vcd --raw w.raw", &[], 1.2e-8);
    let measured = (measured.0, &["w.vcd", "w.raw"][..], measured.2);
    for (writing, engine) in WRITING.into_iter().chain([measured]).zip([
        "timewarp",
        "speculative",
        "timewarp --ranks 2",
        "timewarp --ranks 2 --workers 1",
        "sequential",
    ]) {
        let (model, _, more) = writing;
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [at, other] = [folders[0].path(), folders[1].path()];
        for at in [at, other] {
            fs::write(at.join("deck.cir"), deck).expect("a file");
        }
        report(at, &format!("{model} --end {:e} --checkpoint a.ckpt", more));
        let resume = "--resume a.ckpt --checkpoint a.ckpt";
        let line = format!("{model} --end {:e} {resume} --engine {engine}", 2.0 * more);
        report(at, &format!("{line} --checkpoint-every {:e}t", more / 7.0));
        let end = format!("--end {:e}", 3.0 * more);
        let resumed = report(at, &format!("{model} {end} --resume a.ckpt --verify"));
        let whole = report(other, &format!("{model} {end}"));
        assert_eq!(digest(&resumed), digest(&whole), "{model}");
        assert_eq!(resumed["measures"], whole["measures"], "{model}");
        assert_eq!(whole["measures"]["d"].is_number(), model.contains("deck.cir"), "{model}");
        assert_same_files(at, other, writing);
        if model.contains("deck.cir") {
            fs::write(at.join("deck.cir"), deck.replace("rise=3", "rise=2")).expect("a file");
            let line = format!("run {model} {end} --resume a.ckpt");
            refuses(at, &line, 2, &["it recorded or measured something else"]);
        }
    }
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
    refused(&format!("{line} --ranks 2 --engine speculative"), 2, &["leave --ranks out"]);
    refused(&format!("{line} --trace t.json"), 2, &["--trace shows one run"]);
    refused(&format!("{line} --find-warmup"), 2, &["leave the analysis out"]);
    refused(&format!("{line} --checkpoint-every 5"), 2, &["30s, 10min or 2h"]);
    let ring = "circuit --generate ring:5";
    report(at, &format!("{ring} --vcd w.vcd --end 1e-9 --checkpoint c.ckpt"));
    let resume = "--end 2e-9 --resume c.ckpt";
    refused(&format!("{ring} {resume}"), 1, &["other parameters", "`is_watched: true` there"]);
    let other = format!("{ring} --vcd w.vcd --crossings w.csv {resume}");
    refused(&other, 2, &["w.csv cannot be gone on with", "w.csv.partial"]);
    fs::write(at.join("w.vcd"), "another").expect("a file");
    let line = format!("{ring} --vcd w.vcd {resume}");
    refused(&line, 2, &["w.vcd cannot be gone on with", "bring back"]);
    assert_eq!(fs::read_to_string(at.join("w.vcd")).expect("a file"), "another");
    fs::remove_file(at.join("w.vcd")).expect("a file");
    refused(&line, 2, &["w.vcd cannot be gone on with", "bring back"]);
    report(at, &format!("{ring} --vcd v.vcd --crossings v.csv --end 1e-9 --checkpoint f.ckpt"));
    let fewer = format!("{ring} --vcd v.vcd --end 2e-9 --resume f.ckpt");
    refused(&fewer, 2, &["other outputs: it wrote more files"]);
    let printed = format!("{ring} --vcd /dev/null --checkpoint d.ckpt");
    refused(&printed, 2, &["/dev/null", "no regular file", "leave the checkpoint out"]);
    report(at, &format!("{ring} --end 1e-9 --checkpoint e.ckpt"));
    let added = format!("{ring} --vcd w.vcd --end 2e-9 --resume e.ckpt");
    refused(&added, 2, &["w.vcd cannot be gone on with"]);
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
