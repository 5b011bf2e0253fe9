//! ngspice runs exported decks, and settles where Boolean evaluation says. Without ngspice, nothing
//! is tested.

use std::{collections::HashMap, fs, io, process::Command};

use warpline_circuits::{
    bench,
    circuit::Circuit,
    export::{self, Accuracy},
    generate::Generator,
    process::{Capacitances, SUPPLY},
    stimuli::Stimuli,
    workload::Workload,
};

/// Every kind of gate, and two flip-flops.
const GATES: &str = "\
INPUT(a)\nINPUT(b)\nINPUT(c)\nOUTPUT(x)\nOUTPUT(q)\nOUTPUT(r)\n\
n = NAND(a, b, c)\no = NOR(a, c)\np = AND(b, c)\ns = OR(o, p, q)\n\
x = XOR(a, b, s)\ny = XNOR(x, n)\nz = BUFF(y)\nq = DFF(z)\nv = NOT(q)\nr = DFF(v)\n";

/// Waveforms of nets over time.
struct Waveforms {
    /// For each point, the time and the voltages.
    points: Vec<Vec<f64>>,
    columns: HashMap<String, usize>,
}

impl Waveforms {
    fn at(&self, net: &str, time: f64) -> f64 {
        let after = self.points.partition_point(|point| point[0] < time);
        self.points[after.min(self.points.len() - 1)][self.columns[&format!("v({net})")]]
    }
}

/// What ngspice makes of the circuit; `None` if there is no ngspice.
fn simulate(circuit: &Circuit) -> Option<Waveforms> {
    let directory = tempfile::tempdir().expect("a directory");
    let [deck, raw] = ["deck.cir", "out.raw"].map(|name| directory.path().join(name));
    let accuracy = Accuracy { max_step: Some(50e-12), tolerance: Some(1e-4) };
    let mut file = fs::File::create(&deck).expect("a file");
    export::write(circuit, &accuracy, &mut file).expect("a deck");
    let output = match Command::new("ngspice").arg("-b").arg("-r").args([&raw, &deck]).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("ngspice is not installed: what it would show is not tested");
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
    Some(parse(&fs::read(raw).unwrap_or_else(|error| panic!("{error}: {said}"))))
}

fn parse(raw: &[u8]) -> Waveforms {
    const MARK: &[u8] = b"Binary:\n";
    let at = raw.windows(MARK.len()).position(|window| window == MARK).expect("binary data");
    let header = String::from_utf8_lossy(&raw[..at]);
    let variables = header.lines().skip_while(|line| !line.starts_with("Variables:")).skip(1);
    let columns: HashMap<String, usize> = variables
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let column = words.next()?.parse().ok()?;
            Some((words.next()?.to_owned(), column))
        })
        .collect();
    let (numbers, _) = raw[at + MARK.len()..].as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let points = numbers.chunks_exact(columns.len()).map(<[f64]>::to_vec).collect();
    Waveforms { points, columns }
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
