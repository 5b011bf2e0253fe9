//! Warm-ups at the border of what can be: after the last event, without statistics, with a reset
//! that fails.

use warpline::{
    Collected, Conservative, Context, Engine, Link, LogicalProcess, LpId, Model, Only, Profile,
    RunError, Sequential, Simulation, TimeWarp, VirtualTime, wire::Wires,
};

use super::{END, WARM_UP, engines, simulation};

/// A run whose events are over before the end of the warm-up has come to it all the same.
#[test]
fn a_warm_up_after_the_last_event() {
    for engine in engines() {
        let report = Simulation::new(Short { lps: 1, failing: None })
            .engine(engine.clone())
            .warm_up(20.0)
            .run();
        let report = report.expect("sound");
        assert_eq!((report.end_time.get(), report.output), (20.0, [20.0, 20.0]), "{engine:?}");
    }
}

/// A reset that fails on one rank ends the run on all, with its reason.
#[test]
fn a_reset_that_fails_is_told() {
    let windows = Conservative { workers: 1, pin: false, ..Conservative::default() };
    let time_warp = TimeWarp { workers: 1, pin: false, ..TimeWarp::default() };
    for engine in [Engine::from(windows), time_warp.into()] {
        for ranks in [1, 2, 3] {
            let simulation = Simulation::new(Short { lps: 4, failing: Some(3.0) });
            let simulation = simulation.engine(engine.clone()).warm_up(20.0).ranks(ranks);
            let error = { simulation }.run().expect_err("it fails").to_string();
            assert!(error.contains("LP 3 is not reset"), "{ranks} ranks: {error}");
        }
    }
}

/// LPs with one event at time 1, which tell when they were reset and when they have ended.
#[derive(Clone, Debug)]
struct Short {
    lps: usize,
    /// The LP that cannot be reset.
    failing: Option<f64>,
}

/// Its number, and when it was reset.
#[derive(Clone, Debug)]
struct Times([f64; 2]);

impl Times {
    fn reset(model: &Short, times: &mut Self, now: VirtualTime) {
        assert!(model.failing != Some(times.0[0]), "LP {} is not reset", times.0[0]);
        times.0[1] = now.get();
    }
}

impl LogicalProcess for Times {
    type Model = Short;
    type Message = ();
    type Summary = [f64; 2];
    const STATISTICS: Collected<Self> = Collected::by(Self::reset, |later, _| *later);

    fn start(&mut self, _: &Short, cx: &mut impl Context<()>) {
        cx.send(cx.me(), 1.0, ());
    }

    fn handle(&mut self, _: &Short, (): &(), _: &mut impl Context<()>) {}

    fn finish(self, _: &Short, end: VirtualTime) -> [f64; 2] {
        [self.0[1], end.get()]
    }
}

impl Model for Short {
    type Lp = Times;
    type Output = [f64; 2];

    fn name(&self) -> &str {
        "short"
    }

    fn lp_count(&self) -> usize {
        self.lps
    }

    fn make_lp(&self, id: LpId) -> Times {
        Times([f64::from(id.get()), 0.0])
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn reduce(&self, mut summaries: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
        summaries.next().expect("one LP")
    }

    fn lookahead(&self) -> Option<f64> {
        Some(1.0)
    }

    fn links(&self, _: LpId) -> Option<Vec<Link>> {
        Some(Vec::new())
    }
}

#[derive(Clone, Debug)]
struct Mute;

impl LogicalProcess for Mute {
    type Model = Mute;
    type Message = ();
    type Summary = ();

    fn start(&mut self, _: &Mute, _: &mut impl Context<()>) {}

    fn handle(&mut self, _: &Mute, (): &(), _: &mut impl Context<()>) {}

    fn finish(self, _: &Mute, _: VirtualTime) {}
}

impl Model for Mute {
    type Lp = Mute;
    type Output = ();

    fn name(&self) -> &str {
        "mute"
    }

    fn lp_count(&self) -> usize {
        1
    }

    fn make_lp(&self, _: LpId) -> Mute {
        Mute
    }

    fn reduce(&self, _: impl Iterator<Item = ()>) {}
}

/// A warm-up that cannot be is refused, before anything runs.
#[test]
fn warm_ups_that_cannot_be() {
    let refused = |outcome: Result<_, RunError>| match outcome {
        Err(RunError::Config(error)) => error.to_string(),
        _ => panic!("it is refused"),
    };
    let run = |warm_up| refused(simulation(Sequential::default(), warm_up).run().map(drop));
    assert!(run(END).contains("less than the end, 60"), "{}", run(END));
    assert!(run(-1.0).contains("0 or more"));
    assert!(run(f64::NAN).contains("0 or more"));
    let whole = refused(simulation(Profile::default(), WARM_UP).run().map(drop));
    assert!(whole.contains("looks at a whole run"), "{whole}");
    let mute = || Simulation::new(Only::<Sequential, _>::new(Mute)).warm_up(1.0);
    let run = refused(mute().run().map(drop));
    assert!(run.contains("LogicalProcess::STATISTICS"), "{run}");
    assert_eq!(refused(mute().session().map(drop)), run);
}
