//! Identifiers: a type for the numbers of LPs, so that they are not confused with other integers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a logical process: `0` to the model's `lp_count` less one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct LpId(u32);

impl LpId {
    /// The LP with this number. Engines check that it exists when an event is sent to it.
    #[inline]
    #[must_use]
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The LP at a position in a table of all LPs.
    ///
    /// # Panics
    ///
    /// If the position does not fit into 32 bits; no engine holds that many LPs.
    #[inline]
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("the number of an LP fits into 32 bits"))
    }

    /// The number itself.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The position of the LP in a table of all LPs.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for LpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LP {}", self.0)
    }
}

impl fmt::Display for LpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
