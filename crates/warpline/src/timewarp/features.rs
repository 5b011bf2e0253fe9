//! What the loop over events asks for: it is compiled twice.
//!
//! Memory limits, a timeline, costs, other ranks, sparse copies and the like each ask a question at
//! each event, or at each send. Most runs have none of them. So
//! [`processing`](super::processing), the sink of handlers and
//! [`fossil_collection`](super::fossil_collection) have a parameter `FULL`: where it is false, they
//! ask for none of these. A worker takes one of the two for the whole run. Only these are compiled
//! twice, because all else is done once per turn, per rollback or per GVT.
//!
//! # Invariants
//!
//! - **PLAIN-A.** A worker that does not ask has none of the features: what it would ask for is
//!   decided by the settings, before the run. Checked at each event; and
//!   `tests/timewarp_features.rs` compares both on the same run.

use warpline_core::Model;

use super::shared::TimeWarpShared;

impl<M: Model> TimeWarpShared<M> {
    /// Whether the run has none of the features that are asked for at each event.
    pub(super) fn is_plain(&self) -> bool {
        let engine = &self.settings.engine;
        self.settings.memory.is_none()
            && engine.saving.copies_all()
            && !engine.pool.is_on_the_fly()
            && !engine.instrumentation.measure_costs
            && self.timeline.is_none()
            && self.memory.is_none()
            && self.halves.is_none()
            && self.remote.is_none()
    }
}
