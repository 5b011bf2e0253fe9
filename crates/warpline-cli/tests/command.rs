//! The command as its users meet it: what it prints, what it refuses, and its exit status.

use std::{
    fs,
    process::{Command, Output},
};

use proptest::prelude::*;
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
    serde_json::from_str(&stdout(line)).expect("the report is JSON")
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

/// The keys that programs rely on.
#[test]
fn json_report_has_its_keys() {
    let report = json(&format!("{PHOLD} --seed 5 --format json"));
    for key in [
        "model",
        "engine",
        "workers",
        "seed",
        "end_time",
        "committed_events",
        "processed_events",
        "rolled_back_events",
        "rollbacks",
        "efficiency",
        "wall_seconds",
        "events_per_second",
        "gvt_rounds",
        "peak_buffer_bytes",
        "digest",
        "results",
        "parameters",
    ] {
        assert!(!report[key].is_null(), "no `{key}` in {report}");
    }
    assert_eq!(report["seed"], 5);
    assert_eq!(report["model"], "phold");
    assert_eq!(report["results"]["handled"], report["committed_events"].as_f64().unwrap());
    assert_eq!(report["parameters"]["population"], 64);
}

/// `--critical-path` runs on the engine that finds it; both forms of the report tell it, and a row
/// of a sweep has its figure.
#[test]
fn critical_path_is_told() {
    let line = format!("{PHOLD} --critical-path --message-latency 2 --verify");
    let report = json(&format!("{line} --format json"));
    assert_eq!((&report["engine"], &report["verified"]), (&"profile".into(), &true.into()));
    let path = &report["critical_path"];
    assert_eq!((&path["cost"], &path["latency"]), (&"events".into(), &2.into()));
    assert_eq!((&path["events"], &path["work"]), (&report["committed_events"], &path["events"]));
    let parallelism = path["parallelism"].as_f64().expect("a number");
    assert!(path["length"].as_u64().is_some_and(|length| length > 100), "{path}");
    assert!((1.0..16.0).contains(&parallelism), "{path}");
    let speedups = path["speedups"].as_array().expect("a list");
    assert_eq!((&speedups[0]["workers"], &speedups[10]["workers"]), (&1.into(), &1024.into()));
    let text = stdout(&line);
    assert!(
        text.contains("longest chain") && text.contains(&format!("{parallelism:.2}")),
        "{text}"
    );

    let timed = json(&format!("{PHOLD} --engine sequential --critical-path time --format json"));
    assert_eq!(timed["critical_path"]["cost"], "time");
    assert!(json(&format!("{PHOLD} --format json"))["critical_path"].is_null());
    let rows = stdout(&format!("sweep{} --jobs 1 --critical-path --vary lps=1,16", &PHOLD[3..]));
    assert!(rows.lines().next().is_some_and(|header| header.ends_with(",parallelism")), "{rows}");
    assert!(rows.lines().nth(1).is_some_and(|row| row.ends_with(",1.0")), "{rows}");

    refuses(&format!("{PHOLD} --critical-path money"), 2, &["money", "events", "time"]);
    let other = format!("{PHOLD} --engine timewarp --critical-path");
    refuses(&other, 2, &["--critical-path runs on an engine of its own", "--engine timewarp"]);
    let other = format!("{PHOLD} --critical-path --pending heap");
    refuses(&other, 2, &["--pending", "this is --critical-path"]);
    refuses(
        &format!("{PHOLD} --message-latency 3"),
        2,
        &["--message-latency", "with --critical-path"],
    );
}

#[test]
fn pcs_reports_its_figures() {
    let report = json("run pcs --cells 8x4 --portables 800 --end 100 --format json");
    for key in ["blocking_probability", "handoff_drop_probability", "calls", "channel_use"] {
        assert!(report["results"][key].is_number(), "no `{key}` in {report}");
    }
}

/// `info` names the models, and tells of each what its parameters, results and workloads are;
/// nothing is left open.
#[test]
fn info_describes_every_model() {
    let all: Value = serde_json::from_str(&stdout("info --format json")).expect("JSON");
    let models = all.as_array().expect("a list");
    for model in models {
        let name = model["model"].as_str().expect("a name");
        for parameter in model["parameters"].as_array().expect("a list") {
            for key in ["name", "type", "range", "meaning"] {
                let is_given = parameter[key].as_str().is_some_and(|text| !text.is_empty());
                assert!(is_given, "{name}: {parameter} does not say its {key}");
            }
        }
        let report = json(&format!("run {name} --end 1e-9 --format json"));
        let results = model["results"].as_array().expect("a list").iter();
        let names: Vec<_> =
            results.map(|result| result["name"].as_str().expect("a name")).collect();
        let reported: Vec<_> = report["results"].as_object().expect("results").keys().collect();
        assert_eq!(names, reported, "{name}");
        assert!(stdout(&format!("info {name}")).contains("Standard workloads"), "{name}");
    }
    let named =
        |list: &str| models.iter().all(|model| list.contains(model["model"].as_str().expect("")));
    assert!(named(&stdout("info")));
    refuses("info phld", 2, &["phold"]);
}

/// `nodes` shows the cores of this process, and those of any machine whose files it is given.
#[test]
fn nodes_shows_cores_and_memory() {
    let cores = |nodes: &Value| {
        let nodes = nodes.as_array().expect("a list").iter();
        nodes.map(|node| node["cores"].as_array().expect("cores").len()).sum::<usize>()
    };
    if cfg!(target_os = "linux") {
        assert!(cores(&json("nodes --format json")) > 0);
    }
    let machine = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = machine.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    write("online", "0-1\n");
    for (node, cores) in [("node0", "0,2\n"), ("node1", "1,3-4\n")] {
        write(&format!("{node}/cpulist"), cores);
        write(&format!("{node}/distance"), "10 21\n");
    }
    let line = format!("nodes --sysfs {}", machine.path().display());
    assert_eq!(cores(&json(&format!("{line} --format json"))), 5);
    let text = stdout(&line);
    assert!(text.contains("1,3-4") && text.contains("2-4"), "{text}");
    write("node1/cpulist", "1,x\n");
    refuses(&line, 2, &["node1/cpulist", "1,x"]);
    refuses("nodes --sysfs /nowhere", 2, &["/nowhere/online"]);
}

/// Flags and values that are wrong: status 2, the name, the value, what is allowed.
#[test]
fn wrong_usage_is_explained() {
    refuses("run fold", 2, &["fold", "phold"]);
    refuses("run phold --lpss 3", 2, &["--lpss", "--lps"]);
    refuses("run phold --lps x", 2, &["--lps", "x"]);
    refuses("run phold --lps 0", 2, &["`lps` is 0", "1 or more"]);
    refuses("run phold --remote 1.5", 2, &["`remote` is 1.5", "from 0 to 1"]);
    refuses("run phold --remote NaN", 2, &["`remote` is NaN"]);
    refuses("run phold --end -1", 2, &["--end"]);
    refuses("run phold --end=nan", 2, &["--end", "nan", "0 or more"]);
    refuses("run phold --pending laddr", 2, &["laddr", "ladder", "calendar"]);
    refuses("run phold --engine warp", 2, &["warp", "sequential"]);
    refuses("run phold --memory 3MiBs", 2, &["--memory", "MiB"]);
    refuses("run phold --payload 70000", 2, &["`payload` is 70000", "65536"]);
    refuses("run phold --replications 0", 2, &["--replications", "1 or more"]);
    refuses("run phold --replications 99999999999", 2, &["--replications", "at most 1000000"]);
    refuses("run phold --jobs 100000", 2, &["--jobs", "at most 1024"]);
    refuses("run pcs --cells 3by4", 2, &["--cells", "3by4"]);
    refuses("run pcs --stay 5 --mobility high", 2, &["--stay", "--mobility"]);
    refuses("run phold --config missing.toml", 2, &["missing.toml", "cannot be read"]);
    refuses("sweep phold", 2, &["--vary"]);
    refuses("sweep phold --vary remot=1", 2, &["`remot`", "did you mean `remote`"]);
    refuses("sweep phold --vary remote=", 2, &["--vary", "empty"]);
    refuses("sweep phold --vary remote=0.1,7", 2, &["`remote` is 7"]);
    refuses("sweep phold --vary lps=1 --vary lps=2", 2, &["`lps` twice"]);
    refuses("sweep phold --vary output=x", 2, &["`output`"]);
    refuses("bench W99", 2, &["W99", "W1"]);
}

/// A run that fails says where, and what to do.
#[test]
fn a_failed_run_is_status_1() {
    refuses("run phold --memory 100", 1, &["LP 0", "100 bytes", "seed 1", "--memory"]);
}

/// Measurements of a build with assertions would mislead.
#[cfg(debug_assertions)]
#[test]
fn bench_refuses_a_debug_build() {
    refuses("bench W1", 2, &["--release"]);
}

#[test]
fn help_and_version_are_no_failures() {
    assert!(stdout("--help").contains("warpline"));
    assert!(stdout("run pcs --help").contains("--portables"));
    assert!(stdout("--version").starts_with("warpline "));
}

/// A file's keys mean what the flags mean, and typed flags win over them.
#[test]
fn configuration_files_equal_flags() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("phold.toml");
    let config = format!("run phold --config {}", file.display());
    let write = |text: &str| fs::write(&file, text).expect("the file can be written");

    write(
        "model = \"phold\"\nlps = 16\npopulation = 64\nend = 50\nformat = \"json\"\nquiet = true",
    );
    let typed = json(&format!("{PHOLD} --format json"));
    assert_eq!(json(&config)["digest"], typed["digest"]);
    assert_eq!(json(&format!("{config} --seed 9"))["seed"], 9);
    let typed = json(&format!("{PHOLD} --population 32 --format json"));
    assert_eq!(json(&format!("{config} --population 32"))["digest"], typed["digest"]);

    write("remotte = 0.5");
    refuses(&config, 2, &["phold.toml", "`remotte`", "did you mean `remote`"]);
    write("lps = \"many\"");
    refuses(&config, 2, &["phold.toml", "`lps`", "many"]);
    write("lps = [1, 2]");
    refuses(&config, 2, &["phold.toml", "`lps`", "single value"]);
    write("lps = true");
    refuses(&config, 2, &["phold.toml", "`lps`", "single value"]);
    write("quiet = 1");
    refuses(&config, 2, &["phold.toml", "--quiet"]);
    write("lps = ");
    refuses(&config, 2, &["phold.toml", "line 1"]);
    write("model = \"pcs\"");
    refuses(&config, 2, &["phold.toml", "pcs", "phold"]);
    write("remote = 7.0");
    refuses(&config, 2, &["`remote` is 7"]);

    // Two ways to say one thing: what is typed wins over what the file says.
    let pcs = format!("run pcs --end 5 --format json --config {}", file.display());
    write("mobility = \"high\"");
    assert_eq!(json(&format!("{pcs} --stay 5"))["parameters"]["mobility"], Value::Null);
    write("stay = 5");
    assert_eq!(json(&format!("{pcs} --mobility high"))["parameters"]["mobility"], "high");
}

#[test]
fn verify_compares_two_pending_sets() {
    for pending in ["ladder", "heap", "calendar", "skew", "splay"] {
        let line = format!("{PHOLD} --verify --engine sequential --pending {pending}");
        let report = stdout(&line);
        assert!(report.contains("the same with another pending set"), "{report}");
    }
    assert_eq!(json(&format!("{PHOLD} --format json"))["verified"], Value::Null);
    assert_eq!(json(&format!("{PHOLD} --format json --verify"))["verified"], true);
    refuses(&format!("{PHOLD} --verify --replications 2"), 2, &["--verify", "--replications"]);
}

/// Replication 0 is the run itself, and the others have streams of their own.
#[test]
fn replications_give_intervals() {
    let run = json(&format!("{PHOLD} --format json"));
    let report = json(&format!("{PHOLD} --format json --replications 5 --jobs 2"));
    let digests = report["digests"].as_array().expect("a digest for each");
    assert_eq!(digests.len(), 5);
    assert_eq!(digests[0], run["digest"]);
    assert!((1..5).all(|i| !digests[..i].contains(&digests[i])), "{digests:?}");
    assert!(report["half_width_95"]["handled"].as_f64().expect("a number") > 0.0);
    let again = json(&format!("{PHOLD} --format json --replications 5 --jobs 1"));
    assert_eq!(again["results"], report["results"]);
    assert!(stdout(&format!("{PHOLD} --replications 3")).contains("±"));
}

/// A row per run, with one worker in the order of the lists, each the run it says it is.
#[test]
fn sweep_has_a_row_per_run() {
    let line = "sweep phold --lps 16 --end 50 --replications 2 --vary population=32,64 \
                --vary remote=0.5,1 --jobs 1";
    let table = stdout(line);
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let rows: Vec<_> = reader.records().map(|row| row.expect("a row")).collect();
    let cell = |row: usize, name: &str| {
        let column = header.iter().position(|key| key == name).expect("a column");
        rows[row][column].to_owned()
    };
    assert_eq!(rows.len(), 8);
    let order: Vec<_> = (0..8)
        .map(|i| [cell(i, "population"), cell(i, "remote"), cell(i, "replication")])
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    let run = json(&format!("{PHOLD} --format json --remote 1"));
    assert_eq!(cell(6, "digest"), run["digest"].as_str().expect("a digest"));

    let lines = stdout(&format!("{line} --format json --jobs 2"));
    let mut lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    lines
        .sort_by_key(|row| ["population", "remote", "replication"].map(|key| row[key].to_string()));
    assert_eq!(lines.len(), 8);
    assert!((0..8).all(|i| lines[i]["digest"] == cell(i, "digest").as_str()));
}

/// A point that fails is named, and the rows that were done are not lost.
#[test]
fn sweep_keeps_what_is_done_when_a_point_fails() {
    let output = warpline("sweep phold --end 1 --vary memory=1MiB,100,2MiB --jobs 1");
    assert_eq!(output.status.code(), Some(1));
    let (rows, error) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(error.contains("memory=100, replication 0:"), "{error}");
    let rows = String::from_utf8(rows).expect("UTF-8");
    assert!(rows.contains("\n1MiB,") && rows.contains("\n2MiB,"), "{rows}");
}

/// A reader that goes away ends a sweep without a word, however many rows it would have got.
#[test]
fn sweep_ends_when_its_reader_is_gone() {
    let line = "sweep phold --end 1 --jobs 1 --vary memory=1MiB,2MiB,3MiB,4MiB,5MiB,6MiB";
    // Gone before the command starts: otherwise all rows might be in the pipe by then.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command(line).stdout(writer).output().expect("the command ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// The seed of a row is the one that repeats it.
#[test]
fn sweep_tells_the_seed_of_each_replication() {
    let rows = stdout("sweep phold --end 5 --vary seed=1,2 --replications 2 --format json");
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).expect("a JSON line");
        let again = json(&format!("run phold --end 5 --format json --seed {}", row["seed"]));
        assert_eq!(again["digest"], row["digest"], "{row}");
    }
}

/// A report goes to its file; a file that cannot be written is found out before the run, and a run
/// that fails changes no file.
#[test]
fn output_files_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("report.txt");
    let at = format!("--output {}", file.display());

    assert!(stdout(&format!("{PHOLD} {at}")).is_empty());
    let report = fs::read_to_string(&file).expect("the report");
    assert!(report.contains("digest"));

    refuses(&format!("run phold --memory 100 {at}"), 1, &["--memory"]);
    assert_eq!(fs::read_to_string(&file).expect("the old report"), report);

    fs::remove_file(&file).expect("the report can be removed");
    refuses(&format!("run phold --memory 100 {at}"), 1, &["--memory"]);
    assert!(!file.exists(), "a run that failed left an empty report");

    // This run would last for years, if it were started.
    let nowhere = folder.path().join("no/such/folder/report.txt");
    refuses(&format!("run phold --end 1e300 --output {}", nowhere.display()), 2, &["--output"]);
}

/// The first interrupt ends the run with the report so far.
#[cfg(target_os = "linux")]
#[test]
fn interrupt_gives_the_report_so_far() {
    let mut endless = command("run phold --end 1e300 --format json");
    let output = interrupted(&mut endless);
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["interrupted"], true);
    assert!(report["end_time"].as_f64().is_some_and(|time| time < 1e300));
}

/// Words that may follow a flag; runs stay small because the good ones are.
const VALUES: [&str; 16] = [
    "0",
    "1",
    "2",
    "7",
    "0.5",
    "-1",
    "1e-3",
    "nan",
    "inf",
    "-inf",
    "x",
    "",
    "3x2",
    "high",
    "bounded",
    "99999999999999999999",
];

/// Each model, small enough for whatever follows, with its flags.
const MODELS: [(&str, &[&str]); 3] = [
    (
        "phold --lps 8 --population 16",
        &[
            "lps",
            "population",
            "remote",
            "mean",
            "lookahead",
            "neighborhood",
            "blocks",
            "payload",
            "grain",
            "seed",
            "memory",
            "replications",
        ],
    ),
    (
        "hypercube --messages 20",
        &["dimension", "messages", "min-length", "max-length", "latency", "seed", "memory"],
    ),
    (
        "pcs --cells 3x2 --portables 20",
        &[
            "cells",
            "portables",
            "channels",
            "stay",
            "call",
            "idle",
            "mobility",
            "grid",
            "warmup",
            "seed",
            "memory",
            "bogus",
        ],
    ),
];

fn words() -> impl Strategy<Value = (&'static str, Vec<String>)> {
    let flag = |flags: &'static [&'static str]| {
        (prop::sample::select(flags), prop::sample::select(&VALUES[..]))
            .prop_map(|(flag, value)| format!("--{flag}={value}"))
    };
    prop::sample::select(&MODELS[..]).prop_flat_map(move |(model, flags)| {
        (Just(model), prop::collection::vec(flag(flags), 0..3))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is typed, the command ends with a report or with a sentence, never with a panic.
    #[test]
    fn random_words_never_panic((model, flags) in words()) {
        let mut command = command(&format!("run {model} --end 1"));
        let output = command.args(&flags).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        prop_assert!(matches!(output.status.code(), Some(0..=2)), "{flags:?}: {stderr}");
        prop_assert!(!stderr.contains("panicked") && !stderr.contains("unwrap"), "{stderr}");
        prop_assert_eq!(output.status.success(), stderr.is_empty(), "{}", stderr);
    }
}
