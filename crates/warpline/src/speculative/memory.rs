//! The memory budget, where there is a limit: events and what their messages own, copies of states,
//! and undo logs. Without a limit nothing is counted.
//!
//! All workers take from one [`Budget`], a little more at a time than they need ([`Account`]).
//! Sends, and copies of states, are paid for before there is anything to be paid for: who finds
//! the budget empty is cut off or stops there, and requests a [resize](super::resize), after which
//! windows are narrower. If not even the events fit that are pending then, or those that are sent
//! while events are handled one by one, the run fails.
//!
//! # Invariants
//!
//! - **SPEC-F.** What workers hold is at most what they have taken from the budget, which is within
//!   the limit, but for what an LP of each worker writes to its undo log between two sends
//!   ([`paying`](super::paying)).

use std::sync::atomic::{AtomicU64, Ordering};

use warpline_core::UndoLog;
use warpline_memory::CachePadded;

/// How many events a worker pays for at once, at the most.
const EVENTS_AT_ONCE: u64 = 32;
/// All workers together have at most this part of the limit paid for in advance.
const IN_ADVANCE: u64 = 32;

/// The memory that all workers share.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) limit: Option<u64>,
    /// What they have taken. Ordering: Relaxed, here and below; counts.
    taken: CachePadded<AtomicU64>,
    peak: AtomicU64,
    /// What messages and copies of states own, a part of that: all that were made, less those that
    /// were dropped where that is easily known. A resize counts it anew.
    owned: AtomicU64,
    owned_peak: AtomicU64,
}

impl Budget {
    pub(super) fn new(limit: Option<u64>) -> Self {
        let [taken, peak, owned, owned_peak] = [(); 4].map(|()| AtomicU64::new(0));
        Self { limit, taken: CachePadded::new(taken), peak, owned, owned_peak }
    }

    #[inline]
    pub(super) const fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Takes memory, if there is as much.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let limit = self.limit.unwrap_or(u64::MAX);
        let more = |taken: u64| taken.checked_add(bytes).filter(|all| *all <= limit);
        let before = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        before.is_ok_and(|before| {
            self.peak.fetch_max(before + bytes, Ordering::Relaxed);
            true
        })
    }

    /// Takes memory that is in use already.
    pub(super) fn owe(&self, bytes: u64) {
        let all = self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(all, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: u64) {
        let before = self.taken.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "SPEC-F: {bytes} of {before} bytes are given back");
    }

    /// A message, or a copy of a state, owns so much.
    #[inline]
    pub(super) fn own(&self, bytes: u64) {
        if bytes > 0 {
            self.owned.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// It is dropped.
    #[inline]
    pub(super) fn disown(&self, bytes: u64) {
        if bytes > 0 {
            let before = self.owned.fetch_sub(bytes, Ordering::Relaxed);
            debug_assert!(before >= bytes, "SPEC-F: {bytes} of {before} bytes owned are dropped");
            self.owned_peak.fetch_max(before, Ordering::Relaxed);
        }
    }

    /// Counts anew: between windows, only pending events take memory, and their messages own a part
    /// of it. Returns whether that is within the limit.
    pub(super) fn count_anew(&self, events: u64, owned: u64) -> bool {
        let Some(limit) = self.limit else { return true };
        let all = events.saturating_add(owned);
        self.taken.store(all, Ordering::Relaxed);
        let before = self.owned.swap(owned, Ordering::Relaxed);
        self.owned_peak.fetch_max(before, Ordering::Relaxed);
        let fits = all <= limit;
        if fits {
            self.peak.fetch_max(all, Ordering::Relaxed);
        }
        fits
    }

    /// The most that was taken, if there is a limit.
    pub(super) fn peak(&self) -> Option<u64> {
        self.is_limited().then(|| self.peak.load(Ordering::Relaxed))
    }

    /// What messages and copies of states owned at the peak.
    pub(super) fn owned_peak(&self) -> u64 {
        let now = self.owned.load(Ordering::Relaxed);
        self.owned_peak.load(Ordering::Relaxed).max(now)
    }
}

/// What a worker has taken from the budget.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) is_limited: bool,
    /// Bytes that are paid for and not in use.
    pub(super) spare: u64,
    /// How many it pays for at once. None until all LPs have started, so that nobody is refused
    /// what another one has to spare.
    at_once: u64,
    /// Events that it has paid for, and not given up, since the last resize.
    pub(super) events: i64,
    /// Bytes paid for its undo log. Until the first window is opened, that is not looked at: what
    /// LPs write when they start is not undone.
    pub(super) log: u64,
    /// Where the log ended at the last look, and the most words that were written between two.
    log_back: u64,
    pub(super) log_words_most: usize,
    /// Whether it could not pay.
    pub(super) is_short: bool,
}

impl Account {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            is_limited: budget.is_limited(),
            spare: 0,
            at_once: 0,
            events: 0,
            log: u64::MAX,
            log_back: 0,
            log_words_most: 0,
            is_short: false,
        }
    }

    pub(super) fn pay(&mut self, budget: &Budget, bytes: u64) -> bool {
        debug_assert!(self.is_limited, "SPEC-F: {bytes} bytes are paid for, and there is no limit");
        if self.spare < bytes {
            let missing = bytes - self.spare;
            let much = missing.max(self.at_once);
            let taken = if budget.take(much) {
                much
            } else if much > missing && budget.take(missing) {
                missing
            } else {
                return false;
            };
            self.spare += taken;
        }
        self.spare -= bytes;
        true
    }

    /// Notes how much was written to the undo log since the last look.
    pub(super) fn look_at_log(&mut self, log: &UndoLog) {
        debug_assert_ne!(self.log, u64::MAX, "SPEC-F: no window is open yet");
        let words = log.back().saturating_sub(self.log_back) as usize;
        self.log_words_most = self.log_words_most.max(words);
        self.log_back = log.back();
    }

    /// Pays for what the undo log takes, or gets back what it does not take any more.
    pub(super) fn pay_log(&mut self, budget: &Budget, log: &UndoLog) -> bool {
        let bytes = log.bytes() as u64;
        if bytes > self.log && !self.pay(budget, bytes - self.log) {
            return false;
        }
        self.get_back(budget, self.log.saturating_sub(bytes));
        self.log = bytes;
        true
    }

    pub(super) fn get_back(&mut self, budget: &Budget, bytes: u64) {
        self.spare += bytes;
        if self.spare > 2 * self.at_once {
            budget.give_back(self.spare - self.at_once);
            self.spare = self.at_once;
        }
    }

    /// Nothing is in use any more that is not counted anew.
    pub(super) const fn give_up(&mut self) {
        (self.spare, self.log, self.is_short) = (0, 0, false);
    }

    /// The windows begin, with so many events, each of so many bytes, that are paid for.
    pub(super) fn begin(&mut self, budget: &Budget, workers: usize, events: u64, bytes: u64) {
        let Some(limit) = budget.limit else { return };
        debug_assert_eq!(self.log, 0, "SPEC-F: the undo log has room that is not counted");
        debug_assert!(!self.is_short, "SPEC-F: a shortage is forgotten");
        self.at_once = (EVENTS_AT_ONCE * bytes).min(limit / (IN_ADVANCE * workers as u64));
        // All that there is was counted anew.
        (self.spare, self.events) = (0, events as i64);
    }
}
