//! `--memory` counts what messages, saved states and undo logs own on the heap: measured with an
//! allocator that knows how much memory is in use.
//!
//! # Mutations of the engine that it is against
//!
//! - `heap::of_message` returns 0, or `heap::of_state` does (OWNED-A)
//! - `Saving::forget` keeps the copy (OWNED-B)
//! - `TimeWarpWorker::charge_log` does nothing
//! - `event::heap_bytes` returns 0, or messages are not released when they are handled
//! - `SpeculativeSender::settle_log` does not pay, or `Window::drop_copies` keeps
//!   the copies (SPEC-F; the seeded simulation of that engine finds more)

#![expect(
    unsafe_code,
    reason = "measuring the memory in use means to stand in its allocator's place"
)]

mod watchdog;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use warpline::{
    Auto, Conservative, Context, Engine, HeapMemory, Link, LogicalProcess, LpId, Model, Report,
    RunError, Saving, Sequential, Simulation, Speculative, State, TimeWarp, TrackedVec,
    VirtualTime,
    digest::mix,
    settings::{
        FlowControl, Instrumentation, Pool, PoolKind, Synchronization, SynchronizationKind,
    },
    state::heap_block,
};

/// Bytes in use, with what the allocator adds to each block; and the most there were.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Measuring;

/// What a block takes; nothing for the buffers, whose pages are in use only where messages are:
/// they are the only large blocks that begin with a cache line.
fn taken(layout: Layout) -> usize {
    if layout.align() < 64 { heap_block(layout.size()) } else { 0 }
}

// SAFETY: every method passes its arguments to the system's allocator and returns its result;
// counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Ordering: Relaxed; counts, here and below.
        let before = LIVE.fetch_add(taken(layout), Ordering::Relaxed);
        PEAK.fetch_max(before + taken(layout), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of this method, which is that of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(taken(layout), Ordering::Relaxed);
        // SAFETY: as above; `block` came from the system's allocator, as all blocks do.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

const LPS: usize = 24;
/// Events that each LP sends at the start.
const FIRST: usize = 4;
/// The bytes of a plain state, and the entries of a tracked one.
const STATE: usize = 6000;
const END: f64 = 150.0;

/// PHOLD whose messages and states own memory on the heap. States are saved by field, or copied.
#[derive(Clone, Copy, Debug)]
struct Heavy<const BY_FIELD: bool> {
    /// The most bytes of a message.
    message: usize,
    /// Bytes in a vector that every event changes.
    state: usize,
    /// How many elements of a tracked vector an event changes.
    writes: usize,
    /// Less than any delay; zero for none.
    lookahead: f64,
}

#[derive(Debug, State)]
struct Node<const BY_FIELD: bool> {
    bytes: Vec<u8>,
    tracked: TrackedVec<[u64; 8]>,
    sum: u64,
}

impl<const BY_FIELD: bool> Model for Heavy<BY_FIELD> {
    type Lp = Node<BY_FIELD>;
    type Output = Vec<u64>;

    fn name(&self) -> &'static str {
        "heavy"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn lookahead(&self) -> Option<f64> {
        (self.lookahead > 0.0).then_some(self.lookahead)
    }

    fn links(&self, _: LpId) -> Option<Vec<Link>> {
        let to = (0..LPS).map(LpId::from_index);
        Some(to.map(|to| Link { to, lookahead: self.lookahead }).collect())
    }

    fn make_lp(&self, _: LpId) -> Node<BY_FIELD> {
        let tracked = TrackedVec::new(vec![[0; 8]; self.writes]);
        Node { bytes: vec![0; self.state], tracked, sum: 0 }
    }

    fn reduce(&self, sums: impl Iterator<Item = u64>) -> Vec<u64> {
        sums.collect()
    }
}

impl<const BY_FIELD: bool> Node<BY_FIELD> {
    fn send(model: &Heavy<BY_FIELD>, cx: &mut impl Context<Vec<u8>>) {
        let to = cx.rng().lp(LPS);
        let delay = model.lookahead + cx.rng().exponential(1.0);
        let bytes = cx.rng().below(model.message as u64 + 1) as usize;
        cx.send(to, delay, vec![delay.to_bits() as u8; bytes]);
    }
}

impl<const BY_FIELD: bool> LogicalProcess for Node<BY_FIELD> {
    type Model = Heavy<BY_FIELD>;
    type Message = Vec<u8>;
    type Summary = u64;
    const SAVING: Saving<Self> = if BY_FIELD { Saving::BY_FIELD } else { Saving::BY_COPY };

    fn start(&mut self, model: &Heavy<BY_FIELD>, cx: &mut impl Context<Vec<u8>>) {
        (0..FIRST).for_each(|_| Self::send(model, cx));
    }

    fn handle(
        &mut self,
        model: &Heavy<BY_FIELD>,
        message: &Vec<u8>,
        cx: &mut impl Context<Vec<u8>>,
    ) {
        // Not all bytes: to read them would take most of the time.
        let last = message.last().map_or(0, |&byte| u64::from(byte));
        self.sum = mix(self.sum, message.len() as u64 + last);
        if let Some(place) = (self.sum as usize).checked_rem(self.bytes.len()) {
            self.bytes[place] = self.bytes[place].wrapping_add(1);
            self.sum = mix(self.sum, u64::from(self.bytes[place]));
        }
        for place in 0..model.writes {
            self.tracked.write(place, cx)[0] ^= self.sum;
        }
        Self::send(model, cx);
    }

    fn finish(self, _: &Heavy<BY_FIELD>, _: VirtualTime) -> u64 {
        self.tracked.iter().fold(self.sum, |sum, value| mix(sum, value[0]))
    }

    fn heap_bytes(&self) -> usize {
        State::heap_bytes(self)
    }

    fn message_heap_bytes(message: &Vec<u8>) -> usize {
        heap_block(message.capacity())
    }
}

/// The most memory that a run had in use, beyond that at its beginning and its LPs.
fn measured<const BY_FIELD: bool>(
    model: Heavy<BY_FIELD>,
    engine: Engine,
    memory: Option<u64>,
) -> (usize, Result<Report<Vec<u64>>, RunError>) {
    let states = LPS * (heap_block(model.state) + heap_block(64 * model.writes));
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut run = Simulation::new(model).engine(engine).seed(5).end(END);
    if let Some(memory) = memory {
        run = run.memory(memory);
    }
    let result = watchdog::run(run);
    ((PEAK.load(Ordering::Relaxed) - before).saturating_sub(states), result)
}

/// One test, because the counters are those of the whole program.
#[test]
fn heap_memory_stays_within_the_limit() {
    time_warp_stays_within_the_limit::<false>();
    time_warp_stays_within_the_limit::<true>();
    sequential_runs_count_messages();
    other_engines_count_messages();
    every_engine_stays_within_the_limit();
    old_copies_are_dropped();
}

fn time_warp_stays_within_the_limit<const BY_FIELD: bool>() {
    const MEMORY: u64 = 4 << 20;
    /// What a run takes besides: its threads, tables, and the least sizes of its lists.
    const BESIDES: usize = 512 << 10;
    let models = [
        Heavy::<BY_FIELD> { message: 8000, state: 0, writes: 0, lookahead: 0.0 },
        Heavy { message: 0, state: STATE, writes: 0, lookahead: 0.0 },
        Heavy { message: 100, state: 0, writes: 40, lookahead: 0.0 },
        Heavy { message: 3000, state: 3000, writes: 10, lookahead: 0.0 },
    ];
    for model in models {
        let (_, expected) = measured(model, Sequential::default().into(), None);
        let expected = expected.expect("sound").digest;
        // In turn and with long batches, workers run far ahead of each other.
        let ahead = TimeWarp {
            workers: 3,
            instrumentation: Instrumentation::IN_TURN,
            batch: 1000,
            flow_control: FlowControl { throttle: false, ..FlowControl::default() },
            ..TimeWarp::default()
        };
        let (unlimited, report) = measured(model, ahead.clone().into(), None);
        assert_eq!(report.expect("sound").digest, expected);
        assert!(unlimited > 4 * MEMORY as usize, "{unlimited} bytes without a limit");
        let pools = PoolKind::ALL.iter().map(|&pool| pool.into()).chain([Pool::ON_THE_FLY]);
        for (pool, in_turn) in pools.flat_map(|pool| [(pool.clone(), true), (pool, false)]) {
            let instrumentation = Instrumentation { in_turn, ..Instrumentation::default() };
            let engine = TimeWarp { pool: pool.clone(), instrumentation, ..ahead.clone() };
            let context = format!("{pool:?}, in turn: {in_turn}, {model:?}, by field: {BY_FIELD}");
            let (limited, report) = measured(model, engine.into(), Some(MEMORY));
            let report = report.unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(report.digest, expected, "{context}");
            let peak = report.peak_buffer_bytes;
            assert!(peak <= MEMORY, "{context}: {peak}");
            assert!(matches!(report.details.heap_memory, HeapMemory::Counted(_)), "{context}");
            // On threads it depends on the system which lists double, and when.
            let besides = if in_turn { BESIDES } else { MEMORY as usize / 2 };
            assert!(limited < MEMORY as usize + besides, "{limited} of {MEMORY} bytes: {context}");
        }
    }
}

/// The sequential engine, too: what pending events own.
fn sequential_runs_count_messages() {
    let model = Heavy::<false> { message: 8000, state: STATE, writes: 0, lookahead: 0.0 };
    let (used, report) = measured(model, Sequential::default().into(), None);
    let report = report.expect("sound");
    let HeapMemory::Counted(heap) = report.details.heap_memory else { panic!("nothing counted") };
    assert!(heap as usize * 4 > used * 3, "{heap} of {used} bytes");
    assert!(heap <= report.peak_buffer_bytes);
    let (_, within) = measured(model, Sequential::default().into(), Some(report.peak_buffer_bytes));
    assert_eq!(within.expect("just enough").digest, report.digest);
    let (_, short) = measured(model, Sequential::default().into(), Some(heap));
    assert!(matches!(short, Err(RunError::OutOfBuffers { .. })), "{short:?}");
}

/// The conservative and the speculative engine, with as much memory as they need and with less.
fn other_engines_count_messages() {
    /// What a run takes besides, with lists that double on threads.
    const BESIDES: u64 = 2 << 20;
    let model = Heavy::<false> { message: 60_000, state: 0, writes: 0, lookahead: 0.5 };
    let (_, report) = measured(model, Sequential::default().into(), None);
    let expected = report.expect("sound");
    let HeapMemory::Counted(heap) = expected.details.heap_memory else { panic!("none counted") };
    let enough = 3 * expected.peak_buffer_bytes;
    let null_messages = Synchronization::new(SynchronizationKind::NullMessages, 64);
    for workers in [1, 2, 3] {
        let engines: [Engine; 3] = [
            Conservative { workers, ..Conservative::default() }.into(),
            Conservative { workers, synchronization: null_messages, ..Conservative::default() }
                .into(),
            Speculative { workers, ..Speculative::default() }.into(),
        ];
        for engine in engines {
            let context = format!("{engine:?}");
            let (used, report) = measured(model, engine.clone(), Some(enough));
            let report = report.unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(report.digest, expected.digest, "{context}");
            let HeapMemory::Counted(most) = report.details.heap_memory else {
                panic!("{context} counts nothing")
            };
            assert!(most > heap / 2 && most <= enough, "{context}: {most}, not about {heap}");
            assert!((used as u64) < enough + BESIDES, "{context}: {used} of {enough} bytes");
            let (used, short) = measured(model, engine, Some(heap / 2));
            assert!(matches!(short, Err(RunError::OutOfBuffers { .. })), "{context}: {short:?}");
            assert!((used as u64) < heap / 2 + BESIDES, "{context}: {used} of {heap} / 2 bytes");
        }
    }
}

/// All engines, with hardly more memory than the sequential engine needs, and with enough: a run
/// ends well, or with an error, within the limit. The speculative engine always comes to its end:
/// where nothing else fits, it handles events one by one. So does `auto`, whose windows without
/// rollbacks end in time.
fn every_engine_stays_within_the_limit() {
    let (lookahead, writes) = (0.5, 0);
    stay_within(Heavy::<false> { message: 0, state: 0, writes, lookahead }, 0);
    stay_within(Heavy::<false> { message: 3000, state: STATE, writes, lookahead }, 0);
    stay_within(Heavy::<false> { message: 0, state: STATE, writes, lookahead }, 0);
    // What an LP writes between two sends: 40 elements, and what leads back to each of them.
    let log = 40 * (64 + 40);
    stay_within(Heavy::<true> { message: 300, state: 0, writes: 40, lookahead }, log);
}

/// `log` bytes are what an LP writes to its undo log between two sends.
fn stay_within<const BY_FIELD: bool>(model: Heavy<BY_FIELD>, log: u64) {
    /// Threads, rings, tables and lists.
    const BESIDES: u64 = 4 << 20;
    let (_, report) = measured(model, Sequential::default().into(), None);
    let expected = report.expect("sound");
    let on_demand = Synchronization::new(SynchronizationKind::NullMessages, 64);
    for workers in [1, 2, 3] {
        let engines: [(Engine, u64); 5] = [
            (Conservative { workers, ..Conservative::default() }.into(), 0),
            (
                Conservative { workers, synchronization: on_demand, ..Conservative::default() }
                    .into(),
                0,
            ),
            (TimeWarp { workers, ..TimeWarp::default() }.into(), 0),
            (Speculative { workers, ..Speculative::default() }.into(), log),
            (Auto { workers, ..Auto::default() }.into(), log),
        ];
        for ((engine, beyond), more) in
            engines.into_iter().flat_map(|engine| [2, 4, 32].map(|more| (engine.clone(), more)))
        {
            let memory = expected.peak_buffer_bytes * more / 2 + (more << 12);
            let context = format!("{engine:?}, {model:?}, {memory} bytes");
            let must_end = matches!(engine, Engine::Speculative(_) | Engine::Auto(_));
            let (used, report) = measured(model, engine, Some(memory));
            let report = match report {
                Err(RunError::OutOfBuffers { .. }) if !must_end && more < 32 => continue,
                report => report.unwrap_or_else(|error| panic!("{context}: {error}")),
            };
            assert_eq!(report.digest, expected.digest, "{context}");
            let peak = report.peak_buffer_bytes;
            assert!(peak <= memory + workers as u64 * beyond, "{context}: {peak}");
            assert!((used as u64) < memory + BESIDES, "{used} used: {context}");
        }
    }
}

/// With a limit, copies of earlier windows are not kept for their memory: with two windows, all LPs
/// would have two.
fn old_copies_are_dropped() {
    const MEMORY: u64 = 1 << 20;
    const BESIDES: u64 = 2 << 20;
    let model = Heavy::<false> { message: 0, state: 100_000, writes: 0, lookahead: 0.5 };
    for workers in [1, 2, 3] {
        let engine = Speculative { workers, ..Speculative::default() };
        let (used, report) = measured(model, engine.into(), Some(MEMORY));
        let peak = report.expect("enough").peak_buffer_bytes;
        assert!(peak > MEMORY / 2 && peak <= MEMORY, "{workers} workers: {peak}");
        assert!((used as u64) < MEMORY + BESIDES, "{workers} workers: {used} bytes used");
    }
}
