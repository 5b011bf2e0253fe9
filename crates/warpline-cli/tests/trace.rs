//! The trace of a run (`--trace`): it is read back, and compared with what the run has counted.
//!
//! Where threads decide how often events are rolled back, the checks are on what holds whatever
//! they decide.
//!
//! Mutations that turn this red: flows have no ends; slices are closed in the order in which they
//! were opened.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use decoder::{Decoded, Slice};
use serde_json::Value;

#[path = "../../warpline-trace/tests/decoder/mod.rs"]
mod decoder;
#[cfg(target_os = "linux")]
#[path = "interrupt/mod.rs"]
mod interrupt;

fn command(line: &str, trace: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(line.split_whitespace()).arg("--trace").arg(trace);
    command
}

fn warpline(line: &str, trace: &Path) -> Output {
    command(line, trace).output().expect("the command starts")
}

/// A trace, in which slices nest and flows have both ends.
#[track_caller]
fn sound(path: &Path) -> Decoded {
    let trace = Decoded::read(&fs::read(path).expect("a trace"));
    check_nesting(&trace);
    check_flows(&trace);
    trace
}

/// The report and the trace of this run, in which slices nest and flows have both ends.
#[track_caller]
fn traced(line: &str) -> (Value, Decoded) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pftrace");
    let output = warpline(&format!("{line} --format json --trace-memory 1GiB"), &path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let trace = sound(&path);
    assert_eq!(report["trace"]["spans_left_out"], 0, "so small a run is there in full");
    assert_eq!(report["trace"]["flows"], trace.flows.len());
    (report, trace)
}

/// PERFETTO-A, SPAN-A: what is on a track nests, and comes in the order of time.
fn check_nesting(trace: &Decoded) {
    for (place, slice) in trace.slices.iter().enumerate() {
        assert!(slice.begin <= slice.end, "SPAN-A: {slice:?}");
        assert_eq!(slice.is_instant, slice.name == "annihilated", "{slice:?}");
        let before = trace.slices[..place]
            .iter()
            .rev()
            .find(|other| other.track == slice.track && other.parent == slice.parent);
        assert!(before.is_none_or(|before| before.end <= slice.begin), "SPAN-A: {slice:?}");
        let Some(parent) = slice.parent.map(|parent| &trace.slices[parent]) else { continue };
        let is_within = parent.begin <= slice.begin && slice.end <= parent.end;
        assert!(is_within, "SPAN-A: {slice:?} in {parent:?}");
    }
}

/// PERFETTO-B, SPAN-B: a flow begins in one slice, and ends in another that began later.
fn check_flows(trace: &Decoded) {
    for (number, (begins, ends)) in &trace.flows {
        let ([begin], [end]) = (&begins[..], &ends[..]) else {
            panic!("PERFETTO-B: flow {number} begins in {begins:?} and ends in {ends:?}");
        };
        let (begin, end) = (&trace.slices[*begin], &trace.slices[*end]);
        assert!(begin.begin <= end.begin, "SPAN-B: {begin:?} to {end:?}");
        let sends = ["start", "batch", "blocking I/O event"].contains(&&*begin.name);
        let is_stragglers = end.name == "rollback: straggler";
        assert!(!is_stragglers || sends, "{begin:?} to {end:?}");
        let may_cancel = ["rollback", "undo"].iter().any(|name| begin.name.starts_with(name));
        assert!(is_stragglers || ends_canceled(end) && may_cancel, "{begin:?} to {end:?}");
    }
}

/// Whether a canceled event has come to its end there.
fn ends_canceled(slice: &Slice) -> bool {
    ["annihilated", "rollback: anti-message"].contains(&&*slice.name)
}

/// What Time Warp has counted is what the trace shows.
#[track_caller]
fn check_counters(report: &Value, trace: &Decoded) {
    let count = |name: &str| trace.named(name).count() as u64;
    let counters = &report["counters"];
    assert_eq!(report["rollbacks"], count("rollback"));
    assert_eq!(counters["primary_rollbacks"], count("rollback: straggler"));
    assert_eq!(report["rolled_back_events"], trace.events("rollback") + trace.events("undo"));
    assert_eq!(
        report["processed_events"],
        trace.events("batch") + trace.events("blocking I/O event")
    );
    assert_eq!(counters["cancelbacks"], trace.events("cancelback"));
    // All events below GVT are committed at the last one.
    assert_eq!(report["committed_events"], trace.events("fossil collection"));
    let canceled = trace.slices.iter().filter(|slice| ends_canceled(slice)).count();
    assert_eq!(counters["annihilated_events"], canceled as u64);
    let ends = || trace.flows.values().map(|(_, ends)| &trace.slices[ends[0]]);
    assert_eq!(ends().filter(|end| ends_canceled(end)).count(), canceled, "each has its flow");
    let stragglers = ends().filter(|end| end.name == "rollback: straggler").count();
    assert_eq!(counters["primary_rollbacks"], stragglers as u64, "each has its flow");
    let sent = trace.slices.iter().map(|slice| slice.argument("remote_events")).sum::<u64>();
    assert_eq!(counters["remote_events"].as_u64().unwrap_or(0), sent);
    let rounds = report["gvt_rounds"].as_u64().expect("a number");
    let workers: Vec<u64> = tracks(trace, "worker ");
    assert_eq!(report["workers"], workers.len() as u64);
    for worker in workers {
        let of_worker = trace.named("GVT").filter(|slice| slice.track == worker);
        assert_eq!(of_worker.count() as u64, rounds, "each worker takes each GVT over");
    }
}

fn tracks(trace: &Decoded, name: &str) -> Vec<u64> {
    let named = trace.tracks.iter().filter(|(_, track)| track.starts_with(name));
    named.map(|(uuid, _)| *uuid).collect()
}

const PHOLD: &str = "run phold --lps 64 --population 256 --end 100";

/// The same events are rolled back in each run in turn, and the trace changes nothing of that.
#[test]
fn a_run_in_turn_is_told_in_full() {
    let line = format!("{PHOLD} --engine timewarp --workers 3 --in-turn");
    let (report, trace) = traced(&line);
    check_counters(&report, &trace);
    let kinds = ["rollback: straggler", "rollback: anti-message", "annihilated", "waiting"];
    assert!(kinds.iter().all(|kind| trace.named(kind).count() > 0), "{:?}", trace.tracks);
    let gvt = trace.values_of("GVT");
    assert!(gvt.is_sorted() && gvt.last().is_some_and(|last| *last < 1e3), "{gvt:?}");
    let efficiency = trace.values_of("efficiency");
    assert!(!efficiency.is_empty() && efficiency.iter().all(|one| *one <= 1.0), "{efficiency:?}");
    assert!(!trace.values_of("virtual time").is_empty());

    let without = Command::new(env!("CARGO_BIN_EXE_warpline"))
        .args(line.split_whitespace().chain(["--format", "json"]))
        .output()
        .expect("the command starts");
    let without: Value = serde_json::from_slice(&without.stdout).expect("a report");
    for key in ["digest", "counters", "gvt_rounds", "rolled_back_events", "peak_buffer_bytes"] {
        assert_eq!(report[key], without[key], "{key}");
    }
}

#[test]
fn workers_on_threads_are_told_in_full() {
    for more in [
        "",
        "--pool partitioned:on-the-fly",
        "--mail bottom-half",
        "--balance randomly:1",
        "--mail bottom-half --balance randomly:1",
    ] {
        let (report, trace) = traced(&format!("{PHOLD} --engine timewarp --workers 2 {more}"));
        check_counters(&report, &trace);
        assert_eq!(tracks(&trace, "rank ").len(), 1);
    }
}

/// Each rank is a process, and flows lead from one to another.
#[test]
fn ranks_are_processes() {
    let (report, trace) = traced(&format!("{PHOLD} --engine timewarp --ranks 2 --workers 2"));
    check_counters(&report, &trace);
    let ranks: Vec<_> = tracks(&trace, "rank ").iter().map(|uuid| &trace.tracks[uuid]).collect();
    assert_eq!(ranks, ["rank 0: phold on timewarp", "rank 1: phold on timewarp"]);
}

/// With little memory, events are taken back.
#[test]
fn shortage_of_buffers_is_told() {
    let line = "run phold --lps 64 --population 256 --end 40 --engine timewarp --workers 2 \
                --in-turn --memory 60KiB";
    let (report, trace) = traced(line);
    check_counters(&report, &trace);
    assert!(report["counters"]["cancelbacks"].as_u64() > Some(0), "{}", report["counters"]);
    assert!(!trace.values_of("free buffers").is_empty());
}

/// The engines without rollbacks of their own on the track of a worker.
#[test]
fn other_engines_have_tracks() {
    let (report, trace) = traced(&format!("{PHOLD} --engine sequential"));
    assert_eq!(report["committed_events"], trace.events("batch"));
    let line = "run hypercube --dimension 5 --messages 64 --end 100 --engine conservative";
    let (report, trace) = traced(&format!("{line} --workers 2"));
    assert_eq!(report["committed_events"], trace.events("window"));
    let windows = 2 * report["counters"]["windows"].as_u64().expect("a number");
    assert_eq!(trace.named("window").count() as u64, windows);
    let (_, trace) = traced(PHOLD);
    assert!(!tracks(&trace, "engine").is_empty(), "{:?}", trace.tracks);
}

/// Rollbacks of single LPs, and what was executed in vain, are arguments of what settles a window.
#[test]
fn speculative_windows_tell_their_rollbacks() {
    let (report, trace) = traced(&format!("{PHOLD} --engine speculative --workers 2"));
    let commits = 2 * report["counters"]["windows"].as_u64().expect("a number");
    // Those that are committed in a resize are part of it.
    assert!((1..=commits).contains(&(trace.named("commit").count() as u64)));
    let rollbacks = trace.named("settling").map(|slice| slice.argument("rollbacks")).sum::<u64>();
    assert_eq!(report["rollbacks"], rollbacks);
    assert!(rollbacks > 0);
    let undone = trace.events("settling") + trace.events("resize");
    assert_eq!(report["rolled_back_events"], undone);
}

/// Null messages, and deadlocks where there are none.
#[test]
fn null_messages_are_told() {
    let line = "run hypercube --dimension 5 --messages 64 --end 100 --engine conservative";
    for (mode, waits) in
        [("null-messages", 1), ("null-messages-on-demand", 1), ("deadlock-recovery", 0)]
    {
        let (report, trace) = traced(&format!("{line} --workers 2 --synchronization {mode}"));
        let counters = &report["counters"];
        assert_eq!(report["committed_events"], trace.events("turns"));
        let sum = |argument| trace.slices.iter().map(|slice| slice.argument(argument)).sum::<u64>();
        assert_eq!(counters["null_messages"], sum("null_messages"));
        assert_eq!(counters["deadlocks"], sum("deadlocks"));
        assert_eq!(sum("null_messages") > 0, waits > 0);
        // All workers stop at the end, at the latest.
        assert!(trace.named("deadlock detection").count() >= 2);
        assert!(!trace.values_of("virtual time").is_empty());
        assert_eq!(tracks(&trace, "worker ").len(), 2);
    }
}

/// A run that ends with an error has a trace of what was before.
#[test]
fn runs_that_fail_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pftrace");
    let line = "run phold --lps 64 --population 256 --memory 10KiB --engine timewarp";
    for engine in ["--workers 2", "--ranks 2 --workers 1"] {
        let output = warpline(&format!("{line} {engine}"), &path);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("trace of the run that failed") && output.stdout.is_empty());
        let trace = sound(&path);
        assert!(!trace.slices.is_empty(), "{engine}");
        let names: Vec<_> = tracks(&trace, "rank 0").iter().map(|it| &trace.tracks[it]).collect();
        assert!(names[0].ends_with("which failed"), "{names:?}");
    }
}

/// The same for one that is interrupted; there is a report.
#[cfg(target_os = "linux")]
#[test]
fn interrupted_runs_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pftrace");
    for engine in ["timewarp --workers 2", "conservative --lookahead 0.1 --workers 2", "sequential"]
    {
        let line = format!("run phold --end 1e300 --format json --engine {engine}");
        let output = interrupt::interrupted(&mut command(&line, &path));
        assert_eq!(output.status.code(), Some(130), "{engine}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["interrupted"], true);
        let trace = sound(&path);
        assert_eq!(report["trace"]["flows"], trace.flows.len());
        assert!(!trace.slices.is_empty(), "{engine}");
    }
}

/// A trace that cannot be written is known before the run, and leaves nothing.
#[test]
fn a_trace_is_refused_before_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (same, endless) = (folder.path().join("same"), "run phold --end 1e12");
    for (line, path) in [
        (endless.to_owned(), folder.path().join("no/trace")),
        (format!("{endless} --output {}", same.display()), same.clone()),
        (format!("{endless} --report {}", same.display()), same.clone()),
        (format!("{endless} --replications 2"), same),
    ] {
        let output = warpline(&line, &path);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.contains("--trace"), "{stderr}");
        assert!(!path.exists() && output.stdout.is_empty());
    }
}
