//! Tests of recordings: what is written is what the samples say, whatever the format.

mod failures;
mod formats;
mod laws;
mod plots;

use std::{fs, ops::ControlFlow, path::Path};

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::{
    circuit::{Crossing, Direction, Measure, NetId, Pulse, Sample, Source, Waveform},
    waveform::{Cubic, Detector, Edge},
};

/// One step of the simulation at most, in seconds.
const LONGEST: f64 = 2e-9;
const NS: f64 = 1e-9;
const SUPPLY: f64 = 3.0;
/// The nets of [`circuit`]: first those that are fixed.
const NETS: [&str; 6] = ["0", "vdd", "in", "x1.out", "x1.u2.n", "q"];
/// Those of them that have samples.
const FREE: [NetId; 3] = [NetId(3), NetId(4), NetId(5)];

/// A supply, an input, and three nets without anything.
fn circuit() -> Circuit {
    let source = |name: &str, net, waveform| Source { name: name.to_owned(), net, waveform };
    let input = Pulse {
        low: 0.0,
        high: SUPPLY,
        delay: NS,
        rise: 0.2 * NS,
        fall: 7.0 * NS,
        width: 5.0 * NS,
        period: 20.0 * NS,
    };
    Circuit {
        title: "a $end of\nall".to_owned(),
        nets: NETS.map(str::to_owned).to_vec(),
        sources: vec![
            source("vdd", NetId(1), Waveform::Constant(SUPPLY)),
            source("vin", NetId(2), Waveform::Pulse(input)),
        ],
        end: 50.0 * NS,
        ..Circuit::default()
    }
}

/// All files, in a directory.
fn outputs(circuit: &Circuit, at: &Path, points: Points) -> Outputs {
    Outputs {
        vcd: Some(at.join("a.vcd")),
        raw: Some(at.join("a.raw")),
        crossings: Some(at.join("a.csv")),
        points,
        ..Outputs::none(circuit, LONGEST)
    }
}

/// Records samples until `end`.
fn record(circuit: &Circuit, outputs: &Outputs, samples: &[Sample], end: f64) -> Recording {
    let mut recorder = Recorder::create(circuit, outputs).expect("sound");
    for sample in samples {
        assert_eq!(recorder.record(sample), ControlFlow::Continue(()));
    }
    recorder.finish(end).expect("written")
}

/// The contents of a file.
fn text(path: Option<&PathBuf>) -> String {
    fs::read_to_string(path.expect("asked for")).expect("written")
}

/// Samples of the free nets in the order of time: steps up to the longest one, and rests.
fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let step = prop_oneof![Just(0.0), 0.01..1.0, Just(1.0)];
    let value = prop_oneof![select(&[0.0, 1.5, 3.0][..]), -0.3..3.3];
    let rest = prop_oneof![4 => Just(0.0), 1 => 3.0..9.0];
    let point = (step, value, -5.0..5.0, rest);
    let net = || vec(point.clone(), 1..20);
    (net(), net(), net()).prop_map(|nets| {
        let mut samples = Vec::new();
        for (net, points) in FREE.into_iter().zip([nets.0, nets.1, nets.2]) {
            let mut time = 0.0;
            for (n, (step, value, slope, rest)) in points.into_iter().enumerate() {
                time += if n == 0 { 0.0 } else { step * LONGEST };
                let slope = if rest > 0.0 { 0.0 } else { slope * 1e9 };
                samples.push(Sample { time, net, value, slope });
                if rest > 0.0 {
                    time += rest * NS;
                    samples.push(Sample { time, net, value, slope });
                }
            }
        }
        samples.sort_by(|a, b| a.time.total_cmp(&b.time));
        samples
    })
}

/// The samples of a net; of a fixed one, its corners and the end.
fn of_net(circuit: &Circuit, samples: &[Sample], net: NetId, end: f64) -> Vec<Sample> {
    let Some(source) = circuit.sources.iter().find(|source| source.net == net) else {
        return samples.iter().filter(|sample| sample.net == net).copied().collect();
    };
    let (waveform, mut time, mut corners) = (&source.waveform, 0.0, Vec::new());
    loop {
        let (value, slope) = (waveform.at(time), waveform.slope_after(time));
        corners.push(Sample { time, net, value, slope });
        let next = waveform.next_breakpoint(time).unwrap_or(f64::INFINITY).min(end);
        if next <= time {
            return corners;
        }
        corners.push(Sample { time: next, value: waveform.line(time).at(next), slope, net });
        time = next;
    }
}

/// The voltage of a net with these samples.
fn voltage(samples: &[Sample], time: f64) -> f64 {
    let next = samples.partition_point(|sample| sample.time <= time);
    match (samples.get(next.wrapping_sub(1)), samples.get(next)) {
        (Some(last), Some(next)) => Cubic::between(last, next).at(time),
        (Some(last), None) => last.value,
        (None, _) => 0.0,
    }
}

/// The crossings of a net with these samples.
fn crossings(samples: &[Sample], threshold: f64) -> Vec<(f64, Edge)> {
    let mut detector = Detector::new(threshold, samples[0].value);
    let mut all = Vec::new();
    for pair in samples.windows(2) {
        let piece = Cubic::between(&pair[0], &pair[1]);
        detector.follow(&piece, |time, edge| all.push((time, edge)));
    }
    all
}
