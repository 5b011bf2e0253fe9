//! What a run does that is not simulated: nothing.

pub(crate) use std::time::Instant;

/// Another worker may run here.
#[inline(always)]
pub(crate) const fn point() {}

/// The worker waits for others; returns whether that was simulated.
#[inline(always)]
pub(crate) const fn waits() -> bool {
    false
}

/// Whether the worker does not see yet what others have sent.
#[inline(always)]
pub(crate) const fn is_mail_late() -> bool {
    false
}

/// The number of requested resizes, as this worker sees it.
#[inline(always)]
pub(crate) const fn seen(requested: u64) -> u64 {
    requested
}

/// The worker sees all that others have done.
#[inline(always)]
pub(crate) const fn sees_all() {}

/// Reasons for a resize that the simulation requests.
#[inline(always)]
pub(crate) const fn requests() -> u64 {
    0
}

/// A level of widths that the simulation chooses.
#[inline(always)]
pub(crate) const fn level() -> Option<i32> {
    None
}

/// A limit, which is lower in a simulation.
#[inline(always)]
pub(crate) const fn limit(limit: u64) -> u64 {
    limit
}

/// How many LPs make a tile, as a power of two; fewer in a simulation.
#[inline(always)]
pub(crate) const fn tile_bits(bits: u32) -> u32 {
    bits
}

/// The capacity of a ring, which is smaller in a simulation.
#[inline(always)]
pub(crate) const fn ring_capacity(capacity: usize) -> usize {
    capacity
}
