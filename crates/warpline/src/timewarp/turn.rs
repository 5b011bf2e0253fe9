//! How a turn of the main loop ends, and a run.
//!
//! Called by whatever takes turns.

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Events were handled.
    Worked,
    /// The worker had no event that it could or may handle.
    Idle,
}

/// How a run ends for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// GVT has reached the end.
    Finished,
    /// The run was told to stop: all events that are not committed were undone.
    Interrupted,
    /// The run failed.
    Failed,
}
