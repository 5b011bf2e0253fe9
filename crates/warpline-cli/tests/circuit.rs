//! `warpline run circuit` and `warpline circuit export`, as their users meet them.

mod common;

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::tempdir;

use common::{refuses, stdout};

#[track_caller]
fn json(at: &Path, line: &str) -> Value {
    let report = stdout(at, &format!("{line} --format json"));
    serde_json::from_str(&report).expect("the report is JSON")
}

/// Two inverters in a row, driven by a pulse.
const DECK: &str = "\
two inverters
.model nch nmos level=1 vto=0.7 kp=1.3e-4
.model pch pmos level=1 vto=-0.8 kp=4e-5
.subckt inv in out vdd
mp out in vdd vdd pch w=2u l=0.35u
mn out in 0 0 nch w=1u l=0.35u
.ends
vdd vdd 0 3.3
vin a 0 pulse(0 3.3 1n 0.2n 0.2n 4n 10n)
x1 a b vdd inv
x2 b c vdd inv
cb b 0 10f
cc c 0 10f
.tran 10p 12n
.measure tran rise trig v(a) val=1.65 rise=1 targ v(c) val=1.65 rise=1
.measure tran never trig v(a) val=1.65 rise=1 targ v(c) val=9 rise=1
.end
";

#[test]
fn a_report_has_its_figures() {
    let at = tempdir().expect("a directory");
    let line = "run circuit --generate chain:5 --vectors 3";
    let report = json(at.path(), line);
    let results = &report["results"];
    assert_eq!(results["transistors"], 10.0);
    assert_eq!(results["subcircuits"], 5.0);
    for figure in ["steps", "events", "energy", "lookahead"] {
        assert!(results[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {report}");
    }
    assert_eq!(report["end_time"], 3.0 * 10e-9);
    assert_eq!(report["parameters"]["generate"], "chain:5");
    let other = json(at.path(), &format!("{line} --seed 3"));
    assert_ne!(other["digest"], report["digest"], "another seed draws other vectors");
}

/// The other models are checked in `warpline-models/tests/golden.rs`.
#[test]
fn what_a_transistor_changes_is_saved() {
    let at = tempdir().expect("a directory");
    let line = "run circuit --generate adder:3 --vectors 2";
    let report = json(at.path(), &format!("{line} --engine saving-check --verify"));
    assert_eq!(report["engine"], "saving-check");
    assert_eq!(report["digest"], json(at.path(), line)["digest"]);
    assert_eq!(report["verified"], true);
}

#[test]
fn a_deck_is_run_measured_and_written() {
    let at = tempdir().expect("a directory");
    let at = at.path();
    fs::write(at.join("two.cir"), DECK).expect("written");
    let line = "run circuit --netlist two.cir --vcd two.vcd --raw two.raw --crossings two.csv";
    let report = json(at, line);
    let rise = report["measures"]["rise"].as_f64().expect("measured");
    assert!((20e-12..400e-12).contains(&rise), "two inverters take {rise} s");
    assert!(report["measures"]["never"].is_null());
    assert_eq!(report["files"], serde_json::json!(["two.vcd", "two.raw", "two.csv"]));
    let crossings = fs::read_to_string(at.join("two.csv")).expect("written");
    let header = crossings.lines().next();
    assert_eq!(header, Some("net,time,direction"));
    assert!(crossings.lines().any(|line| line.starts_with("c,") && line.ends_with(",rise")));
    let text = stdout(at, "run circuit --netlist two.cir");
    assert!(text.contains("measures") && text.contains("never"), "{text}");
}

/// The deck that is exported is the same circuit: it crosses at the same times.
#[test]
fn what_is_exported_is_what_is_run() {
    let at = tempdir().expect("a directory");
    let at = at.path();
    stdout(at, "circuit export --generate adder:2 --vectors 3 --seed 5 --spice adder.cir");
    stdout(at, "run circuit --netlist adder.cir --crossings exported.csv");
    stdout(at, "run circuit --generate adder:2 --vectors 3 --seed 5 --crossings own.csv");
    let [exported, own] =
        ["exported.csv", "own.csv"].map(|name| fs::read_to_string(at.join(name)).expect("written"));
    assert!(exported.lines().count() > 20, "{exported}");
    assert_eq!(exported, own);
}

/// Rank 0 writes what all ranks commit, and measures it, as a single rank does.
#[test]
fn several_ranks_write_the_same_files() {
    const FILES: [&str; 3] = ["waves.vcd", "waves.raw", "crossings.csv"];
    let run = |circuit: &str, engine: &str| {
        let at = tempdir().expect("a directory");
        fs::write(at.path().join("two.cir"), DECK).expect("written");
        let files = "--vcd waves.vcd --raw waves.raw --crossings crossings.csv";
        let report = json(at.path(), &format!("run circuit {circuit} {files} --engine {engine}"));
        let bytes = FILES.map(|name| fs::read(at.path().join(name)).expect("written"));
        (bytes, report["measures"].clone(), report["digest"].clone())
    };
    for circuit in ["--netlist two.cir", "--generate adder:4 --vectors 3"] {
        let expected = run(circuit, "sequential");
        assert!(expected.0.iter().all(|bytes| bytes.len() > 100));
        for engine in [
            "conservative --synchronization null-messages --workers 1 --ranks 2",
            "conservative --synchronization null-messages --workers 2 --ranks 3",
            "conservative --workers 1 --ranks 2",
            "timewarp --workers 1 --ranks 2",
            "timewarp --workers 2 --ranks 3",
        ] {
            assert!(run(circuit, engine) == expected, "{circuit}, {engine}");
        }
    }
}

/// A generated circuit has no `.tran` that says where its raw file has points.
#[test]
fn points_of_raw_files_can_be_chosen() {
    let at = tempdir().expect("a directory");
    let at = at.path();
    let points = |step: &str| {
        let run = "run circuit --generate chain:3 --vectors 4 --raw a.raw";
        stdout(at, &format!("{run} {step}"));
        let raw = fs::read(at.join("a.raw")).expect("written");
        let header = String::from_utf8_lossy(&raw).into_owned();
        let line = header.lines().find_map(|line| line.strip_prefix("No. Points: "));
        line.expect("a number of points").trim().parse::<usize>().expect("a number")
    };
    assert_eq!([points(""), points("--raw-step 1n")], [1001, 41]);
    let at_samples = points("--raw-step samples");
    assert!((50..500).contains(&at_samples), "{at_samples}");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let at = tempdir().expect("a directory");
    let at = at.path();
    fs::write(at.join("coil.cir"), DECK.replace("cc c 0 10f", "l1 c 0 1n")).expect("written");
    refuses(at, "run circuit --netlist coil.cir", 2, &["coil.cir:13"]);
    fs::write(at.join("two.cir"), DECK).expect("written");
    let own = ["vectors", "its own sources"];
    refuses(at, "run circuit --netlist two.cir --vectors 3", 2, &own);
    refuses(at, "run circuit --netlist none.cir", 2, &["none.cir"]);
    refuses(at, "run circuit --netlist none.txt", 2, &["none.txt", ".bench"]);
    refuses(at, "run circuit --generate chain", 2, &["chain:21"]);
    refuses(at, "run circuit --generate chain:3 --save zz", 2, &["save", "zz", "n1"]);
    refuses(at, "run circuit --period 0", 2, &["10n"]);
    refuses(at, "run circuit --netlist coil.cir --generate chain:3", 2, &["--generate"]);
    let raw = "run circuit --generate chain:3 --raw a.raw --raw-step";
    refuses(at, &format!("{raw} 1e-30"), 2, &["raw-step", "1e-16 or more"]);
    refuses(at, &format!("{raw} often"), 2, &["samples", "10p"]);
    refuses(at, "run circuit --generate chain:3 --raw-step 1n", 2, &["--raw"]);
    refuses(at, "run circuit --generate chain:3 --lookahead 1e-30", 2, &["lookahead", "too long"]);
    let files = "run circuit --generate chain:3 --vcd a.vcd";
    refuses(at, &format!("{files} --replications 2"), 2, &["--replications"]);
    refuses(at, "run circuit --generate chain:3 --vcd none/a.vcd", 2, &["none/a.vcd"]);
    assert_eq!(fs::read_dir(at).expect("there").count(), 2, "no file was left");
}

/// Replications are of the circuit with the vectors of the seed.
#[test]
fn replications_have_the_seeds_vectors() {
    let at = tempdir().expect("a directory");
    let line = "run circuit --generate adder:2 --vectors 3 --seed";
    let steps = |line: &str| json(at.path(), line)["results"]["steps"].as_f64().expect("steps");
    let replicated = steps(&format!("{line} 3 --replications 2"));
    assert_eq!(replicated, steps(&format!("{line} 3")));
    assert_ne!(replicated, steps(&format!("{line} 1")));
}

#[test]
fn a_sweep_varies_a_circuit() {
    let at = tempdir().expect("a directory");
    let rows = stdout(at.path(), "sweep circuit --vectors 2 --vary generate=chain:3,chain:9");
    assert_eq!(rows.lines().count(), 3, "{rows}");
}
