//! What the code calls that `#[derive(State)]`, `#[derive(Value)]` and `#[derive(Statistics)]`
//! write. It is no interface for anybody else, and may change at any time.
//!
//! Fields are written and read one after the other: `at` is where the next one begins. All of it is
//! inlined, and the places become constants.

pub use crate::undo::{Moves, Owned, State, Undo, UndoLog, Value};

/// What the code of `#[derive(Statistics)]` calls.
pub mod statistics {
    pub use crate::{
        Figure, Picture, Results, VirtualTime,
        statistics::{Findings, Label, Statistics},
    };

    /// The statistics of all LPs, merged in their order.
    pub fn merged<S: Statistics>(summaries: impl Iterator<Item = S>) -> S {
        summaries.fold(S::default(), |mut all, one| {
            all.merge(&one);
            all
        })
    }
}

/// The words that a field is written to.
#[inline(always)]
pub fn next_mut<'w>(to: &'w mut [u64], at: &mut usize, words: usize) -> &'w mut [u64] {
    let begin = *at;
    *at += words;
    &mut to[begin..][..words]
}

/// The words that a field is read from.
#[inline(always)]
pub fn next<'w>(from: &'w [u64], at: &mut usize, words: usize) -> &'w [u64] {
    let begin = *at;
    *at += words;
    &from[begin..][..words]
}

/// The words of the largest variant.
#[must_use]
pub const fn largest(variants: &[usize]) -> usize {
    let (mut largest, mut next) = (0, 0);
    while next < variants.len() {
        if variants[next] > largest {
            largest = variants[next];
        }
        next += 1;
    }
    largest
}

/// Checks that the fields of a variant are restored to the variant that they are of.
#[inline]
pub fn same_variant(of: &str, saved: u64, now: u64) {
    assert!(
        saved == now,
        "`{of}` derives `State`, and a handler made another variant of it (number {now}, which was \
         {saved}): let it derive `Value` and be in a `Tracked`, or have a field that does"
    );
}

/// A value is read where none was written.
#[cold]
pub fn no_variant(of: &str, number: u64) -> ! {
    panic!("UNDO-B: `{of}` has no variant number {number}")
}
