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
    assert_eq!(info["results"][1]["name"], "wait_mean");
    assert!(bank("info").1.contains("bank  A bank whose customers"));
    let (status, _, err) = bank("run bank --onward 1");
    assert_eq!(status, Some(2));
    assert!(err.contains("`onward` is 1"), "{err}");
    assert!(bank("run bank --help").1.contains("--customers-per-hour"));
    let (status, _, err) = bank("bench");
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("unrecognized subcommand"), "{err}");
}
