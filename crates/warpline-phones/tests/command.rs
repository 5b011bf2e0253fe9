//! The program as a reader of the README calls it.

use std::process::{Command, Output};

/// Runs it with these arguments.
fn phones(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_phones")).args(arguments).output();
    output.expect("the program starts")
}

#[test]
fn gives_the_same_answer_on_every_engine() {
    let digest = |engine: &str| {
        let run = ["run", "pcs", "--cells", "8x8", "--portables", "1000", "--end", "60", "--quiet"];
        let output = phones(&[&run[..], &["--format", "json", "--engine", engine]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = String::from_utf8(output.stdout).expect("a report is UTF-8");
        let digest = report.lines().find(|line| line.contains("\"digest\""));
        digest.map(str::to_owned).expect("a report has a digest")
    };
    assert_eq!(digest("sequential"), digest("speculative"));
    assert_eq!(digest("sequential"), digest("timewarp"));
}

#[test]
fn says_what_it_does_without_arguments() {
    let output = phones(&["--help"]);
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("Without a command, `phones` simulates three days"), "{help}");
}

#[test]
fn is_the_first_command_of_the_readme() {
    let readme = include_str!("../../../README.md");
    let first = readme.lines().skip_while(|line| *line != "```sh").nth(1);
    let command = first.and_then(|line| line.split('#').next()).map(str::trim_end);
    assert_eq!(command, Some("cargo run --release -p warpline-phones"));
}
