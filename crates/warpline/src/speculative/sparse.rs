//! Sparse copies of states: an LP is not copied before its first event of each window, but of some
//! windows, and a rollback coasts forward from its last copy.
//!
//! [`Window::touch`] asks [`SparseCopies`] for each LP; what goes back to the state before a window
//! is [`Worker::coast_forward`], and [`Worker::commit`] leaves committed windows here: as long as an
//! LP has no newer copy, the window with its last one, and all after that, keep their events.
//! Time Warp does the same with events in place of windows ([`saving`](crate::timewarp)), where the
//! references are.
//!
//! It is for states that derive `Clone` and own memory, if memory is not limited. Others are saved
//! by the windows themselves, as if this were not there.
//!
//! # Invariants
//!
//! - **SPARSE-A.** An LP that was handled in an open window has a copy from before that window, and
//!   its events from there on are in the windows that are kept, or open.
//! - **SPARSE-B.** Of the two copies of an LP, the one of the earlier window is not needed where a
//!   third one is made. A copy of an open window is made anew if an earlier window changes the LP.
//! - **SPARSE-C.** What is kept was not handled one by one: a [regrid](super::regrid) drops it. So
//!   no blocking I/O event is handled again.

use std::{
    collections::VecDeque,
    mem::{self, needs_drop},
    time::Duration,
};

use warpline_core::{LogicalProcess, Model};

use super::{
    event::Parity,
    executing::{Executed, execute},
    regrid::Reason,
    window::Window,
    worker::Worker,
};
use crate::{
    event::{Buffer, Message},
    panics,
    scheduling::{self, Instant},
    tuning::Tuning,
};

/// From one copy of an LP to the next, in windows, until it is known what copies cost.
const EVERY_FIRST: u64 = 16;
/// The greatest interval.
const EVERY_MAX: u64 = 16;
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
pub(super) const fn suits<L: LogicalProcess>() -> bool {
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
    coasted: u64,
    tuning: Tuning,
    has_failed: bool,
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
            has_failed: false,
        }
    }

    /// Whether states are copied sparsely.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        suits::<L>() && !self.copies.is_empty()
    }

    /// Whether an LP has not come where it was before. The run has failed, and what LPs have sent
    /// is not known.
    pub(super) const fn has_failed(&self) -> bool {
        suits::<L>() && self.has_failed
    }

    /// Events in the windows that are kept.
    pub(super) const fn held(&self) -> u64 {
        self.events
    }

    /// An LP with this state is going to handle its first event in a window: copies it, if its last
    /// copy is too old. Returns whether there is a copy; otherwise the window makes one itself.
    #[inline]
    pub(super) fn touch(&mut self, window: u64, local: u32, state: &L) -> bool {
        self.touched += 1;
        let is_timed = self.touched.is_multiple_of(TIMED);
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
    fn last(&self, window: u64, local: u32) -> u64 {
        let [one, other] = &self.copies[local as usize];
        let before = |copied: &Copied<L>| if copied.window <= window { copied.window } else { 0 };
        before(one).max(before(other))
    }

    /// Copies an LP as it was before a window.
    pub(super) fn copy(&mut self, window: u64, local: u32, state: &L) {
        let [one, other] = &mut self.copies[local as usize];
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
    fn restore(&self, window: u64, local: u32, state: &mut L) -> u64 {
        let last = self.last(window, local);
        debug_assert!(
            last >= self.first,
            "SPARSE-A: {local} in {window}: the last copy is of window {last}"
        );
        let copies = &self.copies[local as usize];
        let copy = copies.iter().find(|copied| copied.window == last);
        let copy = copy.and_then(|copied| copied.state.as_ref());
        state.clone_from(copy.expect("SPARSE-A: there is a copy to coast from"));
        last
    }

    /// A window that is kept.
    fn window(&self, number: u64) -> &Window<L, B> {
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
        if number.is_multiple_of(TUNED_EVERY) {
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
        while let Some(mut old) = self.kept.pop_front_if(|old| old.number < self.first) {
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

    /// Chooses the interval. A window has about so many events.
    fn tune(&mut self, events: u64) {
        let (touched, coasted) = (mem::take(&mut self.touched), mem::take(&mut self.coasted));
        let best = u64::from(self.tuning.interval(touched, coasted));
        let most = EVENTS_KEPT_MAX / events.max(1);
        let most = most.min(PLACES_KEPT_MAX / self.copies.len().max(1) as u64);
        let is_cheap = self.tuning.copy.is_at_most(CHEAP);
        self.every = if is_cheap { 1 } else { best.min(most).clamp(1, EVERY_MAX) };
    }
}

impl<M: Model, B: Buffer<Message<M>>> Worker<'_, M, B> {
    /// Restores an LP as it was before an open window in which it was handled, and which it goes
    /// through again: so there is a copy afterwards.
    pub(super) fn coast_and_copy(&mut self, parity: Parity, local: u32) {
        let number = self.windows[parity.index()].number;
        if self.coast_forward(parity, local) < number {
            self.sparse.copy(number, local, &self.lps[local as usize].state);
        }
    }

    /// Restores an LP as it was before an open window in which it was handled: by its last copy,
    /// from which it handles its events again. Returns the window of the copy.
    #[cold]
    fn coast_forward(&mut self, parity: Parity, local: u32) -> u64 {
        let number = self.windows[parity.index()].number;
        let lp = &mut self.lps[local as usize];
        let from = self.sparse.restore(number, local, &mut lp.state);
        if from < number {
            let since = Instant::now();
            let window_end = self.sender.window_end;
            let core = self.kept_or_open(from).core_of(local).clone();
            self.lps[local as usize].core = core;
            let is_same = (from..number).all(|window| self.coast_over(window, local));
            self.sender.window_end = window_end;
            let distance = (number - from) as u32;
            self.sparse.coasted += 1;
            self.sparse.tuning.coast.add(since.elapsed() / distance);
            let core = self.windows[parity.index()].core_of(local);
            let lp = &self.lps[local as usize];
            if !is_same || (&lp.core.rng, lp.core.sent) != (&core.rng, core.sent) {
                self.fail_to_coast(local, from);
            }
        }
        let core = self.windows[parity.index()].core_of(local);
        self.lps[local as usize].core.clone_from(core);
        from
    }

    /// A window of this number.
    fn kept_or_open(&self, number: u64) -> &Window<M::Lp, B> {
        if number < self.oldest {
            self.sparse.window(number)
        } else {
            &self.windows[Parity::of(number).index()]
        }
    }

    /// Lets an LP handle its events of a window as it has handled them, if there are any. What it
    /// sends is gone. Returns whether it came as far as it had come.
    fn coast_over(&mut self, number: u64, local: u32) -> bool {
        let mut places = mem::take(&mut self.places);
        let window = self.kept_or_open(number);
        let has_events = window.has(local);
        if has_events {
            window.gather(local, &mut places);
        }
        self.places = places;
        if !has_events {
            return true;
        }
        debug_assert!(self.outputs.is_empty(), "SPARSE-A: outputs of another LP");
        let Self { windows, sparse, lps, sender, places, outputs, oldest, tally, .. } = self;
        let window = if number < *oldest {
            sparse.window(number)
        } else {
            &windows[Parity::of(number).index()]
        };
        sender.window_end = window.end;
        let mut executed = Executed::default();
        sender.collect(true);
        let outcome = panics::catch(|| {
            let events = places.iter().map(|&place| window.event(place));
            execute(&mut lps[local as usize], events, sender, outputs, &mut executed);
        });
        sender.collect(false);
        let is_same = outcome.is_ok() || window.end_of(local).0;
        if let Err(fault) = outcome {
            sender.error_context.cut_off.reason(fault);
            sender.self_sent.clear();
        }
        let mut sent = mem::take(&mut sender.collected);
        let gone = sent.drain(..).chain(outputs.drain(..)).filter_map(|event| event.message);
        gone.for_each(|message| sender.recycle(message));
        sender.collected = sent;
        tally.coasted += executed.events;
        is_same
    }

    /// An LP has not come where it was before: a mistake of the model.
    #[cold]
    fn fail_to_coast(&mut self, local: u32, from: u64) {
        let shared = self.sender.shared;
        let (_, last) = self.kept_or_open(from).end_of(local);
        let id = shared.directory.lps_of(self.sender.me)[local as usize];
        let context = &mut self.sender.error_context;
        (context.lp, context.event) = (Some(id), last);
        shared.guard(
            self.sender.me,
            context,
            |context| context,
            |_| {
                panic!(
                    "{id:?}'s handler ran differently the second time: does it depend on something \
                     that is not restored?"
                )
            },
        );
        self.sparse.has_failed = true;
        self.request_regrid(Reason::END);
    }

    /// Restores the LPs that were handled in a window, before it is undone. Those that were handled
    /// in the oldest one, too, will be restored when that is.
    pub(super) fn restore_sparse(&mut self, parity: Parity) {
        if !self.sparse.is_on() {
            return;
        }
        let oldest = Parity::of(self.oldest);
        for at in 0..self.windows[parity.index()].handled() {
            let local = self.windows[parity.index()].local(at);
            let is_oldest = parity == oldest || !self.windows[oldest.index()].has(local);
            if is_oldest && self.windows[parity.index()].is_sparse(local) {
                self.coast_forward(parity, local);
            }
        }
    }
}
