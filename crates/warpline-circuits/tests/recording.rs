//! Recordings of simulated circuits: the same files for every engine, and a full disk ends the run.

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use warpline::{AnyModel, Conservative, Engine, Sequential, Simulation, Speculative, TimeWarp};
use warpline_circuits::{
    circuit::{Circuit, Crossing, Direction, Measure},
    generate::Generator,
    model::{CircuitModel, Options},
    output::{Outputs, Points, Recorder, Recording},
    process::Capacitances,
    stimuli::Stimuli,
};

/// A recorder that a model and the caller of its run share.
type SharedRecorder = Arc<Mutex<Option<Recorder>>>;

fn circuit(generator: Generator) -> Circuit {
    let stimuli = Stimuli { vectors: 3, ..Stimuli::default() };
    generator.workload(&stimuli, Capacitances::Explicit).expect("sound").circuit
}

/// The model of a circuit, with a recorder of what is asked for.
fn recorded(circuit: &Circuit, ask: impl FnOnce(Outputs) -> Outputs) -> (AnyModel, SharedRecorder) {
    let model = CircuitModel::new(circuit, Options::default()).expect("sound");
    let outputs = ask(Outputs::none(circuit, model.longest_step()));
    let recorder = Recorder::create(circuit, &outputs).expect("sound");
    let nets: Vec<_> = recorder.nets().collect();
    let shared = SharedRecorder::new(Mutex::new(Some(recorder)));
    let sink = shared.clone();
    let model = model.watch(
        nets,
        Box::new(move |sample| {
            if let Some(recorder) = sink.lock().unwrap().as_mut() {
                // The observer ends the run.
                let _ = recorder.record(&sample);
            }
        }),
    );
    (model.into_any(), shared)
}

/// Runs a circuit and returns its recording and the three files.
fn run(circuit: &Circuit, engine: Engine, at: &Path) -> (Recording, [Vec<u8>; 3]) {
    let [vcd, raw, crossings] = ["a.vcd", "a.raw", "a.csv"].map(|name| at.join(name));
    let files = [vcd.clone(), raw.clone(), crossings.clone()];
    let (model, recorder) = recorded(circuit, |none| Outputs {
        vcd: Some(vcd),
        raw: Some(raw),
        crossings: Some(crossings),
        points: Points::Every(10e-12),
        ..none
    });
    Simulation::new(model).engine(engine).end(circuit.end).run().expect("it runs");
    let recorder = recorder.lock().unwrap().take().expect("not finished yet");
    let recording = recorder.finish(circuit.end).expect("written");
    (recording, files.map(|file| fs::read(file).expect("written")))
}

#[test]
fn every_engine_writes_the_same_files() {
    let mut circuit = circuit(Generator::Adder(2));
    let net = |name: &str| {
        let place = circuit.nets.iter().position(|net| net == name);
        warpline_circuits::circuit::NetId(place.expect("there") as u32)
    };
    let [input, output] = [net("a0"), net("s0")];
    let crossing = |net| Crossing {
        net,
        threshold: 1.65,
        direction: Direction::Cross,
        ordinal: Some(1),
        after: 0.0,
    };
    let name = "delay".to_owned();
    let measure = Measure { name, trigger: crossing(input), target: crossing(output) };
    circuit.measures = vec![measure];
    let at = tempfile::tempdir().expect("a directory");
    let sequential = run(&circuit, Sequential::default().into(), at.path());
    assert!(sequential.0.crossings > 20, "{:?}", sequential.0);
    assert!(sequential.0.measures[0].value.is_ok(), "{:?}", sequential.0.measures);
    let workers = 2;
    let engines: [Engine; 3] = [
        Conservative { workers, ..Conservative::default() }.into(),
        Speculative { workers, ..Speculative::default() }.into(),
        TimeWarp { workers, ..TimeWarp::default() }.into(),
    ];
    for engine in engines {
        assert!(run(&circuit, engine, at.path()) == sequential);
    }
}

/// An oscillator without end: nothing but the full disk ends it.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_a_run() {
    let circuit = circuit(Generator::Ring(5));
    let full = Some(PathBuf::from("/dev/full"));
    let (model, recorder) = recorded(&circuit, |none| Outputs { vcd: full, ..none });
    let watched = recorder.clone();
    let report = Simulation::new(model)
        .end(1.0)
        .observe(|_| {
            let failed = watched.lock().unwrap().as_ref().is_none_or(Recorder::has_failed);
            if failed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .run()
        .expect("it is interrupted");
    assert!(report.interrupted);
    let recorder = recorder.lock().unwrap().take().expect("not finished yet");
    let error = recorder.finish(report.end_time.get()).expect_err("the disk is full").to_string();
    assert!(error.starts_with("/dev/full could not be written"), "{error}");
}
