//! Files that cannot be written, and samples that cannot be.

use super::*;

fn sample(time: f64, value: f64) -> Sample {
    Sample { time, net: NetId(3), value, slope: 0.0 }
}

/// FILE-A: before a run is complete its files are called so, and an older file stays.
#[test]
fn files_get_their_names_when_they_are_complete() {
    let (circuit, at) = (circuit(), tempfile::tempdir().expect("a directory"));
    let outputs = outputs(&circuit, at.path(), Points::Samples);
    let names = ["a.vcd", "a.raw", "a.csv"].map(|name| at.path().join(name));
    let partial = names.clone().map(|name| PathBuf::from(format!("{}.partial", name.display())));
    fs::write(&names[0], "older").expect("written");
    drop(Recorder::create(&circuit, &outputs).expect("sound"));
    assert!(partial.iter().all(|path| path.exists()));
    assert!(!names[1].exists() && !names[2].exists());
    assert_eq!(fs::read_to_string(&names[0]).expect("still there"), "older");
    let recording = record(&circuit, &outputs, &[sample(0.0, 0.0)], NS);
    assert_eq!(recording.files, names);
    assert!(names.iter().all(|path| path.exists()));
    assert!(!partial.iter().any(|path| path.exists()));
    assert_ne!(fs::read_to_string(&names[0]).expect("written"), "older");
}

/// RECORD-C: a full disk is reported while the run goes on, and is named at the end; the other
/// files are complete, and hold what they hold without it.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run() {
    let circuit = circuit();
    let full = Some(PathBuf::from("/dev/full"));
    for vcd in [true, false] {
        let none = Outputs::none(&circuit, LONGEST);
        let outputs = if vcd {
            Outputs { vcd: full.clone(), ..none }
        } else {
            Outputs { crossings: full.clone(), ..none }
        };
        let mut recorder = Recorder::create(&circuit, &outputs).expect("it can be opened");
        let mut records = (0..100_000_u32).map(|n| {
            let sample = sample(f64::from(n) * NS, f64::from(n % 2) * SUPPLY);
            recorder.record(&sample)
        });
        assert!(records.any(|flow| flow.is_break()));
        assert!(recorder.has_failed());
        let unwritten = recorder.finish(1e-4).expect_err("it is full");
        let error = unwritten.to_string();
        assert!(error.starts_with("/dev/full could not be written: No space left"), "{error}");
        assert!(unwritten.recording.crossings > 100, "{unwritten:?}");
    }
    let at = tempfile::tempdir().expect("a directory");
    let sound = outputs(&circuit, at.path(), Points::Samples);
    let samples: Vec<_> =
        (0..20_000_u32).map(|n| sample(f64::from(n) * NS, f64::from(n % 2) * SUPPLY)).collect();
    let expected = record(&circuit, &sound, &samples, 1e-4);
    let crossings = fs::read(&expected.files[2]).expect("written");
    let mut recorder = Recorder::create(&circuit, &Outputs { vcd: full.clone(), ..sound })
        .expect("it can be opened");
    for sample in &samples {
        let _ = recorder.record(sample);
    }
    let recording = recorder.finish(1e-4).expect_err("one is full").recording;
    assert_eq!(recording.files, expected.files[1..]);
    assert_eq!(recording.crossings, expected.crossings);
    assert_eq!(fs::read(&expected.files[2]).expect("written"), crossings);
    // A short run finds it out at the end.
    let mut recorder =
        Recorder::create(&circuit, &Outputs { vcd: full, ..Outputs::none(&circuit, LONGEST) })
            .expect("it can be opened");
    assert!(recorder.record(&sample(0.0, 0.0)).is_continue());
    recorder.finish(NS).expect_err("it is full");
}

/// What is wrong with outputs is found before the run.
#[test]
fn wrong_outputs() {
    let (circuit, at) = (circuit(), tempfile::tempdir().expect("a directory"));
    let none = Outputs::none(&circuit, LONGEST);
    let missing = at.path().join("no/such.vcd");
    let there = Some(at.path().join("there"));
    let device = Some(PathBuf::from("/dev/null"));
    let wrong = [
        (Outputs { vcd: Some(missing), ..none.clone() }, "choose another place"),
        (Outputs { raw: device, ..none.clone() }, "not a regular file"),
        (Outputs { vcd: there.clone(), raw: there, ..none.clone() }, "name the same file"),
        (Outputs { longest_step: 0.0, ..none.clone() }, "longest step is 0"),
        (Outputs { points: Points::Every(f64::NAN), ..none.clone() }, "the raw file is NaN"),
        (Outputs { threshold: f64::INFINITY, ..none }, "threshold is inf"),
    ];
    for (outputs, expected) in wrong {
        let error = Recorder::create(&circuit, &outputs).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Samples that are no points of a waveform, or come too late, are a bug, and are named.
#[test]
fn broken_samples() {
    let circuit = circuit();
    for broken in [sample(f64::NAN, 0.0), sample(0.997 * NS, 0.0), sample(NS, f64::INFINITY)] {
        let outputs = Outputs::none(&circuit, LONGEST);
        let mut recorder = Recorder::create(&circuit, &outputs).expect("sound");
        assert!(recorder.record(&sample(NS, 0.0)).is_continue());
        assert!(recorder.record(&broken).is_break());
        assert!(recorder.record(&sample(2.0 * NS, 0.0)).is_break());
        let error = recorder.finish(NS).expect_err("it is kept").to_string();
        assert!(error.contains("net `x1.out`") && error.contains("came at 1e-9 s"), "{error}");
    }
}

/// Samples of nets that nobody wants, that are fixed, or that do not exist do nothing.
#[test]
fn samples_that_are_not_wanted() {
    let circuit = Circuit { saved: vec![NetId(2), NetId(3)], ..circuit() };
    let mut recorder =
        Recorder::create(&circuit, &Outputs::none(&circuit, LONGEST)).expect("sound");
    for net in [2, 4, 99] {
        let sample = Sample { time: f64::NAN, net: NetId(net), value: 0.0, slope: 0.0 };
        assert!(recorder.record(&sample).is_continue());
    }
    assert_eq!(recorder.finish(NS).expect("written").crossings, 0);
}
