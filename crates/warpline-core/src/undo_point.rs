//! Where an LP is in its history: what tracked state needs to know before it logs a write.

/// The position of an event in the history of its LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoPoint {
    /// The number of the event that is being handled; it increases along the history of the LP.
    pub event: u64,
    /// Events with a lower number will never be undone.
    pub committed: u64,
}

impl UndoPoint {
    /// For an engine that never undoes writes in this way.
    pub const NEVER: Self = Self { event: 0, committed: u64::MAX };
}
