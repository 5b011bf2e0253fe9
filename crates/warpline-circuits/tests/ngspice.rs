//! ngspice runs exported decks, and settles where Boolean evaluation says. Without ngspice, nothing
//! is tested.

#[path = "common/iscas.rs"]
mod iscas;
#[path = "common/raw.rs"]
mod raw;

use std::{
    fs,
    io::{self, Write},
    process::Command,
};

use raw::Waveforms;
use warpline_circuits::{
    bench,
    circuit::Circuit,
    export::{self, Accuracy},
    generate::Generator,
    process::{Capacitances, SUPPLY},
    spice,
    stimuli::Stimuli,
    workload::Workload,
};

/// Every kind of gate, and two flip-flops.
const GATES: &str = "\
INPUT(a)\nINPUT(b)\nINPUT(c)\nOUTPUT(x)\nOUTPUT(q)\nOUTPUT(r)\n\
n = NAND(a, b, c)\no = NOR(a, c)\np = AND(b, c)\ns = OR(o, p, q)\n\
x = XOR(a, b, s)\ny = XNOR(x, n)\nz = BUFF(y)\nq = DFF(z)\nv = NOT(q)\nr = DFF(v)\n";

/// A deck with much of what the reader does: its circuit is the one that ngspice makes of it.
const DECK: &str = "\
hierarchy
.param wn=1u beta={ratio*1} ratio=2.5
.global vdd
.subckt inv in out w={wn} load=0
.param wp='w*beta'
m1 out in 0 0 nch w={w} l=0.5u m=2
m2 out in vdd vdd pch w={wp*2} l=0.5u ad={w*1.25u} pd='2*(w+1.25u)' as=1p ps=3u
c1 out 0 {5f + load}
.ends
.subckt pair a y
x1 a m inv
r1 m m2 2k
c2 m2 0 3f
x2 m2 y inv w=2u load={4*1f}
.ends pair
.model nch nmos (level=1 tox=9n uo=350 vto=0.7 gamma=0.45 phi=0.9 lambda=0.1 cgso=0.4n cgdo=0.4n
+ cj=0.56m mj=0.45 cjsw=3.5p mjsw=0.2 pb=0.9 ld=0.05u)
.model pch pmos level=1 tox=9n nsub=1e16 uo=100 vto=-0.8 lambda=0.2
+ cj=0.94m pb=0.9
x1 a b pair
x2 b c pair
x3 c d inv w=4u
vdd vdd 0 3.3
vneg 0 neg 1.0
va a neg pulse(1 4.3 1n 0.2n 0.3n 2n 6n)
.ic v(x1.m2)=1.1
.tran 10p 14n 0 10p
.option reltol=1e-5
.end
";

/// What ngspice makes of the circuit; `None` if there is no ngspice.
fn simulate(circuit: &Circuit) -> Option<Waveforms> {
    let accuracy = Accuracy { max_step: Some(50e-12), tolerance: Some(1e-4) };
    let mut deck = Vec::new();
    export::write(circuit, &accuracy, &mut deck).expect("memory is there");
    run(&deck)
}

/// What ngspice makes of a deck; `None` if there is no ngspice.
fn run(text: &[u8]) -> Option<Waveforms> {
    let directory = tempfile::tempdir().expect("a directory");
    let [deck, file] = ["deck.cir", "out.raw"].map(|name| directory.path().join(name));
    fs::write(&deck, text).expect("a file");
    let output = match Command::new("ngspice").arg("-b").arg("-r").args([&file, &deck]).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Not `eprintln!`, which a test that passes swallows.
            let what = "ngspice is not installed: what it would show is not tested";
            let _ = writeln!(io::stderr(), "{what}");
            return None;
        }
        output => output.expect("ngspice starts"),
    };
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    for word in ["Warning", "Error", "error", "can't"] {
        assert!(!said.contains(word), "{said}");
    }
    Some(raw::parse(&fs::read(file).unwrap_or_else(|error| panic!("{error}: {said}"))))
}

#[track_caller]
fn assert_settles(workload: &Workload) {
    let circuit = &workload.circuit;
    let Some(waveforms) = simulate(circuit) else { return };
    let mut compared = 0;
    for settled in &workload.settled {
        for &(net, value) in &settled.values {
            let name = &circuit.nets[net.index()];
            let voltage = waveforms.at(name, settled.time);
            let expected = if value { SUPPLY } else { 0.0 };
            assert!(
                (voltage - expected).abs() < 0.1,
                "{name} has {voltage} V at {:e} s of {}",
                settled.time,
                circuit.title
            );
            compared += 1;
        }
    }
    assert!(compared > 0);
}

#[test]
fn generated_circuits_settle() {
    for text in ["chain:4", "adder:2", "regfile:3x2"] {
        let generator: Generator = text.parse().expect("a generator");
        for capacitances in [Capacitances::Explicit, Capacitances::Full] {
            let stimuli = Stimuli { vectors: 5, ..Stimuli::default() };
            assert_settles(&generator.workload(&stimuli, capacitances).expect("good stimuli"));
        }
    }
}

#[test]
fn gates_and_flip_flops_settle() {
    let gates = bench::read("gates", GATES).expect("gates");
    for capacitances in [Capacitances::Explicit, Capacitances::Full] {
        let stimuli = Stimuli { vectors: 6, ..Stimuli::default() };
        assert_settles(&Workload::of_gates(&gates, &stimuli, capacitances).expect("good stimuli"));
    }
}

#[test]
fn iscas_circuits_settle() {
    for name in ["c17.bench", "s27.bench"] {
        let Some(text) = iscas::text(name) else { continue };
        let gates = bench::read(name, &text).expect("gates");
        let workload = Workload::of_gates(&gates, &Stimuli::default(), Capacitances::Explicit);
        assert_settles(&workload.expect("good stimuli"));
    }
}

#[test]
fn a_ring_oscillates() {
    let stimuli = Stimuli { vectors: 1, ..Stimuli::default() };
    let ring = Generator::Ring(5).workload(&stimuli, Capacitances::Explicit).expect("a ring");
    let Some(waveforms) = simulate(&ring.circuit) else { return };
    let column = waveforms.columns["v(n0)"];
    let high: Vec<bool> =
        waveforms.points.iter().map(|point| point[column] > SUPPLY / 2.0).collect();
    let edges = high.windows(2).filter(|pair| pair[0] != pair[1]).count();
    // Ten delays of 47 ps are a period.
    assert!((30..60).contains(&edges), "{edges} edges in 10 ns");
}

#[test]
fn a_deck_means_what_it_means_to_ngspice() {
    let mut include = |_: &str, _: &str| Err(io::ErrorKind::NotFound.into());
    let deck = spice::read("deck.cir", DECK, &mut include).expect("a deck");
    let mut flat = Vec::new();
    let accuracy = Accuracy { max_step: Some(10e-12), tolerance: Some(1e-5) };
    export::write(&deck.circuit, &accuracy, &mut flat).expect("memory is there");
    let (Some(given), Some(flat)) = (run(DECK.as_bytes()), run(&flat)) else { return };
    for net in &deck.circuit.nets[1..] {
        for step in 0..280 {
            let time = f64::from(step) * 50e-12;
            let voltages = [&given, &flat].map(|waveforms| waveforms.at(net, time));
            let difference = (voltages[0] - voltages[1]).abs();
            assert!(difference < 10e-3, "{net} has {voltages:?} V at {time:e} s");
        }
    }
}
