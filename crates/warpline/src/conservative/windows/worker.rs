//! One worker: its LPs, and the windows that it handles.
//!
//! [`WindowWorker::work`] is the main loop, called on the thread of the worker: synchronize, handle
//! the window at the LBTS, and again.

use std::{cmp::Reverse, sync::atomic::Ordering, time::Instant};

use warpline_core::{Io, LogicalProcess, Model, VirtualTime};

use super::{
    super::{
        algorithm::Ended,
        common::YIELDS,
        error_context::{ErrorContext, HasErrorContext},
    },
    calendar::tile_bits,
    schedule::{self, Schedule},
    sending::WindowSender,
    shared::WindowShared,
};
use crate::{
    event::{
        Bucket, Buffer, Event, Message,
        by_lp::{self, Item},
    },
    handling::{self, Cause, Core, Handling, Lp},
    load_sharing::Sampler,
    monitor::Activity,
    run::{Broken, FailureOrder, ProgressMonitor, Reduction, threads},
    timeline::{LentRecorder, Phase},
};

/// Flags at a barrier: a worker has failed.
const FAILED: u64 = 1;
/// Flags at a barrier: the run is to end early.
const STOP: u64 = 2;
/// Flags at a barrier: there are non-blocking I/O events to be written.
const OUTPUT: u64 = 4;
/// Flags at a barrier: the next window may need more memory than there is.
const SHORT: u64 = 8;

/// A worker of the windows algorithm.
pub(super) struct WindowWorker<'a, M: Model, B> {
    pub(super) shared: &'a WindowShared<'a, M, B>,
    pub(super) me: usize,
    pub(super) lps: Vec<Lp<M::Lp>>,
    pub(super) sender: WindowSender<'a, M, B>,
    schedule: Schedule,
    /// The events of a window and a tile; kept for its memory.
    pub(super) bucket: Bucket<Event<B>>,
    /// Places in the bucket of non-blocking I/O events that were handled.
    output_places: Vec<usize>,
    /// Non-blocking I/O events that are to be written at the next barrier.
    pub(super) outputs: Vec<Event<B>>,
    pub(super) left: Left<B>,
    pub(super) tally: Tally,
    pub(super) sampler: Sampler<'a>,
    /// If what the worker does is recorded; and how many events it has told of.
    pub(super) recorder: Option<LentRecorder>,
    recorded: u64,
}

/// What a worker counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) barriers: u64,
    pub(super) windows: u64,
    pub(super) committed: u64,
    /// Events that an LP sent to itself within a window.
    self_sent: u64,
    /// The most events that were pending or handled in the window, at the end of a window.
    pub(super) peak: u64,
    /// Events that were taken out of the calendar and not handled, because the run ended within
    /// their window.
    pub(super) left: u64,
    pub(super) last_time: VirtualTime,
}

impl<M: Model, B> HasErrorContext for WindowWorker<'_, M, B> {
    fn error_context(&mut self) -> &mut ErrorContext {
        &mut self.sender.error_context
    }
}

impl<'a, M, B> WindowWorker<'a, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    pub(super) fn new(shared: &'a WindowShared<'a, M, B>, me: usize) -> Self {
        let lps = shared.common.directory.lps_of(me).len();
        Self {
            shared,
            me,
            lps: Vec::with_capacity(lps),
            sender: WindowSender::new(shared, me, tile_bits::<Lp<M::Lp>>()),
            schedule: Schedule::default(),
            bucket: Bucket::default(),
            output_places: Vec::new(),
            outputs: Vec::new(),
            left: Left::new(shared.common.settings.leaves_cut),
            tally: Tally::default(),
            sampler: Sampler::new(shared.common.loads.as_deref(), me, lps),
            recorder: None,
            recorded: 0,
        }
    }

    /// Runs from the first event to the last.
    pub(super) fn work(&mut self, monitor: &mut ProgressMonitor<'_, '_>) -> Ended {
        self.start(monitor);
        loop {
            let Ok(Reduction { lbts, flags }) = self.synchronize(monitor) else {
                return Ended::Failed;
            };
            if flags & FAILED != 0 {
                return Ended::Failed;
            }
            if flags & STOP != 0 {
                return Ended::Interrupted;
            }
            if lbts > self.shared.last_window || lbts == u64::MAX {
                return Ended::AtEnd;
            }
            if flags & SHORT != 0 || self.shared.is_too_late(lbts) {
                return Ended::GivenUp;
            }
            self.handle_window(lbts, monitor);
        }
    }

    /// Makes the LPs and lets each send its first events; or takes over LPs and events.
    fn start(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        if let Some(parts) = &self.shared.common.cut {
            let cut = parts.take(self.me);
            self.lps = cut.lps;
            cut.pending.into_iter().for_each(|event| self.sender.insert(event));
            return;
        }
        let mut made = 0;
        self.guard(|worker| {
            let residents = worker.shared.common.directory.lps_of(worker.me);
            while let Some(&id) = residents.get(made) {
                made += 1;
                if monitor.cuts_off() {
                    return;
                }
                worker.sender.error_context.lp = Some(id);
                let common = &worker.shared.common;
                worker.lps.push(Lp::new(common.model, id, common.settings.seed));
                let Lp { state, core } = &mut worker.lps[made - 1];
                let sender = &mut worker.sender;
                handling::start(state, core, common.model, id, sender, || monitor.cuts_off());
            }
        });
        let calendar = &self.sender.calendar;
        let windows = self.shared.grid.window(self.shared.common.end);
        let window = calendar.most_of_a_window().map(|events| (events as u64, windows));
        monitor.note_pending(calendar.len() as u64, window);
    }

    /// Exchanges events with all others and computes the LBTS. Output of the last window is written
    /// before anybody goes on.
    fn synchronize(&mut self, monitor: &mut ProgressMonitor<'_, '_>) -> Result<Reduction, Broken> {
        let mut flags = self.flags();
        if !self.outputs.is_empty() {
            flags |= OUTPUT;
            self.shared.common.lock_outputs().append(&mut self.outputs);
        }
        let before = self.exchange_events(flags, monitor)?;
        if before.flags & (OUTPUT | SHORT) == 0 {
            return Ok(before);
        }
        if before.flags & OUTPUT != 0 && self.me == 0 {
            self.write_outputs();
        }
        // This barrier keeps all others until the output is written. And only between these two
        // barriers does no worker take or release memory, so that all see the same.
        let after = self.exchange_events(self.flags(), monitor)?;
        Ok(Reduction { flags: before.flags & !SHORT | after.flags, ..after })
    }

    fn flags(&self) -> u64 {
        let failed = if self.shared.common.failure.is_known() { FAILED } else { 0 };
        // Ordering: Relaxed; it publishes nothing but itself, and the barrier gives all workers the
        // same flags.
        let stop = if self.shared.common.stop.soon.load(Ordering::Relaxed) { STOP } else { 0 };
        failed | stop | if self.shared.is_short_of_memory() { SHORT } else { 0 }
    }

    /// One barrier: afterwards every event that was sent before it is in its receiver's calendar.
    fn exchange_events(
        &mut self,
        flags: u64,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let round = self.tally.barriers;
        let lbts = self.sender.post(round);
        let here = self.wait_at_barrier(Reduction { lbts, flags }, monitor)?;
        self.sender.collect(round);
        if self.sender.remote.is_some() { self.synchronize_ranks(here, monitor) } else { Ok(here) }
    }

    /// Waits at the barrier for the other workers of this rank.
    pub(super) fn wait_at_barrier(
        &mut self,
        contribution: Reduction,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let round = self.tally.barriers;
        self.tally.barriers += 1;
        let shown = &self.shared.common.shown[self.me];
        shown.report(round + 1, monitor.reached(), (self.tally.committed, 0));
        shown.show(Activity::AtWindowEnd);
        if let Some(recorder) = &mut self.recorder {
            let (events, time) = (self.tally.committed - self.recorded, monitor.reached().get());
            self.recorded = self.tally.committed;
            recorder.change(events, time, Phase::Waiting(Activity::AtWindowEnd));
        }
        let spins = self.shared.common.spins;
        let idle = |waited| {
            // Perhaps no other worker has the time to notice that the run is to stop.
            monitor.waits(waited);
            threads::wait(waited, spins, YIELDS);
        };
        self.shared.barrier.wait(self.me, round, contribution, idle)
    }

    /// Handles the events of a window, tile by tile.
    fn handle_window(&mut self, window: u64, monitor: &mut ProgressMonitor<'_, '_>) {
        self.tally.windows += 1;
        debug_assert!(window >= self.sender.next_window, "CONS-B: window {window} is over");
        debug_assert!(self.bucket.is_empty(), "CONS-C: events of the last window are left");
        self.shared.common.shown[self.me].show(Activity::Working);
        if let Some(recorder) = &mut self.recorder {
            recorder.change(0, f64::NAN, Phase::Window);
        }
        self.sender.next_window = window + 1;
        let (shared, before, self_sent) = (self.shared, self.tally.committed, self.tally.self_sent);
        // What leaves a cut ends with a whole window (CUT-A), however long that takes.
        let leaves_cut = shared.common.settings.leaves_cut;
        monitor.cuts_off();
        let local_of = |event: &Event<B>| shared.local_of(event.to);
        self.sender.calendar.open(window, local_of);
        monitor.reaches(shared.grid.start(window));
        monitor.holds(self.sender.calendar.len() as u64);
        for tile in 0..self.sender.calendar.tiles() {
            self.sender.calendar.take(window, tile, &mut self.bucket);
            if self.bucket.is_empty() {
                continue;
            }
            let first = tile << tile_bits::<Lp<M::Lp>>();
            let lps = (self.lps.len() - first).min(1 << tile_bits::<Lp<M::Lp>>());
            self.schedule.plan(&self.bucket, [first, lps], local_of);
            let mut at = 0;
            while at < self.schedule.len() && (leaves_cut || !monitor.is_cut_off()) {
                let is_measured = monitor.measures(self.tally.windows);
                let measured = is_measured.then(|| (self.tally.committed, Instant::now()));
                // After an LP has failed, the others go on: one of them may fail earlier in virtual
                // time, and the first failure is reported.
                self.guard(|worker| worker.handle_groups(&mut at, monitor));
                if let Some((before, since)) = measured {
                    monitor.note_handling(self.tally.committed - before, since);
                }
                self.guard(|worker| worker.sender.self_sent.clear());
            }
            let rest = self.schedule.rest(at);
            self.tally.left += rest.len() as u64;
            self.left.note_places(rest.iter().copied());
            self.guard(Self::clear_bucket);
        }
        if self.sampler.measures(self.tally.windows) {
            self.sampler.end_window();
        }
        let handled = (self.tally.committed - before) as usize;
        let pending = self.sender.calendar.len() + handled;
        self.tally.peak = self.tally.peak.max(pending as u64);
        self.sender.release(handled - (self.tally.self_sent - self_sent) as usize);
        // Ordering: Relaxed; a count for people.
        shared.common.committed.fetch_add(handled as u64, Ordering::Relaxed);
    }

    /// Handles the events of one LP after the other. `at` is the place in the schedule of the first
    /// LP's first event, and moves on with each LP.
    fn handle_groups(&mut self, at: &mut usize, monitor: &mut ProgressMonitor<'_, '_>) {
        let Self {
            shared,
            lps,
            sender,
            schedule,
            bucket,
            output_places,
            outputs,
            left,
            tally,
            sampler,
            ..
        } = self;
        let measures = sampler.measures(tally.windows);
        let leaves_cut = shared.common.settings.leaves_cut;
        while *at < schedule.len() && (!monitor.cuts_off() || leaves_cut) {
            let key = |item| schedule::event(bucket, item).key;
            let group = schedule.group(*at, key, lps);
            *at += group.len();
            let (local, began) = (by_lp::local(group[0]), measures.then(Instant::now));
            let lp = &mut lps[local.index()];
            let mut view = LpView { shared, lp, sender, left, tally };
            let mut items = group.iter().copied();
            let mut next = items.next();
            loop {
                let event = next.map(|item| schedule::event(bucket, item));
                let is_self_sent = match (event, view.sender.self_sent.peek()) {
                    (Some(event), Some(self_sent)) => self_sent.0.key < event.key,
                    (None, Some(_)) => true,
                    (Some(_), None) => false,
                    (None, None) => break,
                };
                if is_self_sent {
                    let Some(Reverse(self_sent)) = view.sender.self_sent.pop() else { break };
                    // An LP may send itself events within the window for ever.
                    let is_cut_off = monitor.cuts_off() && !leaves_cut;
                    let is_late = is_cut_off || view.is_after_failure(&self_sent);
                    if is_late || !view.handle(&self_sent) {
                        view.leave(Some(self_sent), next.into_iter().chain(items));
                        break;
                    }
                    if self_sent.io.get() == Some(Io::NonBlocking) {
                        view.sender.let_go(&self_sent.message);
                        outputs.push(self_sent);
                    } else {
                        view.sender.recycle(self_sent.message);
                    }
                    view.sender.release(1);
                    view.tally.self_sent += 1;
                } else if let (Some(event), Some(item)) = (event, next) {
                    if view.is_after_failure(event) || !view.handle(event) {
                        view.leave(None, next.into_iter().chain(items));
                        break;
                    }
                    if event.io.get() == Some(Io::NonBlocking) {
                        output_places.push(by_lp::place(item));
                    }
                    next = items.next();
                }
            }
            if let Some(began) = began {
                sampler.note(local, began);
            }
        }
    }

    /// Empties the bucket: handled outputs are kept until they are written.
    fn clear_bucket(&mut self) {
        let Self { output_places, bucket, sender, outputs, left, .. } = self;
        left.places.sort_unstable();
        if output_places.is_empty() && left.places.is_empty() {
            bucket.drain().for_each(|event| sender.recycle(event.message));
        } else {
            output_places.sort_unstable();
            debug_assert!(
                output_places.windows(2).all(|pair| pair[0] < pair[1]),
                "an event is written twice"
            );
            for (place, event) in bucket.drain().enumerate() {
                if output_places.binary_search(&place).is_ok() {
                    sender.let_go(&event.message);
                    outputs.push(event);
                } else if left.places.binary_search(&place).is_ok() {
                    left.events.push(event);
                } else {
                    sender.recycle(event.message);
                }
            }
            output_places.clear();
            left.places.clear();
        }
        self.sender.calendar.reclaim(&mut self.bucket);
    }

    /// Writes the non-blocking I/O events that all workers handled in the last window, in the order
    /// of their keys, up to the first failure.
    fn write_outputs(&mut self) {
        let common = &self.shared.common;
        let outputs = std::mem::take(&mut *common.lock_outputs());
        let limit = self.first_failure().unwrap_or(FailureOrder::End);
        common.write_outputs(self.me, self, outputs, limit);
    }

    /// Runs code of the model: its faults and its panics are noted as the run's failure.
    pub(super) fn guard(&mut self, code: impl FnOnce(&mut Self)) {
        let shared = self.shared;
        shared.common.guard(self.me, self, code);
    }
}

/// One LP while it handles its events of a window, with all that a handler needs.
struct LpView<'h, 'a, M: Model, B> {
    shared: &'h &'a WindowShared<'a, M, B>,
    lp: &'h mut Lp<M::Lp>,
    sender: &'h mut WindowSender<'a, M, B>,
    left: &'h mut Left<B>,
    tally: &'h mut Tally,
}

impl<M: Model, B: Buffer<Message<M>>> LpView<'_, '_, M, B> {
    /// Handles an event and commits it, if it is before the end.
    #[inline]
    fn handle(&mut self, event: &Event<B>) -> bool {
        let Event { key, to, io, message } = event;
        if key.time_value() >= self.shared.common.end {
            return false;
        }
        let (model, message) = (self.shared.common.model, message.get());
        let Lp { state, core: Core { rng, sent, digest } } = &mut *self.lp;
        let context = &mut self.sender.error_context;
        debug_assert!(
            context.lp != Some(*to) || context.event.is_none_or(|last| last < *key),
            "CONS-B: {to:?} handles {key:?} after {:?}",
            context.event
        );
        context.lp = Some(*to);
        context.event = Some(*key);
        let mut cx = Handling { cause: Cause::event(key, *to), rng, sent, sink: &mut *self.sender };
        match io.get() {
            None => state.handle(model, message, &mut cx),
            Some(Io::Blocking) => cx.handle_io(state, model, message),
            // It is written once all events before it are handled.
            Some(Io::NonBlocking) => {}
        }
        digest.commit(key, M::Lp::fingerprint(model, message));
        self.tally.committed += 1;
        self.tally.last_time = self.tally.last_time.max(key.time());
        true
    }

    /// Whether the event comes after a failure that is known, so that it does not matter any more.
    #[inline]
    fn is_after_failure(&self, event: &Event<B>) -> bool {
        let failure = &self.shared.common.failure;
        failure.is_known()
            && failure.order().is_some_and(|first| first < FailureOrder::Event(event.key))
    }

    /// Leaves events unhandled: those of these items, and all that the LP has sent to itself, the
    /// first of which was taken out.
    #[cold]
    fn leave(&mut self, first: Option<Event<B>>, rest: impl Iterator<Item = Item> + Clone) {
        let self_sent = std::mem::take(&mut self.sender.self_sent);
        let own = first.into_iter().chain(self_sent.into_iter().map(|Reverse(event)| event));
        let before = self.tally.left;
        self.tally.left += rest.clone().count() as u64;
        self.left.note_places(rest);
        for event in own {
            self.tally.left += 1;
            self.left.keep(event);
        }
        debug_assert!(self.tally.left > before, "an LP leaves events, and there is none");
    }
}

/// Events that were taken out of the calendar and not handled, because the run ended within their
/// window; kept if the run leaves a cut.
pub(super) struct Left<B> {
    is_kept: bool,
    /// Places in the bucket.
    places: Vec<usize>,
    pub(super) events: Vec<Event<B>>,
}

impl<B> Left<B> {
    const fn new(is_kept: bool) -> Self {
        Self { is_kept, places: Vec::new(), events: Vec::new() }
    }

    fn note_places(&mut self, items: impl Iterator<Item = Item>) {
        debug_assert!(self.is_kept || self.places.is_empty(), "CONS-C: places of a past tile");
        if self.is_kept {
            self.places.extend(items.map(by_lp::place));
        }
    }

    fn keep(&mut self, event: Event<B>) {
        debug_assert!(self.is_kept || self.events.is_empty(), "CONS-C: an event of a past tile");
        if self.is_kept {
            self.events.push(event);
        }
    }
}
