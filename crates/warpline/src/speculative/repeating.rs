//! LPs that run differently when they handle their events again.
//!
//! What an LP has sent is found out by letting it handle its events once more from what was saved
//! of it ([`rollback`](super::rollback)), and so is its state where copies are sparse
//! ([`coasting`](super::coasting)). A model that depends on something that is not restored, as a
//! field that changes and is not saved, breaks that: the run fails with the LP's name.
//!
//! It is seen by where the LP has come, by an anti-message whose event is not there, or at last by
//! the number of events (SPEC-D). A model that has come to the same place by other events is not
//! seen; the engine `saving-check` and `--verify` are for that.

use warpline_core::{EventKey, LpId, Model};

use super::{event::Parity, resize::Reason, worker::SpeculativeWorker};
use crate::{
    event::{Buffer, Message},
    handling::Core,
    local_lp::LocalLp,
};

/// Where an LP has come at the end of a window in which it was handled.
pub(super) struct End {
    /// Whether it has stopped at an event, and the last one.
    events: (bool, Option<EventKey>),
    core: Core,
}

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// Where an LP has come at the end of a window in which it was handled.
    pub(super) fn end_of(&self, parity: Parity, local: LocalLp) -> End {
        debug_assert!(
            self.windows[parity.index()].has(local),
            "an LP without events in the window"
        );
        let core = if self.is_handled_later(parity, local) {
            self.windows[parity.other().index()].core_of(local)
        } else {
            &self.lps[local.index()].core
        };
        End { events: self.windows[parity.index()].end_of(local), core: core.clone() }
    }

    /// An LP has handled its events of a window again: fails unless it has come where it was.
    pub(super) fn check_repeated(&mut self, parity: Parity, local: LocalLp, before: &End) {
        debug_assert!(!self.sender.is_collecting(), "the LP is still handling its events");
        let is_same = self.lps[local.index()].core.has_come_to(&before.core)
            && self.windows[parity.index()].end_of(local) == before.events;
        // Where memory is limited, a handler may be cut off one time and not another.
        if !is_same && !self.sender.has_failed && !self.sender.is_limited() {
            self.fail_to_repeat(self.id(local), before.events.1);
        }
    }

    /// All slots before this one are over.
    #[inline]
    pub(super) fn advance(&mut self, first: u64) {
        self.sender.advance(first);
        if let Some(anti) = self.sender.calendar.take_stray() {
            self.fail_to_repeat(anti.sender(), None);
        }
    }

    /// An LP has run differently when it handled its events again, up to this one if that is known.
    /// What it has sent is not known, so the run is over.
    #[cold]
    pub(super) fn fail_to_repeat(&mut self, lp: LpId, last: Option<EventKey>) {
        debug_assert!(
            last.is_some() || lp.index() < self.sender.shared.model.lp_count(),
            "SPEC-C: an anti-message of {lp:?}, which there is not"
        );
        self.sender.shared.fail_to_repeat(self.sender.me, Some(lp), last);
        self.sender.has_failed = true;
        self.request_resize(Reason::END);
    }

    /// The number of an LP of this worker.
    pub(super) fn id(&self, local: LocalLp) -> LpId {
        self.sender.shared.directory.lps_of(self.sender.me)[local.index()]
    }
}
