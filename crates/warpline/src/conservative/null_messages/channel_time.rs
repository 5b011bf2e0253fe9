//! The times that null messages, channel bounds and EITs are made of: a virtual time and a step.
//!
//! A virtual time alone is too coarse. Zero-delay events take steps within an instant, and an LP
//! may handle all events of one step if only effects of that step can still arrive, which are due a
//! step later.
//!
//! # Invariants
//!
//! - **CHANNEL-A.** No effect of a cause, on a link with a given lookahead, is before
//!   [`ChannelTime::after`] of the cause. It is computed as `Admission::admit` computes it, so both
//!   round alike, and it never decreases when the cause's time does not. Checked by the test below.

use warpline_core::EventKey;
use warpline_graph::ReadyNode;

use crate::{local_lp::LocalLp, run::KeyBound};

/// A virtual time and a step within it.
///
/// It measures two things. As an *EIT* (earliest input time), a channel bound, or the position of
/// an event it is a place in the order of events, with the sender left out. As a *null-message
/// time* it is the position of a cause: its virtual time, and the step that its zero-delay effects
/// get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChannelTime {
    /// The bits of a virtual time, which is never negative: they compare as the times do.
    time: u64,
    step: u32,
}

impl ChannelTime {
    /// Before every event; also the null-message time of an LP that starts.
    pub(super) const START: Self = Self { time: 0, step: 0 };
    /// After every event.
    pub(super) const NEVER: Self = Self { time: u64::MAX, step: u32::MAX };

    /// The position of an event.
    #[inline]
    pub(super) fn of(key: &EventKey) -> Self {
        Self { time: key.words()[0], step: key.step() }
    }

    /// The null-message time of an LP whose next event is here or later.
    #[inline]
    pub(super) const fn as_cause(self) -> Self {
        Self { time: self.time, step: self.step.saturating_add(1) }
    }

    /// The earliest position of an effect of a cause with this null-message time.
    #[inline]
    pub(super) fn after(self, lookahead: f64) -> Self {
        debug_assert!(lookahead >= 0.0, "CHANNEL-A: a lookahead of {lookahead}");
        let now = f64::from_bits(self.time);
        let then = now + lookahead;
        // `NEVER` is not a number, so it compares false and stays as it is.
        if then > now { Self { time: then.to_bits(), step: 0 } } else { self }
    }

    /// Whether its virtual time is later, not only its step.
    #[inline]
    pub(super) const fn is_later_than(self, other: Self) -> bool {
        self.time > other.time
    }

    /// Whether it is before this virtual time.
    #[inline]
    pub(super) fn is_before(self, time: f64) -> bool {
        f64::from_bits(self.time) < time
    }

    /// The virtual time, unless it is never.
    pub(super) fn time(self) -> Option<f64> {
        Some(f64::from_bits(self.time)).filter(|time| time.is_finite())
    }

    /// The bound of the keys whose null-message times as causes are before this.
    pub(super) const fn bound_of_causes(self) -> KeyBound {
        [self.time, (self.step.saturating_sub(1) as u64) << 32, 0]
    }

    /// An LP whose next event is here, for the scheduler.
    #[inline]
    pub(super) const fn as_ready(self, local: LocalLp) -> ReadyNode {
        ReadyNode::new(local.get(), f64::from_bits(self.time), self.step)
    }

    /// The position that an LP was ready for.
    #[inline]
    pub(super) const fn of_ready(node: &ReadyNode) -> Self {
        Self { time: node.time().to_bits(), step: node.step }
    }

    pub(super) const fn to_words(self) -> [u64; 2] {
        [self.time, self.step as u64]
    }

    /// Reads what [`to_words`](Self::to_words) made. A step that is too large is never reached.
    pub(super) fn from_words([time, step]: [u64; 2]) -> Self {
        Self { time, step: u32::try_from(step).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpline_core::{LpId, VirtualTime};

    use super::*;
    use crate::handling::{Admission, Cause};

    proptest! {
        /// CHANNEL-A: an effect with at least the link's lookahead is not before what the null
        /// message promises, and a later cause promises no less.
        #[test]
        fn effects_keep_what_null_messages_promise(
            time in prop_oneof![0.0..100.0, 0.0..1e18, Just(0.0)],
            step in 0..3_u32,
            lookahead in prop_oneof![Just(0.0), Just(1e-17), 0.0..10.0],
            more in prop_oneof![Just(0.0), Just(1e-17), 0.0..10.0],
            later in prop_oneof![Just(0.0), 0.0..10.0],
        ) {
            let (me, to) = (LpId::new(0), LpId::new(1));
            let at = |time| EventKey::new(VirtualTime::new(time).expect("a time"), step, me, 0);
            let key = at(time);
            let promise = ChannelTime::of(&key).as_cause().after(lookahead);
            let cause = Cause::event(&key, me);
            let due = Admission::after(&cause, to, lookahead + more).expect("not negative");
            let step = if due > time { 0 } else { cause.next_step };
            let effect = EventKey::new(VirtualTime::new(due).expect("a time"), step, me, 1);
            prop_assert!(ChannelTime::of(&effect) >= promise, "{:?} before {:?}", effect, promise);
            let later = ChannelTime::of(&at(time + later)).as_cause().after(lookahead);
            prop_assert!(later >= promise, "{:?} before {:?}", later, promise);
        }
    }
}
