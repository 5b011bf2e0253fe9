//! Memory of its own for each LP: whose code a page belongs to, and that all of it goes back.

#![cfg(all(target_os = "linux", not(miri)))]

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use warpline::{
    Balance, ConfigError, Context, Engine, LogicalProcess, LpId, Model, Only, Report, Reversal,
    RunError, Sequential, Simulation, Speculative, TimeWarp, VirtualTime,
    nodes::NodeAllocator,
    settings::{
        CheckpointInterval, Instrumentation, MailQueue, MemoryPlacement, Numa, StateSaving,
    },
};

#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

const LPS: usize = 24;
const END: f64 = 150.0;
/// Bytes of event buffers, copies and messages: for some of the events that run ahead.
const LITTLE: u64 = 60_000;
/// No system has smaller pages.
const PAGE: usize = 4096;

/// Which LP has had memory in a page, while that is looked at.
static PAGES: Mutex<Option<BTreeMap<usize, LpId>>> = Mutex::new(None);

fn pages() -> std::sync::MutexGuard<'static, Option<BTreeMap<usize, LpId>>> {
    PAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that an LP has this memory; two LPs never have some in one page.
fn note(lp: LpId, memory: &[u64]) {
    // What the table allocates belongs to no LP.
    let _system = warpline_memory::unrouted();
    if let Some(pages) = &mut *pages() {
        let range = memory.as_ptr_range();
        for page in range.start.addr() / PAGE..=(range.end.addr() - 1) / PAGE {
            let owner = *pages.entry(page).or_insert(lp);
            assert_eq!(owner, lp, "two LPs have memory in one page");
        }
    }
}

/// An LP that owns memory, as its copies do. What it owns follows from what it has received.
#[derive(Debug)]
struct Hoarder {
    me: LpId,
    received: u64,
    words: Vec<u64>,
    few: Option<Box<[u64]>>,
}

impl Hoarder {
    /// It grows and shrinks, so that blocks change their sizes and are used again.
    fn rearrange(&mut self) {
        let word = self.received.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.words.resize(8 + (word % 400) as usize, word);
        self.words.fill(word);
        self.few = Some(self.words.iter().copied().take(5).collect());
        note(self.me, &self.words);
    }
}

impl Clone for Hoarder {
    fn clone(&self) -> Self {
        let (words, few) = (self.words.clone(), self.few.clone());
        note(self.me, &words);
        Self { words, few, ..*self }
    }

    fn clone_from(&mut self, source: &Self) {
        self.words.clone_from(&source.words);
        (self.me, self.received) = (source.me, source.received);
        self.few = source.few.clone();
        note(self.me, &self.words);
        note(self.me, self.few.as_deref().unwrap_or(&self.words));
    }
}

struct Hoard;

impl Model for Hoard {
    type Lp = Hoarder;
    type Output = u64;

    fn name(&self) -> &'static str {
        "hoard"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, me: LpId) -> Hoarder {
        Hoarder { me, received: me.index() as u64, words: vec![0; 20], few: None }
    }

    fn reduce(&self, parts: impl Iterator<Item = u64>) -> u64 {
        parts.fold(0, u64::wrapping_add)
    }
}

impl LogicalProcess for Hoarder {
    type Model = Hoard;
    type Message = Vec<u64>;
    type Summary = u64;
    const REVERSIBLE: bool = true;

    fn start(&mut self, _: &Hoard, cx: &mut impl Context<Vec<u64>>) {
        note(self.me, &self.words);
        cx.send(cx.me(), 0.5, vec![1]);
    }

    fn handle(&mut self, _: &Hoard, message: &Vec<u64>, cx: &mut impl Context<Vec<u64>>) {
        self.received += message[0];
        self.rearrange();
        let to = LpId::new(cx.rng().below(LPS as u64) as u32);
        let delay = cx.rng().exponential(1.0);
        cx.send(to, delay, vec![1 + self.words[0] % 1000; 3]);
    }

    fn reverse(&mut self, _: &Hoard, message: &Vec<u64>, _: &mut Reversal) {
        self.received -= message[0];
        self.rearrange();
    }

    fn heap_bytes(&self) -> usize {
        8 * (self.words.capacity() + self.few.as_ref().map_or(0, |few| few.len()))
    }

    fn message_heap_bytes(message: &Vec<u64>) -> usize {
        8 * message.capacity()
    }

    fn finish(self, _: &Hoard, _: VirtualTime) -> u64 {
        self.words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

/// Those that run it here: each takes long to build.
type Engines = (Sequential, (Speculative, TimeWarp));

fn run(engine: impl Into<Engine>, memory: Option<u64>) -> Report<u64> {
    let simulation = Simulation::new(Only::<Engines, _>::new(Hoard)).engine(engine).end(END);
    let mut simulation = match memory {
        Some(bytes) => simulation.memory(bytes),
        None => simulation,
    };
    simulation.run().expect("a sound model")
}

/// Time Warp with memory for each LP: both ways of copying and reverse handlers, LPs that stay and
/// LPs that move, and mail with the worker and with the LP.
fn time_warps() -> Vec<TimeWarp> {
    use CheckpointInterval::Every;
    let copies = [Every(1), Every(3)].map(|interval| StateSaving::Copy { interval });
    let mut all = Vec::new();
    for saving in copies.into_iter().chain([StateSaving::Reverse]) {
        for balance in [Balance::Off, Balance::Randomly(0.2)] {
            // Threads come as they like; workers that take turns roll back in every run.
            let mails = [MailQueue::Worker, MailQueue::BottomHalf];
            let ways = mails.into_iter().flat_map(|mail| [(false, mail), (true, mail)]);
            all.extend(ways.map(|(in_turn, mail)| TimeWarp {
                workers: 3,
                instrumentation: Instrumentation { in_turn, ..Instrumentation::default() },
                saving,
                balance,
                gvt_interval: 40,
                numa: Numa {
                    migration_daemons: 2,
                    migration_period: Duration::from_millis(1),
                    mail,
                    ..Numa::new(MemoryPlacement::Lp)
                },
                ..TimeWarp::default()
            }));
        }
    }
    all
}

/// With how much memory an engine runs: as it likes, and with so little that it runs out of buffers
/// again and again, if that is the same each time. (Threads may take more or less of it.)
fn memories(engine: &TimeWarp) -> &'static [Option<u64>] {
    if engine.instrumentation.in_turn { &[None, Some(LITTLE)] } else { &[None] }
}

/// Memory was short, and that was kept.
fn check_shortage(report: &Report<u64>) {
    let taken = report.details.counters.iter().find(|(name, _)| *name == "cancelbacks");
    assert!(taken.is_some_and(|(_, events)| *events > 0), "memory was never short");
    let peak = report.peak_buffer_bytes;
    assert!(peak <= LITTLE, "{peak} bytes");
}

/// The paper's promise (section 3.2): pages with data of one LP have no data of another one. And
/// when the run is over, all memory goes back, whatever was rolled back, and however short memory
/// was. One test, because both look at the whole process.
///
/// Red if `handle`, `undo` or `start` does not enter the LP's home, if a copy is made in the place
/// of another LP's, if a heap keeps its runs, or if a shortage takes nothing back.
#[test]
fn lps_share_no_page() {
    let oracle = run(Sequential::default(), None);
    let before = warpline_memory::segments_in_use();
    let cases = time_warps()
        .into_iter()
        .flat_map(|engine| memories(&engine).iter().map(move |&memory| (engine.clone(), memory)));
    for (engine, memory) in cases {
        *pages() = Some(BTreeMap::new());
        let report = run(engine.clone(), memory);
        let (found, expected) = ((report.digest, report.output), (oracle.digest, oracle.output));
        assert_eq!(found, expected, "{memory:?}, {engine:?}");
        let is_rolled_back = report.rolled_back_events > 0;
        assert!(is_rolled_back || !engine.instrumentation.in_turn, "nothing was rolled back");
        if memory.is_some() {
            check_shortage(&report);
        }
        let pages = pages().take().expect("it was there before");
        assert!(pages.len() >= LPS, "{} pages", pages.len());
        assert_eq!(warpline_memory::segments_in_use(), before, "{memory:?}, {engine:?}");
    }
}

/// Other engines have no such memory, and daemons need it.
#[test]
fn what_makes_no_sense_is_refused() {
    let memory_placement = MemoryPlacement::Lp;
    let refused = |engine: Engine| {
        let result = Simulation::new(Only::<Engines, _>::new(Hoard)).engine(engine).end(1.0).run();
        match result {
            Err(RunError::Config(ConfigError { key, .. })) => key.to_string(),
            other => panic!("{:?}", other.map(|report| report.output)),
        }
    };
    let engine = Speculative { memory_placement, ..Speculative::default() };
    assert_eq!(refused(engine.into()), "memory-placement");
    let numa = Numa { migration_daemons: 1, ..Numa::default() };
    let engine = TimeWarp { numa, ..TimeWarp::default() };
    assert_eq!(refused(engine.into()), "migration daemons");
    let numa = Numa { migration_period: Duration::ZERO, ..Numa::new(memory_placement) };
    let engine = TimeWarp { numa, ..TimeWarp::default() };
    assert_eq!(refused(engine.into()), "migration period");
    // A bottom half would lie on the node of whoever fills it first.
    for memory_placement in [MemoryPlacement::Worker, MemoryPlacement::Auto] {
        let numa = Numa { mail: MailQueue::BottomHalf, ..Numa::new(memory_placement) };
        assert_eq!(refused(TimeWarp { numa, ..TimeWarp::default() }.into()), "mail");
    }
}
