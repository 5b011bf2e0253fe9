//! Weights share LPs so that workers have about the same number of events.
//!
//! How many events an LP has is a matter of the model, so the share of the busiest worker depends
//! on the placement alone.
//!
//! # Mutations, each seen red here
//!
//! - Weights are ignored: the busiest worker has 2.6 times the mean.
//! - A trial calls `output`: the model counts more lines than events that write one.
//! - A trial handles blocking I/O events: the same.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use warpline::{
    Conservative, Context, EventKey, Io, IoContext, LogicalProcess, LpId, Model, Only, Sequential,
    Simulation, VirtualTime,
    settings::{Balance, Placement, Synchronization, Weights},
};

const LPS: usize = 128;
/// These have an event every tenth of the time that the others have one in.
const HOT: std::ops::Range<usize> = 0..16;
const WORKERS: usize = 4;

/// LPs that keep themselves busy; some of their events are I/O events.
#[derive(Clone, Debug, Default)]
struct Uneven {
    /// The kinds of I/O of every tenth event.
    io: Option<Io>,
    /// Which threads have started which LPs.
    starters: Arc<Mutex<BTreeMap<String, Vec<LpId>>>>,
    written: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
struct Busy {
    handled: u64,
    period: f64,
}

impl Model for Uneven {
    type Lp = Busy;
    type Output = Vec<u64>;

    fn name(&self) -> &'static str {
        "uneven"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, id: LpId) -> Busy {
        Busy { handled: 0, period: if HOT.contains(&id.index()) { 0.1 } else { 1.0 } }
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> Vec<u64> {
        handled.collect()
    }

    fn lookahead(&self) -> Option<f64> {
        Some(1.0)
    }
}

impl LogicalProcess for Busy {
    type Model = Uneven;
    type Message = ();
    type Summary = u64;

    fn start(&mut self, model: &Uneven, cx: &mut impl Context<()>) {
        let me = format!("{:?}", thread::current().id());
        model.starters.lock().expect("no panic").entry(me).or_default().push(cx.me());
        cx.send(cx.me(), self.period, ());
    }

    fn handle(&mut self, model: &Uneven, (): &(), cx: &mut impl Context<()>) {
        self.handled += 1;
        if let Some(io) = model.io.filter(|_| self.handled.is_multiple_of(10)) {
            cx.send_io(io, cx.me(), self.period / 2.0, ());
        }
        cx.send(cx.me(), self.period, ());
    }

    fn handle_io(&mut self, model: &Uneven, (): &(), _: &mut impl IoContext<()>) {
        self.handled += 1;
        model.written.fetch_add(1, Ordering::Relaxed);
    }

    fn output(model: &Uneven, _: LpId, _: &EventKey, (): &()) {
        model.written.fetch_add(1, Ordering::Relaxed);
    }

    fn finish(self, _: &Uneven, _: VirtualTime) -> u64 {
        self.handled
    }
}

/// Runs the model in this placement. Returns the events of the busiest worker by the mean.
fn busiest_by_mean(placement: Placement) -> f64 {
    let model = Uneven::default();
    let starters = Arc::clone(&model.starters);
    let engine = Conservative {
        workers: WORKERS,
        placement,
        pin: false,
        balance: Balance::Off,
        synchronization: Synchronization::Windows,
        ..Conservative::default()
    };
    let model = Only::<(Sequential, Conservative), _>::new(model);
    let report = Simulation::new(model).end(200.0).engine(engine).run().expect("a sound model");
    let here = format!("{:?}", thread::current().id());
    let starters = starters.lock().expect("no panic");
    let load = |(thread, lps): (&String, &Vec<LpId>)| {
        // A trial has started all LPs on this thread before the run, and no run has all of them.
        let trial = if *thread == here && lps.len() >= LPS { LPS } else { 0 };
        lps[trial..].iter().map(|lp| report.output[lp.index()]).sum()
    };
    let loads: Vec<u64> = starters.iter().map(load).collect();
    let total: u64 = loads.iter().sum();
    assert_eq!(total, report.output.iter().sum::<u64>(), "every LP is of one worker");
    loads.iter().copied().max().unwrap_or_default() as f64 * WORKERS as f64 / total as f64
}

#[test]
fn a_trial_shares_the_events() {
    let equal = busiest_by_mean(Placement::Blocks(Weights::Equal));
    assert!(equal > 2.5, "the hot LPs are side by side: {equal}");
    for events in [None, Some(2000)] {
        let shared = busiest_by_mean(Placement::Blocks(Weights::Trial { events }));
        assert!(shared < 1.1, "{shared}");
    }
}

#[test]
fn a_table_shares_the_events() {
    let table = (0..LPS).map(|lp| if HOT.contains(&lp) { 10 } else { 1 }).collect();
    let shared = busiest_by_mean(Placement::Blocks(Weights::Table(table)));
    assert!(shared < 1.1, "{shared}");
}

#[test]
fn a_table_of_another_length_is_an_error() {
    let placement = Placement::Blocks(Weights::Table(vec![1; 127].into()));
    let engine = Conservative { placement, ..Conservative::default() };
    let model = Only::<(Sequential, Conservative), _>::new(Uneven::default());
    let error = Simulation::new(model).engine(engine).run().unwrap_err().to_string();
    for word in ["placement-weights", "127 lines for 128 LPs", "as many lines as the model has LPs"]
    {
        assert!(error.contains(word), "{error}");
    }
}

/// What a trial handles is not written, and is handled again by the run.
#[test]
fn a_trial_writes_nothing() {
    for io in [Io::NonBlocking, Io::Blocking] {
        let of = |placement| {
            let model = Uneven { io: Some(io), ..Uneven::default() };
            let written = Arc::clone(&model.written);
            let engine = Conservative { placement, pin: false, ..Conservative::default() };
            let model = Only::<(Sequential, Conservative), _>::new(model);
            let report = Simulation::new(model).end(40.0).engine(engine).run().expect("sound");
            (report.digest, written.load(Ordering::Relaxed))
        };
        let plain = of(Placement::default());
        assert!(plain.1 > 0);
        assert_eq!(of(Placement::Blocks(Weights::Trial { events: None })), plain, "{io:?}");
    }
}
