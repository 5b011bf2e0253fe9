//! The resize: all workers give up their open windows together, and begin again from the border of
//! the oldest window that is not committed, on another grid if need be.
//!
//! It is how a run begins and ends, too; how it is interrupted; how it gets out of windows that
//! waste too much or are too large; and how events are handled that cannot be handled in windows
//! ([`one_by_one`](super::one_by_one)). After it every worker stands where the sequential engine
//! would stand at that border, with the same pending events.
//!
//! # Invariants
//!
//! - **RESIZE-A.** A worker leaves a window only where its records are whole: after a tile, or
//!   after a late event. While a resize is requested, no window that was not settled is announced,
//!   and no worker commits one, except those that another worker has committed already.
//! - **RESIZE-B.** An event is pending if it is not canceled and its sender has sent it before the
//!   border: that is, if its sequence number is below the number that the sender has sent by then.

use std::{mem, ops::ControlFlow, sync::PoisonError};

use warpline_core::{Model, VirtualTime};

use super::{
    event::{Event, Parity, first_time},
    grid::{Grid, NEVER},
    one_by_one::{OneByOne, Until},
    resize::Reason,
    sending::Opened,
    width::{Counts, events_first, events_first_of},
    words::Word,
    worker::SpeculativeWorker,
};
use crate::{
    cut::Cut,
    event::{Buffer, Message},
    handling,
    run::{ProgressMonitor, Reduction},
    scheduling,
    sync::Ordering,
};

/// If all events have one time, at least this number is handled one by one before the first window.
const BLIND_LEAST: u64 = 64;
/// Events whose times are looked at for that.
const SAMPLE: usize = 4096;
/// If all events have one time, this part of them is handled one by one, to see when what they send
/// is due. (With all of them, as many as 90 000 cells, trials of this engine were over before it
/// had a window.)
const BLIND_PART: u64 = 16;

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// Whether the open windows are to be given up.
    #[inline]
    pub(super) fn is_resize_requested(&self) -> bool {
        // Ordering: Relaxed; the barrier of the resize orders everything else.
        let requested = self.sender.shared.resize.requested.load(Ordering::Relaxed);
        scheduling::seen(requested) != self.epoch
    }

    #[cold]
    pub(super) fn request_resize(&self, reason: Reason) {
        let resize = &self.sender.shared.resize;
        scheduling::point();
        // Ordering: Relaxed, here and below; the barrier publishes the reasons.
        resize.reasons.fetch_or(reason.0, Ordering::Relaxed);
        let (from, to) = (self.epoch, self.epoch + 1);
        scheduling::point();
        // If another worker was faster, it is requested already.
        let _ = resize.requested.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        scheduling::sees_all();
    }

    /// Requests a resize where the simulation of schedules wants one.
    #[inline]
    pub(super) fn request_simulated(&self) {
        let reasons = scheduling::requests();
        if reasons != 0 {
            self.request_resize(Reason(reasons));
        }
    }

    /// Gives up the open windows together with all other workers, and begins again. Breaks if the
    /// run is over.
    pub(super) fn resize(&mut self, monitor: &mut ProgressMonitor<'_, '_>) -> ControlFlow<()> {
        let shared = self.shared();
        self.gather(monitor)?;
        // Ordering: Relaxed; the barrier has published it, and the next one is before its reset.
        let reason = Reason(shared.resize.reasons.load(Ordering::Relaxed));
        let mut pending = mem::take(&mut self.pending);
        let size = self.newest_size();
        let lost = self.undo_windows(&mut pending);
        self.sender.calendar.annihilate();
        let is_start = reason.has(Reason::START);
        if is_start {
            self.events_first = self.first_events();
        }
        self.plan(reason, lost, size, &pending);
        let width = if is_start { self.first_width(&pending) } else { self.base_width };
        let given_up = Reduction { lbts: width.to_bits(), flags: u64::from(self.has_given_up) };
        let Reduction { lbts: width, flags } = self.reduce(given_up, None)?;
        (self.base_width, self.has_given_up) = (f64::from_bits(width), flags > 0);
        let mut stray = self.keep_valid(&mut pending);
        let is_over = reason.has(Reason::STOP) || shared.failure.is_known();
        // Ordering: Relaxed, here and below; barriers lie before and after.
        let events = shared.resize.one_by_one_events.load(Ordering::Relaxed);
        // If all events have one time, they say nothing about widths.
        let is_blind = is_start && !self.base_width.is_finite();
        let is_one_by_one = !is_over && (events > 0 || is_blind || reason.has(Reason::STOPPED));
        if is_over || is_one_by_one {
            stray = self.empty_calendar(&mut pending).or(stray);
        }
        let (count, mut first) = self.survey(&pending);
        shared.resize.pending.fetch_add(count, Ordering::Relaxed);
        shared.resize.owned.fetch_add(self.owned_by(&pending), Ordering::Relaxed);
        first = self.meet(first)?;
        if is_start && shared.cut.is_none() {
            let all = shared.resize.pending.load(Ordering::Relaxed);
            monitor.note_pending(all / shared.workers() as u64, None);
        }
        let is_wrong = self.sender.me == 0 && !shared.resize.is_complete(shared.words.committed());
        self.count_anew();
        if is_blind && is_one_by_one {
            first = self.begin_blindly(first, &mut pending, monitor)?;
        } else if is_one_by_one {
            first = self.handle_one_by_one(&mut pending, events, monitor)?;
        }
        if self.sender.me == 0 {
            shared.resize.reasons.store(0, Ordering::Relaxed);
            shared.resize.pending.store(0, Ordering::Relaxed);
            shared.resize.end_one_by_one();
            if shared.has_outputs() {
                shared.write_outputs(0, &mut self.sender.error_context, u64::MAX);
            }
        }
        // Not earlier, because until here all must do the same.
        if stray.is_some() || is_wrong {
            shared.fail_to_repeat(self.sender.me, stray.map(|anti| anti.sender()), None);
        }
        // Agreed: who is the first to go on may fail before the last has looked.
        let failed = Reduction { lbts: 0, flags: u64::from(shared.failure.is_known()) };
        let failed = self.reduce(failed, None)?.flags > 0;
        if is_over || failed || first == u64::MAX {
            self.end(reason, first, pending);
            return ControlFlow::Break(());
        }
        self.restart(f64::from_bits(first), pending);
        ControlFlow::Continue(())
    }

    /// The run is over. `first` is the time of the first event that is left.
    fn end(&mut self, reason: Reason, first: u64, mut pending: Vec<Event<B>>) {
        let next = f64::from_bits(first.min(self.shared().end.to_bits()));
        // If the run has just begun, not all LPs may have sent their first events.
        let has_begun = !reason.has(Reason::START);
        if reason.has(Reason::STOP) && has_begun && next < f64::INFINITY {
            // All events up to this time took place.
            let reached = VirtualTime::new(next.next_down().max(0.0));
            self.tally.last_time = reached.unwrap_or(self.tally.last_time);
        }
        if self.has_given_up || self.shared().settings.leaves_cut {
            self.empty_calendar(&mut pending);
        }
        self.is_interrupted = reason.has(Reason::STOP);
        self.left = self.sender.calendar.len() + pending.len() as u64;
        self.pending = pending;
    }

    /// Waits until all workers are here, and have received and committed the same.
    fn gather(&mut self, monitor: &mut ProgressMonitor<'_, '_>) -> ControlFlow<()> {
        self.tally.resizes += 1;
        self.sender.publish();
        let oldest = Reduction { lbts: !self.oldest, flags: 0 };
        let oldest = self.reduce(oldest, Some(monitor))?.lbts;
        // A worker may have sent something before it came.
        self.sender.receive();
        // A window that one worker has committed is committed.
        while self.oldest < !oldest {
            self.commit();
        }
        debug_assert_eq!(self.oldest, !oldest, "RESIZE-A: not all have committed the same");
        ControlFlow::Continue(())
    }

    /// Waits for all workers, and returns the least contribution.
    fn meet(&mut self, contribution: u64) -> ControlFlow<(), u64> {
        let least = self.reduce(Reduction { lbts: contribution, flags: 0 }, None)?;
        ControlFlow::Continue(least.lbts)
    }

    /// Waits for all workers, and reduces what they contribute. With a monitor, others still send.
    fn reduce(
        &mut self,
        contribution: Reduction,
        mut monitor: Option<&mut ProgressMonitor<'_, '_>>,
    ) -> ControlFlow<(), Reduction> {
        let shared = self.sender.shared;
        let round = self.rounds;
        self.rounds += 1;
        let (me, sender) = (self.sender.me, &mut self.sender);
        let idle = |waited| {
            scheduling::point();
            if let Some(monitor) = &mut monitor {
                sender.receive();
                monitor.waits(waited);
            }
            shared.wait(waited);
        };
        let result = shared.resize.barrier.wait(me, round, contribution, idle);
        scheduling::sees_all();
        scheduling::point();
        match result {
            Ok(reduction) => ControlFlow::Continue(reduction),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Undoes the open windows, the newest first (SPEC-E), and collects their events. Returns how
    /// many executions were lost.
    fn undo_windows(&mut self, pending: &mut Vec<Event<B>>) -> u64 {
        let shared = self.shared();
        let oldest = Parity::of(self.oldest);
        if let Some((_, at)) = self.windows[oldest.index()].stopped.iter().min_by_key(|(_, at)| *at)
        {
            shared.resize.handle_one_by_one_until(at.time_value());
        }
        let mut lost = 0;
        self.has_given_up = false;
        for parity in [oldest.other(), oldest] {
            self.restore_sparse(parity);
            let window = &mut self.windows[parity.index()];
            self.has_given_up |= window.is_begun();
            lost += window.standing;
            window.undo(&mut self.lps, pending, &mut self.sender.undo_log);
            pending.append(&mut self.sender.late[parity.index()]);
            self.sender.opened[parity.index()] = Opened::default();
        }
        self.sender.drop_log(None);
        // Numbers go on there (`restart`).
        self.sparse.give_up(self.oldest + 2);
        self.give_up_account();
        for (&id, lp) in shared.directory.lps_of(self.sender.me).iter().zip(&self.lps) {
            // Ordering: Relaxed; a barrier lies between.
            shared.resize.sent[id.index()].store(lp.core.sent, Ordering::Relaxed);
        }
        debug_assert!(lost >= 0 || self.sender.has_failed, "fewer than none were lost");
        lost.max(0) as u64
    }

    /// The first worker decides how to go on.
    fn plan(&mut self, reason: Reason, lost: u64, size: u64, pending: &[Event<B>]) {
        let shared = self.shared();
        debug_assert!(
            self.tally.replayed >= self.replayed_before,
            "replayed events are not counted any more"
        );
        shared.words.publish_committed(self.sender.me, self.tally.committed);
        let lost = lost + self.tally.replayed - self.replayed_before;
        self.replayed_before = self.tally.replayed;
        let at = self.nanoseconds();
        let Some(control) = &mut self.control else { return };
        let standing = shared.count_committed();
        if reason.has(Reason::START) {
            let count = self.sender.calendar.len() as usize + pending.len();
            let now = Counts { standing, replayed: self.tally.replayed, at };
            control.begin_searches_with(self.events_first);
            control.begin(count, shared.width_before.is_some(), now);
        }
        let events = control.given_up(reason, lost, standing, size);
        let slots = control.choose_grid();
        shared.set_widths(slots);
        // Ordering: Relaxed; a barrier lies between.
        shared.resize.one_by_one_events.store(events, Ordering::Relaxed);
        shared.resize.exponent.store(control.exponent, Ordering::Relaxed);
    }

    /// The events of a window at which the search for a width begins, by how many LPs there are and
    /// what copies of their states take.
    fn first_events(&self) -> usize {
        let copying = if const { handling::copies_much::<M>() } {
            let (made, seconds) = handling::time_copies(self.lps.iter().map(|lp| &lp.state));
            seconds / f64::from(made.max(1))
        } else {
            0.0
        };
        events_first(self.lps.len(), copying)
    }

    /// At the start: a width at which this worker's first window has some events; if all events
    /// have one time, the lookahead, or infinity if there is none.
    fn first_width(&self, pending: &[Event<B>]) -> f64 {
        let shared = self.shared();
        if let Some(width) = shared.known_width() {
            return width;
        }
        let calendar = &self.sender.calendar;
        let count = calendar.len() as usize + pending.len();
        let step = count.div_ceil(SAMPLE).max(1);
        let sample = calendar.iter().chain(pending).step_by(step);
        let mut times: Vec<_> = sample.map(|event| event.key.time_value()).collect();
        times.sort_unstable_by(f64::total_cmp);
        let Some(first) = times.first() else { return f64::INFINITY };
        let events = events_first_of(self.events_first, count);
        let some = times.iter().skip(events / step).map(|time| time - first);
        let lookahead = || Some(shared.admission.lookahead()).filter(|&lookahead| lookahead > 0.0);
        let width = some.into_iter().find(|width| *width > 0.0).or_else(lookahead);
        width.unwrap_or(f64::INFINITY)
    }

    /// All events have one time, the one in `first`: handles a few of them one by one, and more
    /// until what they send tells a width. Returns the time of the first event that is left, as
    /// bits.
    fn begin_blindly(
        &mut self,
        first: u64,
        pending: &mut Vec<Event<B>>,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> ControlFlow<(), u64> {
        // Ordering: Relaxed; a barrier lies before.
        let all = self.shared().resize.pending.load(Ordering::Relaxed);
        let mut events = (all / BLIND_PART).max(BLIND_LEAST);
        loop {
            let next = self.handle_one_by_one(pending, events, monitor)?;
            let width = f64::from_bits(self.meet(self.first_width(pending).to_bits())?);
            debug_assert!(next >= first, "the first pending event went back in time");
            let step = f64::from_bits(next) - f64::from_bits(first);
            // If these have one time again, it is one step of the model.
            self.base_width = if width.is_infinite() && step > 0.0 { step } else { width };
            // All workers see the same here, and go on together.
            if self.base_width.is_finite() || next == u64::MAX || events >= all {
                return ControlFlow::Continue(next);
            }
            events = all.min(BLIND_PART * events);
        }
    }

    /// Lets the first worker handle events of all workers one by one: this number of them, and all
    /// up to a time if that is necessary. Returns the time of the next event, as bits.
    fn handle_one_by_one(
        &mut self,
        pending: &mut Vec<Event<B>>,
        events: u64,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> ControlFlow<(), u64> {
        let (shared, me) = (self.shared(), self.sender.me);
        let until = Until { events, time: shared.resize.one_by_one_until() };
        let cut = Cut::new(mem::take(&mut self.lps), mem::take(pending));
        let lock = |worker: usize| {
            shared.resize.cuts[worker].lock().unwrap_or_else(PoisonError::into_inner)
        };
        *lock(me) = cut;
        self.meet(0)?;
        if me == 0 {
            let mut cuts: Vec<_> =
                (0..shared.workers()).map(|worker| mem::take(&mut *lock(worker))).collect();
            if shared.has_outputs() {
                shared.write_outputs(0, &mut self.sender.error_context, u64::MAX);
            }
            let mut one_by_one = OneByOne::new(shared, &mut cuts);
            if !shared.failure.is_known() {
                one_by_one.run(until, || monitor.is_to_stop());
            }
            self.tally.sequential += one_by_one.handled;
            self.tally.processed += one_by_one.handled;
            self.tally.committed += one_by_one.handled;
            self.tally.last_time = self.tally.last_time.max(one_by_one.last_time);
            one_by_one.end();
            for (worker, cut) in cuts.into_iter().enumerate() {
                *lock(worker) = cut;
            }
        }
        self.meet(0)?;
        Cut { lps: self.lps, pending: *pending, .. } = mem::take(&mut *lock(me));
        debug_assert_eq!(self.lps.len(), shared.directory.lps_of(me).len(), "PLACE-A: {me}");
        self.meet(first_time(pending.iter(), shared.end))
    }

    /// Begins again at `first`, the time of the first pending event of all workers.
    fn restart(&mut self, first: f64, pending: Vec<Event<B>>) {
        let shared = self.shared();
        // Ordering: Relaxed; barriers lie between.
        let exponent = shared.resize.exponent.load(Ordering::Relaxed);
        debug_assert!(self.base_width > 0.0, "windows of no width");
        let base = if self.base_width.is_finite() { self.base_width } else { 1.0 };
        let grid = Grid::new(base * 2_f64.powi(exponent), first, shared.end);
        let slot = grid.slot(first);
        debug_assert_ne!(slot, NEVER, "the first event is before the end");
        let is_valid = |event: &Event<B>| shared.resize.is_valid(event);
        self.sender.begin(grid, slot, self.has_given_up.then_some(is_valid));
        // All workers go on with the same numbers, which no word has had yet.
        debug_assert!(
            self.windows.iter().all(|window| window.log.is_empty()),
            "RESIZE-A: a window has events that are neither committed nor undone"
        );
        self.oldest += 2;
        self.newest = self.oldest - 1;
        self.sender.oldest = Parity::of(self.oldest);
        self.is_idle = false;
        shared.words.publish(self.sender.me, Word::active(self.oldest));
        pending.into_iter().for_each(|event| self.sender.insert(event));
        self.sender.begin_account();
        self.epoch += 1;
        let at = self.nanoseconds();
        if let Some(control) = &mut self.control {
            control.open(at);
        }
    }

    /// The time since this worker began.
    fn nanoseconds(&self) -> f64 {
        self.started.elapsed().as_nanos() as f64
    }
}
