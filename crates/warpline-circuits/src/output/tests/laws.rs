//! Laws of recordings: measures, order, memory.

use super::*;

const END: f64 = 250.0 * NS;

fn crossing() -> impl Strategy<Value = Crossing> {
    let direction = select(&[Direction::Rise, Direction::Fall, Direction::Cross][..]);
    let net = select(&[NetId(2), NetId(3), NetId(4), NetId(5)][..]);
    let after = prop_oneof![Just(0.0), (0.0..20.0).prop_map(|after| after * NS)];
    (net, 0.5..2.5, direction, prop::option::of(1..4_u32), after).prop_map(
        |(net, threshold, direction, ordinal, after)| Crossing {
            net,
            threshold,
            direction,
            ordinal,
            after,
        },
    )
}

/// The time of a crossing, from all crossings of its net.
fn find(circuit: &Circuit, samples: &[Sample], wanted: &Crossing) -> Option<f64> {
    let all = crossings(&of_net(circuit, samples, wanted.net, END), wanted.threshold);
    let counts = |&(time, edge): &(f64, Edge)| {
        let direction = match edge {
            Edge::Rise => Direction::Rise,
            Edge::Fall => Direction::Fall,
        };
        time >= wanted.after && [direction, Direction::Cross].contains(&wanted.direction)
    };
    let mut times = all.into_iter().filter(counts).map(|crossing| crossing.0);
    match wanted.ordinal {
        None => times.next_back(),
        Some(ordinal) => times.nth(ordinal as usize - 1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A measure is the difference of two crossings, and has no value if one of them is missing.
    /// Measured nets need not be saved.
    #[test]
    fn measures_are_those_of_the_crossings(
        samples in samples(),
        trigger in crossing(),
        target in crossing(),
    ) {
        let measures = vec![Measure { name: "delay".to_owned(), trigger, target }];
        let circuit = Circuit { measures, saved: vec![NetId(1)], ..circuit() };
        let recording = record(&circuit, &Outputs::none(&circuit, LONGEST), &samples, END);
        let [from, to] = [trigger, target].map(|wanted| find(&circuit, &samples, &wanted));
        let [Measured { name, value }] = &recording.measures[..] else { panic!("one measure") };
        prop_assert_eq!(name, "delay");
        match (from, to, value) {
            (Some(from), Some(to), Ok(value)) => {
                prop_assert!((value - (to - from)).abs() < 1e-20, "{} {}", value, to - from);
            }
            (None, _, Err(reason)) => prop_assert!(reason.starts_with("trigger: v("), "{reason}"),
            (_, None, Err(reason)) => prop_assert!(reason.starts_with("target: v("), "{reason}"),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// Another order of the nets of the netlist, and of samples of equal times, makes the same
    /// files.
    #[test]
    fn the_order_of_nets_does_not_matter(samples in samples()) {
        let files = |circuit: &Circuit, samples: &[Sample]| {
            let at = tempfile::tempdir().unwrap();
            let outputs = outputs(circuit, at.path(), Points::Every(0.3 * NS));
            record(circuit, &outputs, samples, END);
            let files = [&outputs.vcd, &outputs.raw, &outputs.crossings];
            files.map(|path| fs::read(path.as_ref().unwrap()).unwrap())
        };
        let (mut other, mut others) = (circuit(), samples.clone());
        other.nets.swap(3, 5);
        for sample in &mut others {
            sample.net = NetId(match sample.net.0 { 3 => 5, 5 => 3, net => net });
        }
        // Samples that are close together may come in any order.
        let about = |sample: &Sample| (sample.time / (1e-3 * LONGEST)).floor();
        others.sort_by(|a, b| about(a).total_cmp(&about(b)).then(b.net.cmp(&a.net)));
        prop_assert!(files(&circuit(), &samples) == files(&other, &others));
    }
}

/// What waits in memory does not grow over a million samples, nor do sleepers hold anything up.
#[test]
fn memory_does_not_grow() {
    let (circuit, at) = (circuit(), tempfile::tempdir().expect("a directory"));
    for points in [Points::Samples, Points::Every(10.0 * NS)] {
        let outputs = outputs(&circuit, at.path(), points);
        let mut recorder = Recorder::create(&circuit, &outputs).expect("sound");
        // Never at rest by its slope, and silent for ever.
        let silent = Sample { time: 0.0, net: NetId(5), value: 1.0, slope: 1e9 };
        assert!(recorder.record(&silent).is_continue());
        let mut most = 0;
        for n in 0..250_000_u32 {
            let time = f64::from(n) * 0.1 * NS;
            let (value, slope) = (SUPPLY * f64::from(n % 2), 0.0);
            for net in [NetId(3), NetId(4)] {
                assert!(recorder.record(&Sample { time, net, value, slope }).is_continue());
            }
            most = most.max(recorder.waiting());
        }
        // Two nets, 20 steps, two formats and three entries for each step.
        assert!((40..400).contains(&most), "{most}");
        assert_eq!(recorder.finish(0.0).expect("written").measures, []);
    }
}

/// A net that was silent for long has rested: it leaves one longest step before its next sample,
/// and has the same waveform in all formats (RECORD-A).
#[test]
fn silent_nets_rest() {
    let (mut circuit, at) = (circuit(), tempfile::tempdir().expect("a directory"));
    circuit.saved = vec![NetId(3)];
    let outputs = outputs(&circuit, at.path(), Points::Every(NS));
    let sample =
        |time, net, value, slope| Sample { time: time * NS, net: NetId(net), value, slope };
    let samples = [
        sample(0.0, 3, 0.0, 1e9),
        sample(0.0, 4, 0.0, 0.0),
        sample(9.0, 4, 0.0, 0.0),
        sample(10.0, 3, 3.0, 0.0),
    ];
    let recording = record(&circuit, &outputs, &samples, 12.0 * NS);
    assert_eq!(recording.crossings, 1);
    let table = text(outputs.crossings.as_ref());
    let time = table.split(',').nth(3).and_then(|time| time.parse::<f64>().ok());
    assert!(time.is_some_and(|time| (time - 9.0 * NS).abs() < 0.002 * NS), "{table}");
    let bytes = fs::read(outputs.raw.as_ref().expect("asked for")).expect("written");
    let values = bytes[bytes.len() - 13 * 16..].chunks_exact(16);
    let values = values.map(|row| f64::from_le_bytes(row[8..].try_into().expect("8 bytes")));
    let values = values.map(|value| (value * 100.0).round() / 100.0).collect::<Vec<_>>();
    assert_eq!(values, [0., 0., 0., 0., 0., 0., 0., 0., 0., 1.5, 3., 3., 3.]);
}

/// Samples of different nets may come a little out of order (RECORD-B): all files are the same.
#[test]
fn samples_may_be_a_little_early() {
    let circuit = circuit();
    let sample = |time, net, value| Sample { time: time * NS, net: NetId(net), value, slope: 0.0 };
    let first = [sample(0.0, 3, 0.0), sample(0.0, 4, 0.0)];
    let (late, early) = (sample(1.0, 3, 3.0), sample(0.999, 4, 3.0));
    let files = [[late, early], [early, late]].map(|two| {
        let at = tempfile::tempdir().expect("a directory");
        let outputs = outputs(&circuit, at.path(), Points::Samples);
        record(&circuit, &outputs, &[first, two].concat(), 3.0 * NS);
        [&outputs.vcd, &outputs.raw, &outputs.crossings]
            .map(|path| fs::read(path.as_ref().expect("asked for")).expect("written"))
    });
    assert!(files[0] == files[1]);
    let row = |time: f64| files[0][1].windows(8).any(|bytes| bytes == time.to_le_bytes());
    assert!(row(early.time) && row(late.time));
}

/// Only wanted nets are asked for: written or measured, and not fixed.
#[test]
fn wanted_nets() {
    let crossing = |net| Crossing {
        net,
        threshold: 1.5,
        direction: Direction::Rise,
        ordinal: Some(1),
        after: 0.0,
    };
    let measure =
        Measure { name: "m".to_owned(), trigger: crossing(NetId(2)), target: crossing(NetId(5)) };
    let circuit = Circuit { saved: vec![NetId(1), NetId(3)], measures: vec![measure], ..circuit() };
    let recorder = Recorder::create(&circuit, &Outputs::none(&circuit, LONGEST)).expect("sound");
    assert_eq!(recorder.nets().collect::<Vec<_>>(), [NetId(3), NetId(5)]);
    assert_eq!(circuit.threshold(), SUPPLY / 2.0);
}
