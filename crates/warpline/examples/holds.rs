//! What a hold costs (pop the least entry, insert a later one) with the bare pending sets, by the
//! distribution of the delay, and what an entry costs where the population grows.
//!
//! `cargo run --release -p warpline --features measurements --example holds` prints nanoseconds per
//! hold, the best of interleaved rounds. The rows are delays that ladder and calendar queues are
//! known to like or not.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use std::time::Instant;

use warpline::{
    LpId, Stream,
    pending::{Entry, PendingFamily, PendingKind, PendingSet, WithPending},
};

const PENDING: u64 = 100_000;
const HOLDS: u64 = 400_000;
const ROUNDS: usize = 5;

/// 16 bytes: a time, and a number that orders ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    /// The bits of a time that is not negative compare as the time does.
    time: u64,
    id: u64,
}

impl Item {
    fn new(time: f64, id: u64) -> Self {
        Self { time: time.to_bits(), id }
    }
}

impl Entry for Item {
    fn time(&self) -> f64 {
        f64::from_bits(self.time)
    }
}

/// How long it takes from an event to the one that it causes.
type Delay = fn(&Stream) -> f64;

const DELAYS: &[(&str, Delay)] = &[
    ("exponential", |rng| rng.exponential(1.0)),
    ("uniform 0 to 1", Stream::uniform),
    ("triangular", |rng| rng.uniform().sqrt()),
    ("bimodal: 90 % up to 0.01, 10 % up to 100", |rng| {
        rng.uniform() * if rng.below(10) == 0 { 100.0 } else { 0.01 }
    }),
    ("heavy tail 1/u", |rng| 1.0 / (1e-9 + rng.uniform())),
    ("heavy tail 1/u³", |rng| (1e-3 + rng.uniform()).powi(-3)),
    ("half are a thousandth of the others", |rng| {
        rng.exponential(1.0) * if rng.below(2) == 0 { 1e-3 } else { 1.0 }
    }),
    ("whole ticks 1 to 4", |rng| (1 + rng.below(4)) as f64),
    ("whole ticks 1 to 4, half of the delays 0", |rng| {
        if rng.below(2) == 0 { 0.0 } else { (1 + rng.below(4)) as f64 }
    }),
    ("1 plus up to 10⁻⁹", |rng| 1.0 + 1e-9 * rng.uniform()),
    ("always 1", |_| 1.0),
    ("always 0", |_| 0.0),
];

/// Holds with a steady population.
struct Hold {
    delay: Delay,
    pending: u64,
}

impl WithPending for Hold {
    /// Nanoseconds per hold.
    type Output = f64;

    fn with<P: PendingFamily>(self) -> f64 {
        let rng = Stream::for_lp(1, LpId::new(0));
        let mut set = P::Set::<Item>::default();
        (0..self.pending).for_each(|id| set.insert(Item::new((self.delay)(&rng), id)));
        let mut hold = |holds, first| {
            for id in first..first + holds {
                let Some(item) = set.pop() else { break };
                set.insert(Item::new(item.time() + (self.delay)(&rng), id));
            }
        };
        // As an engine finds it after a while.
        hold(HOLDS / 2, PENDING);
        let began = Instant::now();
        hold(HOLDS, PENDING + HOLDS);
        began.elapsed().as_nanos() as f64 / HOLDS as f64
    }
}

/// Few entries, far apart, of which each is followed by two, until there are many; then no more.
struct Growth;

impl WithPending for Growth {
    /// Nanoseconds per entry.
    type Output = f64;

    fn with<P: PendingFamily>(self) -> f64 {
        let rng = Stream::for_lp(1, LpId::new(0));
        let mut set = P::Set::<Item>::default();
        (0..30).for_each(|id| set.insert(Item::new(1000.0 * rng.uniform(), id)));
        let (mut popped, mut id) = (0_u64, 30);
        let began = Instant::now();
        while let Some(item) = set.pop() {
            popped += 1;
            for _ in 0..if popped < PENDING { 2 } else { 0 } {
                set.insert(Item::new(item.time() + rng.exponential(10.0), id));
                id += 1;
            }
        }
        began.elapsed().as_nanos() as f64 / popped as f64
    }
}

/// The best of the rounds of a measurement with each of some kinds, in turn.
fn best(kinds: &[PendingKind], measure: impl Fn(PendingKind) -> f64) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; kinds.len()];
    for _ in 0..ROUNDS {
        for (best, &kind) in best.iter_mut().zip(kinds) {
            *best = best.min(measure(kind));
        }
    }
    best
}

fn print_row(name: &str, nanoseconds: &[f64]) {
    let cells: Vec<_> = nanoseconds.iter().map(|ns| format!("{ns:.0}")).collect();
    println!("| {name} | {} |", cells.join(" | "));
}

fn main() {
    let kinds = [PendingKind::Ladder, PendingKind::Calendar, PendingKind::Heap];
    println!("| delay | {} |", kinds.map(|kind| kind.to_string()).join(" | "));
    for &(name, delay) in DELAYS {
        let hold = |kind: PendingKind| kind.dispatch(Hold { delay, pending: PENDING });
        print_row(name, &best(&kinds, hold));
    }
    for (name, delay) in [DELAYS[0], DELAYS[6], DELAYS[8]] {
        let hold = |kind: PendingKind| kind.dispatch(Hold { delay, pending: 1000 });
        print_row(&format!("{name}; 1 000 pending"), &best(&kinds, hold));
    }
    print_row("a population that grows", &best(&kinds, |kind| kind.dispatch(Growth)));
}
