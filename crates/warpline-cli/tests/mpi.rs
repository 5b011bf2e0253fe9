//! The command under `mpirun`, or the program that `$MPIRUN` names: at 1 to 4 ranks it commits
//! the same events, writes one report, reports a failure once, and leaves no rank behind.

#[expect(dead_code, reason = "shared with the test of traces in one process")]
#[path = "../../warpline-trace/tests/decoder/mod.rs"]
mod decoder;
#[path = "../../warpline-net/tests/mpirun/mod.rs"]
mod starting;

use std::{
    fs,
    process::{Command, Output, Stdio},
    thread,
};

use decoder::Decoded;
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

/// A run of two processes stops, and goes on with three of them, or with one: the same events, and
/// the same bytes in files.
#[test]
fn checkpoints_go_on_on_any_ranks() {
    const FILES: [&str; 2] = ["waves.vcd", "crossings.csv"];
    const LINE: &str = "run circuit --generate ring:31 --format json --quiet --workers 1 \
                        --vcd waves.vcd --crossings crossings.csv";
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let run = |at: usize, ranks: usize, line: &str| -> Value {
        let mut mpirun = mpirun(ranks, &format!("{LINE} {line}"));
        let output = mpirun.current_dir(folders[at].path()).output().expect("mpirun starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{line}` on {ranks} ranks: {stderr}");
        serde_json::from_slice(&output.stdout).expect("one report")
    };
    let whole = run(0, 1, "--end 6e-9 --engine timewarp");
    let first = run(1, 2, "--end 2e-9 --engine timewarp --checkpoint a.ckpt");
    let resume = "--resume a.ckpt --checkpoint a.ckpt --checkpoint-every 5e-10t";
    let second = run(1, 3, &format!("--end 4e-9 --engine {NULL_MESSAGES} {resume}"));
    let last = run(1, 2, "--end 6e-9 --engine conservative --resume a.ckpt --verify");
    assert_eq!((&first["ranks"], &second["ranks"]), (&2.into(), &3.into()));
    assert_eq!((&last["digest"], &last["verified"]), (&whole["digest"], &true.into()));
    assert_eq!(last["committed_events"], whole["committed_events"]);
    for file in FILES {
        let [one, other] = [0, 1].map(|at| fs::read(folders[at].path().join(file)).expect("there"));
        assert!(one == other && !one.is_empty(), "{file}: {} and {}", one.len(), other.len());
    }
    // What is wrong is said once, and no rank is left behind.
    for (line, says) in [
        ("--resume none.ckpt --engine timewarp", "none.ckpt: No such file"),
        ("--resume a.ckpt --seed 9 --engine timewarp", "it is of seed 1, and not of 9"),
        ("--checkpoint no/a.ckpt --engine timewarp --end 1e300", "no/a.ckpt"),
        ("--checkpoint b.ckpt --engine speculative", "for a run on several ranks"),
    ] {
        let mut mpirun = mpirun(2, &format!("{LINE} {line}"));
        let output = mpirun.current_dir(folders[1].path()).output().expect("mpirun starts");
        assert!(!output.status.success() && output.stdout.is_empty(), "{line}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.matches(says).count(), 1, "{line}: {stderr}");
    }
}

/// Rank 0 writes the tracks of all ranks into one trace, with the flows between them: each
/// straggler, and each canceled event, has the one that leads to it.
#[test]
fn rank_0_writes_the_trace_of_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pftrace");
    let trace = format!("--trace {} --trace-memory 1GiB", path.display());
    for (engine, workers, ranks) in [("timewarp", 1, 2), ("timewarp", 2, 3), ("conservative", 1, 2)]
    {
        let line = format!("{PHOLD} --engine {engine} --workers {workers} {trace}");
        let output = output(ranks, &line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{line}` on {ranks} ranks: {stderr}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
        let trace = Decoded::read(&fs::read(&path).expect("a trace"));
        let of_kind = |kind: &str| trace.tracks.values().filter(|it| it.starts_with(kind)).count();
        assert_eq!((of_kind("rank "), of_kind("worker ")), (ranks, ranks * workers));
        let handled = trace.events("batch") + trace.events("window");
        assert_eq!(report["processed_events"], handled);
        assert_eq!(report["rollbacks"], trace.named("rollback").count());
        let error = report["trace"]["clock_error_ns"].as_u64().expect("a number");
        let (mut stragglers, mut canceled) = (0, 0);
        for (begins, ends) in trace.flows.values() {
            let (begin, end) = (&trace.slices[begins[0]], &trace.slices[ends[0]]);
            assert!(begin.begin <= end.begin + error, "SPAN-B: {begin:?} to {end:?}");
            *(if end.name == "rollback: straggler" { &mut stragglers } else { &mut canceled }) += 1;
        }
        let counter = |name: &str| report["counters"][name].as_u64().unwrap_or(0);
        let expected = (counter("primary_rollbacks"), counter("annihilated_events"));
        assert_eq!((stragglers, canceled), expected, "each has its flow");
    }
}

/// The same for a run that fails, at any rank.
#[test]
fn rank_0_writes_the_trace_of_a_run_that_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pftrace");
    let line = "run phold --lps 64 --population 256 --memory 10KiB --engine timewarp --workers 1";
    let output = output(2, &format!("{line} --quiet --trace {}", path.display()));
    assert!(!output.status.success() && output.stdout.is_empty());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr.matches("trace of the run that failed").count(), 1, "{stderr}");
    let trace = Decoded::read(&fs::read(&path).expect("a trace"));
    assert_eq!(trace.named("start").count(), 2, "both ranks have begun");
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

/// The ranks that a process has started on this machine, itself or, as some launchers do, by
/// another process.
fn ranks_of(process: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children"));
    let children: String = tasks.flat_map(children).collect();
    let ranks = |child: &str| {
        if is_warpline(child) { vec![child.to_owned()] } else { ranks_of(child) }
    };
    children.split_whitespace().flat_map(ranks).collect()
}

/// Whether a process executes the command by now. Before that it executes `mpirun`.
fn is_warpline(process: &str) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    name.trim() == "warpline"
}

/// A sweep on ranks has the rows of a sweep in one process, each once.
#[test]
fn ranks_share_the_runs_of_a_sweep() {
    let line = "sweep phold --end 20 --vary lps=24,48 --vary lookahead=0.25,0.5 --replications 3 \
                --engine conservative --workers 1 --format json --quiet";
    let rows = |ranks| -> Vec<String> {
        let output = output(ranks, line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{ranks} ranks: {stderr}");
        let row = |line: &str| {
            let row: Value = serde_json::from_str(line).expect("a row is JSON");
            format!("{} {} {}", row["run"], row["digest"], row["handled_max"])
        };
        let mut rows: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(row).collect();
        rows.sort_unstable();
        rows
    };
    let alone = rows(1);
    assert_eq!(alone.len(), 12);
    assert_eq!(rows(2), alone);
    assert_eq!(rows(4), alone);
}

#[test]
fn a_rank_that_is_killed_ends_the_run() {
    let line = "run phold --lps 64 --lookahead 0.1 --end 1e9 --quiet --workers 1 --engine";
    for engine in ["conservative", "timewarp"] {
        let mut mpirun = mpirun(3, &format!("{line} {engine}"));
        mpirun.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut mpirun = mpirun.spawn().expect("mpirun starts");
        let victim = loop {
            match &ranks_of(&mpirun.id().to_string())[..] {
                [_, _, last] => break last.clone(),
                _ => thread::yield_now(),
            }
            let ended = mpirun.try_wait().expect("mpirun has a status");
            assert_eq!(ended, None, "{engine}: mpirun ends before there are three ranks");
        };
        let killed = Command::new("kill").args(["-KILL", &victim]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let output = mpirun.wait_with_output().expect("mpirun ends");
        let stdout = String::from_utf8_lossy(&output.stdout);
        // MPICH's launcher says there what has happened.
        assert!(!output.status.success() && !stdout.contains("digest"), "{engine}: {stdout}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Whether mpirun or a rank that is left says so is a matter of luck.
        assert!(!stderr.is_empty() || !stdout.is_empty(), "{engine}: nobody says why");
        assert!(!stderr.contains("time limit"), "{engine}: ranks were left until {stderr}");
    }
}
