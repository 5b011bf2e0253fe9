//! The order of events: each event has a key, which is the same in every engine.
//!
//! Engines make a key when an event is sent, and compare keys wherever they order events.
//!
//! # Invariants
//!
//! - **KEY-A.** An event sorts after the event that sent it: its receive time is later, or the
//!   times are equal and its step is one higher.
//! - **KEY-B.** Two events of a run never have the same key, because a sender numbers its events.
//! - **KEY-C.** A key does not depend on arrival, threads or addresses, so a handler that is
//!   executed again makes the same keys.

use std::{cmp::Ordering, fmt, num::NonZeroU64};

use crate::{LpId, VirtualTime};

/// The most zero-delay events in a chain at one virtual time; a longer chain is an error.
pub const STEP_MAX: u32 = 1_000_000;

/// The position of an event in the order of all events: receive time, step, sender, sequence.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventKey {
    time: u64,
    /// The step in the high half and the sender in the low half, so that they compare as one.
    step_and_sender: u64,
    /// The sequence number plus one. It is never zero, so an `Option` of an event is no larger
    /// than the event.
    sequence_and_one: NonZeroU64,
}

impl EventKey {
    /// The key of the event that `sender` sends as its `sequence`-th, due at `time`.
    ///
    /// `step` is 0, or one more than the cause's step when the delay is zero (superdense time).
    #[inline]
    #[must_use]
    pub const fn new(time: VirtualTime, step: u32, sender: LpId, sequence: u64) -> Self {
        Self {
            time: time.to_ordered_bits(),
            step_and_sender: (step as u64) << 32 | sender.get() as u64,
            sequence_and_one: NonZeroU64::MIN.saturating_add(sequence),
        }
    }

    /// When the event takes effect at its receiver, as a plain number.
    #[inline]
    #[must_use]
    pub const fn time_value(&self) -> f64 {
        f64::from_bits(self.time)
    }

    /// When the event takes effect at its receiver.
    #[inline]
    #[must_use]
    pub fn time(&self) -> VirtualTime {
        VirtualTime::from_ordered_bits(self.time)
    }

    /// The number of zero-delay events in the chain that led to this one.
    #[inline]
    #[must_use]
    pub const fn step(&self) -> u32 {
        (self.step_and_sender >> 32) as u32
    }

    /// The LP that sent the event.
    #[inline]
    #[must_use]
    pub const fn sender(&self) -> LpId {
        LpId::new(self.step_and_sender as u32)
    }

    /// The number of events that the sender had sent before this one.
    #[inline]
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.sequence_and_one.get() - 1
    }

    /// The key with these [`words`](Self::words), or `None` if they are not those of a key.
    #[inline]
    #[must_use]
    pub fn from_words([time, step_and_sender, sequence_and_one]: [u64; 3]) -> Option<Self> {
        let time = VirtualTime::new(f64::from_bits(time)).ok()?.to_ordered_bits();
        let sequence_and_one = NonZeroU64::new(sequence_and_one)?;
        Some(Self { time, step_and_sender, sequence_and_one })
    }

    /// The three words of the key, for digests and for other ranks: time, step and sender, sequence
    /// number plus one.
    #[inline]
    #[must_use]
    pub const fn words(&self) -> [u64; 3] {
        [self.time, self.step_and_sender, self.sequence_and_one.get()]
    }
}

impl Ord for EventKey {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.words().cmp(&other.words())
    }
}

impl PartialOrd for EventKey {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // Ties are rare, so one comparison of the times nearly always decides.
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        if self.time != other.time {
            return self.time < other.time;
        }
        (self.step_and_sender, self.sequence_and_one)
            < (other.step_and_sender, other.sequence_and_one)
    }
}

impl fmt::Debug for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventKey")
            .field("time", &self.time_value())
            .field("step", &self.step())
            .field("sender", &self.sender())
            .field("sequence", &self.sequence())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(parts: (f64, u32, u32, u64)) -> EventKey {
        let (time, step, sender, sequence) = parts;
        EventKey::new(VirtualTime::new(time).unwrap(), step, LpId::new(sender), sequence)
    }

    fn parts() -> impl Strategy<Value = (f64, u32, u32, u64)> {
        (prop_oneof![Just(0.0), Just(1.0), 0.0..1e9], 0..3u32, 0..3u32, 0..3u64)
    }

    proptest! {
        /// `cmp` and `lt` order keys as tuples (time, step, sender, sequence).
        #[test]
        fn orders_as_the_tuple(a in parts(), b in parts()) {
            let expected = a.partial_cmp(&b).unwrap();
            prop_assert_eq!(key(a).cmp(&key(b)), expected);
            prop_assert_eq!(key(a) < key(b), expected == Ordering::Less);
        }

        /// KEY-A: an event sorts after the one that sent it, whichever LP sends it.
        #[test]
        fn effects_sort_after_causes(cause in parts(), delay in 1e-6..1e9, sequence in 0..3u64) {
            let (time, step, sender, _) = cause;
            let later = key((time + delay, 0, sender, sequence));
            let at_once = key((time, step + 1, sender, sequence));
            prop_assert!(key(cause) < at_once && at_once < later || time + delay == time);
        }

        /// KEY-B: the keys of two events are equal only if sender and number are.
        #[test]
        fn keeps_its_parts(a in parts()) {
            let k = key(a);
            prop_assert_eq!((k.time().get(), k.step(), k.sender().get(), k.sequence()), a);
            prop_assert_eq!(EventKey::from_words(k.words()), Some(k));
        }
    }
}
