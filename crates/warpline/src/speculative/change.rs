//! What an LP has sent before a late event: it stays, as the LP runs there as it did before.
//!
//! [`rollback`](super::rollback) sets it, and handlers note in it how far the LP is.

use warpline_core::EventKey;

/// Where the events that an LP handles again differ from those that it has handled. Before that, it
/// runs as it did, so what it sends there is the same, whatever the messages are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// The first event that has come late, or is gone; none if there is no such event, or if the LP
    /// begins the window in another state.
    from: Option<EventKey>,
    /// How many events the LP has sent up to there: the number of the first send after that.
    pub(super) sent_before: u64,
}

impl Change {
    pub(super) const fn at(event: EventKey) -> Self {
        Self { from: Some(event), sent_before: 0 }
    }

    /// Takes note that the LP has handled an event, and has sent this number of events by now.
    #[inline]
    pub(super) fn note(&mut self, handled: &EventKey, sent: u64) {
        debug_assert!(self.sent_before <= sent, "SPEC-A: an LP has gone back");
        if self.from.is_some_and(|from| *handled < from) {
            self.sent_before = sent;
        }
    }
}
