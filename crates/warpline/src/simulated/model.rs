//! The models of the simulated runs: small and random, and with everything that a model may do.
//!
//! A first, sequential run writes down the state of every LP after each of its events. So a handler
//! knows when it sees a state that the sequential run never had, and may go wrong only then.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

use warpline_core::{
    Context, EventKey, Io, IoContext, LogicalProcess, LpId, Model, Reversal, Saving, State, Stream,
    Tracked, TrackedDeque, TrackedVec, Undo, UndoLog, Value, VirtualTime, Wire, WireError, Wires,
    mix, take_bytes,
    undo::{Moves, Owned},
};

/// A mistake of a handler.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mistake {
    Panic,
    Fail,
    NoSuchLp,
    Past,
    /// Sends far more than it should.
    Flood,
}

impl Mistake {
    pub(crate) const ALL: [Self; 5] =
        [Self::Panic, Self::Fail, Self::NoSuchLp, Self::Past, Self::Flood];
}

/// How an LP answers an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Habit {
    /// Lets it end here.
    Idle,
    /// Sends this many events, to any LP.
    Scatter(u64),
    /// Sends this many events, all to the next LP.
    Pass(u64),
    /// Sends all events at once that the event may lead to.
    Flood,
}

/// The model. Its states are saved by field, or copied.
#[derive(Debug)]
pub(crate) struct Toy<const BY_FIELD: bool = true> {
    pub(crate) habits: Vec<Habit>,
    /// The placement depends on this.
    pub(crate) salt: u64,
    /// The delays to draw from; a negative one stands for an exponential delay of that mean.
    pub(crate) delays: Vec<f64>,
    /// Events that each LP sends at its start, and the events that each of them may lead to.
    pub(crate) first: u64,
    pub(crate) budget: u64,
    /// How many of the events are blocking and non-blocking I/O events.
    pub(crate) io: [f64; 2],
    /// Whether messages depend on the state that they were sent from.
    pub(crate) telling: bool,
    /// Whether the tracked fields are used; reverse handlers do not restore those.
    pub(crate) tracked: bool,
    /// The mistake in a state that the sequential run never had.
    pub(crate) strange: Option<Mistake>,
    /// The mistake in an LP, at its event with this number.
    pub(crate) wrong: Option<(u32, usize, Mistake)>,
    /// The output handler fails at one of this many outputs.
    pub(crate) wrong_output: Option<u64>,
    /// The hash of the state after each event, by LP, from the sequential run.
    pub(crate) known: OnceLock<Vec<Vec<(f64, u64)>>>,
    pub(crate) log: Mutex<Log>,
    /// Whether the model declares its lookahead.
    pub(crate) declares_lookahead: bool,
    /// Every message has a reference to it.
    pub(crate) token: Arc<()>,
}

/// The notes of a run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Log {
    /// The time and the hash of the state after each event, by LP; in the sequential run only.
    pub(crate) states: Vec<Vec<(f64, u64)>>,
    pub(crate) outputs: Vec<(EventKey, LpId, u64)>,
    pub(crate) blocking: Vec<(f64, LpId, u64)>,
}

/// An LP.
#[derive(Clone, Debug)]
pub(crate) struct Cell<const BY_FIELD: bool = true> {
    pub(crate) handled: usize,
    pub(crate) hash: u64,
    plain: [u64; 4],
    /// The hash as a text, which owns memory.
    text: String,
    whole: Tracked<u64>,
    cells: TrackedVec<u64>,
    /// A few texts, which own memory.
    queue: TrackedDeque<String>,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Note {
    value: u64,
    budget: u64,
    _token: Arc<()>,
}

impl<const BY_FIELD: bool> Model for Toy<BY_FIELD> {
    type Lp = Cell<BY_FIELD>;
    type Output = Vec<u64>;

    fn name(&self) -> &'static str {
        "toy"
    }

    fn lp_count(&self) -> usize {
        self.habits.len()
    }

    fn make_lp(&self, _: LpId) -> Cell<BY_FIELD> {
        let (whole, cells) = (Tracked::new(0), TrackedVec::new(vec![0; 4]));
        let (text, queue) = (text_of(0), TrackedDeque::default());
        Cell { handled: 0, hash: 0, plain: [0; 4], text, whole, cells, queue }
    }

    fn reduce(&self, summaries: impl Iterator<Item = u64>) -> Vec<u64> {
        summaries.collect()
    }

    fn lookahead(&self) -> Option<f64> {
        let least = self.delays.iter().copied().fold(f64::INFINITY, f64::min);
        // So short that delays are many windows.
        self.declares_lookahead.then_some(least.max(0.0) / 512.0)
    }

    fn wires(&self) -> Option<Wires<Self>> {
        fn word(bytes: &mut &[u8]) -> Result<u64, WireError> {
            let mut word = [0; 8];
            word.copy_from_slice(take_bytes(bytes, 8)?);
            Ok(u64::from_le_bytes(word))
        }
        let message = Wire::new(
            |note: &Note, bytes| {
                bytes.extend(note.value.to_le_bytes());
                bytes.extend(note.budget.to_le_bytes());
            },
            |bytes| {
                let (value, budget) = (word(bytes)?, word(bytes)?);
                Ok(Note { value, budget, _token: Arc::default() })
            },
        );
        Some(Wires { message, summary: Wire::plain() })
    }

    fn placement(&self, id: LpId, workers: usize) -> usize {
        mix(self.salt, id.get().into()) as usize % workers
    }
}

fn text_of(hash: u64) -> String {
    "x".repeat(hash as usize % 9)
}

impl<const BY_FIELD: bool> Toy<BY_FIELD> {
    /// Keeps the notes of the sequential run, as the truth.
    pub(crate) fn learn(&self) -> Log {
        let log = std::mem::take(&mut *self.log.lock().expect("no panic in here"));
        self.known.set(log.states.clone()).expect("one sequential run");
        log
    }

    fn go_wrong(&self, mistake: Mistake, cx: &mut impl Context<Note>) {
        let me = cx.me();
        match mistake {
            Mistake::Panic => panic!("broken on purpose"),
            Mistake::Fail => cx.fail(format_args!("broken on purpose")),
            Mistake::NoSuchLp => cx.send(LpId::from_index(self.lp_count()), 1.0, self.note(0, 0)),
            Mistake::Past => cx.send(me, -1.0, self.note(0, 0)),
            Mistake::Flood => {
                for value in 0..70 {
                    let to = LpId::from_index(value as usize % self.lp_count());
                    cx.send(to, 0.5 * (value % 3) as f64, self.note(value, 0));
                }
            }
        }
    }

    fn note(&self, value: u64, budget: u64) -> Note {
        Note { value, budget, _token: Arc::clone(&self.token) }
    }

    fn delay(&self, rng: &Stream) -> f64 {
        let delay = self.delays[rng.below(self.delays.len() as u64) as usize];
        if delay < 0.0 { rng.exponential(-delay) } else { delay }
    }

    fn is_strange(&self, me: LpId, cell: &Cell<BY_FIELD>) -> bool {
        let known = self.known.get().and_then(|known| known.get(me.index())?.get(cell.handled));
        known.is_some_and(|(_, hash)| *hash != cell.hash)
    }
}

impl<const BY_FIELD: bool> Cell<BY_FIELD> {
    fn scatter(&self, toy: &Toy<BY_FIELD>, count: u64, budget: u64, cx: &mut impl Context<Note>) {
        let lps = cx.lp_count() as u64;
        let next = (cx.me().index() as u64 + 1) % lps;
        let passes = matches!(toy.habits[cx.me().index()], Habit::Pass(_));
        let count = count.min(budget);
        for child in 0..count {
            let to = if passes { next } else { cx.rng().below(lps) };
            let to = LpId::from_index(to as usize);
            let delay = toy.delay(cx.rng());
            let share = budget / count + u64::from(child < budget % count);
            let note = toy.note(if toy.telling { mix(self.hash, child) } else { child }, share);
            let kind = cx.rng().uniform();
            if kind < toy.io[0] {
                cx.send_io(Io::Blocking, to, delay, note);
            } else if kind < toy.io[0] + toy.io[1] {
                cx.send_io(Io::NonBlocking, to, delay, note);
            } else {
                cx.send(to, delay, note);
            }
        }
    }

    /// All that an ordinary and a blocking I/O event have in common.
    fn work(&mut self, toy: &Toy<BY_FIELD>, message: &Note, cx: &mut impl Context<Note>) {
        let me = cx.me();
        // An event that a flood sent does not flood in its turn.
        let strange = toy.strange.filter(|_| message.budget > 0 && toy.is_strange(me, self));
        let wrong = toy.wrong.filter(|&(lp, n, _)| (lp, n) == (me.get(), self.handled));
        cx.note(self.hash);
        let drawn = cx.rng().bits();
        self.change(message, drawn, cx.now().get(), toy.tracked.then_some(cx));
        let count = match toy.habits[me.index()] {
            Habit::Idle => 0,
            Habit::Scatter(count) | Habit::Pass(count) => count,
            Habit::Flood => u64::MAX,
        };
        // The LP acts by its state, so undone events send other messages.
        let count = if toy.telling { count.saturating_sub(self.hash & 1) } else { count };
        self.scatter(toy, count, message.budget - message.budget.min(1), cx);
        if let Some(mistake) = strange.or(wrong.map(|(.., mistake)| mistake)) {
            toy.go_wrong(mistake, cx);
        }
        if toy.known.get().is_none() {
            let mut log = toy.log.lock().expect("no panic in here");
            log.states.resize(toy.lp_count(), vec![(0.0, 0)]);
            log.states[me.index()].push((cx.now().get(), self.hash));
        }
    }

    fn change(&mut self, note: &Note, drawn: u64, now: f64, cx: Option<&mut impl Context<Note>>) {
        let place = (note.value % 4) as usize;
        self.plain[place] = self.plain[place].wrapping_add(drawn ^ self.hash);
        let mut seen = self.plain[place] ^ *self.whole ^ self.cells[place];
        seen ^= self.text.len() as u64;
        if let Some(cx) = cx {
            // Some events write nothing, and some twice.
            for _ in 0..note.value % 3 {
                *self.cells.write(place, cx) = seen;
                seen = mix(seen, drawn);
            }
            if note.value & 4 == 0 {
                *self.whole.write(cx) ^= seen;
            }
            if self.queue.len() > 3 {
                seen ^= self.queue.pop_front(cx).map_or(0, |text| text.len() as u64);
            } else if note.value & 2 == 0 {
                self.queue.push_back("x".repeat(seen as usize % 9), cx);
            }
        }
        self.hash = mix(self.hash ^ seen, note.value ^ now.to_bits());
        self.text = text_of(self.hash);
        self.handled += 1;
    }
}

/// The plain fields of a [`Cell`].
type Plain = (usize, u64, [u64; 4], String);

/// By hand, as the derive would write it.
impl<const BY_FIELD: bool> State for Cell<BY_FIELD> {
    const HAS_PLAIN: bool = true;

    fn save_plain(&self, log: &mut UndoLog) {
        let plain: Plain = (self.handled, self.hash, self.plain, self.text.clone());
        log.push_plain((Plain::WORDS, Plain::OWNS), |to, owned| plain.put(to, owned));
    }

    fn restore_plain(&mut self, point: u64, log: &mut UndoLog) {
        let restore = |from: &[u64], owned: &mut Owned| {
            (self.handled, self.hash, self.plain, self.text) = Plain::get(from, owned);
        };
        log.take_plain(point, restore);
    }

    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        let Self { whole, cells, queue, .. } = self;
        whole.undo_to(point, log) + cells.undo_to(point, log) + queue.undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        self.whole.rebase(moves);
        self.cells.rebase(moves);
        self.queue.rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        Value::heap_bytes(&self.text)
            + Undo::heap_bytes(&self.cells)
            + Undo::heap_bytes(&self.queue)
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, &dyn fmt::Debug)) {
        visit("handled", &self.handled);
        visit("hash", &self.hash);
        visit("plain", &self.plain);
        visit("text", &self.text);
        visit("whole", &self.whole);
        visit("cells", &self.cells);
        visit("queue", &self.queue);
    }
}

impl<const BY_FIELD: bool> LogicalProcess for Cell<BY_FIELD> {
    type Model = Toy<BY_FIELD>;
    type Message = Note;
    type Summary = u64;
    const REVERSIBLE: bool = true;
    const SAVING: Saving<Self> = if BY_FIELD { Saving::BY_FIELD } else { Saving::BY_COPY };

    fn start(&mut self, toy: &Self::Model, cx: &mut impl Context<Note>) {
        self.scatter(toy, toy.first, toy.first * toy.budget, cx);
    }

    fn handle(&mut self, toy: &Self::Model, message: &Note, cx: &mut impl Context<Note>) {
        self.work(toy, message, cx);
    }

    fn handle_io(&mut self, toy: &Self::Model, message: &Note, cx: &mut impl IoContext<Note>) {
        assert!(!toy.is_strange(cx.me(), self), "an I/O event was handled speculatively");
        let line = (cx.now().get(), cx.me(), mix(self.hash, message.value));
        // Before it sends anything: it is not called again (WAIT-A).
        toy.log.lock().expect("no panic in here").blocking.push(line);
        self.work(toy, message, cx);
        let barrier = VirtualTime::new(cx.now().get() + (self.hash % 4) as f64).ok();
        cx.set_time_barrier(barrier.filter(|_| self.hash & 8 == 0));
    }

    fn io_sends_max(toy: &Self::Model, message: &Note) -> usize {
        let count = |habit: &Habit| match habit {
            Habit::Idle => 0,
            Habit::Scatter(count) | Habit::Pass(count) => *count,
            Habit::Flood => u64::MAX,
        };
        let most = toy.habits.iter().map(count).max().unwrap_or(0);
        // And one by mistake.
        most.min(message.budget) as usize + 1
    }

    /// It says so; memory limits count it, and nothing else depends on it.
    fn heap_bytes(&self) -> usize {
        (self.hash % 4) as usize * 24
    }

    fn message_heap_bytes(message: &Note) -> usize {
        (message.value % 4) as usize * 24
    }

    fn reverse(&mut self, _: &Self::Model, message: &Note, event: &mut Reversal) {
        let place = (message.value % 4) as usize;
        let drawn = event.rng().bits();
        self.hash = event.note();
        self.plain[place] = self.plain[place].wrapping_sub(drawn ^ self.hash);
        self.text = text_of(self.hash);
        self.handled -= 1;
    }

    fn output(toy: &Self::Model, lp: LpId, event: &EventKey, message: &Note) {
        let wrong = toy.wrong_output.is_some_and(|one_in| message.value.is_multiple_of(one_in));
        assert!(!wrong, "broken on purpose");
        let line = (*event, lp, message.value);
        toy.log.lock().expect("no panic in here").outputs.push(line);
    }

    fn identity(_: &Self::Model, message: &Note) -> Option<u64> {
        // Some messages cannot be told apart.
        (message.value % 8 != 7).then(|| mix(message.value, message.budget))
    }

    fn fingerprint(_: &Self::Model, message: &Note) -> u64 {
        message.value
    }

    fn finish(self, _: &Self::Model, _: VirtualTime) -> u64 {
        self.hash
    }
}
