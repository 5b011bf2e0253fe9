//! Laws that every simulation obeys.
//!
//! # Mutations, each seen red
//!
//! - Nodes are ordered by their numbers, not by their names: permuted netlists differ.
//! - `stamp` forgets the current into the second node: charge gets lost.

mod common;
#[path = "common/traces.rs"]
mod traces;

use std::collections::BTreeMap;

use common::Builder;
use proptest::{collection::vec, prelude::*};
use warpline_circuits::{
    circuit::{Channel, Circuit, NetId, Resistor, Sample, Source, Waveform},
    generate::Generator,
    model::{CircuitError, CircuitModel, Options, Tolerance},
    process::Capacitances,
    stimuli::Stimuli,
};

/// The waveforms of all nets, by name.
fn waveforms(circuit: &Circuit, options: Options) -> BTreeMap<String, Vec<Sample>> {
    let nets: Vec<NetId> = (0..circuit.nets.len() as u32).map(NetId).collect();
    let traces = traces::traces(circuit, options, &nets).into_iter();
    traces.map(|(net, trace)| (circuit.nets[net.index()].clone(), trace)).collect()
}

/// A circuit with its nets in another order; ground stays.
fn renumbered(circuit: &Circuit, keys: &[u32]) -> Circuit {
    let count = circuit.nets.len();
    let mut order: Vec<usize> = (1..count).collect();
    order.sort_by_key(|&net| (keys[net % keys.len()], net % 7, net));
    order.insert(0, 0);
    let mut places = vec![NetId::GROUND; count];
    for (place, &net) in order.iter().enumerate() {
        places[net] = NetId(place as u32);
    }
    let mut other = circuit.clone();
    other.nets = order.iter().map(|&net| circuit.nets[net].clone()).collect();
    let moved = |net: &mut NetId| *net = places[net.index()];
    for t in &mut other.transistors {
        [&mut t.drain, &mut t.gate, &mut t.source, &mut t.bulk].into_iter().for_each(moved);
    }
    for c in &mut other.capacitors {
        [&mut c.net, &mut c.reference].into_iter().for_each(moved);
    }
    other.resistors.iter_mut().flat_map(|r| &mut r.ends).for_each(moved);
    other.sources.iter_mut().for_each(|s| moved(&mut s.net));
    other.initial.iter_mut().for_each(|(net, _)| moved(net));
    let by_key = |at: usize| (keys[at % keys.len()], at % 5, at);
    let mut at: Vec<usize> = (0..other.transistors.len()).collect();
    at.sort_by_key(|&at| by_key(at));
    other.transistors = at.iter().map(|&at| other.transistors[at].clone()).collect();
    let turn = keys[0] as usize % other.capacitors.len();
    other.capacitors.rotate_left(turn);
    other.sources.reverse();
    other
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// PART-A, DRAFT-A, SUB-B: the order of cards and of nets changes no bit.
    #[test]
    fn permuting_the_netlist_changes_nothing(keys in vec(0..1000_u32, 97), full: bool) {
        let stimuli = Stimuli { vectors: 2, ..Stimuli::default() };
        let capacitances = if full { Capacitances::Full } else { Capacitances::Explicit };
        let workload = Generator::Adder(2).workload(&stimuli, capacitances).expect("good stimuli");
        let other = renumbered(&workload.circuit, &keys);
        prop_assert_ne!(&other.nets, &workload.circuit.nets);
        let bits = |circuit| {
            let waveforms = waveforms(circuit, Options::default()).into_iter();
            let numbers = |s: &Sample| [s.time, s.value, s.slope].map(f64::to_bits);
            waveforms
                .map(|(net, trace)| (net, trace.iter().map(numbers).collect::<Vec<_>>()))
                .collect::<BTreeMap<_, _>>()
        };
        prop_assert!(bits(&workload.circuit) == bits(&other));
    }

    /// Later stimuli, crossings that are later by as much.
    #[test]
    fn shifting_the_stimuli_shifts_the_crossings(shift in 0.0..3.0) {
        let (mut early, mut late) = (Builder::new(), Builder::new());
        early.chain(5, common::edges(&[1e-9, 3e-9]));
        late.chain(5, common::edges(&[1e-9 + shift * 1e-9, 3e-9 + shift * 1e-9]));
        let options = Options { tolerance: Tolerance::Fine, ..Options::default() };
        let [early, late] = [early.0, late.0].map(|circuit| {
            let nets: Vec<NetId> = (0..circuit.nets.len() as u32).map(NetId).collect();
            traces::crossings(&circuit, &traces::traces(&circuit, options, &nets))
        });
        prop_assert_eq!(early.len(), late.len());
        for (early, late) in early.values().flatten().zip(late.values().flatten()) {
            let difference: f64 = late.time - early.time - shift * 1e-9;
            prop_assert!(difference.abs() < 0.3e-12, "{difference}");
        }
    }

    /// Rails that are all lower by the same voltage change no delay; what tells high from low is
    /// lower, too.
    #[test]
    fn lower_rails_change_nothing(down in 0.0..3.3_f64) {
        let mut builder = Builder::new();
        builder.chain(5, common::edges(&[1e-9, 3e-9]));
        let high = builder.0;
        let mut low = high.clone();
        low.nets.push("vss".to_owned());
        let ground = NetId(low.nets.len() as u32 - 1);
        for t in &mut low.transistors {
            for net in [&mut t.drain, &mut t.source, &mut t.bulk] {
                if *net == NetId::GROUND {
                    *net = ground;
                }
            }
        }
        for source in &mut low.sources {
            match &mut source.waveform {
                Waveform::Constant(voltage) => *voltage -= down,
                Waveform::PiecewiseLinear(points) => {
                    points.iter_mut().for_each(|point| point.1 -= down);
                }
                Waveform::Pulse(_) => unreachable!("edges are piecewise linear"),
            }
        }
        let vss = Waveform::Constant(-down);
        low.sources.push(Source { name: "vss".to_owned(), net: ground, waveform: vss });
        let [high, low] = [high, low].map(|circuit| {
            let nets: Vec<NetId> = (0..circuit.nets.len() as u32).map(NetId).collect();
            let traces = traces::traces(&circuit, Options::default(), &nets);
            traces::crossings(&circuit, &traces)
        });
        prop_assert_eq!(high.values().map(Vec::len).sum::<usize>(), 10);
        for (high, low) in high.values().flatten().zip(low.values().flatten()) {
            prop_assert!((high.time - low.time).abs() < 1e-15, "{high:?} {low:?}");
        }
    }

    /// Resistors among capacitors keep the sum of all charges, and end with one voltage.
    #[test]
    fn charge_is_conserved(
        nodes in vec((1e-15..20e-15, 0.0..3.3), 2..9),
        edges in vec((0..9_usize, 0..9_usize, 1e3..1e5), 0..8),
    ) {
        let mut builder = Builder::new();
        let nets: Vec<NetId> =
            (0..nodes.len()).map(|at| builder.net(&format!("n{at}"))).collect();
        for (&net, &(capacitance, voltage)) in nets.iter().zip(&nodes) {
            builder.capacitor(net, capacitance);
            builder.0.initial.push((net, voltage));
        }
        // A line through all of them, and some more.
        let line = (1..nodes.len()).map(|at| (at - 1, at, 1e4));
        for (a, b, resistance) in line.chain(edges) {
            let ends = [nets[a % nets.len()], nets[b % nets.len()]];
            let name = format!("r{}", builder.0.resistors.len());
            builder.0.resistors.push(Resistor { name, ends, resistance });
        }
        let waveforms = waveforms(&builder.0, Options::default());
        let traces: Vec<&Vec<Sample>> = waveforms.values().collect();
        prop_assert_eq!(traces.len(), nodes.len());
        let charge = |at: usize| -> f64 {
            traces.iter().zip(&nodes).map(|(trace, node)| node.0 * trace[at].value).sum()
        };
        let given: f64 = nodes.iter().map(|node| node.0 * node.1).sum();
        // OP-A: the first of them has the given voltages, to the last bit.
        for (trace, node) in traces.iter().zip(&nodes) {
            prop_assert_eq!(trace[0].value, node.1);
        }
        for at in 0..traces[0].len() {
            prop_assert!((charge(at) - given).abs() <= 1e-6 * given, "{} {given}", charge(at));
        }
        let voltage = given / nodes.iter().map(|node| node.0).sum::<f64>();
        for trace in &traces {
            let last = trace.last().expect("samples").value;
            prop_assert!((last - voltage).abs() < 0.02, "{last} is not {voltage}");
        }
    }
}

/// Between two transmission gates that are off, a net starts where the junctions of their N and P
/// channels draw it, and between channels of one kind at their bulk.
#[test]
fn nets_that_float_start_between_the_bulks() {
    let mut builder = Builder::new();
    let [n, m, s] = ["n", "m", "s"].map(|name| builder.net(name));
    let [ground, vdd] = [NetId::GROUND, builder.net("vdd")];
    builder.mos(Channel::N, [n, ground, vdd], 1e-6);
    builder.mos(Channel::P, [n, vdd, vdd], 1e-6);
    builder.mos(Channel::P, [n, vdd, m], 1e-6);
    builder.mos(Channel::P, [m, ground, vdd], 1e-6);
    builder.mos(Channel::P, [n, vdd, s], 1e-6);
    builder.mos(Channel::P, [s, vdd, ground], 1e-6);
    let model = CircuitModel::new(&builder.0, Options::default()).expect("a sound circuit");
    let point: BTreeMap<NetId, f64> = model.operating_point().collect();
    for (net, expected) in [(n, 0.75 * common::VDD), (m, common::VDD), (s, common::VDD)] {
        assert!((point[&net] - expected).abs() < 0.01, "{point:?}");
    }
}

/// At the end of a longer run, times would be less precise than a step.
#[test]
fn runs_have_an_end() {
    let mut builder = Builder::new();
    builder.chain(2, Waveform::Constant(0.0));
    builder.0.end = 1e3;
    let refused = CircuitModel::new(&builder.0, Options::default()).expect_err("too long");
    assert!(matches!(refused, CircuitError::TooLong { .. }), "{refused}");
    assert!(refused.to_string().starts_with("1e3 s are too long for a circuit"), "{refused}");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let refused = |circuit: &Circuit, options| {
        let error = CircuitModel::new(circuit, options);
        error.expect_err("not to be simulated").to_string()
    };
    let none = Circuit { nets: vec!["0".to_owned()], ..Circuit::default() };
    assert!(refused(&none, Options::default()).contains("no supply"));
    let mut builder = Builder::new();
    let nets = builder.chain(2, Waveform::Constant(0.0));
    let zero = Options { lookahead: Some(0.0), ..Options::default() };
    assert!(refused(&builder.0, zero).contains("a lookahead of 0 s"));
    let sound = builder.0.clone();
    builder.0.transistors[0].bulk = nets[1];
    assert!(refused(&builder.0, Options::default()).contains("m0: its bulk is at net n1"));
    builder.0 = sound;
    builder.0.cards[0].lateral_diffusion = 0.3e-6;
    assert!(refused(&builder.0, Options::default()).contains("m0: its length less twice"));
}
