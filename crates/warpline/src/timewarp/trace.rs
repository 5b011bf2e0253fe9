//! What a worker writes its records for the timeline with.
//!
//! Called by [`recording`](super::recording).

use warpline_core::Model;

use super::shared::TimeWarpShared;
use crate::timeline::LentRecorder;

/// What a worker writes its records with.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) recorder: LentRecorder,
    /// Events processed before the phase that goes on.
    pub(super) processed: u64,
}

impl Trace {
    /// For a worker of a run that has a timeline.
    pub(super) fn take<M: Model>(
        shared: &TimeWarpShared<M>,
        rank: usize,
        worker: usize,
    ) -> Option<Box<Self>> {
        let recorder = shared.timeline.as_ref()?.lend(rank, worker)?;
        Some(Box::new(Self { recorder, processed: 0 }))
    }
}
