//! Simulations on the sequential engine, with the waveforms and the crossings of nets.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use warpline::Simulation;
use warpline_circuits::{
    circuit::{Circuit, NetId, Sample},
    model::{CircuitModel, Options},
    waveform::{Cubic, Detector, Edge},
};

/// One crossing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crossing {
    /// In seconds.
    pub(crate) time: f64,
    pub(crate) is_rise: bool,
}

/// By net, in the order of their times.
pub(crate) type Crossings = BTreeMap<String, Vec<Crossing>>;

/// The samples of nets, by net.
pub(crate) type Traces = BTreeMap<NetId, Vec<Sample>>;

/// Simulates a circuit on the sequential engine.
pub(crate) fn traces(circuit: &Circuit, options: Options, nets: &[NetId]) -> Traces {
    let samples: Arc<Mutex<Vec<Sample>>> = Arc::default();
    let sink = samples.clone();
    let sink = Box::new(move |sample| sink.lock().expect("no panic").push(sample));
    let model = CircuitModel::new(circuit, options).expect("a sound circuit");
    let model = model.watch(nets.iter().copied(), sink);
    Simulation::new(model.into_any()).end(circuit.end).run().expect("a sound circuit");
    let mut traces = Traces::new();
    for sample in samples.lock().expect("no panic").iter() {
        traces.entry(sample.net).or_default().push(*sample);
    }
    traces
}

/// The crossings of all nets of these traces.
pub(crate) fn crossings(circuit: &Circuit, traces: &Traces) -> Crossings {
    let half = circuit.threshold();
    let of_net = |(net, trace): (&NetId, &Vec<Sample>)| {
        let mut detector = Detector::new(half, trace[0].value);
        let mut crossings = Vec::new();
        for pair in trace.windows(2) {
            detector.follow(&Cubic::between(&pair[0], &pair[1]), |time, edge| {
                crossings.push(Crossing { time, is_rise: edge == Edge::Rise });
            });
        }
        (circuit.nets[net.index()].clone(), crossings)
    };
    traces.iter().map(of_net).collect()
}
