//! The index of an LP among those of its worker, in a type of its own: the number of an LP in its
//! model is an [`LpId`](warpline_core::LpId), and one is no use where the other is asked for.
//!
//! Engines with several workers use it; [`placement`](crate::placement) says which LP has which
//! index.

use std::fmt;

/// The index of an LP among those of its worker; not its number in the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(transparent)]
pub(crate) struct LocalLp(u32);

impl LocalLp {
    #[inline]
    pub(crate) const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The LP at a position in a table of all LPs of its worker.
    #[inline]
    pub(crate) const fn from_index(index: usize) -> Self {
        debug_assert!(index <= u32::MAX as usize, "another LP has that index");
        Self(index as u32)
    }

    #[inline]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// The position of the LP in a table of all LPs of its worker.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for LocalLp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the worker's LP {}", self.0)
    }
}

impl fmt::Display for LocalLp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

const _: () = assert!(size_of::<LocalLp>() == size_of::<u32>());
