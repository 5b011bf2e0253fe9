//! Time Warp as the command's users meet it: the same answers, what is refused, and how it ends.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

#[cfg(target_os = "linux")]
#[path = "interrupt/mod.rs"]
mod interrupt;
#[cfg(target_os = "linux")]
use interrupt::interrupted;

fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(line.split_whitespace());
    command
}

fn warpline(line: &str) -> Output {
    command(line).output().expect("the command starts")
}

#[track_caller]
fn stdout(line: &str) -> String {
    let output = warpline(line);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {stderr}");
    String::from_utf8(output.stdout).expect("the report is UTF-8")
}

#[track_caller]
fn json(line: &str) -> Value {
    serde_json::from_str(&stdout(&format!("{line} --format json"))).expect("the report is JSON")
}

/// The command must fail with this status and say all of this.
#[track_caller]
fn refuses(line: &str, status: i32, says: &[&str]) {
    let output = warpline(line);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "`{line}`: {stderr}");
    for part in says {
        assert!(stderr.contains(part), "`{line}` does not say `{part}`:\n{stderr}");
    }
    assert!(output.stdout.is_empty(), "`{line}` printed a report");
}

const PHOLD: &str = "run phold --lps 16 --population 64 --end 50";
const PCS: &str = "run pcs --cells 8x4 --portables 800 --end 60";

/// The sizes of partitioned pools, for each pair of workers, are read from a file.
#[test]
fn sizes_of_pairs_come_from_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("sizes.txt");
    let few = format!("{PHOLD} --engine timewarp --workers 2 --memory 256KiB");
    let line = format!("{few} --pool partitioned:sizes={}", file.display());
    refuses(&line, 2, &["--pool", "`sizes` is", "cannot be read"]);
    for (text, says) in [
        ("1 2\n3", "line 2 has 1 numbers, but must have 2"),
        ("1 2\n3 four", "line 2: `four` must be a number"),
        ("1 2 3\n4 5 6\n7 8 9", "a table for 2 workers"),
    ] {
        fs::write(&file, text).expect("writable");
        refuses(&line, 2, &["sizes", says]);
    }
    fs::write(&file, "# worker 0, worker 1\n1 4\n4 1\n").expect("writable");
    assert_eq!(json(&line)["digest"], json(PHOLD)["digest"]);
    refuses(&format!("{line},local-share=0.1"), 2, &["`local-share` and `sizes`"]);
    let other = format!("{few} --pool sender:sizes={}", file.display());
    refuses(&other, 2, &["sender has no parameter `sizes`", "global-share, quota, delta"]);
}

/// Whatever the number of workers, the digest and the figures are the sequential engine's.
#[test]
fn the_answer_is_the_sequential_one() {
    for model in [PHOLD, PCS] {
        let oracle = json(model);
        for workers in [1, 2, 4] {
            let line = format!("{model} --engine timewarp --workers {workers} --verify");
            let report = json(&line);
            for key in ["digest", "committed_events", "results", "end_time", "seed"] {
                assert_eq!(report[key], oracle[key], "`{key}` of `{line}`");
            }
            assert_eq!(report["engine"], "timewarp");
            assert_eq!(report["workers"], workers);
            assert_eq!(report["verified"], true);
            let text = stdout(&line);
            assert!(text.contains("the same on the sequential engine"), "{text}");
        }
    }
}

/// The policies are there under their names, and none changes the answer.
#[test]
fn no_policy_changes_the_answer() {
    let oracle = json(PHOLD);
    for flags in [
        "--batch 1",
        "--window 0.5",
        "--window 0",
        "--saving reverse",
        "--checkpoint-interval 4",
        "--checkpoint-interval auto",
        "--pool partitioned:on-the-fly",
        "--pool sender:quota=64,delta=8",
        "--saving copy:interval=4",
        "--memory-placement lp:daemons=1,period=0.5",
        "--gvt-interval 1",
        "--time-barrier 10",
        "--memory 256KiB --flow free1=0.3,free2=0.5",
        "--memory 256KiB --flow few-buffers=5",
        "--throttle off",
        "--pin off",
        "--pending heap",
    ] {
        let report = json(&format!("{PHOLD} --engine timewarp --workers 2 {flags}"));
        assert_eq!(report["digest"], oracle["digest"], "{flags}");
    }
}

/// A single worker is the sequential engine, and the report says so; but whoever types a policy,
/// though it be the default, gets all of Time Warp: a sweep over its values compares like with
/// like.
#[test]
fn a_single_worker_reads_what_is_typed() {
    let line = format!("{PHOLD} --engine timewarp --workers 1");
    let (rounds, remark) =
        ("gvt_rounds", "the only worker has worked as the sequential engine does");
    let text = stdout(&line).replace("\n    ", " ");
    assert!(text.contains("how it was run\n") && text.contains(remark), "{text}");
    assert_eq!(json(&line)[rounds], 0);
    assert_eq!(json(&format!("{line} --pending heap --balance on --pin off"))[rounds], 0);
    for flags in [
        "--batch 64",
        "--window 0",
        "--saving copy",
        "--gvt-interval 1024",
        "--pool adaptive",
        "--pool sender:quota=100",
        "--memory 1MiB --flow free1=0.1",
        "--mail worker",
        "--throttle on",
    ] {
        let report = json(&format!("{line} {flags}"));
        assert!(report[rounds].as_u64().is_some_and(|rounds| rounds > 0), "{flags}: {report}");
        assert!(!report["remarks"].to_string().contains(remark), "{flags}: {report}");
        assert_eq!(report["digest"], json(PHOLD)["digest"], "{flags}");
    }
    let table = stdout(&format!("{} --vary batch=16,64", line.replacen("run", "sweep", 1)));
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let column = rows.headers().expect("a header").iter().position(|key| key == rounds);
    let column = column.expect("the rounds of GVT");
    for row in rows.records().map(|row| row.expect("as long as the header")) {
        assert_ne!(&row[column], "0", "{table}");
    }
}

/// Counters always, costs when they are asked for; the parts come to all the time of all workers.
#[test]
fn details_are_reported() {
    let line = format!("{PHOLD} --engine timewarp --workers 2");
    let report = json(&line);
    assert!(report["counters"]["anti_messages"].is_u64(), "{report}");
    assert_eq!(report["costs_ns_per_event"], serde_json::json!({}));
    // A run as short as this has something to say about itself.
    let remarks = report["remarks"].as_array().expect("a list");
    assert!(!remarks.is_empty(), "{report}");
    let text = stdout(&line);
    assert!(text.contains("why it was slow\n  - "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!stdout(PHOLD).contains("why it was slow"));

    let report = json(&format!("{line} --costs"));
    let costs = report["costs_ns_per_event"].as_object().expect("an object");
    assert!(costs["handler"].is_f64() && costs["fossil_collection"].is_f64(), "{costs:?}");
    let sum: f64 = costs.values().filter_map(Value::as_f64).sum();
    let wall = report["wall_seconds"].as_f64().expect("a number");
    let spent = 2e9 * wall / report["committed_events"].as_f64().expect("a number");
    assert!(sum >= 0.999 * spent, "{sum} of {spent} ns");
    let text = stdout(&format!("{line} --costs"));
    assert!(text.contains("other, waiting included"), "{text}");
}

/// Flags and values that are wrong: status 2, the name, the value, what is allowed.
#[test]
fn wrong_usage_is_explained() {
    let timewarp = |flags: &str| format!("{PHOLD} --engine timewarp {flags}");
    for (flags, says) in [
        ("--workers 0", ["--workers", "1 or more"]),
        ("--workers 2000", ["--workers", "at most 1024"]),
        ("--workers two", ["--workers", "a whole number"]),
        ("--batch 0", ["--batch", "1 or more"]),
        ("--batch 70000", ["--batch", "at most 65536"]),
        ("--window=-1", ["--window", "0 or more"]),
        ("--window nan", ["--window", "0 or more"]),
        ("--saving copies", ["--saving", "reverse"]),
        ("--checkpoint-interval 0", ["checkpoint-interval", "`auto`"]),
        ("--checkpoint-interval 2000000", ["checkpoint-interval", "1048576"]),
        ("--cancellation lazy", ["--cancellation", "unexpected"]),
        ("--pool partitioned:gradual", ["no parameter `gradual`", "sizes, on-the-fly"]),
        ("--pool adaptive:on-the-fly", ["--pool", "adaptive has no parameter"]),
        ("--gvt-interval 0", ["--gvt-interval", "1 or more"]),
        ("--time-barrier inf", ["--time-barrier", "a finite number"]),
        ("--flow free1=1.5", ["--flow", "`free1` is `1.5`: expected a fraction, from 0 to 1"]),
        ("--flow few-buffers=-1", ["--flow", "a whole number, 0 or more"]),
        ("--memory-placement lp:daemons=x", ["--memory-placement", "`daemons` is `x`"]),
        ("--saving copy:interval=0", ["--saving", "1 or more, or `auto`"]),
        ("--throttle maybe", ["--throttle", "off"]),
        ("--pin 3", ["--pin", "off"]),
    ] {
        refuses(&timewarp(flags), 2, &says);
    }
    refuses(
        &format!("{PCS} --engine timewarp --saving reverse"),
        2,
        &["`saving` is reverse", "copy"],
    );
    refuses("bench W1 --workers 1,0", 2, &["--workers", "1 or more"]);
    refuses("bench W1 --only timewrap", 2, &["--only", "timewarp"]);
}

/// The limit is kept, and an error names it and the flag.
#[test]
fn too_little_memory_is_explained() {
    for workers in [1, 2] {
        let line = format!("{PHOLD} --engine timewarp --workers {workers} --memory 2000");
        refuses(&line, 1, &["2000 bytes", "--memory", "engine timewarp", "seed 1"]);
    }
}

#[test]
fn reverse_check_runs() {
    let report = json(&format!("{PHOLD} --engine reverse-check --verify"));
    assert_eq!(report["engine"], "reverse-check");
    assert_eq!(report["digest"], json(PHOLD)["digest"]);
    assert_eq!(report["verified"], true);
}

/// A file's keys mean what the flags mean; what is on or off may be true or false.
#[test]
fn configuration_files_equal_flags() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("phold.toml");
    let line = format!("{PHOLD} --config {}", file.display());
    let write = |text: &str| fs::write(&file, text).expect("the file can be written");

    write(
        "engine = \"timewarp\"\nworkers = 3\nbatch = 4\nwindow = 2.5\nsaving = \"copy\"\n\
         checkpoint_interval = 2\nthrottle = false\npin = \"off\"\ncosts = true\n\
         memory = \"64MiB\"\nflow = \"free1=0.2\"",
    );
    let report = json(&line);
    assert_eq!(report["workers"], 3);
    assert_eq!(report["digest"], json(PHOLD)["digest"]);
    assert!(report["costs_ns_per_event"]["handler"].is_f64());
    assert_eq!(json(&format!("{line} --workers 2"))["workers"], 2);

    write("engine = \"timewarp\"\nworkers = 2\nsaving = \"incremental\"\ncheckpoint_interval = 2");
    assert_eq!(json(&line)["digest"], json(PHOLD)["digest"]);

    write("throttle = 1");
    refuses(&line, 2, &["phold.toml", "`throttle`"]);
    write("workers = true");
    refuses(&line, 2, &["phold.toml", "`workers`", "single value"]);
    write("batch = 0");
    refuses(&line, 2, &["phold.toml", "`batch`"]);
}

/// A flag that the engine or a policy does not read is refused, and the refusal says who reads it:
/// typed, from a configuration file, and in a sweep.
#[test]
fn flags_that_nobody_reads_are_refused() {
    let engine = |flag: &str, says: &str| {
        let word = flag.split(' ').find(|word| word.starts_with("--") && *word != "--engine");
        refuses(&format!("{PHOLD} {flag}"), 2, &[word.unwrap_or(flag), says]);
    };
    for flag in ["--pool sender", "--batch 3", "--saving copy", "--throttle off", "--costs"] {
        engine(flag, "--engine timewarp");
    }
    engine("--engine sequential --workers 2", "--engine conservative or --engine timewarp");
    engine("--synchronization windows", "--engine conservative");
    engine("--engine timewarp --synchronization windows", "--engine conservative");
    engine("--engine conservative --pending heap", "--engine sequential or --engine timewarp");
    for (flags, needs) in [
        ("--saving reverse --checkpoint-interval 4", "--saving copy"),
        ("--flow free1=0.2", "--memory"),
        ("--pool sender:global-share=0.2", "--memory"),
        ("--pool partitioned:local-share=0.2", "--memory"),
        ("--aggregation off", "--ranks"),
    ] {
        refuses(&format!("{PHOLD} --engine timewarp {flags}"), 2, &["is read only", needs]);
    }
    let windows = "--engine conservative --synchronization windows --edge-capacity 4";
    refuses(&format!("{PHOLD} {windows}"), 2, &["--edge-capacity", "null-messages"]);
    let windows = "--engine conservative --synchronization windows --scheduler fifo";
    refuses(&format!("{PHOLD} {windows}"), 2, &["--scheduler", "null-messages"]);
    let unknown = "--engine conservative --scheduler random";
    refuses(&format!("{PHOLD} {unknown}"), 2, &["random", "simulation-time, fifo, lifo"]);

    let weights = "--engine conservative --lookahead 0.1 --placement-weights trial";
    refuses(&format!("{PHOLD} {weights}"), 2, &["--placement-weights", "--placement blocks"]);

    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("pool.toml");
    fs::write(&file, "pool = \"sender\"").expect("writable");
    let line = format!("{PHOLD} --config {}", file.display());
    refuses(&line, 2, &["--pool", "--engine timewarp"]);
    stdout(&format!("{line} --engine timewarp"));

    let sweep = "sweep phold --lps 16 --population 64 --end 5";
    refuses(&format!("{sweep} --vary pool=sender,receiver"), 2, &["--pool", "--engine timewarp"]);
    // One of the runs reads it: that is enough.
    stdout(&format!("{sweep} --vary engine=sequential,timewarp --workers 2 --pool sender"));
}

/// The same in a benchmark: one of the engines that it measures must read a flag.
#[test]
fn flags_that_no_measured_engine_reads_are_refused() {
    for (flags, says) in [
        ("--only sequential --pool sender", ["--pool", "timewarp only"]),
        ("--only sequential,bare --workers 2", ["conservative or timewarp", "sequential and bare"]),
        ("--only bare --ranks 2", ["--ranks", "this measures bare"]),
        ("--only timewarp --all-pending", ["--all-pending", "sequential only"]),
        ("--only bare --busy", ["--busy", "this measures bare"]),
        ("--only conservative --workers 2", ["--workers", "no lookahead"]),
        ("--aggregation off", ["--aggregation", "--ranks"]),
        ("--saving reverse --checkpoint-interval 4", ["--checkpoint-interval", "--saving copy"]),
        ("--pool sender:global-share=0.2", ["--memory", "does not have"]),
    ] {
        refuses(&format!("bench W1 {flags}"), 2, &says);
    }
    refuses("bench W2 --only conservative --batch 3", 2, &["--batch", "measures conservative"]);
    refuses("bench --sends --pool sender", 2, &["--pool", "--sends"]);
    // These are read, so that nothing but the debug build is wrong.
    #[cfg(debug_assertions)]
    for flags in [
        "W1 --pool receiver:local-pool --busy --all-pending",
        "W1 --only auto,sequential --busy=1,2",
        "W1 --only timewarp --workers 2 --ranks 2 --aggregation off",
        "W2 --only conservative --workers 2 --pin off",
        "--sends --samples 1 --length 0.1",
    ] {
        refuses(&format!("bench {flags}"), 2, &["--release"]);
    }
}

/// Engines and workers can be varied: every row has the same digest, and the same columns.
#[test]
fn sweeps_vary_engine_and_workers() {
    let line = "sweep phold --lps 16 --population 64 --end 50 --vary engine=sequential,timewarp \
                --vary workers=1,2";
    let table = stdout(line);
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let column = |name: &str| header.iter().position(|key| key == name).expect("a column");
    let (digest, workers) = (column("digest"), column("workers"));
    let rows: Vec<_> = reader.records().map(|row| row.expect("as long as the header")).collect();
    assert_eq!(rows.len(), 4);
    let oracle = json(PHOLD);
    assert!(rows.iter().all(|row| oracle["digest"] == row[digest]), "{table}");
    assert_eq!([&rows[2][workers], &rows[3][workers]], ["1", "2"]);
}

/// Each replication has workers of its own, and is the run with its seed.
#[test]
fn replications_are_the_sequential_ones() {
    let sequential = json(&format!("{PHOLD} --replications 4"));
    for flags in [
        "timewarp --workers 2",
        "timewarp --workers 1",
        "timewarp --workers 2 --jobs 3",
        "timewarp",
        "speculative --workers 2",
    ] {
        let report = json(&format!("{PHOLD} --replications 4 --engine {flags}"));
        for key in ["digests", "committed_events", "results", "half_width_95"] {
            assert_eq!(report[key], sequential[key], "`{key}` with `{flags}`");
        }
        let number = |key: &str| report[key].as_u64().expect("a number");
        let (processed, undone) = (number("processed_events"), number("rolled_back_events"));
        assert_eq!(processed, number("committed_events") + undone);
        let efficiency = number("committed_events") as f64 / processed as f64;
        let reported = report["efficiency"].as_f64().expect("a number");
        assert!((reported - efficiency).abs() < 1e-12, "{reported} for {efficiency}");
    }
}

/// The first interrupt ends the run of all workers with the report so far.
#[cfg(target_os = "linux")]
#[test]
fn interrupt_gives_the_report_so_far() {
    let mut endless =
        command("run phold --end 1e300 --engine timewarp --workers 2 --verify --format json");
    let output = interrupted(&mut endless);
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["verified"], Value::Null);
    assert!(report["end_time"].as_f64().is_some_and(|time| time < 1e300));
}

/// The process that `bench --busy` starts is bound to one core and busy there, and ends with
/// whoever started it.
#[cfg(target_os = "linux")]
#[test]
fn the_busy_process_has_one_core_and_ends() {
    let mut child = command("spin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("it says something");
    assert_eq!(line, "ready\n");
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    assert!(cores.is_some_and(|cores| cores.trim().parse::<u32>().is_ok()), "{cores:?}");
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    refuses("spin --cores 100000", 1, &["cannot be bound"]);
}

/// Weights from a file: what cannot be read is an error that names the file and the line, and what
/// can be read changes no result.
#[test]
fn placement_weights_come_from_a_file_or_a_trial() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = "run phold --lps 16 --population 64 --end 20 --engine timewarp --workers 2 \
               --placement blocks --placement-weights";
    let file = |name: &str, text: String| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("writable");
        format!("{run} {}", path.display())
    };
    let bad = file("bad.txt", "1\n2\nmany\n".to_owned());
    refuses(&bad, 2, &["bad.txt, line 3", "`many`", "a whole number from 0 to"]);
    let negative = file("negative.txt", "-1\n".repeat(16));
    refuses(&negative, 2, &["negative.txt, line 1", "`-1`", "a whole number from 0 to"]);
    let short = file("short.txt", "1\n".repeat(15));
    refuses(&short, 2, &["placement-weights", "15 lines for 16 LPs", "as many lines"]);
    refuses(&format!("{run} none.txt"), 2, &["equal, trial", "none.txt"]);
    refuses(&format!("{run} trial:0"), 2, &["trial:0", "1 or more"]);
    let good = file("good.txt", (0..16).map(|lp| format!("{lp}\n")).collect());
    for line in [good, format!("{run} trial"), format!("{run} trial:50")] {
        stdout(&format!("{line} --verify"));
    }
}
