//! The library of cells makes the circuits that are known from the literature.

#[path = "common/iscas.rs"]
mod iscas;

use std::{collections::BTreeSet, env, process::Command};

use warpline_circuits::{
    bench,
    circuit::{Circuit, NetId},
    generate::Generator,
    process::Capacitances,
    stimuli::Stimuli,
    workload::Workload,
};

fn workload(name: &str, text: &str, capacitances: Capacitances) -> Workload {
    let gates = bench::read(name, text).expect("a good file");
    let stimuli = Stimuli { vectors: 2, ..Stimuli::default() };
    Workload::of_gates(&gates, &stimuli, capacitances).expect("good stimuli")
}

/// A vote of three, with a gate of each kind that has an inverting twin.
const VOTE: &str = "INPUT(a)\nINPUT(b)\nINPUT(c)\nOUTPUT(most)\nOUTPUT(none)\n\
                    ab = NAND(a, b)\nbc = NAND(b, c)\nca = NAND(c, a)\n\
                    most = NAND(ab, bc, ca)\nnone = NOR(a, b, c)\nany = NOT(none)\n";

/// The number of components that channels connect, other than through fixed nets.
fn components(circuit: &Circuit) -> usize {
    fn root(parents: &mut [usize], mut net: usize) -> usize {
        while parents[net] != net {
            parents[net] = parents[parents[net]];
            net = parents[net];
        }
        net
    }
    let mut parents: Vec<usize> = (0..circuit.nets.len()).collect();
    let mut is_fixed = vec![false; circuit.nets.len()];
    is_fixed[NetId::GROUND.index()] = true;
    circuit.sources.iter().for_each(|source| is_fixed[source.net.index()] = true);
    let ends = || circuit.transistors.iter().map(|mos| [mos.drain.index(), mos.source.index()]);
    for [drain, source] in ends() {
        if !is_fixed[drain] && !is_fixed[source] {
            let (a, b) = (root(&mut parents, drain), root(&mut parents, source));
            parents[a] = b;
        }
    }
    let free = ends().flatten().filter(|&net| !is_fixed[net]);
    free.map(|net| root(&mut parents, net)).collect::<BTreeSet<_>>().len()
}

#[test]
fn iscas_circuits_have_as_many_transistors_and_components_as_published() {
    for (name, transistors, expected) in [
        ("c17.bench", 24, 6),
        ("c432.bench", 896, 218),
        ("c2670.bench", 5364, 1799),
        ("c6288.bench", 10112, 2672),
        ("s5378.bench", 13198, 4092),
        ("s38417.bench", 112_080, 36375),
    ] {
        for capacitances in [Capacitances::Explicit, Capacitances::Full] {
            if let Some(text) = iscas::text(name) {
                let Workload { circuit, .. } = workload(name, &text, capacitances);
                let counts = (circuit.transistors.len(), components(&circuit));
                assert_eq!(counts, (transistors, expected), "{name}");
            }
        }
    }
}

/// Nobody takes circuits for tested that are not there. Red if the remark is captured with what a
/// test prints, or if a folder that is named need not have them.
#[test]
fn circuits_that_are_not_there_are_told() {
    let this = env::current_exe().expect("a program");
    let name = "iscas_circuits_have_as_many_transistors_and_components_as_published";
    let run = |folder: &str| {
        let mut test = Command::new(&this);
        let test = test.args(["--exact", name]).env(iscas::FOLDER, folder);
        let output = test.output().expect("it starts");
        let [out, err] = [output.stdout, output.stderr].map(String::from_utf8);
        (output.status.success(), out.expect("text") + &err.expect("text"))
    };
    let (succeeds, said) = run("/no/such/folder");
    assert!(!succeeds && said.contains("/no/such/folder/c17.bench is promised"), "{said}");
    let (succeeds, said) = run("");
    assert!(succeeds && said.contains("c17.bench is not tested"), "{said}");
}

/// The same of a circuit that is always there, counted by hand: four transistors for a gate with
/// two inputs, six with three, two for an inverter; and a component for each output of a gate,
/// with what is inside its stack.
#[test]
fn a_circuit_has_as_many_transistors_and_components_as_its_gates() {
    for capacitances in [Capacitances::Explicit, Capacitances::Full] {
        let Workload { circuit, .. } = workload("vote", VOTE, capacitances);
        assert_eq!((circuit.transistors.len(), components(&circuit)), (3 * 4 + 6 + 6 + 2, 6));
    }
}

/// What every circuit of the built-in process has.
fn check(circuit: &Circuit) {
    let names: BTreeSet<_> = circuit.nets.iter().collect();
    assert_eq!(names.len(), circuit.nets.len(), "two nets have the same name");
    let names: BTreeSet<_> = circuit.transistors.iter().map(|mos| &mos.name).collect();
    assert_eq!(names.len(), circuit.transistors.len(), "two transistors have the same name");
    let devices = || circuit.transistors.iter();
    let ends = devices().flat_map(|mos| [mos.drain, mos.gate, mos.source, mos.bulk]);
    let ends = ends.chain(circuit.capacitors.iter().flat_map(|c| [c.net, c.reference]));
    assert!(ends.map(NetId::index).all(|net| net < circuit.nets.len()), "FLAT-A");
    let fixed: BTreeSet<_> = circuit.sources.iter().map(|source| source.net).collect();
    assert_eq!(fixed.len(), circuit.sources.len(), "FLAT-B: two sources at a net");
    assert!(devices().all(|mos| mos.width > 0.0 && mos.length > 0.0), "FLAT-C");
    assert!(circuit.capacitors.iter().all(|load| load.capacitance > 0.0), "FLAT-C");
    let mut is_loaded = vec![false; circuit.nets.len()];
    is_loaded[0] = true;
    circuit.sources.iter().for_each(|source| is_loaded[source.net.index()] = true);
    circuit.capacitors.iter().for_each(|load| is_loaded[load.net.index()] = true);
    let loaded = is_loaded.iter().filter(|&&is_loaded| is_loaded).count();
    if circuit.cards[0].oxide == 0.0 {
        assert_eq!(loaded, circuit.nets.len(), "a net has no capacitance");
        assert!(circuit.transistors.iter().all(|mos| mos.junction_areas == [0.0; 2]));
    } else {
        assert!(circuit.transistors.iter().all(|mos| mos.junction_areas[0] > 0.0));
    }
}

#[test]
fn generated_circuits_are_whole() {
    for text in ["chain:5", "adder:3", "multiplier:4", "ring:3", "regfile:5x3", "regfile:1x1"] {
        let generator: Generator = text.parse().expect("a generator");
        for capacitances in [Capacitances::Explicit, Capacitances::Full] {
            let workload = generator.workload(&Stimuli::default(), capacitances);
            let workload = workload.expect("good stimuli");
            check(&workload.circuit);
            let is_ring = text.starts_with("ring");
            assert_eq!(workload.settled.iter().all(|at| at.values.is_empty()), is_ring, "{text}");
            assert!(workload.settled.iter().all(|at| at.time <= workload.circuit.end));
        }
    }
}

#[test]
fn nets_named_like_the_rails_are_other_nets() {
    let text = "INPUT(0)\nINPUT(gnd)\nvdd = AND(0, gnd)\nvdd.n = DFF(vdd)\nclk = NOT(vdd.n)";
    let gates = bench::read("a.bench", text).expect("a good file");
    let workload = Workload::of_gates(&gates, &Stimuli::default(), Capacitances::Explicit);
    let circuit = workload.expect("good stimuli").circuit;
    check(&circuit);
    assert_eq!(circuit.nets[..8], ["0", "0_", "gnd_", "vdd", "vdd.n", "clk", "vdd_", "clk_"]);
    assert!(circuit.nets.contains(&"vdd.n_".to_owned()), "the net between NAND and inverter");
}
