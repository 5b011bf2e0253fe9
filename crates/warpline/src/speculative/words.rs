//! The commit of a window, without a barrier: each worker publishes one word, and reads all.
//!
//! A worker's word says which window is the oldest that it has open, whether it is *idle* there (it
//! has handled everything that it knows), and how many messages its executions in that window have
//! sent to others and how many of that window's messages it has received and settled. The window is
//! committed once all are idle in it and as many messages were received as sent.
//!
//! The words are read twice, and have to be the same both times.
//!
//! # Invariants
//!
//! - **WORD-A.** An idle worker publishes that it is active before it sends anything in that
//!   window.
//! - **WORD-B.** [`Words::is_committed`] is true only when no message of the window is on its way
//!   and nobody will send another one.
//!
//! # Why two equal reads are enough
//!
//! Suppose that the words say "all idle, as many received as sent", and some worker has taken a
//! message of this window after it stored its word. Take the first such message. Its sender sent it
//! before it stored its own word: it was idle after that, and would have had to take a message
//! first. So the message counts as sent and not as received. As the sums are equal, another message
//! counts as received and not as sent: its sender stored its word, then (WORD-A) stored that it is
//! active, then sent. The receiver took that message and then stored the word that was read. The
//! second read of the sender's word comes after all of that, so it finds another word than the
//! first read. Counts only grow, so a word does not return. (Four counters: Mattern, *Algorithms
//! for distributed termination detection*, 1987.)
//!
//! # Happens-before edges
//!
//! | Edge   | Release side       | Acquire side        | Publishes                         |
//! |--------|--------------------|---------------------|-----------------------------------|
//! | WORD-1 | each worker, word  | the others, word    | what it has done in its windows   |

use warpline_memory::CachePadded;

use crate::sync::{AtomicU64, Ordering, point};

/// Bits of a window's number in a word.
const WINDOW_BITS: u32 = 15;
/// Bits of a count in a word.
const COUNT_BITS: u32 = 24;

/// What a worker publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    /// The worker has handled everything that it knows of its oldest open window.
    pub(crate) const fn idle(window: u64, sent: u64, received: u64) -> Self {
        let Self(active) = Self::active(window);
        Self(active | 1 << 63 | low(sent) << COUNT_BITS | low(received))
    }

    /// The worker handles something in its oldest open window.
    pub(crate) const fn active(window: u64) -> Self {
        Self((window % (1 << WINDOW_BITS)) << (2 * COUNT_BITS))
    }

    const fn window(self) -> u64 {
        self.0 >> (2 * COUNT_BITS) & ((1 << WINDOW_BITS) - 1)
    }

    const fn is_idle(self) -> bool {
        self.0 >> 63 == 1
    }

    const fn sent(self) -> u64 {
        low(self.0 >> COUNT_BITS)
    }

    const fn received(self) -> u64 {
        low(self.0)
    }
}

const fn low(count: u64) -> u64 {
    count & ((1 << COUNT_BITS) - 1)
}

/// The words of all workers.
#[derive(Debug)]
pub(crate) struct Words(Box<[CachePadded<Line>]>);

/// What a worker publishes, in a cache line of its own.
#[derive(Debug)]
struct Line {
    word: AtomicU64,
    /// Events that it has committed.
    committed: AtomicU64,
}

impl Words {
    pub(crate) fn new(workers: usize) -> Self {
        let line =
            || Line { word: AtomicU64::new(Word::active(0).0), committed: AtomicU64::new(0) };
        Self((0..workers).map(|_| CachePadded::new(line())).collect())
    }

    /// Publishes the word of worker `me`.
    #[inline]
    pub(crate) fn publish(&self, me: usize, word: Word) {
        point();
        // Ordering: Release, edge WORD-1.
        self.0[me].word.store(word.0, Ordering::Release);
    }

    /// Publishes how many events worker `me` has committed.
    #[inline]
    pub(crate) fn publish_committed(&self, me: usize, events: u64) {
        // Ordering: Relaxed, here and below; a count for the control of widths, and for people.
        debug_assert!(
            self.0[me].committed.load(Ordering::Relaxed) <= events,
            "SPEC-D: worker {me} takes commits back"
        );
        self.0[me].committed.store(events, Ordering::Relaxed);
    }

    /// About how many events all workers have committed.
    pub(crate) fn committed(&self) -> u64 {
        // Ordering: Relaxed, see `publish_committed`.
        self.0.iter().map(|line| line.committed.load(Ordering::Relaxed)).sum()
    }

    fn read(&self, worker: usize) -> Word {
        point();
        // Ordering: Acquire, edge WORD-1.
        Word(self.0[worker].word.load(Ordering::Acquire))
    }

    /// Whether a window is committed, which is the oldest one that the caller has open and idle.
    /// `seen` is kept for its memory.
    #[inline]
    pub(crate) fn is_committed(&self, window: u64, seen: &mut Vec<Word>) -> bool {
        let (this, next) = (Word::active(window).window(), Word::active(window + 1).window());
        debug_assert_ne!(this, next, "WORD-B: two windows have one number");
        let (mut all_idle, mut in_flight) = (true, 0_u64);
        seen.clear();
        for worker in 0..self.0.len() {
            let word = self.read(worker);
            // Another worker has found that the window is committed.
            if word.window() == next {
                return true;
            }
            // The others wait for this worker, which has not come to the next window.
            debug_assert!(
                word.window().wrapping_sub(this) & ((1 << WINDOW_BITS) - 1)
                    >= 1 << (WINDOW_BITS - 1)
                    || word.window() == this,
                "WORD-B: worker {worker} has committed a window before worker {} is idle in it",
                seen.len()
            );
            all_idle &= word.is_idle() && word.window() == this;
            in_flight = in_flight.wrapping_add(word.sent()).wrapping_sub(word.received());
            seen.push(word);
        }
        all_idle
            && low(in_flight) == 0
            && seen.iter().enumerate().all(|(worker, &word)| self.read(worker) == word)
    }

    /// Whether all workers have committed all windows before `window`: nothing of them is needed by
    /// anybody.
    pub(crate) fn all_are_past(&self, window: u64) -> bool {
        (0..self.0.len()).all(|worker| {
            let ahead = self.read(worker).window().wrapping_sub(Word::active(window).window());
            low(ahead) & ((1 << WINDOW_BITS) - 1) < 1 << (WINDOW_BITS - 1)
        })
    }
}
