//! Flow control: how far ahead of GVT a worker may go, and what it does when buffers run out.
//!
//! Every limit on optimism ends up in one number, [`Flow::limit`]: no event at or after it is
//! handled, except the one that GVT has reached. So no limit can stop a run.
//!
//! | limit                       | from                                                        |
//! |-----------------------------|-------------------------------------------------------------|
//! | the end of the run          | `--end`                                                     |
//! | the window                  | `--window` ahead of GVT                                     |
//! | the simulated time barrier  | the model (GTW, 2.3)                                        |
//! | the throttle                | what rollbacks cost of late, see [`Throttle`]               |
//! | the squeeze                 | a shortage of buffers, see [`Worker::relieve`]              |
//! | the processed list          | at most [`HISTORY_MAX`] records                             |
//! | free buffers                | F_free1 and F_free2 (GTW, 3.4), see [`Worker::hold_back`]   |
//! | letters to other ranks      | a share of the buffers per round, [`Worker::letters_left`]  |
//!
//! Other ranks have buffers of their own. What a worker sends there takes none of its own ones, so
//! it may send only so much until the next GVT: where memory is not limited, as much as it may have
//! processed. What finds no buffer at its receiver waits in the stash there (see
//! [`away`](super::away)): never more than that share of every other worker, for the last two
//! rounds. Its worker is short of buffers, and the answer is the same for the workers of all ranks:
//! they see the same outcomes, and each takes back what it has sent from far ahead.

use std::sync::atomic::Ordering;

use warpline_core::Model;

use super::{
    event::Event,
    gvt::{Bound, Outcome},
    shared::Shared,
    throttle::Throttle,
    worker::Worker,
};
use crate::{
    monitor::Activity,
    pending::{Entry, PendingSet},
};

/// Notes of a report: the worker could not send for lack of buffers.
const STARVED: u64 = 1;
/// Notes of a report: the run is to stop.
const STOP: u64 = 2;
/// Notes of a report: a worker could not send for lack of buffers, soon after the last time.
const STARVED_AGAIN: u64 = 4;
/// Notes of a report: the run has failed, at this rank.
const FAILED: u64 = 8;
/// Notes of a report: events from other ranks have found no buffer, as in the round before.
const CLOGGED: u64 = 16;
/// Soon: it has not handled this part of its share of all buffers since.
const SOON: u64 = 16;

/// After so many rounds of taking back ever more, everything that is not committed is undone.
const SQUEEZES: u32 = 8;
/// Rounds that the event which GVT has reached gets to find a buffer when all else is undone. Where
/// the others begin to undo only when GVT does not advance, it takes them [`SQUEEZES`] of these.
const PATIENCE: u32 = 8 + SQUEEZES + STUCK;
/// Where a pool keeps the buffers of workers apart, it does so for so many rounds in which GVT does
/// not advance for lack of buffers: those that belong to who lacks them come home meanwhile.
const STUCK: u32 = 3;
/// Rounds without a shortage after which the squeeze is eased by one step.
const EASE_AFTER: u32 = 4;

/// A worker waits for GVT when its processed list would have more records than this, or than so
/// many times the events between two computations of GVT: a longer list does not stay in the cache,
/// and what is that far ahead is more likely undone than not. Longer lists than 4096 records make
/// PCS and W3 a tenth to a third slower with two workers.
const HISTORY_MAX: usize = 4096;
const HISTORY_MAX_INTERVALS: usize = 4;
/// Sparse copies keep records for longer.
const HISTORY_MAX_SPARSE: usize = 32_768;

/// The limits of one worker.
#[derive(Debug)]
pub(super) struct Flow {
    limit: f64,
    batch: usize,
    gvt: Bound,
    throttle: Option<Throttle>,
    /// This worker ran out of buffers, and waits for the next round.
    starved: bool,
    /// And that soon after the last time, when it had handled so many events.
    starved_again: bool,
    starved_at: u64,
    /// With other ranks: not even the event that GVT has reached is tried again before the next
    /// round. What it sends to them leaves at once, and would be cancelled again and again.
    has_tried: bool,
    /// This worker waits until others have caught up (GTW, 3.4).
    held_back: bool,
    /// Where memory is limited, this worker waits until all others have sent their first events,
    /// or it might leave them no buffers for those. The first GVT says that they have.
    too_early: bool,
    /// The processed list is as long as it may get, or no more letters may be sent to other ranks.
    full: bool,
    history_max: usize,
    stop: bool,
    /// The run fails, which other ranks have to hear of.
    failed: bool,
    /// Rounds in a row at whose end events from other ranks had no buffer; and since the squeeze
    /// is tightest.
    clogged: u32,
    clogged_for_good: u32,
    /// Rounds with a shortage in which GVT did not advance.
    stuck: u32,
    /// How often the time ahead of GVT was halved because of a shortage.
    squeezes: u32,
    /// Rounds with a shortage and without progress, since the squeeze is tightest.
    hopeless: u32,
    calm: u32,
    /// The time ahead of GVT that was in use when the shortage began.
    unsqueezed: f64,
}

impl Flow {
    pub(super) fn new<M: Model>(shared: &Shared<M>) -> Self {
        let settings = &shared.settings.timewarp;
        let least = if settings.copies_all() { HISTORY_MAX } else { HISTORY_MAX_SPARSE };
        let needed = HISTORY_MAX_INTERVALS * settings.gvt_interval.max(settings.batch);
        let history_max = least.max(needed);
        let in_parallel = settings.workers > 1 || shared.across.is_some();
        let mut flow = Self {
            limit: 0.0,
            batch: settings.batch,
            gvt: Bound::ZERO,
            throttle: (settings.throttle && in_parallel).then(Throttle::new),
            starved: false,
            starved_again: false,
            starved_at: 0,
            has_tried: false,
            held_back: false,
            too_early: shared.settings.memory.is_some(),
            full: false,
            history_max,
            stop: false,
            failed: false,
            clogged: 0,
            clogged_for_good: 0,
            stuck: 0,
            squeezes: 0,
            hopeless: 0,
            calm: 0,
            unsqueezed: 0.0,
        };
        flow.set_limit(shared);
        flow
    }

    #[inline]
    pub(super) const fn limit(&self) -> f64 {
        self.limit
    }

    #[inline]
    pub(super) const fn batch(&self) -> usize {
        self.batch
    }

    pub(super) const fn is_starved(&self) -> bool {
        self.starved
    }

    /// What keeps the worker from the events that it has.
    pub(super) const fn holds_back_by(&self) -> Activity {
        if self.starved {
            Activity::OutOfBuffers
        } else if self.too_early {
            Activity::TooEarly
        } else if self.held_back {
            Activity::FewBuffers
        } else if self.full {
            Activity::Full
        } else {
            Activity::TooFarAhead
        }
    }

    pub(super) const fn is_squeezed(&self) -> bool {
        self.starved || self.squeezes > 0
    }

    /// A handler found no buffer, after `processed` events in all: nothing is handled until GVT has
    /// been computed. `quota` is this worker's share of all buffers.
    pub(super) fn starve(&mut self, processed: u64, quota: f64) {
        (self.starved, self.limit) = (true, 0.0);
        self.starved_again = processed - self.starved_at <= quota as u64 / SOON;
        self.starved_at = processed;
    }

    /// With other ranks: an event was cut off for lack of buffers.
    pub(super) fn note_cut_off(&mut self) {
        self.has_tried = true;
    }

    /// Whether an event may be tried though it is beyond every limit, as GVT has reached it.
    pub(super) const fn may_try(&self) -> bool {
        !self.has_tried
    }

    /// The run is to stop at the next GVT.
    pub(super) fn stop(&mut self) {
        self.stop = true;
    }

    /// The run fails: nothing is handled any more.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    /// What this worker tells the others in its report.
    pub(super) const fn notes(&self) -> u64 {
        let again = if self.starved_again { STARVED | STARVED_AGAIN } else { STARVED };
        (if self.starved { again } else { 0 })
            | (if self.stop { STOP } else { 0 })
            | (if self.failed { FAILED } else { 0 })
            | (if self.clogged > 1 { CLOGGED } else { 0 })
    }

    /// Says whether events from other ranks have no buffer, before the report.
    pub(super) fn note_stash(&mut self, is_empty: bool) {
        self.clogged = if is_empty { 0 } else { self.clogged + 1 };
    }

    pub(super) const fn says_short(outcome: Outcome) -> bool {
        outcome.notes & STARVED != 0
    }

    pub(super) const fn says_stop(outcome: Outcome) -> bool {
        outcome.notes & STOP != 0
    }

    pub(super) const fn says_failed(outcome: Outcome) -> bool {
        outcome.notes & FAILED != 0
    }

    /// Whether an event beyond the limit may be handled after all: workers move on between two
    /// computations of GVT, and the throttle looks at them.
    pub(super) fn may_handle<M: Model>(&mut self, shared: &Shared<M>, time: f64) -> bool {
        self.set_limit(shared);
        if let Some(throttle) = &mut self.throttle
            && time >= self.limit
        {
            throttle.note_held_back();
        }
        time < self.limit
    }

    /// Says how long the processed list is, and how many letters to other ranks may still be sent;
    /// a change counts at once.
    #[inline]
    pub(super) fn note_history<M: Model>(
        &mut self,
        shared: &Shared<M>,
        records: usize,
        letters_left: usize,
    ) {
        let full = records + self.batch > self.history_max || letters_left == 0;
        if full != self.full {
            self.full = full;
            self.set_limit(shared);
        }
    }

    /// Sets the limit anew at a new GVT.
    pub(super) fn on_gvt<M: Model>(
        &mut self,
        shared: &Shared<M>,
        gvt: Bound,
        events: u64,
        rolled_back: u64,
    ) {
        let advance = gvt.time() - self.gvt.time();
        (self.gvt, self.too_early) = (gvt, false);
        if let Some(throttle) = &mut self.throttle {
            throttle.on_gvt(events, rolled_back, advance);
        }
        self.set_limit(shared);
    }

    fn set_limit<M: Model>(&mut self, shared: &Shared<M>) {
        if self.starved || self.held_back || self.full || self.too_early {
            self.limit = 0.0;
            return;
        }
        let gvt = self.gvt.time();
        // Ordering: Relaxed; the barrier limits optimism, and that only as soon as it is seen.
        let barrier = shared.barrier.load(Ordering::Relaxed);
        let barrier = if barrier == u64::MAX { f64::INFINITY } else { f64::from_bits(barrier) };
        let mut limit = shared.end.min(gvt + shared.settings.timewarp.window).min(barrier);
        if self.squeezes > 0 {
            limit = limit.min(gvt + self.squeezed());
        }
        if let Some(throttle) = &self.throttle
            && let Some(throttled) = throttle.limit(gvt, || shared.snooped_gvt_or(gvt))
        {
            limit = limit.min(throttled);
        }
        self.limit = limit;
    }

    /// A round without a shortage. A worker that has just tried again is not short yet: that alone
    /// is no reason for hope.
    fn ease(&mut self, advanced: bool) {
        self.calm += 1;
        if self.calm >= EASE_AFTER {
            self.squeezes = self.squeezes.saturating_sub(1);
            self.calm = 0;
        }
        if advanced {
            self.hopeless = 0;
        }
    }

    /// The time ahead of GVT that the shortage of buffers leaves.
    fn squeezed(&self) -> f64 {
        if self.squeezes >= SQUEEZES {
            0.0
        } else {
            self.unsqueezed / f64::from(1_u32 << self.squeezes)
        }
    }
}

impl<M: Model> Worker<'_, M> {
    /// Answers a shortage of buffers, in step with all other workers that it concerns: they see the
    /// same outcomes.
    ///
    /// If GVT has advanced, fossil collection has just helped, and the pool distributes what it
    /// reclaimed. If that did not last, the squeeze begins.
    ///
    /// # Errors
    ///
    /// The event that GVT has reached, if there is no buffer even for what it sends; or one from
    /// another rank that finds no buffer though nothing is left that could be undone.
    pub(super) fn relieve(&mut self, outcome: Outcome, advanced: bool) -> Result<(), Event> {
        // Where the pool keeps the buffers of workers apart, others need not suffer from a
        // shortage, as long as GVT advances.
        self.flow.has_tried = false;
        let is_clogged = outcome.notes & CLOGGED != 0;
        let concerns = self.flow.starved || self.buffers.is_common() || !advanced || is_clogged;
        let is_short = Flow::says_short(outcome) && concerns;
        // A round in which the worker tried again has no shortage yet, and says nothing.
        let is_stuck = !advanced || is_clogged;
        self.flow.stuck = if is_stuck { self.flow.stuck + u32::from(is_short) } else { 0 };
        if !is_short {
            self.buffers.redistribute(Flow::says_short(outcome));
            self.flow.ease(advanced);
            return Ok(());
        }
        let starved = std::mem::take(&mut self.flow.starved);
        self.flow.calm = 0;
        if advanced && outcome.notes & STARVED_AGAIN == 0 {
            self.buffers.redistribute(true);
            return Ok(());
        }
        self.squeeze(advanced);
        match self.event_at_gvt() {
            Some(event) if starved && self.flow.hopeless > PATIENCE => return Err(event),
            _ => {}
        }
        // Even where GVT advances: what has no buffer would become more and more.
        let stashed = self.first_stashed().filter(|_| self.flow.squeezes >= SQUEEZES);
        self.flow.clogged_for_good =
            if stashed.is_some() { self.flow.clogged_for_good + 1 } else { 0 };
        stashed.filter(|_| self.flow.clogged_for_good > PATIENCE).map_or(Ok(()), Err)
    }

    /// Makes room by *cancelback* (Jefferson 1990): the events sent from furthest ahead are taken
    /// back by their senders, which roll back to before they sent them. Here the senders do it
    /// by themselves, beyond a time that comes closer to GVT each round. The time ahead of GVT
    /// stays so short for a while, or the same would happen again. In the end nothing is left
    /// but what a sequential run would have, and if that does not fit, nothing will.
    fn squeeze(&mut self, advanced: bool) {
        if self.flow.squeezes == 0 || self.flow.unsqueezed == 0.0 {
            self.flow.unsqueezed = self.farthest() - self.gvt.time();
        }
        if self.flow.squeezes < SQUEEZES {
            self.flow.squeezes += 1;
        } else {
            self.flow.hopeless = if advanced { 0 } else { self.flow.hopeless + 1 };
        }
        if self.flow.squeezes > 1 {
            self.cancel_back();
        }
        if self.flow.squeezes >= SQUEEZES {
            self.collect_all();
        }
        if self.buffers.is_common() || self.flow.stuck >= STUCK {
            self.buffers.give_up();
        } else {
            self.buffers.redistribute(true);
        }
    }

    /// This worker's pending event that GVT has reached.
    fn event_at_gvt(&mut self) -> Option<Event> {
        let pending = self.desk.pending.peek().copied();
        let pending = pending.filter(|event| Bound(event.key.words()) == self.gvt);
        let waiting = || self.waiting.reached(self.gvt).map(|(event, _)| event);
        let at_gvt = |event: &Event| Bound(event.key.words()) == self.gvt;
        pending.or_else(waiting).or_else(|| self.first_stashed().filter(at_gvt))
    }

    /// Takes back what lies beyond the squeezed window.
    fn cancel_back(&mut self) {
        let squeezed = self.flow.squeezed();
        let to = if squeezed > 0.0 {
            Bound([(self.gvt.time() + squeezed).to_bits(), 0, 0]).max(self.gvt.next())
        } else {
            // Not the event that GVT has reached: it may be a blocking I/O event, just handled.
            self.gvt.next()
        };
        let before = self.statistics.rolled_back;
        self.roll_back_all(to);
        self.statistics.cancelbacks += self.statistics.rolled_back - before;
    }

    /// The greatest time that this worker has handled an event of.
    fn farthest(&self) -> f64 {
        let history = &self.history;
        (history.front()..history.back())
            .filter(|&at| !history[at].undone)
            .map(|at| history[at].event.time())
            .fold(self.gvt.time(), f64::max)
    }

    /// Keeps GVT from thrashing where memory is limited (GTW, 3.4): a worker with few free buffers
    /// after fossil collection waits, unless it is the one that the others wait for.
    pub(super) fn hold_back(&mut self) {
        if self.shared.settings.memory.is_none() {
            return;
        }
        let [blocks_below, _] = self.shared.settings.timewarp.free_fractions;
        let is_low = |worker: &Self| worker.free_buffers() < blocks_below * worker.quota();
        if self.on_the_fly && is_low(self) {
            // A worker that is held back handles nothing, and so would collect nothing.
            self.collect_all();
        }
        self.flow.held_back = is_low(self) && !self.is_last();
        self.flow.set_limit(self.shared);
    }

    /// A worker that is held back goes on, with a new GVT, once enough buffers could be reclaimed:
    /// as many of its uncommitted events as lie before the snooped GVT, if they are spread
    /// evenly.
    pub(super) fn look_whether_to_go_on(&mut self) {
        if !self.flow.held_back {
            return;
        }
        let [_, resumes_above] = self.shared.settings.timewarp.free_fractions;
        let (gvt, snooped) = (self.gvt.time(), self.shared.snooped_gvt());
        let share = ((snooped - gvt) / (self.farthest() - gvt)).clamp(0.0, 1.0);
        let share = if share.is_nan() { 1.0 } else { share };
        let reclaimable = self.history.len() as f64 * share;
        if self.is_last() || self.free_buffers() + reclaimable > resumes_above * self.quota() {
            self.flow.held_back = false;
            self.flow.set_limit(self.shared);
            self.shared.ask_for_gvt();
        }
    }

    /// Whether no other worker shows that it is behind this one.
    fn is_last(&mut self) -> bool {
        let next = self.desk.pending.peek().map_or(f64::INFINITY, Entry::time);
        next <= self.shared.snooped_gvt()
    }

    /// The buffers that this worker can count on.
    fn free_buffers(&self) -> f64 {
        let shared = self.shared.arena.available() as f64 / self.shared.workers() as f64;
        self.buffers.free_count() as f64 + shared
    }

    /// How many letters to other ranks this worker may still send before the next GVT; the event
    /// that GVT has reached is handled all the same.
    pub(super) fn letters_left(&self) -> usize {
        let Some(away) = &self.desk.away else { return usize::MAX };
        let allowed = if self.shared.settings.memory.is_some() {
            1.max((self.quota() / self.ranks.count() as f64) as usize)
        } else {
            // Where rollbacks here and there cause each other, there would be no end to letters.
            self.flow.history_max
        };
        allowed.saturating_sub(away.sent_since_gvt())
    }

    /// N_buf of the paper: this worker's share of all buffers.
    pub(super) fn quota(&self) -> f64 {
        f64::from(self.shared.arena.limit()) / self.shared.workers() as f64
    }
}
