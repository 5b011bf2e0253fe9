//! A bank whose processes are C functions, as another language writes them: every engine commits
//! what the same bank commits event by event, in Rust.
//!
//! Mutations that turn this red: `resume` goes on after a wait that is not over; `Process::new`
//! leaves out a word; `context_of` makes the stream a copy of its words; `with_env` lets a panic
//! through; `Site::merge` keeps the sites of the first one only.

use warpline::{
    Conservative, Engine, Only, RunError, Sequential, Simulation, Speculative, Stream, TimeWarp,
};
use warpline_foreign::{
    Facility, FacilityKind, ForeignWorld, PROCESS_LAYOUT, ProcessContext, ProcessDescription,
    Statistic, StatisticKind, WorldDescription,
};

use super::place;

#[path = "../../../warpline-processes/examples/hand_written/bank.rs"]
mod bank;

const BANK: bank::Bank = bank::Bank {
    branches: 8,
    tellers: 5,
    interarrival: 0.2,
    service: 1.0,
    patience: 2.0,
    walk: 0.5,
    way: 0.5,
};
const END: f64 = 100.0;
const SEED: u64 = 7;
/// What the tests of the Python package expect, too.
const DIGEST: &str = "ed75be7f21d283e4";

/// A field of a context or of its constants, by its name.
fn field<T>(context: *mut ProcessContext, name: &str) -> *mut T {
    place(context.cast(), PROCESS_LAYOUT, name).cast()
}

fn read<T: Copy>(context: *mut ProcessContext, name: &str) -> T {
    // SAFETY: the layout says that there is such a field, of the type that its name has.
    unsafe { field::<T>(context, name).read() }
}

fn write<T>(context: *mut ProcessContext, name: &str, value: T) {
    // SAFETY: as in `read`.
    unsafe { field::<T>(context, name).write(value) };
}

/// Draws from the stream of the site.
fn draw<T>(context: *mut ProcessContext, draw: impl FnOnce(&Stream) -> T) -> T {
    let words: *mut [u64; 2] = read(context, "stream");
    // SAFETY: the engine lends the function the two words of the stream.
    let words = unsafe { &mut *words };
    let stream = Stream::from_words(*words);
    let drawn = draw(&stream);
    *words = stream.words();
    drawn
}

fn count_one(context: *mut ProcessContext) {
    let reneged: *mut f64 = read(context, "site");
    // SAFETY: the site has two words, which are a counter.
    unsafe { *reneged += 1.0 };
}

fn spawn(context: *mut ProcessContext, kind: i64, words: &[u64]) -> i64 {
    type Spawn = unsafe extern "C" fn(*mut ProcessContext, i64, *const u64, i64, i64, f64) -> i64;
    let spawn: Spawn = read(context, "spawn");
    // SAFETY: the function is called with the context that it came with, and with these words.
    unsafe { spawn(context, kind, words.as_ptr(), words.len() as i64, -1, 0.0) }
}

unsafe extern "C" fn start(context: *mut ProcessContext) -> i64 {
    spawn(context, 0, &[0]);
    0
}

fn hold(context: *mut ProcessContext, mean: f64) -> i64 {
    let time = draw(context, |stream| stream.exponential(mean));
    write(context, "time", time);
    1
}

/// `loop { hold!(…); env.spawn(customer(…)) }`
unsafe extern "C" fn arrivals(process: *mut u64, context: *mut ProcessContext) -> i64 {
    // SAFETY: a process has at least one word.
    let at = unsafe { &mut *process };
    if *at as u32 != 0 {
        let patience = draw(context, |stream| stream.exponential(BANK.patience));
        spawn(context, 1, &[0, patience.to_bits()]);
    }
    *at |= 1;
    hold(context, BANK.interarrival)
}

/// The customer: its words are where it goes on, and its patience.
unsafe extern "C" fn customer(process: *mut u64, context: *mut ProcessContext) -> i64 {
    let release: unsafe extern "C" fn(*mut ProcessContext, i64) = read(context, "release");
    // SAFETY: the process was spawned with two words.
    let [at, patience] = unsafe { &mut *process.cast::<[u64; 2]>() };
    let patience = f64::from_bits(*patience);
    let is_granted = read::<i64>(context, "woken") == 0;
    let kind = *at & !0xffff_ffff;
    let (goes_on, asked) = match *at as u32 {
        // It comes, or has walked here.
        0 => {
            write(context, "number", 0_i64);
            write(context, "time", patience);
            (1, 2)
        }
        1 if is_granted => (2, hold(context, BANK.service)),
        1 => {
            count_one(context);
            if !draw(context, |stream| stream.chance(BANK.walk)) {
                return 0;
            }
            let to = (read::<i64>(context, "me") + 1) % read::<i64>(context, "lp_count");
            write(context, "number", to);
            write(context, "time", BANK.way);
            (0, 9)
        }
        _ => {
            // SAFETY: the function is called with the context that it came with.
            unsafe { release(context, 0) };
            return 0;
        }
    };
    *at = kind | goes_on;
    asked
}

/// Releases what it has not acquired.
unsafe extern "C" fn thief(process: *mut u64, context: *mut ProcessContext) -> i64 {
    let release: unsafe extern "C" fn(*mut ProcessContext, i64) = read(context, "release");
    // SAFETY: the function is called with the context that it came with.
    unsafe { release(context, 0) };
    // SAFETY: what comes after a mistake does nothing.
    unsafe { release(context, 1) };
    // SAFETY: a process has at least one word.
    unsafe { *process |= 1 };
    hold(context, 1.0)
}

fn world(first: unsafe extern "C" fn(*mut u64, *mut ProcessContext) -> i64) -> ForeignWorld {
    let process =
        |name: &str, resume, words| ProcessDescription { name: name.to_owned(), resume, words };
    let facility = Facility {
        name: "teller".to_owned(),
        kind: FacilityKind::Resource,
        of_sites: vec![(f64::from(BANK.tellers), 0.0); BANK.branches],
    };
    let reneged = Statistic {
        name: "reneged".to_owned(),
        unit: String::new(),
        meaning: String::new(),
        kind: StatisticKind::Counter,
        word: 0,
    };
    let description = WorldDescription {
        name: "bank".to_owned(),
        sites: BANK.branches,
        start,
        processes: vec![process("arrivals", first, 1), process("customer", customer, 2)],
        facilities: vec![facility],
        site_words: 2,
        initial: vec![0; 2 * BANK.branches],
        parameters: Vec::new(),
        identity: "bank".to_owned(),
        lookahead: Some(BANK.way),
        links: None,
        statistics: vec![reneged],
        finish: None,
        is_logged: false,
    };
    // SAFETY: the functions keep to their words and their context.
    unsafe { ForeignWorld::new(description) }.expect("a sound description")
}

#[test]
fn the_bank_by_hand_has_the_digest() {
    let bank = Only::<Sequential, _>::new(bank::ByHand(BANK));
    let report = Simulation::new(bank).seed(SEED).end(END).run().expect("sound");
    assert_eq!(report.digest.to_string(), DIGEST);
}

/// RESUME-A: the words of sites and streams are those of the event that is handled.
#[test]
fn every_engine_commits_the_same() {
    let engines: [Engine; 5] = [
        Sequential::default().into(),
        Conservative { workers: 2, ..Conservative::default() }.into(),
        Speculative { workers: 2, ..Speculative::default() }.into(),
        TimeWarp { workers: 1, ..TimeWarp::default() }.into(),
        TimeWarp { workers: 3, ..TimeWarp::default() }.into(),
    ];
    let mut states = Vec::new();
    for engine in engines {
        let world = world(arrivals);
        let any = world.clone().into_any();
        let mut simulation = Simulation::new(any).engine(engine.clone()).seed(SEED).end(END);
        let report = simulation.run().expect("sound");
        assert_eq!(report.digest.to_string(), DIGEST, "{engine:?}");
        states.push(world.take_states());
    }
    assert_eq!(states[0].len(), 2 * BANK.branches);
    assert!(states.iter().all(|of_run| *of_run == states[0]), "all have the same sites");
    assert!(states[0].iter().step_by(2).all(|count| f64::from_bits(*count) > 0.0));
}

/// RESUME-B: what the engine panics with goes on when the function has returned.
#[test]
fn a_mistake_ends_the_run_and_passes_no_foreign_frame() {
    let simulation = Simulation::new(world(thief).into_any());
    let mut simulation = simulation.engine(Sequential::default()).end(END);
    let Err(RunError::Model(error)) = simulation.run() else { panic!("a mistake is an error") };
    let text = error.to_string();
    assert!(text.contains("releases `teller`, and has not acquired it"), "{text}");
}

#[test]
fn descriptions_that_do_not_fit_are_refused() {
    let process = ProcessDescription { name: "large".to_owned(), resume: arrivals, words: 1000 };
    let description = WorldDescription {
        name: "refused".to_owned(),
        sites: 1,
        start,
        processes: vec![process],
        facilities: Vec::new(),
        site_words: 0,
        initial: Vec::new(),
        parameters: Vec::new(),
        identity: String::new(),
        lookahead: None,
        links: None,
        statistics: Vec::new(),
        finish: None,
        is_logged: false,
    };
    // SAFETY: nothing is called.
    let refused = unsafe { ForeignWorld::new(description) }.expect_err("it is too large");
    assert!(refused.to_string().contains("at most 24 words"), "{refused}");
}
