//! A trace of motorway traffic: which LP handled which event, who had sent it, and which states
//! were saved, restored and written over.
//!
//! [`TrafficTrace::committed`] is a run of the sequential engine, which saves nothing.
//! [`TrafficTrace::speculative`] is one of Time Warp whose workers take turns event by event and
//! save the state before each: it has what was rolled back, too, and the sizes are those of the
//! engine's own copies. Both repeat themselves on every machine. [`nodes`](crate::nodes) replays
//! them on machines of several nodes.
//!
//! # Invariants
//!
//! - **NOTED-A.** Each copy has a number, which is that of its place in the engine's list of
//!   records: a copy that is written over keeps it.
//! - **NOTED-B.** The cause of an event is a handling that comes before it in the trace.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use warpline::{
    ConfigError, Context, Engine, EventKey, Io, LogicalProcess, LpId, Model, Only, Report,
    Sequential, Simulation, Stream, TimeWarp, VirtualTime,
    digest::CommitDigest,
    settings::{CheckpointInterval, Instrumentation, StateSaving},
};
use warpline_traffic::{
    model::{Traffic, TrafficLp, TrafficMessage},
    params::TrafficParams,
    results::{Tally, TrafficOutput},
};

use crate::LabError;

/// What an engine did with the state of an LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It handled an event.
    Handled {
        /// Its LP.
        lp: u32,
        /// The number of the handling that sent it, counted over the handlings of the trace; `None`
        /// if that was before the trace began.
        cause: Option<u32>,
        /// The LP that sent it.
        from: u32,
        /// The bytes of the state that it read.
        read: u32,
        /// Those of them that it wrote.
        written: u32,
    },
    /// It saved the state of an LP.
    Saved {
        /// The LP.
        lp: u32,
        /// The number of the copy (NOTED-A).
        copy: u32,
        /// The size of the state.
        bytes: u32,
    },
    /// It restored the state of an LP from a copy.
    Restored {
        /// The LP.
        lp: u32,
        /// The number of the copy.
        copy: u32,
        /// The size of the copy.
        bytes: u32,
    },
}

/// A trace of a run, in the order in which things happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficTrace {
    /// How many LPs there are.
    pub lps: usize,
    /// The workers that took turns; 1 in the sequential engine.
    pub workers: usize,
    /// What was done.
    pub touches: Vec<Touch>,
    /// The most events for each LP that were sent and not handled, at any time.
    pub waiting: Vec<u32>,
    /// Committed by processed events of the whole run, in millionths.
    pub efficiency_ppm: u32,
    /// What the run committed.
    pub digest: Option<CommitDigest>,
}

impl TrafficTrace {
    /// A run of the sequential engine up to `end`, recorded from `begin` on.
    ///
    /// # Errors
    ///
    /// When the run fails.
    pub fn committed(params: TrafficParams, seed: u64, part: [f64; 2]) -> Result<Self, LabError> {
        let make = Only::<Sequential, _>::new;
        Self::record(params, part, 1, |observed, end| {
            let engine: Engine = Sequential::default().into();
            Simulation::new(make(observed)).engine(engine).seed(seed).end(end).run()
        })
    }

    /// A run of Time Warp with workers that take turns, an event each, recorded from `begin` on.
    ///
    /// # Errors
    ///
    /// When the run fails.
    pub fn speculative(
        params: TrafficParams,
        seed: u64,
        part: [f64; 2],
        workers: usize,
    ) -> Result<Self, LabError> {
        let make = Only::<TimeWarp, _>::new;
        Self::record(params, part, workers, |observed, end| {
            let engine = TimeWarp {
                workers,
                batch: 1,
                instrumentation: Instrumentation::IN_TURN,
                // What is found out by the clock would not repeat itself.
                saving: StateSaving::Copy { interval: CheckpointInterval::Every(1) },
                ..TimeWarp::default()
            };
            Simulation::new(make(observed)).engine(engine).seed(seed).end(end).run()
        })
    }

    fn record(
        params: TrafficParams,
        [begin, end]: [f64; 2],
        workers: usize,
        run: impl FnOnce(Observed, f64) -> Result<Report<TrafficOutput>, warpline::RunError>,
    ) -> Result<Self, LabError> {
        let failed = |source| LabError::Run { what: "a trace of traffic".into(), source };
        let config = |error: warpline_traffic::model::TrafficError| {
            ConfigError::new("traffic", "", error.to_string())
        };
        let traffic =
            Traffic::new(params).map_err(|error| failed(Box::new(config(error).into())))?;
        let lps = traffic.lp_count();
        let notes = Arc::new(Notes::new(begin, lps));
        let observed = Observed { traffic, notes: Arc::clone(&notes) };
        let report = run(observed, end).map_err(|error| failed(Box::new(error)))?;
        let Kept { touches, most, .. } = std::mem::take(&mut *notes.kept());
        let efficiency_ppm = (report.efficiency() * 1e6) as u32;
        let digest = Some(report.digest);
        Ok(Self { lps, workers, touches, waiting: most, efficiency_ppm, digest })
    }

    /// Committed by processed events.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        f64::from(self.efficiency_ppm) / 1e6
    }

    /// The first quarter of it.
    #[must_use]
    pub fn first_quarter(&self) -> Self {
        let touches = self.touches[..self.touches.len() / 4].to_vec();
        Self { touches, waiting: self.waiting.clone(), ..*self }
    }

    /// The events that were handled, those that were rolled back included.
    #[must_use]
    pub fn handled(&self) -> usize {
        self.touches.iter().filter(|touch| matches!(touch, Touch::Handled { .. })).count()
    }
}

/// What the recorder knows.
#[derive(Debug, Default)]
struct Kept {
    touches: Vec<Touch>,
    handled: u32,
    /// By LP: events that were sent and not handled, and the most of them.
    waiting: Vec<u32>,
    most: Vec<u32>,
}

/// The recorder, which the model and all states share.
#[derive(Debug)]
struct Notes {
    begin: f64,
    copies: AtomicU32,
    kept: Mutex<Kept>,
}

impl Notes {
    fn new(begin: f64, lps: usize) -> Self {
        let kept = Kept { waiting: vec![0; lps], most: vec![0; lps], ..Kept::default() };
        Self { begin, copies: AtomicU32::new(0), kept: Mutex::new(kept) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What copies do is noted once anything was handled.
    fn note_copy(&self, touch: Touch) {
        let mut kept = self.kept();
        if kept.handled > 0 {
            kept.touches.push(touch);
        }
    }

    fn sends(&self, to: LpId) {
        let Kept { waiting, most, .. } = &mut *self.kept();
        let waiting = &mut waiting[to.index()];
        *waiting += 1;
        most[to.index()] = most[to.index()].max(*waiting);
    }
}

/// The model, with a recorder.
#[derive(Debug)]
struct Observed {
    traffic: Traffic,
    notes: Arc<Notes>,
}

/// An LP, or a copy of one, which has a number.
#[derive(Debug)]
struct ObservedLp {
    lp: u32,
    copy: Option<u32>,
    traffic: TrafficLp,
    notes: Arc<Notes>,
}

impl Clone for ObservedLp {
    fn clone(&self) -> Self {
        // Ordering: Relaxed; the number publishes nothing but itself.
        let copy = self.notes.copies.fetch_add(1, Ordering::Relaxed);
        let (lp, bytes) = (self.lp, self.bytes());
        self.notes.note_copy(Touch::Saved { lp, copy, bytes });
        let notes = Arc::clone(&self.notes);
        Self { lp, copy: Some(copy), traffic: self.traffic.clone(), notes }
    }

    fn clone_from(&mut self, source: &Self) {
        let (lp, bytes) = (source.lp, source.bytes());
        match (self.copy, source.copy) {
            (Some(copy), None) => self.notes.note_copy(Touch::Saved { lp, copy, bytes }),
            (None, Some(copy)) => self.notes.note_copy(Touch::Restored { lp, copy, bytes }),
            _ => debug_assert!(false, "NOTED-A: an engine copies between an LP and its copies"),
        }
        self.lp = lp;
        self.traffic.clone_from(&source.traffic);
    }
}

impl ObservedLp {
    fn bytes(&self) -> u32 {
        self.traffic.bytes() as u32
    }
}

/// A message, with the number of the handling that sent it.
#[derive(Clone, Debug)]
struct Stamped {
    cause: Option<u32>,
    from: u32,
    message: TrafficMessage,
}

/// The context of an LP, which stamps what it sends.
struct Stamping<'a, C> {
    inner: &'a mut C,
    cause: Option<u32>,
    notes: &'a Notes,
}

impl<C: Context<Stamped>> Stamping<'_, C> {
    fn stamp(&self, to: LpId, message: TrafficMessage) -> Stamped {
        self.notes.sends(to);
        Stamped { cause: self.cause, from: self.inner.me().get(), message }
    }
}

impl<C: Context<Stamped>> Context<TrafficMessage> for Stamping<'_, C> {
    fn now(&self) -> VirtualTime {
        self.inner.now()
    }

    fn me(&self) -> LpId {
        self.inner.me()
    }

    fn event_key(&self) -> Option<&EventKey> {
        self.inner.event_key()
    }

    fn lp_count(&self) -> usize {
        self.inner.lp_count()
    }

    fn rng(&self) -> &Stream {
        self.inner.rng()
    }

    fn send(&mut self, to: LpId, delay: f64, message: TrafficMessage) {
        let stamped = self.stamp(to, message);
        self.inner.send(to, delay, stamped);
    }

    fn send_at(&mut self, to: LpId, time: f64, message: TrafficMessage) {
        let stamped = self.stamp(to, message);
        self.inner.send_at(to, time, stamped);
    }

    fn send_io(&mut self, io: Io, to: LpId, delay: f64, message: TrafficMessage) {
        let stamped = self.stamp(to, message);
        self.inner.send_io(io, to, delay, stamped);
    }

    fn fail(&mut self, reason: std::fmt::Arguments<'_>) {
        self.inner.fail(reason);
    }
}

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
        let (notes, traffic) = (Arc::clone(&self.notes), self.traffic.make_lp(lp));
        ObservedLp { lp: lp.get(), copy: None, traffic, notes }
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> TrafficOutput {
        self.traffic.reduce(tallies)
    }
}

/// The bytes that an event writes that does not move all cars: one of them, and the tally.
const ONE_CAR: u32 = 192;

impl LogicalProcess for ObservedLp {
    type Model = Observed;
    type Message = Stamped;
    type Summary = Tally;

    fn start(&mut self, model: &Observed, cx: &mut impl Context<Stamped>) {
        let cx = &mut Stamping { inner: cx, cause: None, notes: &model.notes };
        self.traffic.start(&model.traffic, cx);
    }

    fn handle(&mut self, model: &Observed, stamped: &Stamped, cx: &mut impl Context<Stamped>) {
        let (lp, now, before) = (cx.me(), cx.now().get(), self.bytes());
        let Stamped { cause, from, ref message } = *stamped;
        let is_noted = now >= model.notes.begin;
        let number = is_noted.then(|| model.notes.kept().handled);
        let context = &mut Stamping { inner: cx, cause: number, notes: &model.notes };
        self.traffic.handle(&model.traffic, message, context);
        let read = before.max(self.bytes());
        // A car that comes moves all others; one that leaves is looked for among them.
        let written = if self.bytes() > before { read } else { read.min(ONE_CAR) };
        let mut kept = model.notes.kept();
        // After a rollback an event is handled again that did not wait any more.
        kept.waiting[lp.index()] = kept.waiting[lp.index()].saturating_sub(1);
        if is_noted {
            kept.handled += 1;
            kept.touches.push(Touch::Handled { lp: lp.get(), cause, from, read, written });
        }
    }

    fn finish(self, model: &Observed, end: VirtualTime) -> Tally {
        self.traffic.finish(&model.traffic, end)
    }

    fn identity(model: &Observed, stamped: &Stamped) -> Option<u64> {
        TrafficLp::identity(&model.traffic, &stamped.message)
    }

    fn fingerprint(model: &Observed, stamped: &Stamped) -> u64 {
        TrafficLp::fingerprint(&model.traffic, &stamped.message)
    }
}

#[cfg(test)]
mod tests {
    use warpline_models::{catalog::Parameters as _, traffic::Source};

    use super::*;

    fn grid() -> TrafficParams {
        TrafficParams {
            network: Source::Grid { width: 2, height: 2 },
            interarrival: Some(20.0),
            ..TrafficParams::default()
        }
    }

    /// Every event is there once, after the one that sent it (NOTED-B), and nothing is saved.
    #[test]
    fn a_trace_has_every_event() {
        let record = |begin| TrafficTrace::committed(grid(), 1, [begin, 900.0]).expect("it runs");
        let trace = record(0.0);
        let model = grid().model().expect("sound parameters");
        let engine: Engine = Sequential::default().into();
        let run = Simulation::new(model).engine(engine).seed(1).end(900.0).run();
        let run = run.expect("it runs");
        assert_eq!(
            (trace.handled() as u64, trace.digest),
            (run.committed_events, Some(run.digest))
        );
        assert_eq!((trace.lps, trace.touches.len()), (8, trace.handled()));
        for (number, touch) in trace.touches.iter().enumerate() {
            let Touch::Handled { lp, cause, from, read, written } = *touch else {
                unreachable!("nothing is saved")
            };
            assert!(lp < 8 && from < 8 && read > 100 && written <= read);
            assert!(cause.is_none_or(|cause| (cause as usize) < number));
        }
        assert!(trace.waiting.iter().all(|&waiting| waiting > 0));
        assert!(record(300.0).handled() < trace.handled());
    }

    /// Time Warp commits the same, and its trace has what was saved, restored and handled again.
    #[test]
    fn a_trace_of_time_warp_has_what_was_rolled_back() {
        let part = [0.0, 900.0];
        let committed = TrafficTrace::committed(grid(), 1, part).expect("it runs");
        let trace = || TrafficTrace::speculative(grid(), 1, part, 4).expect("it runs");
        let trace = (trace(), trace());
        assert_eq!(trace.0, trace.1, "it repeats itself");
        let trace = trace.0;
        assert_eq!(trace.digest, committed.digest);
        let count = |wanted: fn(&Touch) -> bool| trace.touches.iter().filter(|t| wanted(t)).count();
        let restored = count(|touch| matches!(touch, Touch::Restored { .. }));
        assert!(count(|touch| matches!(touch, Touch::Saved { .. })) >= committed.handled());
        assert!(restored > 0 && trace.handled() > committed.handled() && trace.efficiency() < 1.0);
    }
}
