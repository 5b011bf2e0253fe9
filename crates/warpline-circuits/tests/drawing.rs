//! Pictures of results: which nets they have, and that the waveforms in them are those of the run.
//!
//! # Mutations, each seen red
//!
//! - `Drawing::finish` does not cut sources off: they go on beyond the end of a run.
//! - `Drawing::new` takes the outputs of a deck for all that it has: nothing is drawn of a deck.

use warpline::{
    Results, Simulation,
    picture::{Picture, Shape},
};
use warpline_circuits::{
    circuit::{Circuit, NetId},
    generate::Generator,
    model::{CircuitModel, CircuitOutput, Options},
    netlist,
    output::{Outputs, Recorder},
    process::Capacitances,
    stimuli::Stimuli,
    workload::Workload,
};

fn workload(generator: Generator) -> Workload {
    let stimuli = Stimuli { vectors: 3, ..Stimuli::default() };
    generator.workload(&stimuli, Capacitances::Explicit).expect("sound")
}

/// A picture up to `end`, of a run up to `reached`.
fn picture(circuit: &Circuit, outputs: &[NetId], end: f64, reached: f64) -> Option<Picture> {
    let model = CircuitModel::new(circuit, Options::default()).expect("sound");
    let model = model.draw(circuit, outputs, end).into_any();
    let report = Simulation::new(model).end(reached).run().expect("it runs");
    let output: &CircuitOutput = report.output.get().expect("of a circuit");
    output.pictures().pop()
}

fn lanes(picture: &Picture) -> (&[String], &[Vec<[f64; 2]>]) {
    match &picture.shape {
        Shape::Lanes { names, lines, .. } => (names, lines),
        other => panic!("{other:?} has no lanes"),
    }
}

/// How often a line goes through a level.
fn crossings(line: &[[f64; 2]], level: f64) -> usize {
    let sides: Vec<bool> = line.iter().map(|point| point[1] > level).collect();
    sides.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Lines of a few hundred points have as many crossings as the exact waveforms.
#[test]
fn crossings_survive() {
    for generator in [Generator::Adder(4), Generator::Ring(11)] {
        let Workload { mut circuit, outputs, .. } = workload(generator);
        circuit.saved.clone_from(&outputs);
        let model = CircuitModel::new(&circuit, Options::default()).expect("sound");
        let files = Outputs::none(&circuit, model.longest_step());
        let recorder = Recorder::create(&circuit, &files).expect("no files");
        let nets: Vec<_> = recorder.nets().collect();
        let recorder = std::sync::Arc::new(std::sync::Mutex::new(recorder));
        let sink = recorder.clone();
        let model = model.watch(
            nets,
            Box::new(move |sample| {
                let _ = sink.lock().unwrap().record(&sample);
            }),
        );
        let model = model.draw(&circuit, &outputs, circuit.end).into_any();
        let report = Simulation::new(model).end(circuit.end).run().expect("it runs");
        let picture = report.output.pictures().pop().expect("a picture");
        drop(report);
        let recorder = std::sync::Arc::into_inner(recorder).expect("the run is over");
        let recording = recorder.into_inner().unwrap().finish(circuit.end);
        let (_, lines) = lanes(&picture);
        let found: usize = lines.iter().map(|line| crossings(line, circuit.threshold())).sum();
        assert_eq!(found as u64, recording.expect("sound").crossings, "{generator}");
        assert!(found > 3 && lines.iter().all(|line| line.len() < 1500), "{generator}");
    }
}

/// Saved nets are drawn, else inputs and outputs, else what looks like outputs.
#[test]
fn nets_of_interest_are_drawn() {
    let Workload { mut circuit, outputs, .. } = workload(Generator::Adder(2));
    let all = picture(&circuit, &outputs, circuit.end, circuit.end).expect("a picture");
    let (names, lines) = lanes(&all);
    assert!(names.ends_with(&["s0".into(), "s1".into(), "cout".into()]), "{names:?}");
    assert!(names.len() > 3 && !names.iter().any(|name| name == "vdd"), "{names:?}");
    assert!(lines.iter().all(|line| line.len() >= 2), "{lines:?}");
    assert!(all.meaning.ends_with(&format!(" outputs: all {}.", names.len())), "{}", all.meaning);
    circuit.saved = vec![outputs[1], NetId::GROUND, outputs[1]];
    let saved = picture(&circuit, &outputs, circuit.end, circuit.end).expect("a picture");
    assert_eq!(lanes(&saved).0, ["s1", "0"]);
    assert_eq!(lanes(&saved).1[1], [[0.0, 0.0], [30.0, 0.0]]);
    let deck = netlist::read("tests/decks/pass.cir".as_ref()).expect("a deck");
    let deck = deck.workload(&Stimuli::default(), Capacitances::Explicit).expect("sound");
    let circuit = Circuit { saved: Vec::new(), ..deck.circuit };
    let found = picture(&circuit, &[], circuit.end, circuit.end).expect("a picture");
    let (names, lines) = lanes(&found);
    let moves = |name: &str| names.iter().zip(lines).any(|(n, line)| n == name && line.len() > 2);
    assert!(moves("a") && moves("q") && !moves("vdd"), "{names:?}");
}

/// More nets than there is room for: some inputs, and the first outputs.
#[test]
fn what_is_not_drawn_is_told() {
    let Workload { circuit, outputs, .. } = workload(Generator::Multiplier(8));
    let picture = picture(&circuit, &outputs, circuit.end, circuit.end).expect("a picture");
    assert_eq!(lanes(&picture).0.len(), 12);
    assert_eq!(lanes(&picture).0[4..], ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"]);
    assert!(picture.meaning.contains(": 12 of ") && picture.meaning.contains("`save`"));
}

/// A run that ends early has waveforms up to there, those of sources too; one without an end has
/// none.
#[test]
fn waveforms_end_where_the_run_does() {
    let Workload { circuit, outputs, .. } = workload(Generator::Adder(2));
    let half = picture(&circuit, &outputs, circuit.end, 0.5 * circuit.end).expect("a picture");
    for line in lanes(&half).1 {
        let last = line.last().expect("points")[0];
        assert!((last / (0.5e9 * circuit.end) - 1.0).abs() < 0.01, "{line:?}");
    }
    assert_eq!(picture(&circuit, &outputs, f64::INFINITY, circuit.end), None);
}
