//! The timeline of a run that does not come to its end.

use warpline::{
    Conservative, Engine, Sequential, Simulation, Speculative, TimeWarp, timeline::Timeline,
};

use super::scripted::{Act, scripted, simulation};

/// What was before a mistake, or a panic of the observer, is in the timeline.
///
/// A mutation that turns this red: `LentRecorder` does not come back when it is dropped.
#[test]
fn failed_runs_have_a_timeline() {
    let timeline = Timeline::default();
    let has_spans = |text: &str| {
        let recording = timeline.recording();
        assert!(!recording.tracks.is_empty(), "{text}");
        assert!(recording.tracks.iter().any(|track| !track.spans.is_empty()), "{text}");
    };
    let mistaken = || {
        scripted(|lp, n| match (lp, n) {
            (1, 0) => vec![Act::Send(2, 3.5)],
            (2, 1) => vec![Act::Send(2, f64::NAN)],
            _ => vec![],
        })
    };
    for engine in [
        Engine::from(Sequential::default()),
        Conservative { workers: 2, ..Conservative::default() }.into(),
        Speculative { workers: 2, ..Speculative::default() }.into(),
        TimeWarp { workers: 2, ..TimeWarp::default() }.into(),
    ] {
        let run = Simulation::new(mistaken().lookahead(1.0)).end(1e9).engine(engine.clone());
        run.timeline(&timeline).run().expect_err("the model is broken");
        has_spans(&format!("{engine:?}"));
    }
    let endless = scripted(|lp, _| vec![Act::Send(lp, 1.0)]);
    let run = simulation(endless).timeline(&timeline).observe(|_| panic!("an observer's"));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let mut run = run;
        run.run().map(|_| ())
    }));
    outcome.expect_err("the observer has panicked");
    has_spans("a panic of the observer");
}
