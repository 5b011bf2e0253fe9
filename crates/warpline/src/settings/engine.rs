//! The engines, by name.

use crate::names::names;

names! {
    /// What executes the events. Every engine commits the same ones.
    #[non_exhaustive]
    pub enum Engine as "engine", default Sequential;
    /// One event after the other in the order of their keys: the oracle for all other engines.
    Sequential = "sequential";
    /// Workers handle only events that no earlier one can precede any more, so nothing is ever
    /// undone. Only for models that declare a [`lookahead`](warpline_core::Model::lookahead) or
    /// [`links`](warpline_core::Model::links).
    Conservative = "conservative";
    /// Time Warp: workers run ahead of each other, and undo what turns out to have been too early.
    TimeWarp = "timewarp";
    /// The sequential engine, but every event runs forward, back and forward again: finds the first
    /// LP and field that a reverse handler does not restore.
    ReverseCheck = "reverse-check";
}
