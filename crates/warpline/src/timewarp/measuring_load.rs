//! A worker shows and hands in what its LPs have done.
//!
//! Called at a new GVT, and by what moves LPs.

use warpline_core::Model;

use super::{load::Work, worker::Worker};

impl<M: Model> Worker<'_, M> {
    /// At a new GVT: shows what this worker has committed.
    pub(super) fn show_load(&mut self) {
        if let Some(moves) = &self.shared.moves {
            let (events, nanoseconds) = self.optional.meter.commit(self.statistics.committed);
            moves.loads[self.me].set(events, nanoseconds);
        }
    }

    /// A measurement begins.
    pub(super) fn begin_measurement(&mut self) {
        self.lps.iter_mut().for_each(|lp| lp.work = Work::default());
    }

    /// Hands in what the LPs have done since then.
    pub(super) fn hand_in_loads(&self) {
        if let Some(moves) = &self.shared.moves {
            let loads = self.lps.iter().map(|lp| (lp.id, lp.work.load(self.optional.meter.each)));
            moves.gathered.put(self.me, loads);
        }
    }
}
