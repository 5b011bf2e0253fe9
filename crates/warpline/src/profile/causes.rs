//! Which event sent an event: found from the key of what it sent.
//!
//! A key names its sender and a sequence number, and an LP numbers what it sends in order: so an
//! event sends the numbers of a range, and the cause of a key is the event with the range that its
//! number is in. No event has to carry its cause. [`Profiler`](super::Profiler) calls this for each
//! event.
//!
//! # Invariants
//!
//! - **CAUSE-A.** The ranges of an LP are in the order of their first numbers. A range of which a
//!   number is still pending is there.
//! - **CAUSE-B.** Of an LP, no more ranges are kept that are handled completely than others, or
//!   eight: memory is in proportion to pending events and LPs.

use std::{collections::VecDeque, ops::Range};

use warpline_core::{EventKey, LpId};

/// Ranges that are handled completely and that are kept whatever the others are.
const DEAD_MIN: usize = 8;

/// An event that sent others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// Its number, in the order of the keys of all events.
    pub(super) number: u64,
    /// The end of the longest chain that ends with it.
    pub(super) finish: u64,
}

/// What the events of all LPs have sent.
#[derive(Debug, Default)]
pub(super) struct Causes {
    lps: Vec<Sent>,
}

/// What the events of one LP have sent.
#[derive(Debug, Default)]
struct Sent {
    ranges: VecDeque<Sends>,
    /// How many of them are handled completely.
    dead: usize,
}

/// What one event has sent.
#[derive(Debug)]
struct Sends {
    first: u64,
    /// How many of them are not handled yet.
    pending: u64,
    by: Cause,
}

impl Causes {
    /// Notes that an event of an LP has sent the events with these numbers.
    pub(super) fn add(&mut self, lp: LpId, numbers: &Range<u64>, by: Cause) {
        if numbers.is_empty() {
            return;
        }
        if lp.index() >= self.lps.len() {
            self.lps.resize_with(lp.index() + 1, Sent::default);
        }
        let pending = numbers.end - numbers.start;
        debug_assert!(
            self.lps[lp.index()].ranges.back().is_none_or(|last| last.first < numbers.start),
            "CAUSE-A: {lp} has sent an event before an earlier one"
        );
        self.lps[lp.index()].ranges.push_back(Sends { first: numbers.start, pending, by });
    }

    /// The cause of the event with this key, which is handled now; `None` if an LP sent it at its
    /// start.
    pub(super) fn take(&mut self, key: &EventKey) -> Option<Cause> {
        self.lps.get_mut(key.sender().index())?.take(key.sequence())
    }
}

impl Sent {
    fn take(&mut self, number: u64) -> Option<Cause> {
        // What was sent at the start comes before all ranges.
        let place = self.ranges.partition_point(|sends| sends.first <= number).checked_sub(1)?;
        let sends = &mut self.ranges[place];
        let by = sends.by;
        debug_assert!(sends.pending > 0, "CAUSE-B: event {number} is handled twice");
        sends.pending -= 1;
        if sends.pending == 0 {
            self.dead += 1;
            self.forget();
        }
        Some(by)
    }

    /// Drops ranges that are handled completely: those at the front at once, the others when there
    /// are many.
    fn forget(&mut self) {
        while self.ranges.front().is_some_and(|sends| sends.pending == 0) {
            self.ranges.pop_front();
            self.dead -= 1;
        }
        if self.dead > DEAD_MIN && self.dead > self.ranges.len() - self.dead {
            self.ranges.retain(|sends| sends.pending > 0);
            debug_assert!(!self.ranges.is_empty(), "CAUSE-B: all of many ranges were done");
            self.dead = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};
    use warpline_core::VirtualTime;

    const LP: LpId = LpId::new(3);

    fn key(number: u64) -> EventKey {
        EventKey::new(VirtualTime::ZERO, 0, LP, number)
    }

    proptest! {
        /// CAUSE-A: events are found by what they sent, in whatever order that is handled.
        #[test]
        fn finds_the_cause(
            at_start in 0..4_u64,
            counts in vec(0..4_u64, 1..60),
            order in vec(any::<prop::sample::Index>(), 300),
        ) {
            let mut causes = Causes::default();
            let mut pending: Vec<(u64, Option<Cause>)> = (0..at_start).map(|n| (n, None)).collect();
            let mut next = at_start;
            let mut order = order.into_iter();
            for (number, count) in (0_u64..).zip(counts) {
                let by = Cause { number, finish: 7 * number };
                causes.add(LP, &(next..next + count), by);
                pending.extend((next..next + count).map(|sent| (sent, Some(by))));
                next += count;
                // About as many are handled as are sent.
                for index in order.by_ref().take(2) {
                    if !pending.is_empty() {
                        let (sent, by) = pending.swap_remove(index.index(pending.len()));
                        prop_assert_eq!(causes.take(&key(sent)), by);
                    }
                }
            }
            for (sent, by) in pending {
                prop_assert_eq!(causes.take(&key(sent)), by);
            }
            prop_assert!(causes.lps.iter().all(|lp| lp.ranges.is_empty() && lp.dead == 0));
        }
    }

    /// CAUSE-B: an event that stays pending for long does not keep all that was sent after it.
    #[test]
    fn forgets_behind_what_is_pending() {
        let mut causes = Causes::default();
        for number in 0..1000 {
            let by = Cause { number, finish: 0 };
            causes.add(LP, &(number..number + 1), by);
            if number > 0 {
                assert_eq!(causes.take(&key(number)), Some(by));
            }
        }
        assert!(causes.lps[LP.index()].ranges.len() <= DEAD_MIN + 2);
        assert_eq!(causes.take(&key(0)), Some(Cause { number: 0, finish: 0 }));
    }
}
