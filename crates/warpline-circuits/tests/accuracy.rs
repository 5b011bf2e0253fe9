//! Crossings against those of ngspice, and settled voltages against Boolean values.
//!
//! The references are crossings of half the supply voltage, by ngspice 39 with `reltol=1e-5` and
//! steps of 5 ps at most, of the same circuits with the same stimuli. Capacitors are explicit, so
//! both simulate the same equations.
//!
//! # Mutation, seen red
//!
//! - `GAMMA` of SDIRK2 is 1, which is of first order.

mod compare;
#[path = "common/iscas.rs"]
mod iscas;
#[path = "common/traces.rs"]
mod traces;

use std::io;

use compare::{Comparison, compare, from_csv, last_of_periods, wrong_values};
use traces::{Crossings, crossings, traces};
use warpline_circuits::{
    bare, bench,
    circuit::NetId,
    generate::Generator,
    model::{CircuitModel, Options, Tolerance},
    process::Capacitances,
    spice,
    stimuli::Stimuli,
    workload::Workload,
};

/// A period in which every circuit settles (s).
const LONG_PERIOD: f64 = 40e-9;

fn workload(name: &str, vectors: usize) -> Option<Workload> {
    // Up to 124 gates are one after the other in this multiplier.
    let period = (name == "c6288.bench").then_some(LONG_PERIOD);
    let stimuli = Stimuli { vectors, period, ..Stimuli::default() };
    let capacitances = Capacitances::Explicit;
    if let Ok(generator) = name.parse::<Generator>() {
        return Some(generator.workload(&stimuli, capacitances).expect("good stimuli"));
    }
    let gates = bench::read(name, &iscas::text(name)?).expect("a good file");
    Some(Workload::of_gates(&gates, &stimuli, capacitances).expect("good stimuli"))
}

/// Compares a simulation with the reference.
fn compared(workload: &Workload, tolerance: Tolerance, reference: &str) -> Comparison {
    let options = Options { tolerance, ..Options::default() };
    let reference = from_csv(reference).expect("a good file");
    let circuit = &workload.circuit;
    let nets = of_reference(workload, &reference);
    compare(circuit, &crossings(circuit, &traces(circuit, options, &nets)), &reference)
}

/// The nets that a reference has.
fn of_reference(workload: &Workload, reference: &Crossings) -> Vec<NetId> {
    let nets = workload.circuit.nets.iter().enumerate();
    let nets = nets.filter(|(_, name)| reference.contains_key(*name));
    nets.map(|(net, _)| NetId(net as u32)).collect()
}

/// Checks what is promised of the tolerances. Errors fall as STEP-A lets them.
fn check(name: &str, vectors: usize, reference: &str) {
    let Some(workload) = workload(name, vectors) else { return };
    let default = compared(&workload, Tolerance::Default, reference);
    let fine = compared(&workload, Tolerance::Fine, reference);
    let context = format!("{name}: default {default}; fine {fine}");
    assert_eq!(default.missed, 0, "{context}");
    assert!(default.extra * 100 <= default.reference, "{context}");
    assert!(default.mean() <= 0.01, "{context}");
    assert!(default.percentile(0.95) <= 0.03 && default.percentile(1.0) <= 0.05, "{context}");
    assert!(fine.mean() <= 0.003 && fine.missed + fine.extra == 0, "{context}");
    assert!(3.0 * fine.mean() <= default.mean(), "{context}");
}

#[test]
fn a_chain_is_as_exact_as_promised() {
    check("chain:21", 4, include_str!("references/chain.csv"));
}

#[test]
fn an_adder_is_as_exact_as_promised() {
    check("adder:8", 6, include_str!("references/adder.csv"));
}

#[test]
fn iscas_circuits_are_as_exact_as_promised() {
    check("c17.bench", 10, include_str!("references/c17.csv"));
    check("s27.bench", 10, include_str!("references/s27.csv"));
    check("s298.bench", 6, include_str!("references/s298.csv"));
    check("c432.bench", 10, include_str!("references/c432.csv"));
    check("c2670.bench", 3, include_str!("references/c2670.csv"));
}

#[test]
fn generated_circuits_are_as_exact_as_promised() {
    check("multiplier:4", 10, include_str!("references/multiplier.csv"));
    check("regfile:4x4", 6, include_str!("references/regfile.csv"));
}

/// Decks with what the built-in cells do not have: pass transistors, resistors, other supplies and
/// cards, slow and fast edges, charge that is kept.
#[test]
fn decks_by_hand_are_as_exact_as_promised() {
    macro_rules! decks {
        ($($name:literal)*) => {[
            $((
                $name,
                include_str!(concat!("decks/", $name, ".cir")),
                include_str!(concat!("references/", $name, ".csv")),
            ),)*
        ]};
    }
    let decks = decks!["pass" "stacks" "five" "latches" "manchester" "shifter" "split" "sram"];
    for (name, deck, reference) in decks {
        let mut none = |_: &str, _: &str| Err(io::ErrorKind::NotFound.into());
        let circuit = spice::read(name, deck, &mut none).expect("a good deck").circuit;
        let workload =
            Workload { circuit, outputs: Vec::new(), settled: Vec::new(), included: Vec::new() };
        let default = compared(&workload, Tolerance::Default, reference);
        let fine = compared(&workload, Tolerance::Fine, reference);
        let context = format!("{name}: default {default}; fine {fine}");
        assert_eq!([default.missed, default.extra, fine.missed, fine.extra], [0; 4], "{context}");
        assert!(default.mean() <= 0.015 && fine.mean() <= 0.003, "{context}");
    }
}

/// The energy that ngspice integrates, of the same run.
#[test]
fn energy_is_that_of_the_supply() {
    const EXPECTED: f64 = 2.5922e-11;
    let workload = workload("adder:8", 6).expect("a generator");
    for (tolerance, error) in [(Tolerance::Default, 0.015), (Tolerance::Fine, 0.003)] {
        let options = Options { tolerance, ..Options::default() };
        let model = CircuitModel::new(&workload.circuit, options).expect("a sound circuit");
        let energy = bare::run(&model, workload.circuit.end).tally.energy;
        assert!((energy / EXPECTED - 1.0).abs() <= error, "{tolerance:?}: {energy:e} J");
    }
}

/// The reference has the last crossing of each gate's output: before, there are trains of glitches,
/// and small errors decide which of them cross half of the supply voltage.
#[test]
fn a_large_multiplier_misses_no_last_crossing() {
    let Some(workload) = workload("c6288.bench", 2) else { return };
    let reference = from_csv(include_str!("references/c6288.csv")).expect("a good file");
    let nets: Vec<_> = workload.settled[0].values.iter().map(|value| value.0).collect();
    let options = Options { tolerance: Tolerance::Fine, ..Options::default() };
    let traces = traces(&workload.circuit, options, &nets);
    assert_eq!(wrong_values(&workload, &traces), 0);
    let found = last_of_periods(&crossings(&workload.circuit, &traces), LONG_PERIOD);
    let fine = compare(&workload.circuit, &found, &reference);
    assert_eq!((fine.reference, fine.missed, fine.extra), (1790, 0, 0), "{fine}");
    assert!(fine.mean() <= 0.001, "{fine}");
}

#[test]
fn circuits_settle_at_their_boolean_values() {
    for (name, vectors) in [
        ("chain:50", 4),
        ("adder:16", 10),
        ("multiplier:6", 6),
        ("regfile:4x4", 12),
        ("c499.bench", 4),
        ("c1355.bench", 2),
        ("c3540.bench", 2),
        ("s298.bench", 6),
        ("s1423.bench", 2),
    ] {
        let Some(workload) = workload(name, vectors) else { continue };
        let settled = workload.settled.iter();
        let all: Vec<_> = settled.flat_map(|s| s.values.iter().map(|value| value.0)).collect();
        let traces = traces(&workload.circuit, Options::default(), &all);
        assert_eq!(wrong_values(&workload, &traces), 0, "{name}");
    }
}
