//! The files of the command: none is lost, and none that cannot be written costs the report.

mod common;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use tempfile::tempdir;

use common::{refuses, stdout, warpline};

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const DECK: &str = "\
an inverter
.include cells.cir
vdd vdd 0 3.3
vin a 0 pulse(0 3.3 1n 0.2n 0.2n 4n 10n)
x1 a b vdd inv
cb b 0 10f
.tran 10p 12n
.measure tran fall trig v(a) val=1.65 rise=1 targ v(b) val=1.65 fall=1
.end
";
const CELLS: &str = "\
.model nch nmos level=1 vto=0.7 kp=1.3e-4
.model pch pmos level=1 vto=-0.8 kp=4e-5
.subckt inv in out vdd
mp out in vdd vdd pch w=2u l=0.35u
mn out in 0 0 nch w=1u l=0.35u
.ends
";
const NETWORK: &str = "from,to,km\nBern,Thun,30\nThun,Bern,30\n";

/// Files that can be inputs of all commands.
fn inputs(at: &Path) -> Vec<(&'static str, String)> {
    let files = [
        ("x.cir", DECK),
        ("cells.cir", CELLS),
        ("net.csv", NETWORK),
        ("my.toml", "seed = 3\n"),
        ("sizes", "1 1\n1 1\n"),
        ("places", "0\n0\n"),
        ("weights", "1\n1\n"),
    ];
    for (name, text) in files {
        fs::write(at.join(name), text).expect("written");
    }
    files.map(|(name, text)| (name, text.to_owned())).into()
}

/// An output that is an input, or another output, is refused before anything is touched, whatever
/// the file is called; and so it is with every command. Red if `lab` does not name the files of its
/// figures, or a command not where its standard output goes.
#[test]
fn no_output_takes_the_place_of_another_file() {
    let at = tempdir().expect("a folder");
    let at = at.path();
    let inputs = inputs(at);
    #[cfg(unix)]
    std::os::unix::fs::symlink("x.cir", at.join("link")).expect("linked");
    let timewarp = "run phold --lps 2 --engine timewarp --workers 2 --end 1";
    let circuit = "run circuit --netlist x.cir";
    let lines = [
        (format!("{circuit} --vcd x.cir"), "--vcd", "--netlist"),
        (format!("{circuit} --vcd cells.cir"), "--vcd", "--netlist"),
        (format!("{circuit} --report cells.cir"), "--report", "--netlist"),
        (format!("{circuit} --report ./x.cir"), "--report", "--netlist"),
        (format!("{circuit} --trace ../{}/x.cir", name_of(at)), "--trace", "--netlist"),
        (format!("{circuit} --vcd a --crossings ./a"), "--vcd", "--crossings"),
        (format!("{circuit} --vcd a --report ./a"), "--vcd", "--report"),
        ("circuit export x.cir --spice cells.cir".into(), "--spice", "--netlist"),
        ("circuit export x.cir --spice ./x.cir".into(), "--spice", "--netlist"),
        ("lab fig1 --quick --netlist x.cir --results ./x.cir".into(), "--results", "--netlist"),
        ("lab fig1 --quick --netlist x.cir --results cells.cir".into(), "--results", "--netlist"),
        ("lab fig1 --quick --output new --results ./new/fig1.csv".into(), "--results", "--output"),
        ("lab fig1 --quick --output new/s --results new/s/fig1.md".into(), "--results", "--output"),
        ("run pcs --end 1 --config my.toml --output ./my.toml".into(), "--output", "--config"),
        ("run pcs --end 1 --report ./r --output r".into(), "--report", "--output"),
        ("run pcs --end 1 --trace ./r --output r".into(), "--trace", "--output"),
        ("run traffic --network net.csv --series net.csv".into(), "--series", "--network"),
        ("run traffic --network net.csv --segments ./net.csv".into(), "--segments", "--network"),
        ("run traffic --map ./m.svg --map m.svg --end 1".into(), "--map", "twice"),
        ("run network --packets net.csv --link-table net.csv".into(), "--link-table", "--packets"),
        (format!("{timewarp} --placement places --output places"), "--output", "--placement"),
        (
            format!("{timewarp} --placement blocks --placement-weights weights --report weights"),
            "--report",
            "--placement-weights",
        ),
        (
            format!("{timewarp} --memory 1MiB --pool partitioned:sizes=sizes --trace sizes"),
            "--trace",
            "--pool",
        ),
        (
            "sweep traffic --end 1 --vary network=italy,net.csv --output net.csv".into(),
            "--output",
            "--network",
        ),
    ];
    for (line, output, other) in &lines {
        refuses(at, line, 2, &[output, other]);
        for (name, text) in &inputs {
            assert_eq!(&fs::read_to_string(at.join(name)).expect("there"), text, "`{line}`");
        }
    }
    if cfg!(unix) {
        refuses(at, &format!("{circuit} --vcd link"), 2, &["--vcd"]);
        fs::create_dir(at.join("figures")).expect("made");
        fs::hard_link(at.join("x.cir"), at.join("figures/fig1.csv")).expect("linked");
        let figure = "lab fig1 --quick --netlist x.cir --output figures";
        refuses(at, figure, 2, &["--output names the file that --netlist reads", "fig1.csv"]);
        for (line, input) in [
            (circuit, "x.cir"),
            (circuit, "cells.cir"),
            ("lab fig1 --quick --netlist x.cir", "cells.cir"),
            ("sweep traffic --end 1 --network net.csv --vary seed=1", "net.csv"),
        ] {
            let file = fs::File::options().append(true).open(at.join(input)).expect("it is there");
            let output = common::command(at, line).stdout(file).output();
            let said = errors(&output.expect("the command starts"));
            let start = "error: standard output goes to the file that --net";
            assert!(said.starts_with(start) && said.contains(input), "`{line}`: {said}");
            assert!(said.contains("redirect it to another file"), "`{line}`: {said}");
        }
        for (name, text) in &inputs {
            assert_eq!(&fs::read_to_string(at.join(name)).expect("there"), text, "{name}");
        }
        stdout(at, "run pcs --end 1 --report /dev/null --output /dev/null");
    }
}

/// A file that cannot be written costs no report, nor any other file: the report is printed, then
/// the error, and the status is 1.
#[cfg(target_os = "linux")]
#[test]
fn no_file_that_fails_costs_the_report() {
    let at = tempdir().expect("a folder");
    let at = at.path();
    inputs(at);
    let circuit = "run circuit --netlist x.cir --crossings ok.csv";
    let traffic = "run traffic --network net.csv --end 1800 --series ok.csv";
    for (line, flags) in [
        ("run pcs --end 1 --engine timewarp --workers 1", "--trace /dev/full"),
        ("run pcs --end 1", "--report /dev/full"),
        ("run pcs --end 1 --replications 2", "--report /dev/full"),
        ("run pcs --end 1 --format csv", "--report /dev/full"),
        (circuit, "--vcd /dev/full"),
        (circuit, "--trace /dev/full --engine timewarp --workers 1"),
        ("run circuit --netlist x.cir --vcd ok.csv", "--crossings /dev/full"),
        (traffic, "--segments /dev/full"),
        ("run traffic --network net.csv --end 1800 --segments ok.csv", "--series /dev/full"),
    ] {
        let output = warpline(at, &format!("{line} {flags}"));
        let (report, said) = (String::from_utf8_lossy(&output.stdout), errors(&output));
        assert_eq!(output.status.code(), Some(1), "`{line} {flags}`: {said}");
        assert!(said.contains("/dev/full") && said.contains(": No space left"), "{said}");
        assert!(said.starts_with("error: ") && said.len() < 300, "`{line} {flags}`: {said}");
        let mark = if line.contains("--replications") { "confidence" } else { "digest" };
        assert!(report.contains(mark), "`{line} {flags}`: {report}");
        if line.contains("circuit") {
            assert!(report.contains("fall ") && !report.contains("none: "), "{report}");
        }
        if line.contains("ok.csv") {
            assert!(fs::metadata(at.join("ok.csv")).expect("it is there").len() > 60, "{line}");
            fs::remove_file(at.join("ok.csv")).expect("removed");
        }
        // The same as JSON, whose report is whole, too.
        if !line.contains("--format") {
            let json = warpline(at, &format!("{line} {flags} --format json"));
            let report: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
            assert!(report["digest"].is_string() && report["interrupted"] == false, "{report}");
        }
    }
    // Two that fail are both named.
    let line = format!("{circuit} --vcd /dev/full --report /dev/full");
    assert_eq!(errors(&warpline(at, &line)).matches("could not be written").count(), 2);
}

/// A file that cannot be written to its end leaves the older one as it was, and costs no report.
/// Red if the signal of the limit ends the process, or if the older file is cut off first.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_fails_leaves_the_older_one() {
    let at = tempdir().expect("a folder");
    let at = at.path();
    inputs(at);
    fs::write(at.join("old"), "older").expect("written");
    for line in [
        "run pcs --end 1 --report old",
        "run pcs --end 1 --replications 2 --report old",
        "run pcs --end 100 --engine timewarp --workers 2 --trace old",
    ] {
        let mut command = Command::new("sh");
        command.current_dir(at).args(["-c", r#"ulimit -f 1; exec "$0" "$@""#]);
        let command = command.arg(env!("CARGO_BIN_EXE_warpline")).args(line.split_whitespace());
        let output = command.output().expect("the command starts");
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "`{line}`: {said}");
        assert!(said.contains("old could not be written: File too large"), "`{line}`: {said}");
        assert!(!output.stdout.is_empty(), "`{line}`: the report is missing");
        assert_eq!(fs::read_to_string(at.join("old")).expect("it is there"), "older", "`{line}`");
        assert!(!at.join("old.partial").exists(), "`{line}`");
    }
}

/// Standard output that is closed is an error before anything runs; a run that prints nothing needs
/// none.
#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_closed_is_an_error() {
    let at = tempdir().expect("a folder");
    let closed = |line: &str| {
        let mut command = Command::new("sh");
        command.current_dir(at.path()).args(["-c", r#"exec "$0" "$@" >&-"#]);
        let command = command.arg(env!("CARGO_BIN_EXE_warpline")).args(line.split_whitespace());
        command.output().expect("the command starts")
    };
    let endless = "run phold --end 1e300";
    for line in [endless, "sweep phold --vary end=1e300", "--help", "run pcs --help", "info", "-V"]
    {
        let output = closed(line);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "`{line}`: {said}");
        assert!(said.starts_with("error: standard output could not be written: it is closed"));
    }
    for line in ["run pcs --end 1 --output r", "sweep pcs --end 1 --vary seed=1 --output s"] {
        let output = closed(line);
        assert!(output.status.success(), "`{line}`: {}", errors(&output));
    }
    assert!(fs::read_to_string(at.path().join("r")).expect("a report").contains("digest"));
    // What is thrown away on purpose is no error.
    let null = fs::File::options().read(true).write(true).open("/dev/null").expect("it is there");
    let status = common::command(at.path(), "run pcs --end 1").stdout(null).status();
    assert!(status.expect("the command starts").success());
}

/// What is asked for and cannot be printed is an error, which does not print it elsewhere.
#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_full_is_an_error() {
    let at = tempdir().expect("a folder");
    for line in ["--help", "run pcs --help", "--version", "info pcs", "info", "nodes", "lab list"] {
        let full = fs::File::options().write(true).open("/dev/full").expect("it is there");
        let output = common::command(at.path(), line).stdout(full).output();
        let output = output.expect("the command starts");
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "`{line}`: {said}");
        let start = "error: standard output could not be written: No space left";
        assert!(said.starts_with(start) && said.lines().count() == 1, "`{line}`: {said}");
    }
}

fn name_of(at: &Path) -> &str {
    at.file_name().and_then(|name| name.to_str()).expect("a name")
}
