//! Plots, and builds without them.

use super::*;

/// What is asked for: the input and one net, as pictures.
fn plotted(circuit: &Circuit, files: &[PathBuf], nets: &[NetId]) -> Outputs {
    let plot = Plot { nets: nets.to_vec(), files: files.to_vec() };
    Outputs { plot: Some(plot), ..Outputs::none(circuit, LONGEST) }
}

#[cfg(not(feature = "plots"))]
#[test]
fn a_build_without_plots_says_so() {
    let outputs = plotted(&circuit(), &[PathBuf::from("a.svg")], &[NetId(3)]);
    let error = Recorder::create(&circuit(), &outputs).expect_err("there are none").to_string();
    assert!(error.contains("--features plots"), "{error}");
}

/// A plot shows nets that are not saved, with their names and a waveform each.
#[cfg(feature = "plots")]
#[test]
fn plots_are_drawn() {
    let (mut circuit, at) = (circuit(), tempfile::tempdir().expect("a directory"));
    circuit.title = "a < b".to_owned();
    circuit.nets[4] = "a.net.with.a.long.name<&>".to_owned();
    circuit.saved = vec![NetId(1)];
    let files = ["a.svg", "a.png"].map(|name| at.path().join(name));
    let outputs = plotted(&circuit, &files, &[NetId(2), NetId(4)]);
    let sample = |time, value| Sample { time: time * NS, net: NetId(4), value, slope: 0.0 };
    let samples = [sample(0.0, 0.0), sample(20.0, 0.0), sample(21.0, 3.0), sample(50.0, 3.0)];
    let recording = record(&circuit, &outputs, &samples, circuit.end);
    assert_eq!(recording.files, files);
    let svg = text(Some(&files[0]));
    let document = resvg::usvg::roxmltree::Document::parse(&svg).expect("it is well-formed");
    let texts = document.descendants().filter_map(|node| node.text()).map(str::trim);
    let texts = texts.collect::<Vec<_>>();
    for expected in ["a < b", "in", "….a.long.name<&>", "50", "time (ns)", "3.0 V"] {
        assert!(texts.contains(&expected), "{expected}: {texts:?}");
    }
    assert_eq!(svg.matches("#0072B2").count(), 1, "one waveform in blue");
    let png = fs::read(&files[1]).expect("written");
    let picture = resvg::tiny_skia::Pixmap::decode_png(&png).expect("it is a picture");
    let orange = picture.pixels().iter().filter(|p| [p.red(), p.green(), p.blue()] == [213, 94, 0]);
    // 960 columns of 4 by 2 pixels, and the edge.
    assert!((6_000..10_000).contains(&orange.count()));
}

/// What is wrong with a plot is found before the run.
#[cfg(feature = "plots")]
#[test]
fn wrong_plots() {
    let (circuit, at) = (circuit(), tempfile::tempdir().expect("a directory"));
    let [svg, gif] = ["a.svg", "a.gif"].map(|name| vec![at.path().join(name)]);
    let wrong = [
        (plotted(&circuit, &svg, &[]), "a plot of 0 nets"),
        (plotted(&circuit, &svg, &[NetId(3); 17]), "a plot of 17 nets"),
        (plotted(&circuit, &gif, &[NetId(3)]), ".svg or .png"),
        (
            plotted(&circuit, &[svg.clone(), svg.clone()].concat(), &[NetId(3)]),
            "names the same file twice",
        ),
    ];
    for (outputs, expected) in wrong {
        let error = Recorder::create(&circuit, &outputs).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
