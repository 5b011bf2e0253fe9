//! One worker: its LPs, and the windows that it opens, settles and commits.
//!
//! [`SpeculativeWorker::work`] is the main loop, called on the thread of the worker.

use warpline_core::{Model, UndoLog, VirtualTime};

use super::{
    costs::{Costs, Part},
    event::{Event, Parity},
    resize::Reason,
    sending::{Opened, SpeculativeSender},
    shared::{ANOTHER_GRID, ErrorContext, SpeculativeShared},
    sparse::SparseCopies,
    width::{WidthControl, events_max},
    window::{Place, Window},
    words::Word,
};
use crate::{
    Width,
    event::{Buffer, Message, by_lp::SortByLp},
    handling::{self, Lp},
    load_sharing::Sampler,
    monitor::Activity,
    run::ProgressMonitor,
    scheduling::{self, Instant},
};

/// A worker.
pub(super) struct SpeculativeWorker<'a, M: Model, B> {
    pub(super) sender: SpeculativeSender<'a, M, B>,
    pub(super) lps: Vec<Lp<M::Lp>>,
    /// The open windows, by parity.
    pub(super) windows: [Window<M::Lp, B>; 2],
    pub(super) sparse: SparseCopies<M::Lp, B>,
    /// The oldest window that is not committed, and the newest one that is open.
    pub(super) oldest: u64,
    pub(super) newest: u64,
    /// The first slot of the newest window.
    pub(super) newest_begin: u64,
    /// Whether everything that is known of the oldest window is handled, and was announced.
    pub(super) is_idle: bool,
    /// Messages of the oldest window that were received when that was announced.
    announced: u64,
    /// Whether the last resize has given up what an LP has done; only then there may be pending
    /// events that were sent in vain.
    pub(super) has_given_up: bool,
    /// How often all were undone; see [`resize`](super::resize).
    pub(super) epoch: u64,
    /// How often all workers have met at the barrier of resizes.
    pub(super) rounds: u64,
    /// The width that [`WidthControl`] counts in.
    pub(super) base_width: f64,
    /// The events of a window at which the search for a width begins, at most.
    pub(super) events_first: usize,
    pub(super) control: Option<WidthControl>,
    pub(super) started: Instant,
    /// Events that were replayed before the last resize.
    pub(super) replayed_before: u64,
    pub(super) is_interrupted: bool,
    /// Events that were there at the beginning, and those that are left at an early end.
    pub(super) pending: Vec<Event<B>>,
    /// How many events are left at the end.
    pub(super) left: u64,
    pub(super) tally: Tally,
    pub(super) costs: Costs,
    /// What it had [`counted`](Self::counted) when it came to the part that it is in.
    noted: [u64; 3],
    pub(super) sampler: Sampler<'a>,
    /// Kept for their memory.
    pub(super) batch: Vec<Event<B>>,
    pub(super) places: Vec<Place>,
    pub(super) by_lp: SortByLp,
    pub(super) outputs: Vec<Event<B>>,
    pub(super) lists: Vec<Vec<Event<B>>>,
    seen: Vec<Word>,
}

/// What a worker counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Executions, of which some were undone, and some only found out what was sent.
    pub(super) processed: u64,
    /// Executions of events that are not undone, from a copy up to a window that is.
    pub(super) coasted: u64,
    /// Executions of replays.
    pub(super) replayed: u64,
    pub(super) late: u64,
    pub(super) rollbacks: u64,
    pub(super) deep_rollbacks: u64,
    pub(super) windows: u64,
    pub(super) resizes: u64,
    /// Events that were handled one by one.
    pub(super) sequential: u64,
    /// The most events that the worker held.
    pub(super) peak: u64,
    pub(super) last_time: VirtualTime,
    /// Executions that stand in windows that are committed.
    pub(super) committed: u64,
    /// All executions when a window was opened, by its parity.
    pub(super) base: [u64; 2],
}

impl<'a, M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'a, M, B> {
    pub(super) fn new(shared: &'a SpeculativeShared<'a, M, B>, me: usize) -> Self {
        let lps = shared.directory.lps_of(me).len();
        let sender = SpeculativeSender::new(shared, me);
        let tiles = sender.calendar.tiles();
        Self {
            sender,
            lps: Vec::with_capacity(lps),
            windows: [Window::new(lps), Window::new(lps)],
            sparse: SparseCopies::new(lps, shared.settings.memory.is_none()),
            oldest: 1,
            newest: 0,
            newest_begin: 0,
            is_idle: false,
            announced: 0,
            has_given_up: false,
            epoch: 0,
            rounds: 0,
            base_width: 1.0,
            events_first: 0,
            control: (me == 0).then(|| {
                let is_fixed = matches!(shared.settings.engine.width, Width::Fixed(_));
                let fresh = || WidthControl::new(is_fixed, tiles, lps, events_max(lps));
                shared.take_control().unwrap_or_else(fresh)
            }),
            started: Instant::now(),
            replayed_before: 0,
            is_interrupted: false,
            pending: Vec::new(),
            left: 0,
            tally: Tally::default(),
            costs: Costs::new(shared.settings.engine.measure_costs),
            noted: [0; 3],
            sampler: Sampler::new(shared.loads.as_deref(), me, lps),
            batch: Vec::new(),
            places: Vec::new(),
            by_lp: SortByLp::default(),
            outputs: Vec::new(),
            lists: Vec::new(),
            seen: Vec::new(),
        }
    }

    pub(super) const fn shared(&self) -> &'a SpeculativeShared<'a, M, B> {
        self.sender.shared
    }

    /// Runs from the first event to the last, or to a failure or an interruption.
    pub(super) fn work(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        self.start(monitor);
        while self.resize(monitor).is_continue() {
            while !self.is_resize_requested() {
                if self.shared().width(self.newest + 1) == ANOTHER_GRID {
                    // All are here, and no window is given up for it.
                    self.await_commit(monitor, self.newest + 1);
                    self.request_resize(Reason::GRID);
                } else {
                    self.enter(Part::Handling);
                    self.open_window(monitor);
                    self.settle_window(monitor);
                }
            }
            self.enter(Part::Resize);
        }
    }

    /// Makes the LPs and lets each send its first events; or takes over LPs and events. No window
    /// is open, so all events go into the calendar or to other workers.
    fn start(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        let shared = self.shared();
        if let Some(parts) = &shared.cut {
            let cut = parts.take(self.sender.me);
            self.sender.undo_log = UndoLog::starting_at(cut.log_end);
            (self.lps, self.pending) = (cut.lps, cut.pending);
            if self.sender.me == 0 {
                self.tally.committed = shared.committed_before;
            }
            return self.request_resize(Reason::START);
        }
        let context: fn(&mut Self) -> &mut ErrorContext = |worker| &mut worker.sender.error_context;
        shared.guard(self.sender.me, self, context, |worker| {
            for &id in shared.directory.lps_of(worker.sender.me) {
                if monitor.is_to_stop() {
                    return;
                }
                worker.sender.error_context.lp = Some(id);
                worker.lps.push(Lp::new(shared.model, id, shared.settings.seed));
                let Some(Lp { state, core }) = worker.lps.last_mut() else { return };
                let (sender, stops) = (&mut worker.sender, || monitor.is_to_stop());
                handling::start(state, core, shared.model, id, sender, stops);
                // Nothing undoes what it has written.
                worker.sender.drop_log(None);
            }
        });
        self.request_resize(Reason::START);
        if monitor.is_to_stop() {
            self.request_resize(Reason::STOP);
        }
    }

    /// Opens the next window and lets all LPs handle their events in it.
    fn open_window(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        self.newest += 1;
        debug_assert!(self.newest <= self.oldest + 1, "more than two windows are open");
        let parity = Parity::of(self.newest);
        let begin = self.sender.border();
        let end = begin + self.shared().width(self.newest);
        let window = &mut self.windows[parity.index()];
        debug_assert!(window.log.is_empty(), "a window is opened before the last one is over");
        debug_assert!(end > begin, "a window of no width");
        (window.number, window.end) = (self.newest, end);
        self.newest_begin = begin;
        self.sender.opened[parity.index()] = Opened { end, tiles: 0 };
        self.sender.set_border(end);
        if self.newest == self.oldest {
            self.sender.oldest = parity;
        }
        self.tally.base[parity.index()] = self.tally.processed;
        monitor.reaches(self.sender.grid.start(begin));
        monitor.holds(self.sender.calendar.len());
        for tile in 0..self.sender.calendar.tiles() {
            self.poll(monitor);
            self.open_tile(parity, tile, monitor);
            self.check_size();
            if monitor.is_to_stop() {
                self.request_resize(Reason::STOP);
            }
            if self.is_resize_requested() {
                return;
            }
        }
        if self.sampler.measures(self.newest) {
            self.sampler.end_window();
        }
        self.sender.publish();
        self.poll(monitor);
    }

    /// Settles the newest window, once the one before it is committed, and announces that.
    fn settle_window(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        let parity = Parity::of(self.newest);
        self.settle(parity, monitor);
        self.report(0);
        self.await_commit(monitor, self.newest);
        self.settle(parity, monitor);
        if self.is_resize_requested() {
            return;
        }
        debug_assert_eq!(self.oldest, self.newest, "WORD-B: a window was skipped");
        if !self.windows[parity.index()].stopped.is_empty() {
            return self.request_resize(Reason::STOPPED);
        }
        let shared = self.shared();
        if let Some(control) = &mut self.control {
            let standing = shared.count_committed();
            let slots = control
                .decide(standing, self.tally.replayed, || self.started.elapsed().as_nanos() as f64);
            monitor.may_gain(control.may_gain());
            shared.set_width(self.newest + 2, slots.unwrap_or(ANOTHER_GRID));
        }
        self.is_idle = true;
        self.announce(monitor);
        self.poll(monitor);
        if self.sender.grid.is_over(self.sender.border()) {
            // No window is left before the end.
            self.await_commit(monitor, self.newest + 1);
            self.request_resize(Reason::END);
        }
    }

    /// Goes to a part of the work; returns the one that the worker was in.
    #[inline]
    pub(super) fn enter(&mut self, part: Part) -> Part {
        if !self.costs.are_noted() {
            return part;
        }
        let events = self.events_of_part();
        self.costs.enter(part, events, self.tally.rollbacks)
    }

    /// The worker ends.
    pub(super) fn end_costs(&mut self) {
        let events = self.events_of_part();
        self.costs.end(events, self.tally.rollbacks);
    }

    /// How many events the part was about that the worker is in.
    fn events_of_part(&mut self) -> u64 {
        let counted = self.counted();
        let before = std::mem::replace(&mut self.noted, counted);
        debug_assert!(before[0] <= counted[0] && before[1] <= counted[1], "counts went back");
        let [executed, committed, undone] = [0, 1, 2].map(|at| counted[at] - before[at]);
        match self.costs.part() {
            Part::Handling => executed,
            Part::Settling | Part::Resize => undone,
            Part::Committing => committed,
            Part::Waiting => 0,
        }
    }

    /// Events that it has executed, committed, and undone, since the start.
    fn counted(&self) -> [u64; 3] {
        let Tally { processed, committed, .. } = self.tally;
        let standing = self.windows[0].standing + self.windows[1].standing;
        [processed, committed, (processed as i64 - committed as i64 - standing) as u64]
    }

    /// Waits until all windows before this one are committed, or a resize is requested.
    fn await_commit(&mut self, monitor: &mut ProgressMonitor<'_, '_>, window: u64) {
        debug_assert!(window <= self.newest + 1, "window {window} is not open");
        let mut waited = 0;
        let outer = self.enter(Part::Waiting);
        self.show(Activity::AtWindowEnd);
        while self.oldest < window && !self.is_resize_requested() {
            let received = self.sender.received;
            if !self.poll(monitor) {
                // A correction may go to and fro between workers: who gets one expects the next.
                waited = if self.sender.received == received { waited + 1 } else { 0 };
                if monitor.waits(waited) {
                    self.request_resize(Reason::STOP);
                }
                self.shared().wait(waited);
            }
        }
        self.show(Activity::Working);
        self.enter(outer);
    }

    /// Shows to people that the worker has handled all open windows but this number.
    fn report(&self, but: u64) {
        let opened = self.tally.windows + self.newest + 1 - self.oldest;
        let border = VirtualTime::new(self.sender.grid.start(self.sender.border()));
        let border = border.unwrap_or(VirtualTime::MAX);
        let shown = &self.shared().shown[self.sender.me];
        shown.report(opened - but, border, (self.tally.processed, self.tally.rollbacks));
    }

    /// Shows to people what the worker does.
    fn show(&self, activity: Activity) {
        self.shared().shown[self.sender.me].show(activity);
    }

    /// Looks at what others have sent, and whether the oldest window is committed. Returns whether
    /// it was.
    pub(super) fn poll(&mut self, monitor: &mut ProgressMonitor<'_, '_>) -> bool {
        scheduling::point();
        self.request_simulated();
        if !scheduling::is_mail_late() {
            self.sender.receive();
        }
        if !self.is_idle || self.is_resize_requested() {
            return false;
        }
        if self.announced != self.sender.received[self.sender.oldest.index()] {
            self.announce(monitor);
        }
        if self.is_resize_requested() || !self.is_settled() {
            return false;
        }
        let is_committed = self.shared().words.is_committed(self.oldest, &mut self.seen);
        if is_committed {
            let outer = self.enter(Part::Committing);
            self.commit();
            self.enter(outer);
            if self.shared().failure.is_known() {
                self.request_resize(Reason::END);
            }
        }
        is_committed
    }

    /// Whether nothing is left to do in the oldest window, of what has been received.
    fn is_settled(&self) -> bool {
        let oldest = self.sender.oldest.index();
        self.sender.late[oldest].is_empty() && self.announced == self.sender.received[oldest]
    }

    /// Settles the oldest window and publishes that, unless a resize is requested.
    fn announce(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        let (me, shared, oldest) = (self.sender.me, self.shared(), self.sender.oldest);
        if !self.sender.late[oldest.index()].is_empty() {
            // WORD-A: it may send from here on.
            shared.words.publish(me, Word::active(self.oldest));
            // In the middle of opening a tile of the next window, which goes on after this.
            let (executing, window_end) = (self.sender.executing, self.sender.window_end);
            self.report(1);
            self.settle(oldest, monitor);
            self.report(0);
            (self.sender.executing, self.sender.window_end) = (executing, window_end);
            if !self.windows[oldest.index()].stopped.is_empty() {
                self.request_resize(Reason::STOPPED);
            }
        }
        self.sender.publish();
        if self.is_resize_requested() {
            return;
        }
        debug_assert!(
            self.sender.late[oldest.index()].is_empty(),
            "WORD-A: a worker with late events says that it is idle"
        );
        self.announced = self.sender.received[oldest.index()];
        let sent = self.sender.sent[oldest.index()];
        // The counts just before the word, so that the line goes to the others once for all.
        shared.words.publish_committed(me, self.tally.committed);
        shared.words.publish(me, Word::idle(self.oldest, sent, self.announced));
    }

    /// Commits the oldest window.
    pub(super) fn commit(&mut self) {
        let parity = self.sender.oldest;
        let (window, next) = parity.split(&mut self.windows);
        debug_assert!(
            self.sender.late[parity.index()].is_empty(),
            "SPEC-B: window {} is committed before it is settled",
            window.number
        );
        let (number, end) = (window.number, window.end);
        debug_assert!(window.stopped.is_empty(), "RESIZE-A: an LP stopped in {number}, now over");
        debug_assert_eq!(number, self.oldest, "WORD-B: another window is committed");
        debug_assert_eq!(window.order.len(), window.log.len(), "SPEC-A: an event has no LP");
        self.tally.windows += 1;
        let in_windows = window.len() + next.len() + self.sparse.held();
        let held = self.sender.calendar.len() + in_windows + self.sender.log_in_events();
        self.tally.peak = self.tally.peak.max(held);
        if self.sender.has_outputs {
            window.take_outputs(&mut self.outputs);
            let shared = self.sender.shared;
            let messages = self.outputs.iter().filter_map(|event| event.message.as_ref());
            self.sender.refund(messages.map(|message| shared.owned(message)).sum());
            shared.leave_outputs(number, &mut self.outputs);
        }
        debug_assert!(window.standing >= 0, "SPEC-D: fewer events than none are committed");
        self.tally.committed += window.standing as u64;
        let border = self.sender.grid.start(end);
        self.costs.record_commit(border, self.tally.processed, self.tally.committed);
        if self.sender.shared.end == f64::INFINITY {
            self.tally.last_time = self.tally.last_time.max(window.last_time());
        }
        let sender = &mut self.sender;
        self.sparse.commit(window, |message| sender.recycle(message));
        self.sender.drop_log(next.log_begin());
        if self.sender.is_limited() {
            self.settle_account(parity);
        }
        self.sender.opened[parity.index()] = Opened::default();
        self.oldest += 1;
        self.sender.oldest = parity.other();
        self.is_idle = false;
        self.advance(end);
        let shared = self.shared();
        if self.sender.me == 0 && shared.has_outputs() && shared.words.all_are_past(number + 1) {
            shared.write_outputs(0, &mut self.sender.error_context, number + 1);
        }
    }

    /// Whether the newest window is not the oldest one.
    pub(super) const fn has_two_windows(&self) -> bool {
        self.newest > self.oldest
    }
}
