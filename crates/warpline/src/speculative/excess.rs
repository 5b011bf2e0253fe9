//! When workers give up open windows: they have too many events, or waste too much.
//!
//! Called while a window is opened and where late events are handled; what then follows is the
//! matter of [`resizing`](super::resizing) and [`width`](super::width).
//!
//! The first windows of a run are as wide as its pending events suggest, and that may be wrong by
//! any factor: where one message in a thousand floods a network, what is pending says nothing of
//! the flood. So they may waste less than later ones, until a few are committed. (5 000 peers that
//! pass on what is new to them, two in a second: seven windows were given up after 50 ms each, in a
//! run that takes 26 ms sequentially.)

use warpline_core::Model;

use super::{event::Parity, resize::Reason, width::events_max, worker::SpeculativeWorker};
use crate::{
    event::{Buffer, Message},
    scheduling,
};

/// Executions that may be wasted for each one that stands, and some more.
const WASTE_MAX: i64 = 2;
const WASTE_MORE: u64 = 256;
/// Before so many windows are committed, one execution may be wasted for so many that stand.
const WINDOWS_EARLY: u64 = 8;
const WASTE_EARLY: i64 = 2;

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// About how many events the newest window has, as far as the tiles tell that were opened.
    pub(super) fn newest_size(&self) -> u64 {
        let parity = Parity::of(self.newest).index();
        let tiles = self.sender.opened[parity].tiles.max(1) as u64;
        debug_assert!(tiles <= self.sender.calendar.tiles() as u64, "more tiles than there are");
        self.windows[parity].len() * self.sender.calendar.tiles() as u64 / tiles
    }

    /// Whether the width of the oldest window is hardly more than a guess.
    fn is_early(&self) -> bool {
        self.tally.windows < WINDOWS_EARLY && self.sender.shared.known_width().is_none()
    }

    /// A tile was opened: requests a resize if the window has too many events.
    pub(super) fn check_size(&self) {
        let events = self.windows[Parity::of(self.newest).index()].log.len() as u64;
        let most = events_max(self.lps.len());
        debug_assert!(most > 0, "a window may have no event");
        if events > most || events > most / 8 && self.newest_size() > 2 * most {
            self.request_resize(Reason::SIZE);
        }
    }

    /// Requests a resize if much more is executed than stands.
    pub(super) fn check_waste(&self) {
        let useful = self.windows[0].standing + self.windows[1].standing;
        debug_assert!(useful <= self.tally.processed as i64, "more stands than was processed");
        let all = (self.tally.processed - self.tally.base[self.sender.oldest.index()]) as i64;
        let wasted = if self.is_early() { useful / WASTE_EARLY } else { WASTE_MAX * useful };
        if all > scheduling::limit(WASTE_MORE) as i64 + useful + wasted {
            self.request_resize(Reason::STORM);
        } else if useful > 4 * events_max(self.lps.len()) as i64 {
            self.request_resize(Reason::SIZE);
        }
    }
}
