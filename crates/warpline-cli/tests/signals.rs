//! Signals end the command at any time, with the conventional status.
//!
//! # Mutations that it is against
//!
//! - `Starting` does not look at the flag, or an engine does not
//! - `keep_report` is called before the input is read
//! - `register_conditional_shutdown` is left out
//! - `status` always returns 130

#![cfg(target_os = "linux")]

mod interrupt;

use std::{
    fs,
    path::Path,
    process::{Child, Command},
    thread,
};

use interrupt::{await_run, ended, interrupted, send, started};
use serde_json::Value;

fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(line.split_whitespace());
    command
}

/// Whether a set of signals that the system shows of a process has the signal of that number.
fn has_signal(process: &str, set: &str, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(set));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether the process has a handler for SIGTERM.
fn handles_signals(child: &Child) -> bool {
    has_signal(&child.id().to_string(), "SigCgt:", 15)
}

/// The first signal ends a run with the report so far, and the status names the signal.
#[test]
fn the_status_names_the_signal() {
    // Under `nohup` the command inherits that SIGHUP is ignored, and leaves that as it is.
    let hears_hangup = !has_signal("self", "SigIgn:", 1);
    let all = [("INT", 130), ("TERM", 143), ("HUP", 129)];
    for (signal, status) in all.into_iter().filter(|(name, _)| hears_hangup || *name != "HUP") {
        let line = "run phold --end 1e300 --format json";
        let mut child = started(&mut command(line));
        await_run(&mut child);
        send(signal, &child);
        let output = ended(child, |_| ());
        assert_eq!(output.status.code(), Some(status), "{signal}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["interrupted"], true);
    }
}

/// A run is ended while one LP sends its first events, more than it could in a second, on every
/// engine.
#[test]
fn a_start_without_end_is_interrupted() {
    for engine in [
        "sequential",
        "auto --workers 2",
        "conservative --workers 2",
        "speculative --workers 2",
        "timewarp --workers 2",
        "timewarp --workers 2 --in-turn",
        "timewarp --workers 1 --ranks 2",
    ] {
        let lookahead = if engine.starts_with("conservative") { "--lookahead 0.1" } else { "" };
        let line = format!(
            "run phold --lps 2 --population 100000000 --end 1 {lookahead} --engine {engine} \
             --format json"
        );
        let output = interrupted(&mut command(&line));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{engine}: {stderr}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["interrupted"], true, "{engine}");
    }
}

/// While it reads its input there is nothing to report: the first signal ends the command at once.
#[test]
fn reading_is_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo.cir");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo runs").success());
    let line = |path: &Path| format!("run circuit --netlist {}", path.display());
    let child = started(&mut command(&line(&fifo)));
    while !handles_signals(&child) {
        thread::yield_now();
    }
    // A handler for one signal is there before that for the next one: SIGTERM is the second.
    send("TERM", &child);
    let output = ended(child, |_| ());
    assert_eq!(output.status.code(), Some(143));
    assert!(output.stdout.is_empty());
}

/// A later signal ends the command at once, whatever its threads do: here handlers that do not end.
#[test]
fn a_second_signal_ends_at_once() {
    for engine in ["sequential", "timewarp --workers 2"] {
        let line = format!("run phold --grain 1000000000000000 --engine {engine} --format json");
        let mut child = started(&mut command(&line));
        await_run(&mut child);
        let output = ended(child, |child| send("INT", child));
        assert_eq!(output.status.code(), Some(130), "{engine}");
        // No event ends. But the first signal may come before the first event: then that one has
        // ended the run, with a report of no events.
        if !output.stdout.is_empty() {
            let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
            assert_eq!(report["committed_events"], 0, "{engine}: an event has ended");
        }
    }
}
