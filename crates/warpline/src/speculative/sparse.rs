//! Sparse copies of states: an LP is not copied before its first event of each window, but of some
//! windows, and a rollback [coasts forward](super::coasting) from its last copy.
//!
//! Workers ask [`SparseCopies::touch`] for each LP, and leave committed windows here: as long as an
//! LP may go back to a copy, the window of the copy, and all after that, keep their events. Time
//! Warp does the same with events in place of windows ([`saving`](crate::timewarp)), where the
//! references are.
//!
//! It is for states that derive `Clone` and own memory, if memory is not limited, and as long as a
//! copy is not cheap. Other states are saved by the windows themselves, as if this were not there.
//!
//! # Invariants
//!
//! - **SPARSE-A.** An LP that was handled in an open window, which has not saved it, has a copy
//!   from before that window, and its events from there on are in windows that are kept, or open.
//! - **SPARSE-B.** Of the two copies of an LP, the one of the earlier window is not needed where a
//!   third one is made. A copy of an open window is made anew if an earlier window changes the LP.
//! - **SPARSE-C.** In the windows that are kept, no LP has stopped: blocking I/O events are handled
//!   one by one, after a [resize](super::resize), which drops what is kept. So none is handled
//!   again.

use std::{
    collections::VecDeque,
    mem::{self, needs_drop},
    time::Duration,
};

use warpline_core::LogicalProcess;

use super::{event::Parity, window::Window};
use crate::{
    local_lp::LocalLp,
    scheduling::{self, Instant},
    tuning::{AUTO_MAX, Tuning},
};

/// From one copy of an LP to the next, in windows, until it is known what copies cost.
const EVERY_FIRST: u64 = AUTO_MAX as u64;
/// Events in the windows that are kept, at the most, unless one window has that many.
const EVENTS_KEPT_MAX: u64 = 65_536;
/// Places of LPs in the windows that are kept.
const PLACES_KEPT_MAX: u64 = 1 << 20;
/// The interval is chosen again after this number of windows.
const TUNED_EVERY: u64 = 64;
/// One of this many copies is timed.
const TIMED: u64 = 64;
/// A copy that takes no longer costs no more than what is kept in its place.
const CHEAP: Duration = Duration::from_nanos(20);

/// Whether copies of such states may be sparse.
const fn suits<L: LogicalProcess>() -> bool {
    needs_drop::<L>() && !L::SAVING.is_by_field()
}

/// A copy of an LP's state.
#[derive(Debug)]
struct Copied<L> {
    state: Option<L>,
    /// The window before which the LP was so; 0 without a copy.
    window: u64,
}

/// A worker's sparse copies, and the committed windows that it keeps for them.
#[derive(Debug)]
pub(super) struct SparseCopies<L: LogicalProcess, B> {
    /// From one copy of an LP to the next, in windows.
    every: u64,
    /// By LP; of none if all states are saved by the windows.
    copies: Vec<[Copied<L>; 2]>,
    /// Committed windows, one after the other, the last one that is committed at the end.
    kept: VecDeque<Window<L, B>>,
    /// The first window whose events are there: kept, open, or yet to be opened.
    first: u64,
    /// The first window that LPs need that were handled in an open window, by its parity.
    needed: [u64; 2],
    /// Empty windows, for their memory.
    spare: Vec<Window<L, B>>,
    events: u64,
    touched: u64,
    /// How often an LP went back to a copy of an earlier window.
    coasted: u64,
    tuning: Tuning,
}

impl<L: LogicalProcess, B> SparseCopies<L, B> {
    /// For so many LPs, if their states are to be copied sparsely.
    pub(super) fn new(lps: usize, is_wanted: bool) -> Self {
        let lps = if const { suits::<L>() } && is_wanted { lps } else { 0 };
        let none = || Copied { state: None, window: 0 };
        Self {
            every: scheduling::limit(EVERY_FIRST),
            copies: (0..lps).map(|_| [none(), none()]).collect(),
            kept: VecDeque::new(),
            first: 0,
            needed: [u64::MAX; 2],
            spare: Vec::new(),
            events: 0,
            touched: 0,
            coasted: 0,
            tuning: Tuning::default(),
        }
    }

    /// Whether states are copied sparsely.
    #[inline]
    const fn is_on(&self) -> bool {
        suits::<L>() && !self.copies.is_empty()
    }

    /// Events in the windows that are kept.
    pub(super) const fn held(&self) -> u64 {
        self.events
    }

    /// An LP with this state is going to handle its first event in a window: copies it, if its last
    /// copy is too old. Returns whether there is a copy; otherwise the window makes one itself.
    #[inline]
    pub(super) fn touch(&mut self, window: u64, local: LocalLp, state: &L) -> bool {
        if !self.is_on() {
            return false;
        }
        self.touched += 1;
        let is_timed = self.touched.is_multiple_of(scheduling::limit(TIMED));
        if self.every == 1 && !is_timed {
            return false;
        }
        let last = self.last(window, local);
        if last >= self.first && window - last < self.every {
            let needed = &mut self.needed[Parity::of(window).index()];
            *needed = last.min(*needed);
        } else if is_timed {
            let clock = Instant::now().elapsed();
            let since = Instant::now();
            self.copy(window, local, state);
            self.tuning.copy.add(since.elapsed().saturating_sub(clock));
        } else {
            self.copy(window, local, state);
        }
        true
    }

    /// The window of the last copy of an LP from before a window, or from before it.
    #[inline]
    fn last(&self, window: u64, local: LocalLp) -> u64 {
        let [one, other] = &self.copies[local.index()];
        let before = |copied: &Copied<L>| if copied.window <= window { copied.window } else { 0 };
        before(one).max(before(other))
    }

    /// Copies an LP as it was before a window.
    pub(super) fn copy(&mut self, window: u64, local: LocalLp, state: &L) {
        let [one, other] = &mut self.copies[local.index()];
        let is_one = one.window == window || other.window != window && one.window < other.window;
        let (copied, last) = if is_one { (one, other) } else { (other, one) };
        debug_assert!(
            copied.window == window || copied.window <= last.window,
            "SPARSE-B: the copy of window {} is gone before that of {}",
            copied.window,
            last.window
        );
        copied.window = window;
        match &mut copied.state {
            Some(copy) => copy.clone_from(state),
            none => *none = Some(state.clone()),
        }
    }

    /// Restores the last copy of an LP from before a window; returns the window that it is of.
    pub(super) fn restore(&self, window: u64, local: LocalLp, state: &mut L) -> u64 {
        let last = self.last(window, local);
        debug_assert!(
            last >= self.first,
            "SPARSE-A: {local} in {window}: the last copy is of window {last}"
        );
        let copies = &self.copies[local.index()];
        let copy = copies.iter().find(|copied| copied.window == last);
        let copy = copy.and_then(|copied| copied.state.as_ref());
        state.clone_from(copy.expect("SPARSE-A: there is a copy to coast from"));
        last
    }

    /// A window that is kept.
    pub(super) fn window(&self, number: u64) -> &Window<L, B> {
        let window = &self.kept[(number - self.first) as usize];
        debug_assert_eq!(window.number, number, "SPARSE-A: a window is missing");
        window
    }

    /// Keeps a committed window, or empties it, and drops those that no LP needs any more.
    pub(super) fn commit(&mut self, window: &mut Window<L, B>, mut recycle: impl FnMut(B)) {
        if !self.is_on() {
            return window.clear(recycle);
        }
        debug_assert!(window.stopped.is_empty(), "SPARSE-C: an LP would stop again");
        let (number, parity) = (window.number, Parity::of(window.number));
        if number.is_multiple_of(scheduling::limit(TUNED_EVERY)) {
            self.tune(window.len());
        }
        self.needed[parity.index()] = u64::MAX;
        let recent = (number + 2).saturating_sub(self.every);
        let first = recent.min(self.needed[parity.other().index()]).min(number + 1);
        self.first = self.first.max(first);
        if self.first <= number {
            let empty = self.spare.pop().unwrap_or_else(|| Window::new(self.copies.len()));
            self.events += window.len();
            self.kept.push_back(mem::replace(window, empty));
        } else {
            window.clear(&mut recycle);
        }
        while self.kept.front().is_some_and(|old| old.number < self.first)
            && let Some(mut old) = self.kept.pop_front()
        {
            self.events -= old.len();
            old.clear(&mut recycle);
            self.spare.push(old);
        }
    }

    /// The windows were undone. The next one has this number.
    pub(super) fn give_up(&mut self, next: u64) {
        for mut window in self.kept.drain(..) {
            window.clear(drop);
            self.spare.push(window);
        }
        (self.first, self.needed, self.events) = (next, [u64::MAX; 2], 0);
    }

    /// An LP has handled its events again over so many windows, from a copy.
    pub(super) fn note_coasting(&mut self, windows: u64, took: Duration) {
        debug_assert!(windows > 0, "there was nothing to be handled again");
        self.coasted += 1;
        self.tuning.coast.add(took / windows as u32);
    }

    /// Chooses the interval. A window has about so many events.
    fn tune(&mut self, events: u64) {
        let (touched, coasted) = (mem::take(&mut self.touched), mem::take(&mut self.coasted));
        let best = u64::from(self.tuning.interval(touched, coasted));
        let most = EVENTS_KEPT_MAX / events.max(1);
        let most = most.min(PLACES_KEPT_MAX / self.copies.len().max(1) as u64);
        let is_cheap = self.tuning.copy.is_at_most(CHEAP);
        self.every = if is_cheap { 1 } else { best.min(most).max(1) };
    }
}
