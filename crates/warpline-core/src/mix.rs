//! Mixes words: what digests and the seeds of random streams are made with.

const SECRETS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];

/// Mixes two words into one: the two halves of their 128-bit product, folded.
///
/// Used for digests and to derive seeds; not a cryptographic hash.
#[inline]
#[must_use]
pub const fn mix(a: u64, b: u64) -> u64 {
    let product = (a ^ SECRETS[0]) as u128 * (b ^ SECRETS[1]) as u128;
    product as u64 ^ (product >> 64) as u64
}
