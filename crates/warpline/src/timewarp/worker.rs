//! A worker: one thread's share of the LPs, and the main loop.
//!
//! [`Worker::turn`] is the paper's loop (GTW, section 3.1): take the mail, take the cancelled
//! events, handle the smallest events. It never waits for anything, so a test can drive many
//! workers on one thread, in any order.
//!
//! # Invariants
//!
//! - **TW-A.** A worker handles the events of an LP in the order of their keys. What comes later
//!   and sorts before an event that was handled is found when it is taken from the pending set; it
//!   is then the least that the worker has, so nothing of the LP was handled in between.
//! - **TW-B.** Every event that was sent is at its receiver in exactly one place: in the mail, in
//!   the pending set, waiting, in the processed list, or committed; or it was annihilated.
//! - **TW-C.** Nothing that a worker has is below GVT.

use std::collections::BTreeMap;

use warpline_core::{
    EventKey, Fault, Io, LogicalProcess, LpId, Model, ModelError, Place, UndoPoint,
};
use warpline_memory::{Buffers, Taken, prefetch};
use warpline_net::{Aggregation, NetError};

use super::{
    Message,
    across::Across,
    costs::Part,
    event::Event,
    flow::Flow,
    gvt::{Bound, Outcome},
    history::{Held, NONE, Record, Ring},
    io::{Reason, Waiting},
    rounds::Rounds,
    saving::{Lp, Saving},
    sending::{Desk, Sending},
    shared::Shared,
    statistics::Statistics,
};
use crate::{
    Engine, FossilCollection, RunError,
    handling::{self, Cause, Core, Halt, Handling},
    panics,
    pending::{Entry, PendingSet},
    run::{FailureOrder, Ranks},
};

/// How many events before its turn the LP of an event is loaded into the cache.
const PREFETCH_AHEAD: usize = 4;
/// While a worker has something to do, its letters to other ranks leave every so many turns, if
/// they were not enough for a parcel before.
const LETTERS_TURNS: u64 = 4;
/// A worker that has nothing to do asks for GVT every so many turns.
const IDLE_TURNS: u32 = 8;

/// One worker.
pub(super) struct Worker<'r, M: Model> {
    pub(super) model: &'r M,
    pub(super) shared: &'r Shared<M>,
    pub(super) me: usize,
    pub(super) lps: Vec<Lp<M::Lp>>,
    pub(super) buffers: Buffers<'r, Message<M>>,
    /// Whether the pool wants to know who sent what is in a buffer.
    wants_sender: bool,
    pub(super) desk: Desk<'r, M>,
    pub(super) history: Ring<Record>,
    pub(super) saving: Saving<M>,
    /// Events to be annihilated: the paper's CanQ.
    pub(super) cancelled: Vec<Event>,
    pub(super) waiting: Waiting,
    /// Lazy cancellation: what undone events had sent, by their buffers.
    pub(super) held: BTreeMap<u32, Vec<Held>>,
    pub(super) flow: Flow,
    pub(super) gvt: Bound,
    /// Whether this worker has not looked yet whether an LP waits for the event at GVT.
    is_gvt_new: bool,
    pub(super) statistics: Statistics,
    /// Whether the handler of the event at the back of the processed list runs.
    handling: bool,
    pub(super) outputs: Vec<(EventKey, LpId, Taken<Message<M>>)>,
    pub(super) on_the_fly: bool,
    /// Events processed when this worker last asked for GVT.
    asked_at: u64,
    gvt_interval: u64,
    idle_turns: u32,
    /// Of the next events, so many are on their way into the cache.
    prefetched: usize,
    pub(super) ranks: &'r Ranks<'r>,
    /// With other ranks, the first worker takes part in their rounds of GVT.
    pub(super) rounds: Option<Rounds<'r>>,
    /// With other ranks, what the run has come to. One more round sees to it that all letters have
    /// arrived.
    closing: Option<Turn>,
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Events were handled.
    Worked,
    /// There was nothing that this worker could or may handle.
    Idle,
    /// GVT has reached the end.
    Finished,
    /// The run was told to stop: everything that is not committed was undone.
    Interrupted,
    /// The run failed.
    Failed,
}

/// A worker could not start; what went wrong is with the others by now.
#[derive(Debug)]
pub(super) struct Failed;

impl<'r, M: Model> Worker<'r, M> {
    pub(super) fn new(
        model: &'r M,
        shared: &'r Shared<M>,
        me: usize,
        ranks: &'r Ranks<'r>,
    ) -> Self {
        let transport = ranks.transport();
        let settings = &shared.settings.timewarp;
        let buffers = shared.arena.buffers(me);
        Self {
            model,
            shared,
            me,
            lps: Vec::with_capacity(shared.directory.lps_of(me).len()),
            wants_sender: buffers.wants_sender(),
            buffers,
            desk: Desk::new(shared, me, transport),
            history: Ring::default(),
            saving: Saving::new(settings, &shared.admission, shared.directory.lps_of(me).len()),
            cancelled: Vec::new(),
            waiting: Waiting::default(),
            held: BTreeMap::new(),
            flow: Flow::new(shared),
            gvt: Bound::ZERO,
            is_gvt_new: false,
            statistics: Statistics::default(),
            handling: false,
            outputs: Vec::new(),
            on_the_fly: settings.fossil_collection == FossilCollection::OnTheFly,
            asked_at: 0,
            gvt_interval: settings.gvt_interval as u64,
            idle_turns: 0,
            prefetched: 0,
            ranks,
            rounds: transport.filter(|_| me == 0).map(Rounds::new),
            closing: None,
        }
    }

    /// Makes the LPs and lets each send its first events.
    ///
    /// # Errors
    ///
    /// When one failed: the run has failed then, and this worker must not go on.
    pub(super) fn start(&mut self) -> Result<(), Failed> {
        let seed = self.shared.settings.seed;
        for &id in self.shared.directory.lps_of(self.me) {
            let (model, buffers, desk, lps) =
                (self.model, &self.buffers, &mut self.desk, &mut self.lps);
            let outcome = panics::catch(|| {
                let sink = Sending { desk: &mut *desk, buffers, undo: UndoPoint::NEVER, note: 0 };
                let handling::Lp { state, core } = handling::Lp::start(model, id, seed, sink);
                lps.push(Lp { state, core, last_time: 0.0, last: NONE, id });
            });
            // What a start sends is never cancelled.
            desk.sent.drop_before(desk.sent.back());
            if let Err(halt) = desk.cut_off.settle(outcome) {
                match halt {
                    Halt::Fault(fault) => self.fail(Some(id), None, fault),
                    Halt::OutOfBuffers => self.fail_for_lack_of_buffers(id, None),
                }
                // It takes no part in rounds of GVT either.
                self.shared.across.iter().for_each(Across::abandon);
                return Err(Failed);
            }
        }
        self.desk.flush();
        self.desk.flush_away();
        Ok(())
    }

    /// One turn of the main loop. A test takes its three steps one by one.
    #[inline]
    pub(super) fn turn(&mut self) -> Turn {
        let must_report = match self.notice() {
            Ok(must_report) => must_report,
            Err(ended) => return ended,
        };
        self.file(must_report).unwrap_or_else(|| self.handle_batch())
    }

    /// Looks after GVT: gives back whether this turn is to report.
    pub(super) fn notice(&mut self) -> Result<bool, Turn> {
        let must_report = self.desk.gvt.notice(&self.shared.gvt);
        let outcome = self.desk.gvt.adopt(&self.shared.gvt);
        outcome.and_then(|outcome| self.adopt(outcome)).map_or(Ok(must_report), Err)
    }

    /// Steps 1 and 2.
    pub(super) fn file(&mut self, must_report: bool) -> Option<Turn> {
        // 1. All incoming mail is filed.
        self.desk.costs.begin();
        self.receive();
        if self.shared.across.is_some() {
            self.receive_from_away();
        }
        // 2. All cancelled events are annihilated.
        self.cancel();
        self.desk.costs.end(Part::Receive);
        if std::mem::take(&mut self.is_gvt_new)
            && let Some(ended) = self.meet_gvt()
        {
            return Some(ended);
        }
        self.desk.flush();
        if must_report {
            let least = self.least();
            self.show(least);
            self.cut_off_letters();
            self.desk.gvt.report(&self.shared.gvt, least, self.flow.notes());
            let shown = &self.shared.shown[self.me];
            // Ordering: Relaxed; for people.
            shown.reports.store(self.desk.gvt.reports(), std::sync::atomic::Ordering::Relaxed);
        }
        if self.shared.across.is_some() {
            return self.look_across();
        }
        self.shared.failure.is_known().then(|| self.leave())
    }

    /// Step 3: the smallest unprocessed events are handled.
    pub(super) fn handle_batch(&mut self) -> Turn {
        self.look_whether_to_go_on();
        let letters_left = self.letters_left();
        self.flow.note_history(self.shared, self.history.len(), letters_left);
        let is_over = self.flow.has_failed() || self.is_closing();
        let handled = if is_over { 0 } else { self.process(letters_left) };
        self.show_progress();
        self.desk.flush();
        self.ask_for_gvt(handled > 0);
        let adapts = self.shared.settings.aggregation == Aggregation::Adaptive;
        if handled == 0 || adapts && self.statistics.turns.is_multiple_of(LETTERS_TURNS) {
            self.desk.flush_away();
        }
        if handled > 0 { Turn::Worked } else { Turn::Idle }
    }

    /// Starts a computation of GVT when enough was processed since the last time, or nothing can
    /// be.
    fn ask_for_gvt(&mut self, worked: bool) {
        self.idle_turns = if worked { 0 } else { self.idle_turns + 1 };
        self.statistics.turns += 1;
        self.statistics.idle_turns += u64::from(!worked);
        let due = self.statistics.processed - self.asked_at >= self.gvt_interval;
        if due || (self.idle_turns + 1).is_multiple_of(IDLE_TURNS) || self.flow.is_starved() {
            self.asked_at = self.statistics.processed;
            self.shared.ask_for_gvt();
        }
    }

    /// Step 1: takes the mail. Events go into the pending set, whatever they are late for (TW-A).
    fn receive(&mut self) {
        for block in self.shared.inboxes[self.me].drain() {
            self.statistics.received += block.items.len() as u64;
            for &mail in &block.items {
                match mail.cancels() {
                    None => self.desk.pending.insert(mail),
                    Some(event) => self.cancelled.push(event),
                }
            }
            self.desk.give_back(block);
        }
    }

    /// Step 3: handles events, the least first, until a batch is full or none may be handled.
    fn process(&mut self, letters_left: usize) -> usize {
        let batch = self.flow.batch().min(letters_left.max(1));
        let mut handled = 0;
        while handled < batch {
            let before = handled;
            let outcome = panics::catch(|| self.process_events(batch, &mut handled));
            let Err(fault) = outcome else { break };
            self.cut_off(fault);
            if self.flow.is_starved() {
                break;
            }
            handled = handled.max(before + 1);
        }
        handled
    }

    fn process_events(&mut self, batch: usize, handled: &mut usize) {
        while *handled < batch {
            self.desk.costs.begin_event(self.statistics.processed);
            let Some(event) = self.desk.pending.pop() else { return };
            self.desk.costs.lap(Part::Pending);
            if event.time() >= self.flow.limit() && !self.may_handle(&event) {
                self.desk.pending.insert(event);
                return;
            }
            self.prefetch();
            let in_order = event.time() > self.lps[event.lp as usize].last_time;
            if (in_order && event.is_ordinary()) || self.is_next(event, in_order) {
                if self.on_the_fly {
                    self.collect_some();
                }
                self.handle(event);
                *handled += 1;
            }
        }
    }

    /// Starts to load what the next events need into the cache: one more for each event that is
    /// handled, and a few at once where the pending set has just sorted its next ones.
    #[inline]
    fn prefetch(&mut self) {
        self.prefetched = self.prefetched.saturating_sub(1);
        while self.prefetched < PREFETCH_AHEAD
            && let Some(next) = self.desk.pending.upcoming(self.prefetched)
        {
            if let Some(lp) = self.lps.get(next.lp as usize) {
                prefetch(lp);
            }
            self.buffers.prefetch(next.buffer());
            self.prefetched += 1;
        }
    }

    /// An event that has to be looked at: it may be a straggler, for an LP that waits, or an I/O
    /// event. Gives back whether it is to be handled now.
    #[cold]
    fn is_next(&mut self, event: Event, in_order: bool) -> bool {
        if !in_order {
            if self.waiting.holds(event.lp) {
                if self.waiting.keep(event).is_ok() {
                    return false;
                }
                self.unblock(event.lp);
            }
            let last = self.lps[event.lp as usize].last;
            if self.history.is_live(last) && self.history[last].event.key > event.key {
                self.statistics.primary_rollbacks += 1;
                self.roll_back(event.lp, Bound(event.key.words()), None);
                self.cancel();
            }
        }
        if event.io() == Some(Io::Blocking) {
            self.block(event, Reason::Io);
            return false;
        }
        true
    }

    /// Handles an event.
    #[inline]
    pub(super) fn handle(&mut self, event: Event) {
        let lp = &mut self.lps[event.lp as usize];
        let at = self.history.push(event, &lp.core, lp.last, self.desk.sent.back());
        self.saving.before(lp, &mut self.history, at);
        (lp.last, lp.last_time) = (at, event.time());
        self.desk.costs.lap(Part::Saving);
        if !self.held.is_empty() {
            self.desk.resend = self.held.remove(&event.buffer().get()).unwrap_or_default();
        }
        self.handling = true;
        let message = self.buffers.get(event.buffer());
        let undo = if self.saving.undoes_writes() {
            UndoPoint { event: at, committed: self.history.front() }
        } else {
            UndoPoint::NEVER
        };
        let Lp { state, core: Core { rng, sent, digest }, id, .. } = lp;
        let cause = Cause::event(&event.key, *id);
        let sink = Sending { desk: &mut self.desk, buffers: &self.buffers, undo, note: 0 };
        let mut cx = Handling { cause, rng, sent, sink };
        if event.is_ordinary() {
            state.handle(self.model, message, &mut cx);
        } else if event.io() == Some(Io::Blocking) {
            state.handle_io(self.model, message, &mut cx);
        } else {
            self.statistics.outputs += 1;
        }
        let note = cx.sink.note;
        digest.commit(&event.key, M::Lp::fingerprint(message));
        self.saving.note(at, note);
        self.handling = false;
        self.statistics.processed += 1;
        if !self.desk.resend.is_empty() {
            self.cancel_not_resent();
        }
        self.desk.costs.lap(Part::Handler);
    }

    /// A handler did not come to its end: undoes what it did, and says what is to become of it.
    #[cold]
    fn cut_off(&mut self, fault: Fault) {
        assert!(
            std::mem::take(&mut self.handling),
            "Warpline has a bug: worker {} found that {fault}",
            self.me
        );
        let event = self.history[self.history.back() - 1].event;
        self.statistics.processed += 1;
        match self.desk.cut_off.reason(fault) {
            Halt::OutOfBuffers => {
                self.undo_cut_off(&event, None);
                let quota = self.quota();
                self.flow.starve(self.statistics.processed, quota);
                if self.shared.across.is_some() {
                    self.flow.note_cut_off();
                }
            }
            Halt::Fault(fault) => {
                self.undo_cut_off(&event, Some(&event));
                self.block(event, Reason::Failed(fault));
            }
        }
    }

    /// Makes an LP wait for `event`.
    pub(super) fn block(&mut self, event: Event, reason: Reason) {
        self.waiting.block(event, reason);
        self.lps[event.lp as usize].last_time = f64::INFINITY;
    }

    /// Ends the wait of an LP; what it got meanwhile is pending again.
    pub(super) fn unblock(&mut self, lp: u32) {
        let pending = &mut self.desk.pending;
        self.waiting.unblock(lp, |event| pending.insert(event));
        self.settle_last_time(lp);
    }

    /// Sets the time of an LP's last event by its processed list.
    pub(super) fn settle_last_time(&mut self, lp: u32) {
        let lp = &mut self.lps[lp as usize];
        let live = self.history.is_live(lp.last);
        // What is committed is below everything that may still come.
        lp.last_time = if live { self.history[lp.last].event.time() } else { 0.0 };
    }

    /// The worker that sent an event, if the pool wants to know.
    #[inline]
    pub(super) fn sender_of(&self, event: &Event) -> usize {
        if !self.wants_sender {
            return self.me;
        }
        let directory = &self.shared.directory;
        // The message of a remote event was put into a buffer by this worker.
        directory.local(directory.place(event.key.sender()).worker).unwrap_or(self.me)
    }

    /// The least key that this worker may still handle.
    pub(super) fn least(&mut self) -> Bound {
        debug_assert!(self.cancelled.is_empty(), "GVT: cancelled events are handled before");
        let pending =
            self.desk.pending.peek().map_or(Bound::NEVER, |event| Bound(event.key.words()));
        let stashed = self.desk.away.as_ref().map_or(Bound::NEVER, |away| away.least());
        pending.min(self.waiting.least()).min(stashed)
    }

    /// Whether an event at or beyond the limit may be handled all the same: the one that GVT has
    /// reached always may, if it is before the end.
    #[cold]
    fn may_handle(&mut self, event: &Event) -> bool {
        let first = self.gvt == Bound(event.key.words()) && self.flow.may_try();
        event.time() < self.shared.end && (first || self.flow.may_handle(self.shared, event.time()))
    }

    /// What happens at a new GVT, in this order.
    fn adopt(&mut self, outcome: Outcome) -> Option<Turn> {
        if outcome.gvt < self.gvt {
            // Between ranks a key may have changed on its way; within one it is a bug.
            let what = format!("GVT decreased from {:?} to {outcome:?}", self.gvt);
            assert!(self.shared.across.is_some(), "{what}");
            self.abandon(NetError::Failed(what));
            return None;
        }
        if self.is_closing() {
            return self.closing;
        }
        self.desk.costs.begin();
        let advanced = self.gvt < outcome.gvt;
        self.statistics.history_peak = self.statistics.history_peak.max(self.history.len());
        self.gvt = outcome.gvt;
        self.fossil_collect(Flow::says_short(outcome));
        self.desk.costs.end(Part::Fossil);
        if let Some(away) = &mut self.desk.away {
            away.on_gvt(self.gvt);
            self.shared.learn_barrier();
        }
        let last = self.is_final() || Flow::says_stop(outcome) || Flow::says_failed(outcome);
        if let Err((key, lp, fault)) = self.deliver_outputs(last) {
            self.fail(Some(lp), Some(key), fault);
            return if last { self.close(Turn::Failed) } else { self.end_as_failed() };
        }
        if Flow::says_failed(outcome) {
            return self.close(Turn::Failed);
        }
        if self.gvt.reaches(self.shared.end) {
            return self.close(Turn::Finished);
        }
        if Flow::says_stop(outcome) {
            self.undo_everything();
            return self.close(Turn::Interrupted);
        }
        if let Err(event) = self.relieve(outcome, advanced) {
            self.fail_for_lack_of_buffers(self.lps[event.lp as usize].id, Some(event.key));
            return self.end_as_failed();
        }
        self.is_gvt_new = true;
        let (events, rolled_back, rollbacks) = self.statistics.since_last_gvt();
        self.saving.tune(events, rollbacks);
        self.flow.on_gvt(self.shared, self.gvt, events, rolled_back);
        self.hold_back();
        None
    }

    /// Handles the event that GVT has reached, if an LP waits for it, or fails with it. An event at
    /// GVT itself may still be cancelled, but only by mail that was sent before GVT was known: so
    /// this comes after the mail was taken.
    fn meet_gvt(&mut self) -> Option<Turn> {
        let (event, reason) = self.waiting.reached(self.gvt)?;
        if let Reason::Failed(fault) = reason {
            let fault = fault.clone();
            self.fail(Some(self.lps[event.lp as usize].id), Some(event.key), fault);
            return self.end_as_failed();
        }
        self.handle_io(event);
        None
    }

    /// Handles the blocking I/O event that GVT has reached.
    fn handle_io(&mut self, event: Event) {
        let pending = &mut self.desk.pending;
        self.waiting.take(&event, |later| pending.insert(later));
        self.settle_last_time(event.lp);
        let outcome = panics::catch(|| self.handle(event));
        // SAVE-B.
        self.saving.copy_next(event.lp);
        if let Err(fault) = outcome {
            self.cut_off(fault);
        }
    }

    /// The run has come to its end. With other ranks, what they have sent meanwhile is waited for.
    fn close(&mut self, turn: Turn) -> Option<Turn> {
        if self.shared.across.is_none() {
            return Some(turn);
        }
        self.closing = Some(turn);
        None
    }

    pub(super) const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// The run fails. With other ranks it goes on until they have heard of it, by the next round of
    /// GVT.
    fn end_as_failed(&mut self) -> Option<Turn> {
        self.flow.fail();
        self.shared.across.is_none().then(|| self.leave())
    }

    /// The run has failed at some worker: what is committed by then still counts.
    pub(super) fn leave(&mut self) -> Turn {
        if let Some(outcome) = self.desk.gvt.adopt(&self.shared.gvt) {
            self.gvt = outcome.gvt.max(self.gvt);
            self.fossil_collect(false);
        }
        if let Err((key, lp, fault)) = self.deliver_outputs(true) {
            self.fail(Some(lp), Some(key), fault);
        }
        Turn::Failed
    }

    /// Ends the run with a mistake of the model's that is final.
    pub(super) fn fail(&self, lp: Option<LpId>, event: Option<EventKey>, fault: Fault) {
        let order = match (event, lp) {
            (Some(key), _) => FailureOrder::Event(key),
            (None, lp) => FailureOrder::Start(lp.unwrap_or_default()),
        };
        self.shared.failure.note(order, ModelError { fault, place: self.place(lp, event) }.into());
    }

    /// Ends the run because `lp` needs a buffer, and there is none that could be reclaimed.
    pub(super) fn fail_for_lack_of_buffers(&self, lp: LpId, event: Option<EventKey>) {
        let order = event.map_or(FailureOrder::Start(lp), FailureOrder::Event);
        let error = RunError::OutOfBuffers {
            place: self.place(Some(lp), event),
            limit: self.shared.settings.memory.unwrap_or(u64::MAX),
            events: u64::from(self.shared.arena.limit()),
            event_bytes: Shared::<M>::buffer_bytes(self.shared.workers()),
        };
        self.shared.failure.note(order, error);
    }

    fn place(&self, lp: Option<LpId>, event: Option<EventKey>) -> Place {
        let (engine, worker) = (Engine::TimeWarp.name(), self.me);
        Place { lp, event, engine, worker, seed: self.shared.settings.seed }
    }

    /// Shows the others the time of the event that was handled last.
    #[inline]
    fn show_progress(&self) {
        let last = self.history.back().checked_sub(1).filter(|&at| self.history.is_live(at));
        if let Some(last) = last {
            // Collected on the fly, a record may be below GVT.
            let time = self.history[last].event.key.words()[0].max(self.gvt.0[0]);
            // Ordering: Relaxed; an estimate.
            self.shared.shown[self.me].next.store(time, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Shows the others how far this worker is.
    pub(super) fn show(&self, least: Bound) {
        use std::sync::atomic::Ordering::Relaxed;
        // Ordering: Relaxed; estimates and counts.
        let shown = &self.shared.shown[self.me];
        shown.next.store(least.0[0], Relaxed);
        shown.committed.store(self.statistics.committed, Relaxed);
        shown.processed.store(self.statistics.processed, Relaxed);
    }
}
