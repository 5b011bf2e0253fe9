//! Moments: what bounds and clocks are made of, as fine as the order of events needs it.
//!
//! A time alone is too coarse: zero-delay events take steps within an instant, and a process may
//! handle all events of one step when nothing can come but effects of it, which are a step further.
//!
//! # Invariants
//!
//! - **CHANNEL-A.** The effect of a cause, on a link with this lookahead, is not before
//!   [`ChannelTime::after`] of the cause's moment. It is computed as `Admission::admit` does it, so that
//!   both round alike; and it never decreases when the moment does not.

use warpline_core::EventKey;

/// A time and a step.
///
/// Two things are measured in it. A *bound* or a *position*: where an event is in the order of
/// events, its sender left out. And a *clock*, the moment of a cause: its time, and the step that a
/// zero-delay effect of it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChannelTime {
    time: u64,
    step: u32,
}

impl ChannelTime {
    /// Before every event; also the clock of a process that starts.
    pub(super) const START: Self = Self { time: 0, step: 0 };
    /// After every event.
    pub(super) const NEVER: Self = Self { time: u64::MAX, step: u32::MAX };

    /// Where an event is.
    #[inline]
    pub(super) fn of(key: &EventKey) -> Self {
        Self { time: key.words()[0], step: key.step() }
    }

    /// The clock of a process whose next event is here, or later.
    #[inline]
    pub(super) const fn as_cause(self) -> Self {
        Self { time: self.time, step: self.step.saturating_add(1) }
    }

    /// Where the first effect of a cause with this clock may be.
    #[inline]
    pub(super) fn after(self, lookahead: f64) -> Self {
        let now = f64::from_bits(self.time);
        let then = now + lookahead;
        // Never for no time at all: it is no number.
        if then > now { Self { time: then.to_bits(), step: 0 } } else { self }
    }

    /// Whether its time is later, not only its step.
    #[inline]
    pub(super) const fn is_later_than(self, other: Self) -> bool {
        self.time > other.time
    }

    /// Whether it is before this time.
    #[inline]
    pub(super) fn is_before(self, time: f64) -> bool {
        f64::from_bits(self.time) < time
    }

    /// The time, if there is one.
    pub(super) fn time(self) -> Option<f64> {
        Some(f64::from_bits(self.time)).filter(|time| time.is_finite())
    }

    pub(super) const fn to_words(self) -> [u64; 2] {
        [self.time, self.step as u64]
    }

    /// Takes a step that is none for one that is never reached.
    pub(super) fn from_words([time, step]: [u64; 2]) -> Self {
        Self { time, step: u32::try_from(step).unwrap_or(u32::MAX) }
    }
}
