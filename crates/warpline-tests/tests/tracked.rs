//! A model whose states are queues, texts and tables, most of them tracked, on every engine: the
//! same digest, the same results, the same lines as the sequential engine, which saves nothing.
//!
//! In some states that the sequential run never has, handlers panic between two writes. What they
//! have written by then is undone (UNDO-D).
//!
//! # Mutations, each seen red
//!
//! - `SpeculativeWorker::roll_back` replays the older window first, or `redo_next` does not save
//!   anew
//! - `Record::rewind` keeps its point, or `Window::resume` resumes at 0
//! - `SpeculativeWorker::commit` drops the log of the next window, too
//! - `SpeculativeWorker::undo_windows` undoes the oldest window first, or `Window::undo` leaves the
//!   states
//! - `Cut::divide` leaves out where logs have ended
//! - `SpeculativeSender::log_in_events` returns 0 (`tracked_states_with_little_memory`)

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::sync::{Arc, Mutex, OnceLock};

use warpline::{
    Auto, Conservative, Context, Engine, EventKey, Io, Link, LogicalProcess, LpId, Model, Report,
    Saving, Sequential, Simulation, Speculative, State, TimeWarp, Tracked, TrackedDeque,
    TrackedMap, TrackedVec, Value, VirtualTime, Width,
    digest::mix,
    settings::{
        CheckpointInterval, Instrumentation, StateSaving, Synchronization, SynchronizationKind,
    },
};

const DESKS: usize = 9;
const END: f64 = 240.0;
/// No delay is shorter.
const LOOKAHEAD: f64 = 0.125;

/// An office: clients go from desk to desk, and wait there.
struct Office {
    /// What every desk has come through, by its number of events, from the sequential run.
    known: Arc<Known>,
    lines: Lines,
}

type Lines = Arc<Mutex<Vec<(EventKey, LpId, u64)>>>;

/// The hashes of the desks after each of their events.
#[derive(Default)]
struct Known {
    gathered: Mutex<Vec<Vec<u64>>>,
    learned: OnceLock<Vec<Vec<u64>>>,
}

#[derive(Debug, State)]
struct Desk {
    /// Clients who wait, by how urgent they are.
    waiting: [TrackedDeque<Client>; 2],
    served: Tracked<Option<Client>>,
    /// How often each client was here.
    visits: TrackedMap<u32, u32>,
    lengths: TrackedVec<u64>,
    hash: u64,
    handled: usize,
    /// A plain field that owns memory.
    last: String,
    #[state(fixed)]
    letters: Vec<char>,
}

#[derive(Clone, Debug, PartialEq, Value)]
struct Client {
    number: u32,
    name: String,
}

#[derive(Clone, Debug)]
enum Message {
    Come(Client),
    Done,
    Line(u64),
}

impl Office {
    fn new(known: &Arc<Known>) -> Self {
        Self { known: Arc::clone(known), lines: Lines::default() }
    }
}

impl Model for Office {
    type Lp = Desk;
    type Output = Vec<(u64, String)>;

    fn name(&self) -> &'static str {
        "office"
    }

    fn lp_count(&self) -> usize {
        DESKS
    }

    fn lookahead(&self) -> Option<f64> {
        Some(LOOKAHEAD)
    }

    fn links(&self, _: LpId) -> Option<Vec<Link>> {
        let to = (0..DESKS).map(LpId::from_index);
        Some(to.map(|to| Link { to, lookahead: LOOKAHEAD }).collect())
    }

    fn make_lp(&self, id: LpId) -> Desk {
        Desk {
            waiting: Default::default(),
            served: Tracked::new(None),
            visits: TrackedMap::default(),
            lengths: TrackedVec::new(vec![0; 4]),
            hash: 0,
            handled: 0,
            last: String::new(),
            letters: (0..5).map(|n| char::from(b'a' + n + id.get() as u8)).collect(),
        }
    }

    fn reduce(&self, desks: impl Iterator<Item = (u64, String)>) -> Vec<(u64, String)> {
        desks.collect()
    }
}

impl Desk {
    fn come(&mut self, client: &Client, cx: &mut impl Context<Message>) {
        if self.served.is_none() {
            return self.serve(client.clone(), cx);
        }
        let urgent = usize::from(client.number.is_multiple_of(3));
        self.waiting[urgent].push_back(client.clone(), cx);
        let length = self.waiting[urgent].len();
        *self.lengths.write(length % 4, cx) += 1;
        if length > 3 {
            // The last one goes to the front.
            if let Some(last) = self.waiting[urgent].pop_back(cx) {
                self.waiting[urgent].push_front(last, cx);
            }
        }
    }

    fn serve(&mut self, client: Client, cx: &mut impl Context<Message>) {
        let delay = LOOKAHEAD + cx.rng().exponential(0.5);
        self.served.set(Some(client), cx);
        cx.send(cx.me(), delay, Message::Done);
    }

    /// A client has been served: after this call, it is on its way to another desk.
    fn done(&mut self, office: &Office, cx: &mut impl Context<Message>) {
        let mut client = self.served.set(None, cx).expect("a client is served");
        let is_strange = office.known.is_strange(cx.me(), self);
        assert!(!is_strange || !self.hash.is_multiple_of(4), "this never was");
        let visits = self.visits.get(&client.number).map_or(1, |visits| visits + 1);
        if visits.is_multiple_of(4) {
            self.visits.remove(&client.number, cx);
        } else {
            self.visits.insert(client.number, visits, cx);
        }
        let letter = self.letters[cx.rng().below(self.letters.len() as u64) as usize];
        client.name.push(letter);
        if client.name.len() > 12 {
            client.name.clear();
        }
        self.last.clone_from(&client.name);
        if self.hash.is_multiple_of(5) {
            cx.send_io(Io::NonBlocking, cx.me(), LOOKAHEAD, Message::Line(self.hash));
        }
        let (to, delay) = (cx.rng().lp(DESKS), LOOKAHEAD + cx.rng().exponential(0.25));
        cx.send(to, delay, Message::Come(client));
        for urgent in [1, 0] {
            if let Some(next) = self.waiting[urgent].pop_front(cx) {
                return self.serve(next, cx);
            }
        }
    }

    /// Everything that the state consists of goes into the hash.
    fn hash_all(&mut self, now: f64) {
        let text = |text: &str| text.bytes().fold(7, |sum, byte| mix(sum, byte.into()));
        let waiting = self.waiting.iter().flat_map(|queue| queue.iter());
        let clients = waiting.chain(self.served.as_ref());
        let mut hash = mix(self.hash, now.to_bits());
        for Client { number, name } in clients {
            hash = mix(hash, mix(text(name), u64::from(*number)));
        }
        for (&client, &visits) in self.visits.iter() {
            hash = mix(hash, u64::from(client) << 32 | u64::from(visits));
        }
        hash = self.lengths.iter().fold(hash, |hash, &length| mix(hash, length));
        self.hash = mix(hash, text(&self.last));
        self.handled += 1;
    }
}

impl Known {
    /// Whether the desk is in a state that the sequential run never had.
    fn is_strange(&self, me: LpId, desk: &Desk) -> bool {
        let Some(learned) = self.learned.get() else { return false };
        let before = desk.handled.checked_sub(1);
        before.is_some_and(|before| learned[me.index()].get(before) != Some(&desk.hash))
    }

    fn tell(&self, me: LpId, hash: u64) {
        if self.learned.get().is_none() {
            let mut gathered = self.gathered.lock().expect("nothing panics in here");
            gathered.resize(DESKS, Vec::new());
            gathered[me.index()].push(hash);
        }
    }

    fn learn(&self) {
        let gathered = std::mem::take(&mut *self.gathered.lock().expect("nothing panics in here"));
        self.learned.set(gathered).expect("one sequential run");
    }
}

impl LogicalProcess for Desk {
    type Model = Office;
    type Message = Message;
    type Summary = (u64, String);
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, _: &Office, cx: &mut impl Context<Message>) {
        for n in 0..4 {
            let number = cx.me().get() * 4 + n;
            let client = Client { number, name: format!("{number}") };
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, Message::Come(client));
        }
        // A tracked field may be written here, too.
        *self.lengths.write(0, cx) = 1;
    }

    fn handle(&mut self, office: &Office, message: &Message, cx: &mut impl Context<Message>) {
        match message {
            Message::Come(client) => self.come(client, cx),
            Message::Done => self.done(office, cx),
            Message::Line(_) => unreachable!("an I/O event"),
        }
        self.hash_all(cx.now().get());
        office.known.tell(cx.me(), self.hash);
    }

    fn output(office: &Office, lp: LpId, event: &EventKey, message: &Message) {
        let Message::Line(hash) = message else { unreachable!("an ordinary event") };
        office.lines.lock().expect("nothing panics in here").push((*event, lp, *hash));
    }

    fn identity(office: &Office, message: &Message) -> Option<u64> {
        Some(Self::fingerprint(office, message))
    }

    fn fingerprint(_: &Office, message: &Message) -> u64 {
        match message {
            Message::Come(Client { number, name }) => {
                name.bytes().fold(u64::from(*number), |sum, byte| mix(sum, byte.into()))
            }
            Message::Done => 1,
            Message::Line(hash) => *hash,
        }
    }

    fn finish(self, _: &Office, _: VirtualTime) -> (u64, String) {
        (self.hash, self.last)
    }
}

/// Every engine, with what changes how it saves states.
fn engines() -> Vec<Engine> {
    let mut engines: Vec<Engine> = Vec::new();
    for workers in [1, 2, 3] {
        let null_messages = Synchronization::new(SynchronizationKind::NullMessages, 64);
        engines.push(Conservative { workers, ..Conservative::default() }.into());
        engines.push(
            Conservative { workers, synchronization: null_messages, ..Conservative::default() }
                .into(),
        );
        for width in [Width::Auto, Width::Fixed(0.3), Width::Fixed(4.0), Width::Fixed(1e3)] {
            engines.push(Speculative { workers, width, ..Speculative::default() }.into());
        }
        let savings = [1, 3].map(CheckpointInterval::Every);
        for interval in savings {
            for instrumentation in [Instrumentation::IN_TURN, Instrumentation::default()] {
                let saving = StateSaving::Copy { interval };
                let engine = TimeWarp { workers, saving, instrumentation, ..TimeWarp::default() };
                engines.push(engine.into());
            }
        }
        engines.push(Auto { workers, ..Auto::default() }.into());
    }
    engines
}

type Result = (Report<Vec<(u64, String)>>, Vec<(EventKey, LpId, u64)>);

fn run(known: &Arc<Known>, engine: Engine, memory: Option<u64>) -> Result {
    let office = Office::new(known);
    let (lines, context) = (Lines::clone(&office.lines), format!("{engine:?}"));
    let mut simulation = Simulation::new(office).engine(engine).seed(3).end(END);
    if let Some(memory) = memory {
        simulation = simulation.memory(memory);
    }
    let report = watchdog::run(simulation).unwrap_or_else(|error| panic!("{context}: {error}"));
    let lines = std::mem::take(&mut *lines.lock().expect("nothing panics in here"));
    (report, lines)
}

#[test]
fn tracked_states_on_every_engine() {
    let known = Arc::new(Known::default());
    let (expected, lines) = run(&known, Sequential::default().into(), None);
    assert!(expected.committed_events > 5_000 && lines.len() > 300, "{expected:?}");
    known.learn();
    let mut rolled_back = 0;
    for engine in engines() {
        let context = format!("{engine:?}");
        let (report, found) = run(&known, engine, None);
        assert_eq!(report.digest, expected.digest, "{context}");
        assert_eq!(report.output, expected.output, "{context}");
        assert_eq!(found, lines, "{context}");
        rolled_back += report.totals.rolled_back_events;
    }
    assert!(rolled_back > 1_000, "the test needs rollbacks");
}

/// The undo log counts for the memory limit; with little memory, engines go less far ahead.
#[test]
fn tracked_states_with_little_memory() {
    let known = Arc::new(Known::default());
    let (expected, lines) = run(&known, Sequential::default().into(), None);
    known.learn();
    let wide = Speculative { workers: 2, width: Width::Fixed(4.0), ..Speculative::default() };
    // In turn, so that it goes as far ahead each time.
    let instrumentation = Instrumentation::IN_TURN;
    let ahead = TimeWarp { workers: 2, batch: 1000, instrumentation, ..TimeWarp::default() };
    let bytes = |memory| run(&known, ahead.clone().into(), memory).0.peak_buffer_bytes;
    assert!(bytes(None) > 256 << 10 && bytes(Some(256 << 10)) <= 256 << 10);
    let engines: [(Engine, u64); 2] = [(wide.into(), 24 << 10), (ahead.into(), 256 << 10)];
    for (engine, memory) in engines {
        let context = format!("{engine:?}");
        let (report, found) = run(&known, engine, Some(memory));
        assert_eq!(report.digest, expected.digest, "{context}");
        assert_eq!(found, lines, "{context}");
    }
}
