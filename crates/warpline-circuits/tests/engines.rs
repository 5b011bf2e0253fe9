//! Every engine commits the same simulation, bit by bit.
//!
//! # Mutations, each seen red
//!
//! - `State::clone_from` forgets the inputs: Time Warp and the speculative engine commit something
//!   else.
//! - `CircuitLp::clone_from` forgets the traces: Time Warp draws something else.
//! - `Loop::deliver` of the bare loop delivers at the end of the interval: it commits something
//!   else.

use std::sync::{Arc, Mutex};

use warpline::{
    Auto, Conservative, Engine, Results, Sequential, Simulation, Speculative, TimeWarp,
    digest::CommitDigest,
    picture::Picture,
    settings::{CheckpointInterval, StateSaving, Synchronization, SynchronizationKind},
};
use warpline_circuits::{
    bare,
    circuit::Sample,
    generate::Generator,
    model::{CircuitModel, Options},
    process::Capacitances,
    stimuli::Stimuli,
    workload::Workload,
};

/// A circuit of each kind: without and with feedback, with capacitances of both kinds.
const CIRCUITS: [(Generator, Capacitances); 4] = [
    (Generator::Chain(21), Capacitances::Full),
    (Generator::Adder(3), Capacitances::Explicit),
    (Generator::Ring(5), Capacitances::Explicit),
    (Generator::RegisterFile { words: 2, bits: 2 }, Capacitances::Explicit),
];

fn workload(generator: Generator, capacitances: Capacitances) -> Workload {
    let stimuli = Stimuli { vectors: 2, ..Stimuli::default() };
    generator.workload(&stimuli, capacitances).expect("good stimuli")
}

/// What a run commits: its digest, the results with every bit, the samples, and the pictures.
#[derive(Debug, PartialEq)]
struct Outcome {
    digest: CommitDigest,
    results: Vec<u64>,
    samples: Vec<[u64; 4]>,
    pictures: Vec<Picture>,
}

fn bits(results: &impl Results) -> Vec<u64> {
    results.figures().iter().map(|figure| figure.value.to_bits()).collect()
}

fn run(workload: &Workload, group: usize, engine: Engine) -> Outcome {
    let samples: Arc<Mutex<Vec<[u64; 4]>>> = Arc::default();
    let sink = samples.clone();
    let sink = move |Sample { time, net, value, slope }| {
        let numbers = [time, value, slope].map(f64::to_bits);
        let [time, value, slope] = numbers;
        sink.lock().expect("no panic").push([time, u64::from(net.0), value, slope]);
    };
    let options = Options { group: Some(group), ..Options::default() };
    let model = CircuitModel::new(&workload.circuit, options).expect("a sound circuit");
    let model = model.watch(workload.outputs.iter().copied(), Box::new(sink));
    let model = model.draw(&workload.circuit, &workload.outputs, workload.circuit.end).into_any();
    let mut simulation = Simulation::new(model).end(workload.circuit.end).engine(engine);
    let report = simulation.run().expect("a sound circuit");
    let samples = std::mem::take(&mut *samples.lock().expect("no panic"));
    let (results, pictures) = (bits(&report.output), report.output.pictures());
    Outcome { digest: report.digest, results, samples, pictures }
}

#[test]
fn every_engine_commits_the_same_waveforms() {
    let null_messages = Synchronization::new(SynchronizationKind::NullMessages, 16);
    let time_warp = TimeWarp { workers: 2, pin: false, ..TimeWarp::default() };
    let sparse = StateSaving::Copy { interval: CheckpointInterval::Every(8) };
    let engines: [Engine; 7] = [
        Conservative { pin: false, ..Conservative::default() }.into(),
        Conservative { synchronization: null_messages, pin: false, ..Conservative::default() }
            .into(),
        time_warp.clone().into(),
        TimeWarp { saving: sparse, workers: 3, ..time_warp }.into(),
        Speculative { workers: 2, pin: false, ..Speculative::default() }.into(),
        Auto { workers: 2, pin: false, ..Auto::default() }.into(),
        Sequential { pending: warpline::pending::PendingKind::Heap }.into(),
    ];
    for ((generator, capacitances), group) in CIRCUITS.into_iter().zip([1, 2, 1, 4]) {
        let workload = workload(generator, capacitances);
        let expected = run(&workload, group, Engine::default());
        assert!(expected.samples.is_sorted_by_key(|sample| sample[0]), "in the order of times");
        for engine in &engines {
            let found = run(&workload, group, engine.clone());
            assert_eq!(found.digest, expected.digest, "{generator} on {engine:?}");
            assert_eq!(found.results, expected.results, "{generator} on {engine:?}");
            assert!(found.samples == expected.samples, "{generator} on {engine:?}: samples");
            assert!(found.pictures == expected.pictures, "{generator} on {engine:?}: pictures");
        }
    }
}

/// All but the energy, which depends on the order in which it is summed up.
fn counts(results: &[u64]) -> Vec<u64> {
    let energy = results.len() - 2;
    [&results[..energy], &results[energy + 1..]].concat()
}

#[test]
fn processes_of_any_size_and_the_bare_loop_simulate_the_same() {
    for (generator, capacitances) in CIRCUITS {
        let workload = workload(generator, capacitances);
        let mut expected = run(&workload, 1, Engine::default());
        expected.samples.sort_unstable();
        for group in [2, 8, 1000] {
            let mut found = run(&workload, group, Engine::default());
            found.samples.sort_unstable();
            assert_eq!(counts(&found.results), counts(&expected.results), "{generator}");
            assert!(found.samples == expected.samples, "{generator}: samples");
        }
        let model = CircuitModel::new(&workload.circuit, Options::default()).expect("sound");
        let found = bits(&bare::run(&model, workload.circuit.end));
        assert_eq!(counts(&found), counts(&expected.results), "{generator} in the bare loop");
    }
}
