//! Global virtual time: the paper's asynchronous algorithm (GTW, section 3.5), without a barrier.
//!
//! Workers call it once per turn of their main loop. One of them sets the flag. Each reports a
//! lower bound of the events that it may still handle or send. The last one to report takes the
//! least of the reports, and every worker finds the result when it next looks. No worker waits.
//!
//! GVT is a whole event key here, not only a time. So it moves on through events at the same time,
//! the event that it has reached is a definite one, and I/O events and errors are ordered by it.
//!
//! # The steps of a worker, in each turn
//!
//! 1. [`Participant::notice`]: was the flag set in a round that I have not reported in?
//! 2. [`Participant::adopt`]: is a result there that I have not seen? After step 1, for a round may
//!    end and the next one begin while this worker is elsewhere.
//! 3. Take all mail from the inbox, and roll back as it requires.
//! 4. Send all mail: push it, and *then* call [`Participant::sent`].
//! 5. If step 1 said so, [`Participant::report`] the least of its unhandled events. The least event
//!    that it sent since the flag was set (SendMin) is included here.
//!
//! # Why it is a lower bound
//!
//! Let *T* be the instant at which the flag was set. An event that may still be handled after all
//! reports is one of these:
//!
//! - It was pushed to its receiver before *T*. The receiver found it in step 3, after it had seen
//!   the flag in step 1. So the report of step 5 includes the event, or the events that it led to.
//! - It was pushed after *T* and before its sender reported: then it is in the sender's SendMin.
//! - It was sent after its sender had reported. Then its cause was handled after that report. The
//!   cause was among the events that the sender reported, or came later from another worker and is
//!   itself one of these three; and an effect never sorts before its cause (KEY-A).
//!
//! # The bad interleaving
//!
//! "Before *T*" must mean the same to sender and receiver. A sender pushes and then finds the flag
//! not set, so it leaves the event to the receiver. The receiver finds the flag set and takes its
//! mail. If either could do its second access before its first (store buffering), the receiver
//! could miss the event, and neither would have counted it. The two fences (GVT-3) forbid it: in
//! the order of the fences, either the sender's comes first, and the receiver takes the event; or
//! the receiver's does, and the sender finds the flag set.
//!
//! # Happens-before edges
//!
//! | Edge | Release side | Acquire side | Publishes |
//! |---|---|---|---|
//! | GVT-1 | `report`: decrement of `flag` | `report`: the last decrement | the reports |
//! | GVT-2 | `report`: store of `completed` | `adopt`: its load | the result |
//! | GVT-3 | `sent`: push, fence | `notice`: flag, fence, drain | mail before *T* |
//! | GVT-4 | `start`: exchange of `flag` | `notice`: flag, fence | the result before |
//! | GVT-5 | `report`: store of `gathered` | `gathered`: its load | the rank's result |
//!
//! A result stays as it is until the next round has all reports, and a worker reports in the next
//! round only after it has adopted this one (asserted).
//!
//! # With other ranks
//!
//! The result of the workers of one rank is a bound for that rank alone. So the last report does
//! not end the round there (edge GVT-5): one worker takes the result to the other ranks (module
//! `remote::rounds`), and publishes the result of all ranks ([`Gvt::publish`]). Only that worker
//! starts rounds, too.
//!
//! `tests/loom_gvt.rs` compiles this module with the atomics of a model checker, and lists the
//! mutations that it finds.

use warpline_memory::CachePadded;

use crate::sync::{AtomicU64, Ordering, fence};

/// A lower bound of keys, as the words of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bound(pub(crate) [u64; 3]);

impl Bound {
    /// Before every event.
    pub(crate) const ZERO: Self = Self([0; 3]);
    /// After every event: there is none.
    pub(crate) const NEVER: Self = Self([u64::MAX; 3]);

    /// The least bound above a key.
    pub(crate) const fn next(self) -> Self {
        let [time, step_and_sender, sequence] = self.0;
        Self([time, step_and_sender, sequence.saturating_add(1)])
    }

    /// The greatest bound below a key: GVT there has not reached the key yet.
    pub(crate) const fn before(self) -> Self {
        let [time, step_and_sender, sequence] = self.0;
        debug_assert!(sequence > 0, "the last word of a key is not 0");
        Self([time, step_and_sender, sequence.saturating_sub(1)])
    }

    /// Its time; NaN for [`Bound::NEVER`], which is neither below nor above any number.
    pub(crate) const fn time(self) -> f64 {
        f64::from_bits(self.0[0])
    }

    /// Whether nothing before `end` is at or above this.
    pub(crate) const fn reaches(self, end: f64) -> bool {
        self.0[0] >= end.to_bits()
    }
}

/// The result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Global virtual time.
    pub(crate) gvt: Bound,
    /// The notes of all reports, or-ed.
    pub(crate) notes: u64,
}

/// A round's number in the high half of the flag, the reports that it misses in the low half.
const ROUND: u32 = 32;
const MISSING: u64 = u32::MAX as u64;

/// The part that the workers share.
#[derive(Debug)]
pub(crate) struct Gvt {
    /// GVTFlag: set while reports are missing. Edges GVT-1 and GVT-3.
    flag: CachePadded<AtomicU64>,
    /// The last round that has a result. Edge GVT-2.
    completed: CachePadded<AtomicU64>,
    /// With other ranks: the last round that all workers of this one have reported in. Edge GVT-5.
    gathered: Option<CachePadded<AtomicU64>>,
    result: [AtomicU64; 4],
    reports: Box<[CachePadded<[AtomicU64; 4]>]>,
}

fn words() -> [AtomicU64; 4] {
    std::array::from_fn(|_| AtomicU64::new(0))
}

fn store(words: &[AtomicU64; 4], outcome: Outcome) {
    let [a, b, c] = outcome.gvt.0;
    for (word, value) in words.iter().zip([a, b, c, outcome.notes]) {
        // Ordering: Relaxed; published by edge GVT-1 or GVT-2.
        word.store(value, Ordering::Relaxed);
    }
}

fn load(words: &[AtomicU64; 4]) -> Outcome {
    // Ordering: Relaxed; published by edge GVT-1 or GVT-2.
    let word = |index: usize| words[index].load(Ordering::Relaxed);
    Outcome { gvt: Bound([word(0), word(1), word(2)]), notes: word(3) }
}

impl Gvt {
    /// For the workers of one rank, which is the only one or one of `several_ranks`.
    pub(crate) fn new(workers: usize, several_ranks: bool) -> Self {
        assert!(
            (1..=MISSING).contains(&(workers as u64)),
            "GVT: half of the flag counts the reports of {workers} workers"
        );
        Self {
            flag: CachePadded::new(AtomicU64::new(0)),
            completed: CachePadded::new(AtomicU64::new(0)),
            gathered: several_ranks.then(|| CachePadded::new(AtomicU64::new(0))),
            result: words(),
            reports: (0..workers).map(|_| CachePadded::new(words())).collect(),
        }
    }

    /// Starts a round, unless one is running.
    pub(crate) fn start(&self) {
        // Ordering: Relaxed; nothing is read through it. The exchange fails if it is out of date,
        // and a worker that notices the round loads it again (edges GVT-4 and GVT-2).
        let completed = self.completed.load(Ordering::Relaxed);
        debug_assert!(completed < MISSING, "GVT: half of the flag numbers the rounds");
        let next = (completed + 1) << ROUND | self.reports.len() as u64;
        // Ordering: Release, edge GVT-4. If the exchange fails, another worker has started
        // the round, and nothing was read.
        let _ = self.flag.compare_exchange(
            completed << ROUND,
            next,
            Ordering::Release,
            Ordering::Relaxed,
        );
    }

    /// The result of this rank in a round in which other ranks take part. Only the worker that asks
    /// them calls this.
    pub(crate) fn gathered(&self) -> Option<Outcome> {
        // Ordering: Acquire, edge GVT-5.
        let gathered = self.gathered.as_ref()?.load(Ordering::Acquire);
        // Ordering: Relaxed; only this worker stores it.
        (gathered == self.completed.load(Ordering::Relaxed) + 1).then(|| load(&self.result))
    }

    /// Ends a round in which other ranks have taken part.
    pub(crate) fn publish(&self, outcome: Outcome) {
        debug_assert!(self.gathered().is_some(), "GVT-5: this rank has not taken part");
        // Ordering: Relaxed; only this worker stores it.
        let round = self.completed.load(Ordering::Relaxed) + 1;
        store(&self.result, outcome);
        // Ordering: Release, edge GVT-2.
        self.completed.store(round, Ordering::Release);
    }

    /// The round that is running, if one is.
    #[inline]
    fn running(&self) -> Option<u64> {
        // Ordering: Relaxed; the callers' fences order what matters (GVT-3, GVT-4).
        let flag = self.flag.load(Ordering::Relaxed);
        (flag & MISSING != 0).then_some(flag >> ROUND)
    }
}

/// The part of one worker.
#[derive(Debug)]
pub(crate) struct Participant {
    worker: usize,
    /// The last round in which this worker has reported.
    reported: u64,
    /// The last round whose result this worker has seen.
    adopted: u64,
    /// The least key that was sent since the flag was set: SendMin.
    send_min: Bound,
}

impl Participant {
    pub(crate) const fn new(worker: usize) -> Self {
        Self { worker, reported: 0, adopted: 0, send_min: Bound::NEVER }
    }

    /// Step 1: whether this worker has to report in this turn.
    #[inline]
    pub(crate) fn notice(&self, gvt: &Gvt) -> bool {
        let running = gvt.running();
        debug_assert!(
            running.is_none_or(|round| [self.reported, self.reported + 1].contains(&round)),
            "GVT-1: round {running:?} without a report in the one before"
        );
        let noticed = running.is_some_and(|round| round != self.reported);
        if noticed {
            // Ordering: SeqCst fence, edges GVT-3 and GVT-4: the inbox is drained after this, and
            // the result of the round before looked for.
            fence(Ordering::SeqCst);
        }
        noticed
    }

    /// Step 4: `least` is the least key that was just pushed.
    #[inline]
    pub(crate) fn sent(&mut self, gvt: &Gvt, least: Bound) {
        // Ordering: SeqCst fence, edge GVT-3: the pushes come before the look at the flag.
        fence(Ordering::SeqCst);
        if gvt.running().is_some_and(|round| round != self.reported) {
            self.send_min = self.send_min.min(least);
        }
    }

    /// Step 5: no event of this worker is below `least`. The last report makes the result.
    pub(crate) fn report(&mut self, gvt: &Gvt, least: Bound, notes: u64) {
        let round = self.reported + 1;
        assert!(self.adopted + 1 == round, "GVT-2: a report before the last result was seen");
        let outcome = Outcome { gvt: least.min(self.send_min), notes };
        store(&gvt.reports[self.worker], outcome);
        (self.reported, self.send_min) = (round, Bound::NEVER);
        // Ordering: AcqRel, edge GVT-1, both sides of it.
        let before = gvt.flag.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before >> ROUND == round && before & MISSING > 0, "GVT: a stray report");
        if before & MISSING == 1 {
            let all = gvt.reports.iter().map(|report| load(report));
            let result =
                all.reduce(|a, b| Outcome { gvt: a.gvt.min(b.gvt), notes: a.notes | b.notes });
            debug_assert!(
                result.is_some_and(|all| all.gvt <= outcome.gvt && all.notes & notes == notes),
                "GVT-1: {result:?} leaves out {outcome:?}"
            );
            store(&gvt.result, result.unwrap_or(outcome));
            let done = gvt.gathered.as_ref().unwrap_or(&gvt.completed);
            // Ordering: Release, edge GVT-2 or GVT-5.
            done.store(round, Ordering::Release);
        }
    }

    /// Step 2: the result of a round, the first time that this worker sees it.
    #[inline]
    pub(crate) fn adopt(&mut self, gvt: &Gvt) -> Option<Outcome> {
        // Ordering: Acquire, edge GVT-2.
        let completed = gvt.completed.load(Ordering::Acquire);
        if completed == self.adopted {
            return None;
        }
        debug_assert!(completed == self.reported, "GVT: a result without this worker's report");
        self.adopted = completed;
        Some(load(&gvt.result))
    }

    /// How many rounds this worker has reported in.
    pub(crate) const fn reports(&self) -> u64 {
        self.reported
    }

    /// How many rounds this worker has seen the end of.
    pub(crate) const fn rounds(&self) -> u64 {
        self.adopted
    }
}
