//! The commit digest: equal digests mean that every LP committed equal events in the same order.
//!
//! Each LP chains the keys and fingerprints of its committed events. The digest of a run is the sum
//! of all chains, each mixed with the number of its LP and the final state of its random stream. A
//! sum can be taken in any order, over workers and over ranks.

use std::{fmt, str::FromStr};

use crate::{EventKey, LpId, Stream, mix::mix};

const START: u64 = 0x9e37_79b9_7f4a_7c15;
const EVENT_SECRET: u64 = 0x8ebc_6af0_9c88_c6e3;

/// The chain of the committed events of one LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LpDigest(u64);

impl LpDigest {
    /// The digest of an LP that has committed nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(START)
    }

    /// The chain as a number, for a file.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The chain with these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Appends one committed event.
    #[inline]
    pub fn commit(&mut self, key: &EventKey, fingerprint: u64) {
        let [time, step_and_sender, sequence] = key.words();
        // Two mixes run side by side; only the last one waits for the chain so far.
        let event = mix(time, step_and_sender.rotate_left(32) ^ sequence);
        self.0 = mix(self.0 ^ fingerprint, event ^ EVENT_SECRET);
    }
}

impl Default for LpDigest {
    fn default() -> Self {
        Self::new()
    }
}

/// The digest of a whole run, printed as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CommitDigest(u64);

impl CommitDigest {
    /// Adds one LP: its chain, its number, its random stream, and how many events it has sent.
    pub fn add_lp(&mut self, lp: LpId, chain: LpDigest, rng: &Stream, sent: u64) {
        let identity = mix(u64::from(lp.get()), sent);
        let [low, high] = rng.words();
        self.0 = self.0.wrapping_add(mix(mix(chain.0, identity), mix(low, high)));
    }

    /// The digest as a number, to be sent to another rank.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The digest with these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Combines the digests of two disjoint sets of LPs.
    #[must_use]
    pub const fn combine(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl fmt::Display for CommitDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for CommitDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CommitDigest {
    type Err = std::num::ParseIntError;

    fn from_str(digits: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(digits, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VirtualTime;

    fn event(time: f64, sequence: u64) -> EventKey {
        EventKey::new(VirtualTime::new(time).unwrap(), 0, LpId::new(1), sequence)
    }

    fn chain(events: &[(f64, u64)]) -> LpDigest {
        let mut chain = LpDigest::new();
        for &(time, sequence) in events {
            chain.commit(&event(time, sequence), 0);
        }
        chain
    }

    /// Order, loss, doubling and contents of the events of an LP all change its chain.
    #[test]
    fn chain_tells_histories_apart() {
        let histories =
            [&[(1.0, 0), (2.0, 1)][..], &[(2.0, 1), (1.0, 0)], &[(1.0, 0)], &[], &[(1.0, 0); 2]];
        for (i, a) in histories.iter().enumerate() {
            for (j, b) in histories.iter().enumerate() {
                assert_eq!(chain(a) == chain(b), i == j, "{a:?} {b:?}");
            }
        }
        let mut with_content = LpDigest::new();
        with_content.commit(&event(1.0, 0), 7);
        assert_ne!(with_content, chain(&[(1.0, 0)]));
    }

    /// Parts combine in any order, and swapping the histories of two LPs changes the digest.
    #[test]
    fn combines_in_any_order() {
        let (a, b) = (chain(&[(1.0, 0)]), chain(&[(2.0, 0)]));
        let rng = Stream::for_lp(1, LpId::new(0));
        let digest = |first: LpDigest, second: LpDigest| {
            let mut parts = [CommitDigest::default(); 2];
            parts[0].add_lp(LpId::new(0), first, &rng, 0);
            parts[1].add_lp(LpId::new(1), second, &rng, 0);
            assert_eq!(parts[0].combine(parts[1]), parts[1].combine(parts[0]));
            parts[0].combine(parts[1])
        };
        assert_ne!(digest(a, b), digest(b, a));
        assert_eq!(digest(a, b).to_string().parse(), Ok(digest(a, b)));
    }
}
