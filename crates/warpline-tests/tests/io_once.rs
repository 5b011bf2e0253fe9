//! A handler of blocking I/O events runs once for each event, also where memory is so short that
//! what it sends finds no buffer; and it keeps its promise of how many events it sends.
//!
//! # Mutations of the engine, each seen red
//!
//! - `TimeWarpWorker::handle_io` (in `waiting.rs`) reserves no buffers, and lets the handler be cut
//!   off for lack of them (WAIT-A)
//! - `Handling::handle_io` does not count what the handler sends

#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::sync::{Arc, Mutex};

use warpline::{
    Conservative, Context, Engine, Io, IoContext, LogicalProcess, LpId, Model, ModelError, Only,
    Report, RunError, Sequential, Simulation, Speculative, TimeWarp, VirtualTime,
    error::Fault,
    settings::{FlowControl, Instrumentation, PoolKind},
};

const LPS: usize = 6;
const END: f64 = 300.0;
/// The events that a handler of a blocking I/O event sends.
const ECHOES: usize = 6;

/// Messages go round; one in sixteen makes an announcement, which has echoes.
#[derive(Clone)]
struct Announcers {
    /// How many echoes the model promises.
    promised: usize,
    /// Each call of a handler of a blocking I/O event: its LP and time.
    calls: Arc<Mutex<Vec<(LpId, u64)>>>,
}

#[derive(Clone, Debug)]
struct Announcer {
    handled: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    Round,
    Announcement,
    Echo,
}

impl Announcers {
    fn new(promised: usize) -> Self {
        Self { promised, calls: Arc::default() }
    }

    fn sorted_calls(&self) -> Vec<(LpId, u64)> {
        let mut calls = self.calls.lock().expect("no handler panics").clone();
        calls.sort_unstable();
        calls
    }
}

impl Model for Announcers {
    type Lp = Announcer;
    type Output = u64;

    fn name(&self) -> &'static str {
        "announcers"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Announcer {
        Announcer { handled: 0 }
    }

    fn lookahead(&self) -> Option<f64> {
        Some(0.1)
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> u64 {
        handled.sum()
    }
}

impl LogicalProcess for Announcer {
    type Model = Announcers;
    type Message = Message;
    type Summary = u64;

    fn start(&mut self, _: &Announcers, cx: &mut impl Context<Message>) {
        for _ in 0..2 {
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, Message::Round);
        }
    }

    fn handle(&mut self, _: &Announcers, message: &Message, cx: &mut impl Context<Message>) {
        self.handled += 1;
        if *message == Message::Round {
            let to = cx.rng().lp(LPS);
            let delay = 0.1 + cx.rng().exponential(1.0);
            cx.send(to, delay, Message::Round);
            if cx.rng().below(16) == 0 {
                cx.send_io(Io::Blocking, cx.me(), 0.5, Message::Announcement);
            }
        }
    }

    fn handle_io(&mut self, model: &Announcers, _: &Message, cx: &mut impl IoContext<Message>) {
        let call = (cx.me(), cx.now().to_ordered_bits());
        model.calls.lock().expect("no handler panics").push(call);
        for _ in 0..ECHOES {
            let to = cx.rng().lp(LPS);
            let delay = 0.1 + cx.rng().exponential(5.0);
            cx.send(to, delay, Message::Echo);
        }
    }

    fn io_sends_max(model: &Announcers, _: &Message) -> usize {
        model.promised
    }

    fn identity(_: &Self::Model, message: &Message) -> Option<u64> {
        Some(*message as u64)
    }

    fn finish(self, _: &Announcers, _: VirtualTime) -> u64 {
        self.handled
    }
}

/// Those that run it here: each takes long to build.
type Engines = (Sequential, (Conservative, (TimeWarp, Speculative)));

fn run(
    model: &Announcers,
    engine: impl Into<Engine>,
    memory: Option<u64>,
) -> Result<Report<u64>, RunError> {
    let run = Simulation::new(Only::<Engines, _>::new(model.clone()))
        .engine(engine.into())
        .seed(1)
        .end(END);
    watchdog::run(match memory {
        Some(memory) => run.memory(memory),
        None => run,
    })
}

/// The bytes of an event, as the error of a run without memory says.
fn event_bytes(engine: impl Into<Engine>) -> u64 {
    match run(&Announcers::new(ECHOES), engine, Some(0)) {
        Err(RunError::OutOfBuffers { event_bytes, .. }) => event_bytes,
        other => panic!("there is no room for an event, but {other:?}"),
    }
}

/// With a little more memory than a sequential run needs, every announcement is made once, and in
/// each of these runs buffers ran out many times.
#[test]
fn handlers_run_once() {
    let truth = Announcers::new(ECHOES);
    let expected = run(&truth, Sequential::default(), None).expect("sound");
    let calls = truth.sorted_calls();
    assert!(calls.len() > 100, "{} announcements", calls.len());
    let events = expected.peak_buffer_bytes / event_bytes(Sequential::default());
    for workers in [2, 3, 6] {
        let flow_control = FlowControl { throttle: false, ..FlowControl::default() };
        let engine = TimeWarp { workers, flow_control, ..TimeWarp::default() };
        let memory = (events + ECHOES as u64 + 2 * workers as u64) * event_bytes(engine.clone());
        for &kind in PoolKind::ALL {
            for in_turn in [true, false] {
                let pool = kind.into();
                let instrumentation = Instrumentation { in_turn, ..Instrumentation::default() };
                let engine = TimeWarp { pool, instrumentation, ..engine.clone() };
                let model = Announcers::new(ECHOES);
                let report = run(&model, engine, Some(memory))
                    .unwrap_or_else(|error| panic!("{kind}, {workers} workers: {error}"));
                assert_eq!(report.digest, expected.digest, "{kind}, {workers} workers");
                assert!(
                    model.sorted_calls() == calls,
                    "{} announcements were made {} times: {kind}, {workers} workers",
                    calls.len(),
                    model.calls.lock().expect("no handler panics").len()
                );
            }
        }
    }
}

/// A handler that sends more than its model promises is an error in every engine.
#[test]
fn a_promise_is_kept() {
    let time_warp = TimeWarp { workers: 2, ..TimeWarp::default() };
    let engines = [
        Engine::from(Sequential::default()),
        time_warp.clone().into(),
        Speculative { workers: 2, ..Speculative::default() }.into(),
        Conservative { workers: 2, ..Conservative::default() }.into(),
    ];
    let memory = 1000 * event_bytes(time_warp);
    for (engine, memory) in engines.into_iter().flat_map(|e| [(e.clone(), None), (e, Some(memory))])
    {
        let outcome = run(&Announcers::new(ECHOES - 1), engine.clone(), memory);
        let fault = Fault::TooManyIoSends { most: ECHOES - 1 };
        assert!(
            matches!(&outcome, Err(RunError::Model(ModelError { fault: f, .. })) if *f == fault),
            "{engine:?}: {outcome:?}"
        );
    }
}
