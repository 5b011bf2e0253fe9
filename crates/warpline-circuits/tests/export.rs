//! Exported decks: read back, they are the same circuit.

use std::{collections::HashMap, io};

use proptest::prelude::*;
use warpline_circuits::{
    bench,
    circuit::{
        Capacitor, Channel, Circuit, Crossing, Direction, Measure, MosCard, NetId, Pulse, Resistor,
        Source, Transistor, Waveform,
    },
    export::{self, Accuracy},
    generate::Generator,
    logic::{Gate, GateKind, Gates},
    process::Capacitances,
    spice,
    stimuli::Stimuli,
    workload::Workload,
};

fn deck(circuit: &Circuit) -> String {
    let mut bytes = Vec::new();
    export::write(circuit, &Accuracy::default(), &mut bytes).expect("memory is there");
    String::from_utf8(bytes).expect("a deck is text")
}

fn read(text: &str) -> Circuit {
    let mut include = |_: &str, _: &str| Err(io::ErrorKind::NotFound.into());
    spice::read("a.cir", text, &mut include)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .circuit
}

/// The circuit with its nets and cards in the order of their names.
fn by_name(circuit: &Circuit) -> Circuit {
    let mut order: Vec<usize> = (1..circuit.nets.len()).collect();
    order.sort_by_key(|&net| &circuit.nets[net]);
    order.insert(0, 0);
    let new: HashMap<usize, usize> =
        order.iter().enumerate().map(|(to, &from)| (from, to)).collect();
    let net = |net: &mut NetId| *net = NetId(new[&net.index()] as u32);
    let mut sorted = circuit.clone();
    sorted.nets = order.iter().map(|&net| circuit.nets[net].clone()).collect();
    for mos in &mut sorted.transistors {
        [&mut mos.drain, &mut mos.gate, &mut mos.source, &mut mos.bulk].into_iter().for_each(net);
    }
    let mut cards: Vec<usize> = (0..circuit.cards.len()).collect();
    cards.sort_by_key(|&card| &circuit.cards[card].name);
    sorted.cards = cards.iter().map(|&card| circuit.cards[card].clone()).collect();
    for mos in &mut sorted.transistors {
        mos.card = cards.iter().position(|&card| card == mos.card).expect("a card");
    }
    sorted.resistors.iter_mut().for_each(|resistor| resistor.ends.iter_mut().for_each(net));
    for capacitor in &mut sorted.capacitors {
        [&mut capacitor.net, &mut capacitor.reference].into_iter().for_each(net);
    }
    sorted.sources.iter_mut().for_each(|source| net(&mut source.net));
    sorted.initial.iter_mut().for_each(|(at, _)| net(at));
    for measure in &mut sorted.measures {
        [&mut measure.trigger.net, &mut measure.target.net].into_iter().for_each(net);
    }
    sorted.saved.iter_mut().for_each(net);
    sorted
}

#[track_caller]
fn assert_survives(circuit: &Circuit) {
    let once = read(&deck(circuit));
    assert!(
        by_name(&once) == by_name(circuit),
        "EXPORT-A: {}\nwas\n{}",
        deck(&once),
        deck(circuit)
    );
    assert!(read(&deck(&once)) == once, "EXPORT-A: {} is not read as it is written", deck(&once));
}

#[test]
fn generated_circuits_survive_a_deck() {
    for text in ["chain:3", "adder:2", "multiplier:3", "ring:5", "regfile:3x2"] {
        let generator: Generator = text.parse().expect("a generator");
        for capacitances in [Capacitances::Explicit, Capacitances::Full] {
            let workload = generator.workload(&Stimuli::default(), capacitances);
            assert_survives(&workload.expect("good stimuli").circuit);
        }
    }
}

fn gates() -> impl Strategy<Value = Gates> {
    use GateKind::{And, Buffer, FlipFlop, Nand, Nor, Not, Or, Xnor, Xor};
    let kind = prop::sample::select(vec![Buffer, Not, And, Nand, Or, Nor, Xor, Xnor, FlipFlop]);
    let gate = (kind, prop::collection::vec(any::<prop::sample::Index>(), 1..4));
    let names = prop::collection::hash_set("[a-z0-9.\\[\\]_]{1,4}", 2..10);
    (names, prop::collection::vec(gate, 1..9)).prop_map(|(names, kinds)| {
        let mut gates = Gates::new("random gates");
        gates.names = names.into_iter().collect();
        gates.names.sort();
        let signals = gates.names.len();
        let driven = kinds.len().min(signals - 1);
        for (output, (kind, inputs)) in kinds.into_iter().take(driven).enumerate() {
            let mut inputs: Vec<_> = inputs.iter().map(|index| index.index(signals)).collect();
            if matches!(kind, Buffer | Not | FlipFlop) {
                inputs.truncate(1);
            }
            gates.gates.push(Gate { kind, output, inputs });
        }
        gates.inputs = (driven..signals).collect();
        gates.outputs = vec![0];
        gates
    })
}

fn waveform() -> impl Strategy<Value = Waveform> {
    let voltage = -5.0..5.0_f64;
    let time = 1e-12..1e-9_f64;
    let points = prop::collection::vec((time.clone(), voltage.clone()), 1..12).prop_map(|points| {
        let mut now = 0.0;
        let mut add = |(time, voltage)| {
            now += time;
            (now, voltage)
        };
        Waveform::PiecewiseLinear(points.into_iter().map(&mut add).collect())
    });
    let pulse = (voltage.clone(), voltage.clone(), prop::array::uniform5(time), any::<bool>());
    let pulse = pulse.prop_map(|(low, high, [delay, rise, fall, width, rest], is_single)| {
        let period = if is_single { f64::INFINITY } else { rise + fall + width + rest };
        Waveform::Pulse(Pulse { low, high, delay, rise, fall, width, period })
    });
    prop_oneof![voltage.prop_map(Waveform::Constant), points, pulse]
}

fn card() -> impl Strategy<Value = MosCard> {
    let values = prop::array::uniform16(0.01..0.99_f64);
    (values, any::<bool>(), any::<bool>(), 1e-9..100e-9_f64).prop_map(
        |(v, is_n, has_oxide, tox)| MosCard {
            name: "card".to_owned(),
            channel: if is_n { Channel::N } else { Channel::P },
            vto: v[0] - 0.5,
            kp: v[1],
            gamma: v[2],
            phi: v[3],
            lambda: v[4],
            oxide: if has_oxide {
                warpline_circuits::process::OXIDE_PERMITTIVITY / tox
            } else {
                0.0
            },
            lateral_diffusion: v[5] * 1e-8,
            cgso: v[6] * 1e-9,
            cgdo: v[7] * 1e-9,
            cgbo: v[8] * 1e-9,
            cj: v[9],
            mj: v[10],
            cjsw: v[11],
            mjsw: v[12],
            pb: v[13],
        },
    )
}

/// A transistor, a resistor and a capacitor with any values.
fn small_circuit() -> impl Strategy<Value = Circuit> {
    let sizes = prop::array::uniform8(1e-7..1e-5_f64);
    let rest = (any::<bool>(), 1_u32..9, -1.0..4.0_f64);
    (card(), waveform(), sizes, rest).prop_map(
        |(card, waveform, sizes, (flag, number, voltage))| {
            let [width, length, a, b, c, d, resistance, capacitance] = sizes;
            let nets = ["0", "in", "out", "far[3]"].map(str::to_owned).to_vec();
            let [input, out, far] = [1, 2, 3].map(NetId);
            let crossing = |net, direction, ordinal| Crossing {
                net,
                threshold: voltage,
                direction,
                ordinal,
                after: resistance,
            };
            let direction = if flag { Direction::Rise } else { Direction::Cross };
            Circuit {
                title: "a * small circuit".to_owned(),
                nets,
                cards: vec![card],
                transistors: vec![Transistor {
                    name: "m.x1.m1".to_owned(),
                    drain: out,
                    gate: input,
                    source: NetId::GROUND,
                    bulk: NetId::GROUND,
                    card: 0,
                    width,
                    length,
                    junction_areas: [a, b],
                    junction_perimeters: [c, d],
                }],
                resistors: vec![Resistor { name: "r1".to_owned(), ends: [out, far], resistance }],
                capacitors: vec![Capacitor {
                    name: "c1".to_owned(),
                    net: far,
                    reference: if flag { NetId::GROUND } else { input },
                    capacitance,
                }],
                sources: vec![Source { name: "v1".to_owned(), net: input, waveform }],
                initial: if flag { vec![(far, voltage)] } else { Vec::new() },
                end: width,
                print_step: length,
                measures: vec![Measure {
                    name: "delay".to_owned(),
                    trigger: crossing(input, direction, None),
                    target: crossing(out, Direction::Fall, Some(number)),
                }],
                saved: if flag { vec![far, input] } else { Vec::new() },
            }
        },
    )
}

proptest! {
    #[test]
    fn gates_survive_a_deck(gates in gates(), seed: u64, is_full: bool) {
        let stimuli = Stimuli { vectors: 3, seed, period: None };
        let capacitances = if is_full { Capacitances::Full } else { Capacitances::Explicit };
        let workload = Workload::of_gates(&gates, &stimuli, capacitances).expect("good stimuli");
        assert_survives(&workload.circuit);
    }

    #[test]
    fn any_values_survive_a_deck(circuit in small_circuit()) {
        assert_survives(&circuit);
    }
}

#[test]
fn names_that_a_deck_cannot_have_are_replaced() {
    let gates = bench::read(
        "a b.bench",
        "INPUT($a)\nINPUT(;)\ny;1 = NAND($a, ;)\ny_1 = NOT(a//b)\na//b = NOT(y;1)",
    );
    let gates = gates.expect("gates");
    let stimuli = Stimuli::default();
    let workload = Workload::of_gates(&gates, &stimuli, Capacitances::Explicit);
    let mut workload = workload.expect("good stimuli");
    workload.circuit.transistors[0].name = "Q 1".to_owned();
    let circuit = read(&deck(&workload.circuit));
    for name in ["_a", "_", "y_1", "y_1_1", "a__b"] {
        assert!(circuit.nets.iter().any(|net| net == name), "{name} in {:?}", circuit.nets);
    }
    assert_eq!(circuit.transistors[0].name, "m.q_1");
    let counts = |circuit: &Circuit| (circuit.nets.len(), circuit.transistors.len());
    assert_eq!(counts(&circuit), counts(&workload.circuit));
}

/// Names with special characters only are all the same in a deck: 3^9 of them.
#[test]
fn many_names_that_are_replaced_by_the_same_one_take_no_time() {
    let name = |number: usize| -> String {
        (0..9).map(|digit| [';', '{', '*'][number / 3_usize.pow(digit) % 3]).collect()
    };
    let lines = (0..3_usize.pow(9)).map(|number| format!("{} = NOT(a)\n", name(number)));
    let text = format!("INPUT(a)\n{}", lines.collect::<String>());
    let gates = bench::read("a.bench", &text).expect("gates");
    let workload = Workload::of_gates(&gates, &Stimuli::default(), Capacitances::Explicit);
    let circuit = read(&deck(&workload.expect("good stimuli").circuit));
    assert_eq!(circuit.transistors.len(), 2 * 3_usize.pow(9));
}
