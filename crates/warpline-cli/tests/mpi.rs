//! The command under `mpirun`, or the program that `$MPIRUN` names: at 1, 2 and 3 ranks it commits
//! the same events, writes one report, reports a failure once, and leaves no rank behind.

#[path = "../../warpline-net/tests/mpirun/mod.rs"]
mod starting;

use std::{
    fs,
    process::{Child, Command, Output, Stdio},
    thread,
};

use serde_json::Value;

fn mpirun(ranks: usize, line: &str) -> Command {
    let mut command = starting::mpirun(ranks, env!("CARGO_BIN_EXE_warpline"));
    command.args(line.split_whitespace());
    command
}

fn output(ranks: usize, line: &str) -> Output {
    mpirun(ranks, line).output().expect("mpirun starts")
}

const PHOLD: &str =
    "run phold --lps 48 --population 256 --lookahead 0.25 --end 20 --format json --quiet";
const HYPERCUBE: &str = "run hypercube --dimension 4 --end 200 --format json --quiet";
/// Stimuli, feedback and messages of 32 bytes; the ring oscillates for ever.
const ADDER: &str = "run circuit --generate adder:6 --vectors 3 --format json --quiet";
const RING: &str = "run circuit --generate ring:31 --end 5e-9 --format json --quiet";
const NULL_MESSAGES: &str = "conservative --synchronization null-messages";
const ON_DEMAND: &str = "conservative --synchronization null-messages-on-demand";
const DEADLOCK_RECOVERY: &str = "conservative --synchronization deadlock-recovery";

#[test]
fn any_ranks_commit_what_the_sequential_engine_does() {
    for (model, engine, workers, ranks) in [
        (PHOLD, "conservative", 1, 1),
        (PHOLD, "conservative", 2, 2),
        (PHOLD, "conservative", 1, 3),
        (PHOLD, "timewarp", 1, 2),
        (PHOLD, "timewarp", 2, 2),
        (PHOLD, "timewarp", 1, 3),
        (HYPERCUBE, "timewarp", 1, 2),
        (PHOLD, "auto", 2, 2),
        (HYPERCUBE, "auto", 1, 3),
        (ADDER, NULL_MESSAGES, 1, 2),
        (ADDER, NULL_MESSAGES, 2, 3),
        (ADDER, "conservative", 1, 2),
        (ADDER, "timewarp", 1, 2),
        (ADDER, ON_DEMAND, 1, 2),
        (ADDER, ON_DEMAND, 1, 3),
        (HYPERCUBE, ON_DEMAND, 2, 2),
        (ADDER, DEADLOCK_RECOVERY, 1, 2),
        (ADDER, DEADLOCK_RECOVERY, 1, 3),
        (HYPERCUBE, DEADLOCK_RECOVERY, 2, 2),
        (RING, NULL_MESSAGES, 1, 2),
        (RING, "conservative", 1, 3),
        (RING, "timewarp", 1, 2),
    ] {
        let line = format!("{model} --engine {engine} --workers {workers} --verify");
        let output = output(ranks, &line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{line}` on {ranks} ranks: {stderr}");
        // One report, so one rank has written.
        let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
        assert_eq!(
            (&report["ranks"], &report["verified"]),
            (&Value::from(ranks), &Value::from(true))
        );
        assert_eq!(report["workers"], ranks * workers);
    }
}

/// Rank 0 writes what all ranks commit, byte for byte as a single rank does.
#[test]
fn ranks_write_one_set_of_waveforms() {
    const FILES: [&str; 3] = ["waves.vcd", "waves.raw", "crossings.csv"];
    let run = |ranks: usize, engine: &str| {
        let at = tempfile::tempdir().expect("a directory");
        let files = "--vcd waves.vcd --raw waves.raw --crossings crossings.csv";
        let mut mpirun = mpirun(ranks, &format!("{ADDER} {files} --workers 1 --engine {engine}"));
        let output = mpirun.current_dir(at.path()).output().expect("mpirun starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{engine} on {ranks} ranks: {stderr}");
        assert_eq!(fs::read_dir(at.path()).expect("there").count(), FILES.len());
        FILES.map(|name| fs::read(at.path().join(name)).expect("written"))
    };
    let expected = run(1, "conservative");
    for (ranks, engine) in
        [(2, NULL_MESSAGES), (3, NULL_MESSAGES), (2, "conservative"), (2, "timewarp")]
    {
        assert!(run(ranks, engine) == expected, "{engine} on {ranks} ranks");
    }
}

#[test]
fn a_refusal_is_reported_once() {
    let output = output(3, "run phold --engine conservative --workers 1");
    assert!(!output.status.success() && output.stdout.is_empty());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr.matches("error: `engine` is conservative").count(), 1, "{stderr}");
}

/// Only the first rank opens the file; the others do not wait for it.
#[test]
fn a_file_that_cannot_be_written_ends_all() {
    let output = output(
        2,
        &format!("{PHOLD} --engine timewarp --workers 1 --output /no/such/folder/report"),
    );
    assert!(!output.status.success() && output.stdout.is_empty());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr.matches("/no/such/folder/report").count(), 1, "{stderr}");
}

/// Ranks with different numbers of workers are refused before the run.
#[test]
fn ranks_with_different_numbers_of_workers_are_refused() {
    let line = |workers| format!("{PHOLD} --engine timewarp --workers {workers}");
    for [first, second] in [[1, 3], [3, 1]] {
        let mut command = mpirun(1, &line(first));
        command.args([":", "-n", "1", env!("CARGO_BIN_EXE_warpline")]);
        command.args(line(second).split_whitespace());
        let output = command.output().expect("mpirun starts");
        assert!(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("different numbers of ports"), "{stderr}");
    }
}

/// The processes that a `mpirun` has started on this machine.
fn children(mpirun: &Child) -> Vec<String> {
    let path = format!("/proc/{0}/task/{0}/children", mpirun.id());
    let children = fs::read_to_string(path).unwrap_or_default();
    children.split_whitespace().map(str::to_owned).collect()
}

/// Whether a process executes the command by now. Before that it executes `mpirun`.
fn is_warpline(process: &str) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    name.trim() == "warpline"
}

#[test]
fn a_rank_that_is_killed_ends_the_run() {
    let line = "run phold --lps 64 --lookahead 0.1 --end 1e9 --quiet --workers 1 --engine";
    for engine in ["conservative", "timewarp"] {
        let mut mpirun = mpirun(3, &format!("{line} {engine}"));
        mpirun.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mpirun = mpirun.spawn().expect("mpirun starts");
        let victim = loop {
            let ranks: Vec<_> =
                children(&mpirun).into_iter().filter(|rank| is_warpline(rank)).collect();
            match &ranks[..] {
                [_, _, last] => break last.clone(),
                _ => thread::yield_now(),
            }
        };
        let killed = Command::new("kill").args(["-KILL", &victim]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let output = mpirun.wait_with_output().expect("mpirun ends");
        assert!(!output.status.success() && output.stdout.is_empty());
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Whether mpirun or a rank that is left says so is a matter of luck.
        assert!(!stderr.is_empty(), "{engine}: nobody says why");
        assert!(!stderr.contains("time limit"), "{engine}: ranks were left until {stderr}");
    }
}
