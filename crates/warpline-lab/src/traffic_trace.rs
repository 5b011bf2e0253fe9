//! A trace of motorway traffic: which LP handled which event, whose it was, and how large the
//! state of the LP was then.
//!
//! A run of the sequential engine makes it, so it has what is committed and nothing that is rolled
//! back. [`nodes`](crate::nodes) replays it on machines of several nodes.

use std::sync::{Arc, Mutex, PoisonError};

use warpline::{Context, LogicalProcess, LpId, Model, Only, Sequential, Simulation, VirtualTime};
use warpline_traffic::{
    model::{Traffic, TrafficLp, TrafficMessage},
    params::TrafficParams,
    results::{Tally, TrafficOutput},
};

use crate::LabError;

/// An event that was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Its LP.
    pub lp: u32,
    /// The LP that sent it.
    pub from: u32,
    /// The size of the LP's state when it was handled.
    pub bytes: u32,
}

/// The events of a run, by equal steps of virtual time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficTrace {
    /// How many LPs there are.
    pub lps: usize,
    /// The events of each step, in the order of virtual time.
    pub steps: Vec<Vec<Touch>>,
}

impl TrafficTrace {
    /// Runs the model up to `end` and records it from `begin` on, in steps of `step`.
    ///
    /// # Errors
    ///
    /// When the run fails.
    pub fn record(
        params: TrafficParams,
        seed: u64,
        [begin, end]: [f64; 2],
        step: f64,
    ) -> Result<Self, LabError> {
        let failed = |source| LabError::Run { what: "a trace of traffic".into(), source };
        let config = |error: warpline_traffic::model::TrafficError| {
            warpline::ConfigError::new("traffic", "", error.to_string())
        };
        let traffic =
            Traffic::new(params).map_err(|error| failed(Box::new(config(error).into())))?;
        let lps = traffic.lp_count();
        let steps = Arc::new(Mutex::new(Vec::new()));
        let observed = Observed { traffic, begin, step, steps: Arc::clone(&steps) };
        let simulation = Simulation::new(Only::<Sequential, _>::new(observed));
        let run = simulation.engine(Sequential::default()).seed(seed).end(end).run();
        run.map_err(|error| failed(Box::new(error)))?;
        let steps = std::mem::take(&mut *steps.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Self { lps, steps })
    }
}

/// The model, with a recorder.
#[derive(Debug)]
struct Observed {
    traffic: Traffic,
    begin: f64,
    step: f64,
    steps: Arc<Mutex<Vec<Vec<Touch>>>>,
}

impl Observed {
    fn note(&self, now: f64, touch: Touch) {
        if now < self.begin {
            return;
        }
        let step = ((now - self.begin) / self.step) as usize;
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() <= step {
            steps.resize(step + 1, Vec::new());
        }
        steps[step].push(touch);
    }
}

#[derive(Clone, Debug)]
struct ObservedLp(TrafficLp);

impl Model for Observed {
    type Lp = ObservedLp;
    type Output = TrafficOutput;

    fn name(&self) -> &'static str {
        "traffic, observed"
    }

    fn lp_count(&self) -> usize {
        self.traffic.lp_count()
    }

    fn make_lp(&self, lp: LpId) -> ObservedLp {
        ObservedLp(self.traffic.make_lp(lp))
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> TrafficOutput {
        self.traffic.reduce(tallies)
    }
}

impl LogicalProcess for ObservedLp {
    type Model = Observed;
    type Message = TrafficMessage;
    type Summary = Tally;

    fn start(&mut self, model: &Observed, cx: &mut impl Context<TrafficMessage>) {
        self.0.start(&model.traffic, cx);
    }

    fn handle(
        &mut self,
        model: &Observed,
        message: &TrafficMessage,
        cx: &mut impl Context<TrafficMessage>,
    ) {
        self.0.handle(&model.traffic, message, cx);
        let lp = cx.me().get();
        let from = if let TrafficMessage::Arrive { from, .. } = *message { from } else { lp };
        model.note(cx.now().get(), Touch { lp, from, bytes: self.0.bytes() as u32 });
    }

    fn finish(self, model: &Observed, end: VirtualTime) -> Tally {
        self.0.finish(&model.traffic, end)
    }

    fn fingerprint(model: &Observed, message: &TrafficMessage) -> u64 {
        TrafficLp::fingerprint(&model.traffic, message)
    }
}

#[cfg(test)]
mod tests {
    use warpline::{Engine, Sequential};
    use warpline_models::{catalog::Parameters as _, traffic::Source};

    use super::*;

    /// Every event is there once, in its step.
    #[test]
    fn a_trace_has_every_event() {
        let params = TrafficParams {
            network: Source::Grid { width: 2, height: 2 },
            interarrival: Some(20.0),
            ..TrafficParams::default()
        };
        let record = |begin| {
            TrafficTrace::record(params.clone(), 1, [begin, 900.0], 100.0).expect("it runs")
        };
        let trace = record(0.0);
        let model = params.clone().model().expect("sound parameters");
        let engine: Engine = Sequential::default().into();
        let run = Simulation::new(model).engine(engine).seed(1).end(900.0).run();
        let events = run.expect("it runs").committed_events;
        assert_eq!(trace.steps.iter().map(Vec::len).sum::<usize>() as u64, events);
        assert_eq!((trace.lps, trace.steps.len()), (8, 9));
        let sound = |touch: &Touch| touch.lp < 8 && touch.from < 8 && touch.bytes > 100;
        assert!(trace.steps.iter().flatten().all(sound));
        assert!(trace.steps.iter().flatten().any(|touch| touch.from != touch.lp));
        assert_eq!(record(300.0).steps, trace.steps[3..]);
    }
}
