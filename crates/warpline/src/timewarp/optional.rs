//! What only some runs have: LPs that move, and a record of what workers do.
//!
//! Called by the files of these parts. Where a run has none, nothing is asked at an event
//! ([`policy`](super::policy)).

use super::{load::Meter, moves::Moves, trace::Trace};

/// The optional parts of one worker.
pub(super) struct Optional {
    /// Whether it has none of the parts that want something at each event
    /// ([`policy`](super::policy)).
    pub(super) is_plain: bool,
    pub(super) moves: Moves,
    pub(super) meter: Meter,
    /// If what it does is recorded.
    pub(super) trace: Option<Box<Trace>>,
}
