//! A chain of inverters on the sequential engine: what a simulation is, at its simplest.

mod common;

use std::sync::{Arc, Mutex};

use common::{Builder, VDD, edges};
use warpline::{Report, Simulation, any_model::AnyOutput};
use warpline_circuits::{
    bare,
    circuit::{Channel, NetId, Sample},
    model::{CircuitModel, CircuitOutput, Options},
};

fn output(report: &Report<AnyOutput>) -> &CircuitOutput {
    report.output.get().expect("of a circuit")
}

#[test]
fn an_edge_runs_through_a_chain() {
    let mut builder = Builder::new();
    let nets = builder.chain(21, edges(&[1e-9, 5e-9]));
    let circuit = builder.0;
    let samples = Arc::new(Mutex::new(Vec::new()));
    let sink = samples.clone();
    let model = CircuitModel::new(&circuit, Options::default())
        .expect("sound")
        .watch(nets[1..].iter().copied(), Box::new(move |s: Sample| sink.lock().unwrap().push(s)));
    for (net, voltage) in model.operating_point() {
        let at = nets.iter().position(|&n| n == net).expect("in the chain");
        assert!((voltage - if at % 2 == 1 { VDD } else { 0.0 }).abs() < 1e-3, "{net:?} {voltage}");
    }
    let expected = bare::run(&model, circuit.end);
    let report = Simulation::new(model.into_any()).end(circuit.end).run().unwrap();
    assert_eq!(output(&report).tally.steps, expected.tally.steps);
    let samples = samples.lock().unwrap();
    let mut last = 0.0;
    for net in &nets[1..] {
        let own: Vec<&Sample> = samples.iter().filter(|s| s.net == *net).collect();
        let cross = own.windows(2).find(|p| (p[0].value < VDD / 2.0) != (p[1].value < VDD / 2.0));
        let pair = cross.unwrap();
        let t = pair[0].time
            + (VDD / 2.0 - pair[0].value) / (pair[1].value - pair[0].value)
                * (pair[1].time - pair[0].time);
        assert!(t > last);
        last = t;
    }
    assert_eq!(output(&report).tally.crossings, 42);
}

fn nand(builder: &mut Builder, [a, b]: [NetId; 2], to: NetId) {
    let vdd = builder.net("vdd");
    let name = format!("{}.stack", builder.0.nets[to.index()]);
    let stack = builder.net(&name);
    builder.mos(Channel::N, [to, a, stack], 3e-6);
    builder.mos(Channel::N, [stack, b, NetId::GROUND], 3e-6);
    builder.mos(Channel::P, [to, a, vdd], 3e-6);
    builder.mos(Channel::P, [to, b, vdd], 3e-6);
    builder.capacitor(to, 5e-15);
}

#[test]
fn a_gate_settles_to_its_value() {
    for inputs in 0..4_u32 {
        let mut builder = Builder::new();
        let [a, b, out] = ["a", "b", "out"].map(|name| builder.net(name));
        for (bit, net) in [a, b].into_iter().enumerate() {
            let edges = if inputs >> bit & 1 == 1 { edges(&[1e-9]) } else { edges(&[]) };
            builder.source(net, edges);
        }
        nand(&mut builder, [a, b], out);
        let model = CircuitModel::new(&builder.0, Options::default()).expect("sound");
        let report = Simulation::new(model.into_any()).end(9e-9).run().unwrap();
        assert_eq!(output(&report).tally.crossings, u64::from(inputs == 3), "{inputs:b}");
    }
}
