//! What a worker writes its records for the timeline with.
//!
//! Called by [`recording`](super::recording).

use crate::timeline::{LentRecorder, Phase};

/// What a worker writes its records with.
pub(super) struct Trace {
    pub(super) recorder: LentRecorder,
    pub(super) phase: Phase,
    /// Events committed and deadlocks found before the phase.
    pub(super) before: [u64; 2],
}

impl Trace {
    /// For a worker of a run that has a timeline. The worker makes its LPs at first.
    pub(super) fn new(recorder: Option<LentRecorder>) -> Option<Box<Self>> {
        let mut recorder = recorder?;
        recorder.begin(Phase::Start);
        Some(Box::new(Self { recorder, phase: Phase::Start, before: [0; 2] }))
    }
}
