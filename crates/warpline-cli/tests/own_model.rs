//! The command for a model of a user's own: the example `bank`, in a process of its own.
//!
//! Method: this program has no test harness. Started by `cargo test` it starts itself with words
//! for the command, and a variable that says so.

use std::{env, process::Command};

use serde_json::Value;

#[path = "../examples/bank.rs"]
mod bank;

/// Set where this program is to be the command.
const IS_COMMAND: &str = "WARPLINE_TEST_IS_COMMAND";

fn main() -> std::process::ExitCode {
    if env::var_os(IS_COMMAND).is_some() {
        return bank::main();
    }
    a_model_has_run_sweep_info_and_help();
    eprintln!("test a_model_has_run_sweep_info_and_help ... ok");
    std::process::ExitCode::SUCCESS
}

/// The status, standard output and standard error of the command.
fn bank(line: &str) -> (Option<i32>, String, String) {
    let program = env::current_exe().expect("this program has a path");
    let output = Command::new(program).args(line.split_whitespace()).env(IS_COMMAND, "1").output();
    let output = output.expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A warm-up, intervals, and the table of a series, of a model that has said nothing but where its
/// statistics are.
fn statistics_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("day.csv");
    let report = |line: &str| -> Value {
        let (status, out, err) = bank(&format!("{line} --format json"));
        assert_eq!(status, Some(0), "{line}: {err}");
        serde_json::from_str(&out).expect("the report is JSON")
    };
    let run = format!("run bank --end 600 --warmup 120 --statistics {}", table.display());
    let report_of = report(&run);
    assert_eq!(report_of["warmup"], 120.0);
    let text = std::fs::read_to_string(&table).expect("a table");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "statistic,unit,from,until,bin,value");
    assert_eq!(lines.len(), 1 + 8, "{text}");
    assert!(lines[1].starts_with("came,customers,120.0,180.0,,"), "{text}");
    let came = lines[1..].iter().map(|line| line.rsplit(',').next().expect("a cell"));
    let came: f64 = came.map(|cell| cell.parse::<f64>().expect("a number")).sum();
    assert_eq!(report_of["results"]["served"], came);
    assert_eq!(report_of["results"]["served_rate"], came / 480.0);
    let found = report("analyze bank --find-warmup");
    assert!(found["warm_up"]["results"]["waits_p50"].is_number());
    // Extremes never settle, so nothing is said of when they do.
    assert_eq!(found["warm_up"]["left_out"], serde_json::json!(["wait_min", "wait_max"]));
    assert!(found["warm_up"]["results"]["wait_max"].is_null());
    assert!(found["intervals"]["results"]["wait_max"].is_array());
    let (_, text, _) = bank("analyze bank --find-warmup");
    assert!(text.contains("leave it out with --warmup") || text.contains("run longer"), "{text}");
    assert!(text.contains("an extreme never settles: wait_min, wait_max\n"), "{text}");
    let page = folder.path().join("day.html");
    let line = format!("run bank --end 600 --report {}", page.display());
    assert_eq!(bank(&line).0, Some(0));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("When it happened") && page.contains("Customers who came"), "no series");
}

/// Completions and pages have the name of this program, and the model.
fn its_own_name_is_completed() {
    let program = env::current_exe().expect("this program has a path");
    let name = program.file_stem().and_then(|stem| stem.to_str()).expect("it has a name");
    let (status, script, err) = bank("completions bash");
    assert_eq!(status, Some(0), "{err}");
    assert!(script.trim_end().ends_with(&format!(" {name}\nfi")), "{script}");
    assert!(script.contains("--customers-per-hour"), "{script}");
    let (status, page, err) = bank("man");
    assert_eq!(status, Some(0), "{err}");
    assert!(page.contains(&format!(".TH {name} 1 ")), "{page}");
    assert!(!page.contains("warpline\\-run"), "{page}");
}

/// A model that says nothing but what it has to: all that branches and checkpoints need is named at
/// once, and once for all replications.
fn what_is_missing_is_told_at_once() {
    let branch = "branch bank --at 60 --end 90 --vary service=1,2 --replications 3";
    let (status, _, err) = bank(branch);
    assert_eq!((status, err.matches("has no branches yet").count()), (Some(2), 1), "{err}");
    for part in ["fn wires(&self)", "fn adapt(&self", "Serialize"] {
        assert_eq!(err.matches(part).count(), 1, "{part}: {err}");
    }
    let (status, _, err) = bank("run bank --end 60 --checkpoint never.ckpt");
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("fn wires(&self)") && err.contains("fn state_wire(&self)"), "{err}");
}

/// What no code of the model checks: the words of its domains do. Red if `catalog` does not call
/// `domain::check`.
fn values_that_domains_exclude_are_refused() {
    for (flag, value) in [("branches", "0"), ("service", "-1"), ("onward", "1"), ("onward", "-0.5")]
    {
        let (status, _, err) = bank(&format!("run bank --end 1 --{flag} {value}"));
        assert_eq!(status, Some(2), "{err}");
        assert!(err.contains(&format!("`{flag}` is {value}")), "{err}");
    }
}

fn a_model_has_run_sweep_info_and_help() {
    for line in [
        "run bank",
        "run bank --engine timewarp --workers 2",
        "run bank --engine speculative --workers 2",
        "run bank --replications 3",
    ] {
        let verify = if line.contains("replications") { "" } else { "--verify" };
        let (status, out, err) = bank(&format!("{line} --end 600 --format json {verify}"));
        assert_eq!(status, Some(0), "{line}: {err}");
        let report: Value = serde_json::from_str(&out).expect("the report is JSON");
        assert_eq!(report["model"], "bank", "{line}");
        assert!(report["results"]["served"].as_f64().is_some_and(|n| n > 1_000.0), "{out}");
    }
    let (status, rows, err) = bank("sweep bank --end 60 --vary onward=0,0.5 --format json");
    assert_eq!((status, rows.lines().count()), (Some(0), 2), "{err}");
    let (_, info, _) = bank("info bank --format json");
    let info: Value = serde_json::from_str(&info).expect("the description is JSON");
    let service = &info["parameters"][2];
    assert_eq!(
        [&service["name"], &service["unit"], &service["type"]],
        ["service", "minutes", "number"]
    );
    assert_eq!(info["results"][2]["name"], "wait_mean");
    assert_eq!(info["results"][2]["unit"], "minutes");
    statistics_are_reported();
    assert!(bank("info").1.contains("bank  A bank whose customers"));
    let (status, _, err) = bank("run bank --onward 1");
    assert_eq!(status, Some(2));
    assert!(err.contains("`onward` is 1"), "{err}");
    assert!(bank("run bank --help").1.contains("--customers-per-hour"));
    its_own_name_is_completed();
    what_is_missing_is_told_at_once();
    values_that_domains_exclude_are_refused();
    let (status, _, err) = bank("bench");
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("unrecognized subcommand"), "{err}");
}
