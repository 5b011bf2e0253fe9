//! Memory of its own for each LP: whose code a page belongs to, and that all of it goes back.

#![cfg(all(target_os = "linux", not(miri)))]

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use warpline::{
    Balance, ConfigError, Context, Engine, LogicalProcess, LpId, Model, RunError, Sequential,
    Simulation, Speculative, TimeWarp, VirtualTime,
    nodes::NodeAllocator,
    settings::{
        CheckpointInterval, Instrumentation, MailQueue, MemoryPlacement, Numa, StateSaving,
    },
};

#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

const LPS: usize = 24;
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

/// An LP that owns memory, as its copies do.
#[derive(Debug)]
struct Hoarder {
    me: LpId,
    words: Vec<u64>,
    few: Option<Box<[u64]>>,
}

impl Clone for Hoarder {
    fn clone(&self) -> Self {
        let copy = Self { me: self.me, words: self.words.clone(), few: self.few.clone() };
        note(self.me, &copy.words);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        self.words.clone_from(&source.words);
        (self.me, self.few) = (source.me, source.few.clone());
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
        Hoarder { me, words: vec![me.index() as u64; 20], few: None }
    }

    fn reduce(&self, parts: impl Iterator<Item = u64>) -> u64 {
        parts.fold(0, u64::wrapping_add)
    }
}

impl LogicalProcess for Hoarder {
    type Model = Hoard;
    type Message = Vec<u64>;
    type Summary = u64;

    fn start(&mut self, _: &Hoard, cx: &mut impl Context<Vec<u64>>) {
        note(self.me, &self.words);
        cx.send(cx.me(), 0.5, vec![1]);
    }

    fn handle(&mut self, _: &Hoard, message: &Vec<u64>, cx: &mut impl Context<Vec<u64>>) {
        // It grows and shrinks, so that blocks change their sizes and are used again.
        let size = 8 + cx.rng().below(400) as usize;
        self.words.resize(size, message[0]);
        self.few = Some(self.words.iter().copied().take(5).collect());
        note(self.me, &self.words);
        let to = LpId::new(cx.rng().below(LPS as u64) as u32);
        let delay = cx.rng().exponential(1.0);
        cx.send(to, delay, vec![self.words[0]; 3]);
    }

    fn finish(self, _: &Hoard, _: VirtualTime) -> u64 {
        self.words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

fn run(engine: impl Into<Engine>) -> (warpline::digest::CommitDigest, u64, u64) {
    let report = Simulation::new(Hoard).engine(engine).end(150.0).run().expect("a sound model");
    (report.digest, report.output, report.rolled_back_events)
}

/// Time Warp with memory for each LP: both ways of copying, LPs that stay and LPs that move, and
/// mail with the worker and with the LP.
fn time_warps() -> Vec<TimeWarp> {
    use CheckpointInterval::Every;
    let mut all = Vec::new();
    for interval in [Every(1), Every(3)] {
        for balance in [Balance::Off, Balance::Randomly(0.2)] {
            // Threads come as they like; workers that take turns roll back in every run.
            let mails = [MailQueue::Worker, MailQueue::BottomHalf];
            let ways = mails.into_iter().flat_map(|mail| [(false, mail), (true, mail)]);
            all.extend(ways.map(|(in_turn, mail)| TimeWarp {
                workers: 3,
                instrumentation: Instrumentation { in_turn, ..Instrumentation::default() },
                saving: StateSaving::Copy { interval },
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

/// The paper's promise (section 3.2): pages with data of one LP have no data of another one. And
/// when the run is over, all memory goes back, whatever was rolled back. One test, because both
/// look at the whole process.
///
/// Red if `handle`, `undo` or `start` does not enter the LP's home, if a copy is made in the place
/// of another LP's, or if a heap keeps its runs.
#[test]
fn lps_share_no_page() {
    let oracle = run(Sequential::default());
    let before = warpline_memory::segments_in_use();
    for engine in time_warps() {
        *pages() = Some(BTreeMap::new());
        let (digest, output, undone) = run(engine.clone());
        assert_eq!((digest, output), (oracle.0, oracle.1), "{engine:?}");
        assert!(undone > 0 || !engine.instrumentation.in_turn, "nothing was rolled back");
        let pages = pages().take().expect("it was there before");
        assert!(pages.len() >= LPS, "{} pages", pages.len());
        assert_eq!(warpline_memory::segments_in_use(), before, "{engine:?}");
    }
}

/// Other engines have no such memory, and daemons need it.
#[test]
fn what_makes_no_sense_is_refused() {
    let memory_placement = MemoryPlacement::Lp;
    let refused = |engine: Engine| {
        let result = Simulation::new(Hoard).engine(engine).end(1.0).run();
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
