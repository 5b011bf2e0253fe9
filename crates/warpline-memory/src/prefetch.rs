//! A hint to the cache that a value will be needed soon. Engines call it ahead of an access.

/// Starts to load the cache line at `place` on machines that can; it never changes a result.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    prefetch_at(place);
}

/// The same for the last cache line of a value too: for one of up to two lines, which may begin
/// anywhere in the first.
#[inline(always)]
pub fn prefetch_ends<T>(place: &T) {
    prefetch_at(place);
    prefetch_at(std::ptr::from_ref(place).wrapping_byte_add(size_of::<T>().saturating_sub(1)));
}

/// The same for an address at which there need not be anything.
#[inline(always)]
#[cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the instruction is only reachable through an intrinsic")
)]
pub(crate) fn prefetch_at<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing as far as the program can tell, and never faults; SSE,
        // which has it, is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
