//! Statistics under rollback, and runs with a warm-up: on every engine and on ranks, what is
//! reported is bit for bit what the sequential engine reports, and what a handler finds that looks
//! at the clock itself; and the events are those of a run without a warm-up.
//!
//! Mutations that turn these tests red: statistics that are not reset, or only at rank 0; a level
//! that is reset to 0; a session that forgets the warm-up, also one that goes on by events; an
//! event of another rank that is left out of a cut.

use std::{ops::ControlFlow, sync::atomic::AtomicBool};

use serde::{Deserialize, Serialize};
use warpline::{
    Auto, Collected, Conservative, Context, Counter, Engine, Figure, Intervals, Level, Link,
    LogicalProcess, LpId, Model, Results, Saving, Sequential, Simulation, Speculative, State,
    Statistics, Tally, TimeWarp, Tracked, TrackedDeque, TrackedHistogram, TrackedQuantiles,
    TrackedSeries, Value, VirtualTime,
    settings::{Schedule, Synchronization},
    wire::{Wire, Wires},
};

#[path = "warm_up/border.rs"]
mod border;

const LPS: usize = 12;
const WARM_UP: f64 = 20.0;
const END: f64 = 60.0;

/// Stations that customers go round: with queues, so that states own memory.
#[derive(Debug)]
struct Stations {
    /// Stations collect, by hand, from here on.
    from: f64,
}

/// What a station observes, saved with its other plain fields.
#[derive(Clone, Debug, Default, PartialEq, Value, Statistics, Serialize, Deserialize)]
#[statistic(time = "min")]
struct Plain {
    /// Customers who were served
    #[statistic(unit = "customers")]
    served: Counter,
    /// How long they had waited
    #[statistic(unit = "min")]
    waits: Tally,
    /// Customers who wait
    #[statistic(unit = "customers")]
    waiting: Level,
}

/// The same and more, saved only where it changes.
#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
struct Observed {
    plain: Tracked<Plain>,
    histogram: TrackedHistogram,
    quantiles: TrackedQuantiles,
    series: TrackedSeries,
    length: TrackedSeries,
}

#[derive(Debug, Default, State, Serialize, Deserialize)]
struct Station {
    queue: TrackedDeque<f64>,
    is_busy: bool,
    since: f64,
    #[state(nested)]
    observed: Observed,
    plain: Plain,
    by_hand: Tally,
}

#[derive(Debug, Default, Statistics, Serialize, Deserialize)]
struct Summary {
    observed: Observed,
    plain: Plain,
    by_hand: Tally,
}

impl Clone for Summary {
    fn clone(&self) -> Self {
        let Self { observed, plain, by_hand } = self;
        Self { observed: observed.clone(), plain: plain.clone(), by_hand: *by_hand }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Message {
    Come,
    Served { waited: f64 },
}

impl Station {
    fn serve(&mut self, came: f64, cx: &mut impl Context<Message>) {
        self.is_busy = true;
        let waited = cx.now().get() - came;
        cx.send(cx.me(), cx.rng().exponential(0.7), Message::Served { waited });
    }

    fn note_length(&mut self, cx: &mut impl Context<Message>) {
        let (length, now) = (self.queue.len() as f64, cx.now());
        self.plain.waiting.set(length, now);
        self.observed.plain.write(cx).waiting.set(length, now);
        self.since = now.get();
    }
}

impl LogicalProcess for Station {
    type Model = Stations;
    type Message = Message;
    type Summary = Summary;
    const SAVING: Saving<Self> = Saving::BY_FIELD;
    const STATISTICS: Collected<Self> = Collected::by(
        |_, station, now| {
            station.observed.reset(now);
            station.plain.reset(now);
        },
        Summary::since,
    );

    fn start(&mut self, _: &Stations, cx: &mut impl Context<Message>) {
        for _ in 0..4 {
            cx.send(cx.me(), cx.rng().exponential(1.0), Message::Come);
        }
    }

    fn handle(&mut self, model: &Stations, message: &Message, cx: &mut impl Context<Message>) {
        let now = cx.now();
        let length = self.queue.len() as f64;
        let since = VirtualTime::new(self.since).expect("a time");
        self.observed.length.add_since(since, length, cx);
        match *message {
            Message::Come if self.is_busy => self.queue.push_back(now.get(), cx),
            Message::Come => self.serve(now.get(), cx),
            Message::Served { waited } => {
                self.plain.served.increment();
                self.plain.waits.add(waited);
                let plain = self.observed.plain.write(cx);
                plain.served.increment();
                plain.waits.add(waited);
                self.observed.histogram.add(waited, cx);
                self.observed.quantiles.add(waited, cx);
                self.observed.series.add(1.0, cx);
                if now.get() >= model.from {
                    self.by_hand.add(waited);
                }
                cx.send(cx.rng().lp(LPS), 0.25 + cx.rng().exponential(0.5), Message::Come);
                self.is_busy = false;
                if let Some(came) = self.queue.pop_front(cx) {
                    self.serve(came, cx);
                }
            }
        }
        self.note_length(cx);
    }

    fn finish(self, _: &Stations, end: VirtualTime) -> Summary {
        let Self { observed, plain, by_hand, .. } = self;
        Summary { observed, plain, by_hand }.until(end)
    }
}

impl Model for Stations {
    type Lp = Station;
    type Output = Summary;

    fn name(&self) -> &str {
        "stations"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Station {
        let observed = Observed {
            histogram: TrackedHistogram::new(0.0, 4.0, 8),
            series: TrackedSeries::new(5.0),
            length: TrackedSeries::new(5.0),
            ..Observed::default()
        };
        Station { observed, ..Station::default() }
    }

    fn reduce(&self, summaries: impl Iterator<Item = Summary>) -> Summary {
        summaries.sum()
    }

    fn lookahead(&self) -> Option<f64> {
        Some(0.25)
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let others = (0..LPS).map(LpId::from_index).filter(|to| *to != from);
        Some(others.map(|to| Link { to, lookahead: 0.25 }).collect())
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Station>> {
        Some(Wire::serde())
    }
}

fn simulation<'a>(engine: impl Into<Engine>, warm_up: f64) -> Simulation<'a, Stations> {
    let simulation = Simulation::new(Stations { from: WARM_UP }).seed(5).end(END);
    simulation.engine(engine).warm_up(warm_up)
}

fn null_messages() -> Conservative {
    let (edge_capacity, schedule) = (4, Schedule::default());
    let synchronization = Synchronization::NullMessages { edge_capacity, schedule };
    Conservative { workers: 2, pin: false, synchronization, ..Conservative::default() }
}

fn engines() -> Vec<Engine> {
    let pin = false;
    vec![
        Sequential::default().into(),
        null_messages().into(),
        Conservative { workers: 2, pin, ..Conservative::default() }.into(),
        TimeWarp { workers: 2, pin, gvt_interval: 16, ..TimeWarp::default() }.into(),
        Speculative { workers: 2, pin, ..Speculative::default() }.into(),
        Auto { workers: 2, pin, ..Auto::default() }.into(),
    ]
}

/// The figures of a result, bit for bit, and its series.
fn exact(summary: &Summary) -> (Vec<(String, u64)>, String) {
    let bits = |figure: Figure| (figure.name.into_owned(), figure.value.to_bits());
    (summary.figures().into_iter().map(bits).collect(), format!("{:?}", summary.pictures()))
}

/// What a handler with a clock finds.
fn check_by_hand(summary: &Summary) {
    assert_eq!(summary.by_hand, summary.plain.waits, "all begins at the end of the warm-up");
    assert_eq!(summary.plain, *summary.observed.plain, "however it is saved");
    let count = summary.by_hand.count();
    assert!(count > 300, "{count} customers");
    assert_eq!(summary.observed.histogram.count(), count);
    assert_eq!(summary.observed.quantiles.count(), count);
    assert_eq!(summary.observed.series.start(), WARM_UP);
    assert_eq!(summary.observed.series.sums().iter().sum::<f64>(), count as f64);
    // The mean length, from how long it was each.
    let area: f64 = summary.observed.length.sums().iter().sum();
    let mean = area / (END - WARM_UP) / LPS as f64;
    // The last lengths, from the last event of a station on, are in the level only.
    assert!((mean / summary.plain.waiting.mean() - 1.0).abs() < 0.1);
    assert_eq!(summary.plain.served.rate(), count as f64 / (END - WARM_UP));
}

#[test]
fn all_engines_report_the_same_with_a_warm_up() {
    let plain = simulation(Sequential::default(), 0.0).run().expect("sound");
    let right = simulation(Sequential::default(), WARM_UP).run().expect("sound");
    check_by_hand(&right.output);
    assert_eq!(right.digest, plain.digest, "WARM-A");
    assert_eq!(right.committed_events, plain.committed_events);
    for engine in engines() {
        let report = simulation(engine.clone(), WARM_UP).run().expect("sound");
        assert_eq!(report.digest, plain.digest, "{engine:?}");
        assert_eq!(exact(&report.output), exact(&right.output), "{engine:?}");
        assert_eq!(report.committed_events, plain.committed_events);
        assert_eq!(report.end_time.get(), END);
    }
    let time_warp = TimeWarp { workers: 1, pin: false, ..TimeWarp::default() };
    let windows = Conservative { workers: 2, pin: false, ..Conservative::default() };
    let time_warp_2 = TimeWarp { workers: 2, gvt_interval: 8, ..time_warp.clone() };
    for (engine, ranks) in [
        (Engine::from(time_warp.clone()), 3),
        (time_warp.into(), 2),
        (time_warp_2.into(), 2),
        (windows.into(), 2),
        (null_messages().into(), 3),
    ] {
        let mut simulation = simulation(engine.clone(), WARM_UP).ranks(ranks);
        let report = simulation.run().expect("sound");
        assert_eq!(report.digest, plain.digest, "{engine:?} on {ranks} ranks");
        assert_eq!(exact(&report.output), exact(&right.output), "{engine:?} on {ranks} ranks");
        assert_eq!(report.committed_events, plain.committed_events);
    }
}

/// A session comes to the same, wherever it stops and whatever goes on, also from a file.
#[test]
fn sessions_have_warm_ups() {
    let right = simulation(Sequential::default(), WARM_UP).run().expect("sound");
    let folder = tempfile::tempdir().expect("a folder");
    for stops in [&[7.0, 25.0][..], &[WARM_UP], &[19.0, WARM_UP, 21.0], &[50.0], &[]] {
        for engine in engines() {
            let mut session = simulation(engine.clone(), WARM_UP).session().expect("sound");
            for &stop in stops {
                session.run_until(stop).expect("sound");
                let file = folder.path().join("run.ckpt");
                session.save(&file).expect("written");
                session = simulation(engine.clone(), WARM_UP).resume(&file).expect("read");
            }
            session.run_to_end().expect("sound");
            let report = session.report().expect("sound");
            assert_eq!(report.digest, right.digest, "{engine:?}, {stops:?}");
            assert_eq!(exact(&report.output), exact(&right.output), "{engine:?}, {stops:?}");
        }
    }
    // By events: the warm-up ends between two of them.
    for events in [1, 100, 777, right.committed_events, 10 * right.committed_events] {
        let mut session = simulation(Sequential::default(), WARM_UP).session().expect("sound");
        while session.next_event_time().expect("sound").is_some_and(|next| next.get() < END) {
            let before = session.report().expect("sound").committed_events;
            let left = right.committed_events - before;
            let step = session.run_events(events.min(left)).expect("sound");
            assert_eq!(step.totals.committed_events, events.min(left));
        }
        session.run_to_end().expect("sound");
        let report = session.report().expect("sound");
        assert_eq!(exact(&report.output), exact(&right.output), "steps of {events} events");
    }
    let file = folder.path().join("run.ckpt");
    let other = simulation(Sequential::default(), 1.0).resume(&file).expect_err("another warm-up");
    assert!(other.to_string().contains("its statistics begin at virtual time 20"), "{other}");
}

/// What the summaries of a run that is stopped say is what has happened until then.
fn check_stopped(report: &warpline::Report<Summary>, from: f64) {
    let end = report.end_time.get();
    assert!(report.interrupted && end >= from, "{report:?}");
    let (served, waiting) = (&report.output.plain.served, &report.output.plain.waiting);
    let time = end - from;
    assert!(time == 0.0 || served.rate() == served.count() as f64 / time, "{report:?}");
    assert!(time == 0.0 || waiting.mean() >= 0.0 && waiting.mean() <= waiting.max(), "{report:?}");
}

/// A run may be stopped before its LPs are made, in the warm-up, and at its end: it reports what it
/// has observed, and no engine gets half of the LPs.
#[test]
fn runs_are_stopped_wherever_they_are() {
    let stop = AtomicBool::new(true);
    for engine in engines() {
        let report = simulation(engine.clone(), WARM_UP).stop_when(&stop).run().expect("sound");
        check_stopped(&report, 0.0);
        // At the first look, which is the last one of the warm-up if there is no other.
        let mut looks = 0;
        let observed = simulation(engine.clone(), WARM_UP).observe(|_| {
            looks += 1;
            ControlFlow::Break(())
        });
        let report = { observed }.run().expect("sound");
        check_stopped(&report, if report.end_time.get() >= WARM_UP { WARM_UP } else { 0.0 });
        let mut session = simulation(engine.clone(), WARM_UP).session().expect("sound");
        let step = session.run_until_observed(END, |_| ControlFlow::Break(())).expect("sound");
        assert!(step.interrupted, "{engine:?}");
        session.run_to_end().expect("sound");
        let right = simulation(Sequential::default(), WARM_UP).run().expect("sound");
        let report = session.report().expect("sound");
        assert_eq!(exact(&report.output), exact(&right.output), "{engine:?}");
    }
    let time_warp = TimeWarp { workers: 1, pin: false, ..TimeWarp::default() };
    let mut ranks = simulation(time_warp, WARM_UP).ranks(3).stop_when(&stop);
    check_stopped(&ranks.run().expect("sound"), 0.0);
}

/// `difference` follows by itself: intervals add up to the run.
#[test]
fn statistics_know_intervals() {
    let whole = simulation(Sequential::default(), 0.0).run().expect("sound");
    let cut = simulation(Intervals { count: 12 }, 0.0).run().expect("sound");
    let counts = cut.intervals.iter().map(|part| part.plain.served.count());
    assert_eq!(counts.sum::<u64>(), whole.output.plain.served.count());
    let rates = cut.intervals.iter().map(|part| part.plain.served.rate() / 12.0);
    assert!((rates.sum::<f64>() / whole.output.plain.served.rate() - 1.0).abs() < 1e-9);
    let lengths = cut.intervals.iter().map(|part| part.plain.waiting.mean() / 12.0);
    assert!((lengths.sum::<f64>() / whole.output.plain.waiting.mean() - 1.0).abs() < 1e-9);
}
