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

use compare::{Comparison, compare, from_csv, wrong_values};
use traces::{crossings, traces};
use warpline_circuits::{
    bench,
    generate::Generator,
    model::{Options, Tolerance},
    process::Capacitances,
    stimuli::Stimuli,
    workload::Workload,
};

fn workload(name: &str, vectors: usize) -> Option<Workload> {
    let stimuli = Stimuli { vectors, ..Stimuli::default() };
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
    let nets = circuit.nets.iter().enumerate();
    let nets = nets.filter(|(_, name)| reference.contains_key(*name));
    let nets: Vec<_> = nets.map(|(net, _)| warpline_circuits::circuit::NetId(net as u32)).collect();
    compare(circuit, &crossings(circuit, &traces(circuit, options, &nets)), &reference)
}

/// Checks what is promised of the tolerances. Errors fall as STEP-A lets them.
fn check(name: &str, vectors: usize, reference: &str) {
    let Some(workload) = workload(name, vectors) else { return };
    let default = compared(&workload, Tolerance::Default, reference);
    let fine = compared(&workload, Tolerance::Fine, reference);
    let told = format!("{name}: default {default}; fine {fine}");
    assert_eq!(default.missed, 0, "{told}");
    assert!(default.extra * 100 <= default.reference, "{told}");
    assert!(default.mean() <= 0.01, "{told}");
    assert!(default.percentile(0.95) <= 0.03 && default.percentile(1.0) <= 0.05, "{told}");
    assert!(fine.mean() <= 0.003 && fine.missed + fine.extra == 0, "{told}");
    assert!(3.0 * fine.mean() <= default.mean(), "{told}");
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
    check("c432.bench", 10, include_str!("references/c432.csv"));
    check("c2670.bench", 3, include_str!("references/c2670.csv"));
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
