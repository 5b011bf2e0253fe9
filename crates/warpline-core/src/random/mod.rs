//! Random numbers: each LP has a stream, which is saved and rolled back with it.
//!
//! The generator is the 128-bit multiplicative one of PCG: it has 16 bytes of state, so saving it
//! costs little. It draws what `Pcg64Mcg` of the `rand` family draws, which has no draws through a
//! shared reference.
//!
//! # Distributions
//!
//! All of them use only integer and IEEE arithmetic and the `libm` crate, so a seed gives the same
//! numbers on every platform, in every engine, and to handlers in Python. None keeps anything from
//! one draw to the next, which a rollback would not restore.
//!
//! - Any number: [`normal`](Stream::normal), [`truncated_normal`](Stream::truncated_normal).
//! - Above 0: [`exponential`](Stream::exponential), [`erlang`](Stream::erlang),
//!   [`gamma`](Stream::gamma), [`lognormal`](Stream::lognormal),
//!   [`lognormal_with_mean`](Stream::lognormal_with_mean), [`weibull`](Stream::weibull).
//! - In an interval: [`uniform`](Stream::uniform), [`uniform_in`](Stream::uniform_in),
//!   [`triangular`](Stream::triangular), [`beta`](Stream::beta), and any other by
//!   [`truncated`](Stream::truncated).
//! - Whole numbers: [`below`](Stream::below), [`lp`](Stream::lp), [`chance`](Stream::chance),
//!   [`poisson`](Stream::poisson), [`binomial`](Stream::binomial),
//!   [`geometric`](Stream::geometric).
//! - From tables: [`discrete`](Stream::discrete), [`empirical`](Stream::empirical).
//! - Among things: [`choice`](Stream::choice), [`shuffle`](Stream::shuffle),
//!   [`permutation`](Stream::permutation).
//!
//! # Parameters that are out of their range
//!
//! Every draw ends, whatever its parameters are, and none panics. A parameter that is out of the
//! range that is said, or NaN, makes the number of a continuous distribution NaN, and a delay that
//! is NaN ends the run with an error that says where. (`uniform_in` and `exponential` compute with
//! any parameter.) Those of the whole numbers count as the nearest that is in the range. Where a
//! parameter is infinite, what is drawn may be infinite or NaN. A table refuses wrong numbers when
//! it is made.
//!
//! # Other distributions
//!
//! A [`Stream`] and a `&Stream` are generators of `rand_core` 0.10, which `rand` 0.10 and
//! `rand_distr` 0.6 use, so all that these have works on it: `zipf.sample(&mut cx.rng())`. Their
//! numbers are not the same on every platform, nor from version to version: they take their
//! logarithms from the platform or from `libm`, depending on features that any crate in the build
//! may have switched on.

use std::{cell::Cell, convert::Infallible, fmt};

use rand_core::{TryRng, utils::fill_bytes_via_next_word};

use crate::{LpId, mix::mix};

mod continuous;
mod discrete;
mod exponential;
mod normal;
mod sampling;
mod tables;
#[cfg(test)]
mod tests;
mod ziggurat;

pub use tables::{Discrete, Empirical, TableError};

/// What each draw multiplies the state by (M. E. O'Neill, *PCG: A Family of Simple Fast
/// Space-Efficient Statistically Good Algorithms for Random Number Generation*, 2014).
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// The stream of random numbers of one LP.
///
/// All draws take `&self`, so that one can stand in the call that uses it:
/// `cx.send(cx.rng().lp(lps), cx.rng().exponential(1.0), message)`. To the traits of the `rand`
/// family both a `Stream` and a `&Stream` are generators: `law.sample(&mut cx.rng())`.
#[derive(Clone, PartialEq, Eq)]
pub struct Stream(Cell<u128>);

impl Stream {
    /// The stream of LP `lp` in a run with seed `seed`.
    #[must_use]
    pub fn for_lp(seed: u64, lp: LpId) -> Self {
        let low = mix(seed, u64::from(lp.get()));
        let high = mix(low, seed.rotate_left(32) ^ u64::from(lp.get()));
        Self::from_words([low, high])
    }

    /// The seed of replication number `replication` of a run with seed `seed`.
    ///
    /// Replication 0 is the run itself.
    #[must_use]
    pub fn replication_seed(seed: u64, replication: u64) -> u64 {
        if replication == 0 { seed } else { mix(seed, mix(replication, replication)) }
    }

    /// The stream that [`words`](Self::words) was called on. Handlers in another language draw by
    /// themselves.
    ///
    /// Each draw multiplies the 128-bit state by 0x2360ed051fc65da44385df649fccf645, modulo
    /// 2<sup>128</sup>; its bits are then the exclusive or of the two halves, rotated to the right
    /// by the state's highest 6 bits (PCG, XSL-RR).
    #[inline]
    #[must_use]
    pub fn from_words([low, high]: [u64; 2]) -> Self {
        // The state is always odd.
        Self(Cell::new(u128::from(high) << 64 | u128::from(low) | 1))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&self) -> u64 {
        let state = self.0.get().wrapping_mul(MULTIPLIER);
        self.0.set(state);
        let folded = (state >> 64) as u64 ^ state as u64;
        folded.rotate_right((state >> 122) as u32)
    }

    /// Uniform in `0.0 <= x < 1.0`, a multiple of 2<sup>-53</sup>.
    #[inline]
    pub fn uniform(&self) -> f64 {
        to_unit(self.bits())
    }

    /// Uniform in `low <= x < high`; `low` if the two are equal.
    #[inline]
    pub fn uniform_in(&self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform among the integers `0 <= n < bound`, and 0 for a bound of 0.
    ///
    /// It takes one multiplication and no rejection; the probability of each integer is right up to
    /// 2<sup>-64</sup>.
    #[inline]
    pub fn below(&self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// An LP: each of LP 0 to LP `lps - 1` with the same probability; LP 0 if `lps` is 0.
    ///
    /// It is the receiver of a message that may go to any LP of the model: `cx.rng().lp(lps)`. It
    /// draws what [`below`](Self::below) draws with the same bound.
    ///
    /// # Panics
    ///
    /// If the number of the LP does not fit into 32 bits; no engine holds that many LPs.
    #[inline]
    pub fn lp(&self, lps: usize) -> LpId {
        LpId::from_index(self.below(lps as u64) as usize)
    }

    /// True with probability `p`; never for 0, always for 1.
    #[inline]
    pub fn chance(&self, p: f64) -> bool {
        self.uniform() < p
    }

    /// The state of the generator, for a digest.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; 2] {
        let state = self.0.get();
        [state as u64, (state >> 64) as u64]
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x})", self.0.get())
    }
}

impl TryRng for &Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.bits() as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.bits())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        (&*self).try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        (&*self).try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        (&*self).try_fill_bytes(bytes)
    }
}

/// The high 53 bits as a number in `0.0 <= x < 1.0`.
#[inline]
fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Whether a candidate is rejected. A NaN is not, which ends the loop that draws candidates.
#[inline]
fn is_above(candidate: f64, bound: f64) -> bool {
    candidate > bound
}

/// Random `bits` as a whole number below `bound`, and as a uniform number below 1: the halves of a
/// product.
#[inline]
fn split(bits: u64, bound: u64) -> (u64, f64) {
    let product = u128::from(bits) * u128::from(bound);
    ((product >> 64) as u64, to_unit(product as u64))
}
