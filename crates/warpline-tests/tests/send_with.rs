//! `send_with`: a message is written where it lies, over an old one, and every engine commits what
//! it commits with `send`.
//!
//! # Mutations of the engine that it is against
//!
//! - `Sending::fill` makes every message (`old_messages_are_written_over`)
//! - `Coasting::accept` does not call what writes the message (`send_with_is_send`)

#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use warpline::{
    Conservative, Context, Engine, LogicalProcess, LpId, Model, Only, Sequential, Simulation,
    Speculative, TimeWarp, VirtualTime,
    digest::mix,
    settings::{CheckpointInterval, Instrumentation, StateSaving, SynchronizationKind},
};

const LPS: usize = 16;
const END: f64 = 200.0;
const WORDS: usize = 40;

thread_local! {
    /// How many messages were made, rather than written over old ones.
    static MADE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// PHOLD with messages that are too large to lie in the event.
#[derive(Clone)]
struct Words {
    in_place: bool,
    sent: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
struct Node {
    sum: u64,
    /// Changed by what writes a message.
    written: u64,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    len: usize,
    words: [u64; WORDS],
}

impl Default for Message {
    fn default() -> Self {
        MADE.set(MADE.get() + 1);
        Self { len: 0, words: [0; WORDS] }
    }
}

impl Message {
    /// Writes the part that the receiver reads.
    fn write(&mut self, len: usize, from: u64) {
        self.len = len;
        for (place, word) in self.words[..len].iter_mut().enumerate() {
            *word = mix(from, place as u64);
        }
    }

    fn read(&self) -> u64 {
        self.words[..self.len].iter().fold(self.len as u64, |sum, &word| mix(sum, word))
    }
}

impl Model for Words {
    type Lp = Node;
    type Output = u64;

    fn name(&self) -> &'static str {
        "words"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Node {
        Node { sum: 0, written: 0 }
    }

    fn lookahead(&self) -> Option<f64> {
        Some(0.1)
    }

    fn links(&self, from: LpId) -> Option<Vec<warpline::Link>> {
        let others = (0..LPS).map(LpId::from_index).filter(|to| *to != from);
        Some(others.map(|to| warpline::Link { to, lookahead: 0.1 }).collect())
    }

    fn reduce(&self, sums: impl Iterator<Item = u64>) -> u64 {
        sums.fold(0, mix)
    }
}

impl Node {
    fn send(&mut self, model: &Words, cx: &mut impl Context<Message>) {
        let to = cx.rng().lp(LPS);
        let delay = 0.1 + cx.rng().exponential(1.0);
        let len = cx.rng().below(WORDS as u64 + 1) as usize;
        let (sum, written) = (self.sum, &mut self.written);
        // Ordering: Relaxed; a count.
        model.sent.fetch_add(1, Ordering::Relaxed);
        if model.in_place {
            cx.send_with(to, delay, |message| {
                message.write(len, sum);
                *written += len as u64;
            });
        } else {
            let mut message = Message::default();
            message.write(len, sum);
            *written += len as u64;
            cx.send(to, delay, message);
        }
    }
}

impl LogicalProcess for Node {
    type Model = Words;
    type Message = Message;
    type Summary = u64;

    fn start(&mut self, model: &Words, cx: &mut impl Context<Message>) {
        (0..4).for_each(|_| self.send(model, cx));
    }

    fn handle(&mut self, model: &Words, message: &Message, cx: &mut impl Context<Message>) {
        self.sum = mix(self.sum ^ self.written, message.read());
        self.send(model, cx);
    }

    fn identity(_: &Self::Model, message: &Message) -> Option<u64> {
        Some(message.read())
    }

    fn fingerprint(_: &Self::Model, message: &Message) -> u64 {
        message.read()
    }

    fn finish(self, _: &Words, _: VirtualTime) -> u64 {
        mix(self.sum, self.written)
    }
}

fn engines() -> Vec<Engine> {
    let ahead = TimeWarp {
        workers: 3,
        instrumentation: Instrumentation::IN_TURN,
        batch: 200,
        ..TimeWarp::default()
    };
    let sparse = StateSaving::Copy { interval: CheckpointInterval::Every(5) };
    vec![
        Sequential::default().into(),
        ahead.clone().into(),
        TimeWarp { saving: sparse, ..ahead.clone() }.into(),
        TimeWarp { instrumentation: Instrumentation::default(), ..ahead }.into(),
        Speculative { workers: 2, ..Speculative::default() }.into(),
        Conservative { workers: 2, ..Conservative::default() }.into(),
        Conservative {
            workers: 2,
            synchronization: SynchronizationKind::NullMessages.into(),
            ..Conservative::default()
        }
        .into(),
    ]
}

/// Those that run it here: each takes long to build.
type Engines = (Sequential, (Conservative, (TimeWarp, Speculative)));

fn run(in_place: bool, engine: Engine) -> (u64, u64, u64) {
    let model = Words { in_place, sent: Arc::default() };
    let sent = Arc::clone(&model.sent);
    let simulation =
        Simulation::new(Only::<Engines, _>::new(model)).engine(engine.clone()).seed(7).end(END);
    let report = watchdog::run(simulation).unwrap_or_else(|error| panic!("{engine:?}: {error}"));
    (report.digest.to_bits(), report.output, sent.load(Ordering::Relaxed))
}

/// With rollbacks, coasting forward, and every engine.
#[test]
fn send_with_is_send() {
    let (digest, output, _) = run(false, Sequential::default().into());
    for engine in engines() {
        let (found, sums, _) = run(true, engine.clone());
        assert_eq!((found, sums), (digest, output), "{engine:?}");
    }
}

/// In engines with buffers, messages are made for the first use of a buffer only.
#[test]
fn old_messages_are_written_over() {
    let instrumentation = Instrumentation::IN_TURN;
    let in_turn = TimeWarp { workers: 2, instrumentation, ..TimeWarp::default() };
    for engine in [Engine::from(Sequential::default()), in_turn.into()] {
        let model = Words { in_place: true, sent: Arc::default() };
        let sent = Arc::clone(&model.sent);
        let before = MADE.get();
        // On this thread.
        let run = Simulation::new(Only::<Engines, _>::new(model))
            .engine(engine.clone())
            .seed(7)
            .end(10.0 * END)
            .run();
        run.expect("the model is sound");
        let (made, sent) = (MADE.get() - before, sent.load(Ordering::Relaxed));
        assert!(made * 8 < sent, "{made} messages made of {sent}: {engine:?}");
    }
}
