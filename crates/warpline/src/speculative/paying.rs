//! Workers pay for what they hold, where memory is limited, from the [budget](super::memory).
//!
//! Sends pay for events ([`SpeculativeSender::pay`]), and workers for copies of states and for the
//! room of their undo logs before an LP handles its first event of a window
//! ([`SpeculativeSender::can_begin`]). What an LP has written to an undo log is paid for when it
//! sends the next time, or has come through its events.
//!
//! A worker pays for an event that it sends to another one, and the other one gets back what is
//! paid for it. So only the sum of all accounts says what the workers hold; at each commit, and at
//! each resize, a worker counts what it has, and corrects its own ([`SpeculativeSender::settle`]).

use std::mem::needs_drop;

use warpline_core::{LogicalProcess, Model};

use super::{
    event::{Event, Parity},
    event_bytes,
    resize::Reason,
    sending::SpeculativeSender,
    window::Window,
    worker::SpeculativeWorker,
};
use crate::{
    event::{Buffer, Message, heap_bytes},
    local_lp::LocalLp,
    sync::Ordering,
};

/// Words of an undo log that there is always room for.
const LOG_LEAST: usize = 64;

impl<M: Model, B: Buffer<Message<M>>> SpeculativeSender<'_, M, B> {
    /// Whether memory is limited.
    #[inline]
    pub(super) const fn is_limited(&self) -> bool {
        self.account.is_limited
    }

    /// Pays for an event with this message. (Out of line: only where memory is limited.)
    #[inline(never)]
    pub(super) fn pay(&mut self, message: &B) -> bool {
        debug_assert!(self.is_limited(), "SPEC-F: paid for, and there is no limit");
        let owned = heap_bytes::<M>(message);
        if self.undo_log.bytes() as u64 > self.account.log {
            self.settle_log();
        }
        let budget = &self.shared.budget;
        if self.account.is_short || !self.account.pay(budget, event_bytes::<M>() + owned) {
            return false;
        }
        self.account.events += 1;
        budget.own(owned);
        true
    }

    /// Events are gone that were paid for, or anti-messages.
    pub(super) fn release(&mut self, events: u64) {
        if self.is_limited() && events > 0 {
            self.account.events -= events as i64;
            self.account.get_back(&self.shared.budget, events * event_bytes::<M>());
        }
    }

    /// What messages or copies owned is gone.
    #[inline]
    pub(super) fn refund(&mut self, owned: u64) {
        if owned > 0 {
            self.shared.budget.disown(owned);
            self.account.get_back(&self.shared.budget, owned);
        }
    }

    /// Whether there is memory for what an LP needs before it handles its first event in a window,
    /// with this copy of its state or as much of the undo log as one has written at once. `copied`
    /// is what the copies of the window own.
    pub(super) fn can_begin(&mut self, state: &M::Lp, copied: &mut u64) -> bool {
        debug_assert!(self.is_limited(), "SPEC-F: asked for, and there is no limit");
        let fits = if const { M::Lp::SAVING.is_by_field() } {
            self.can_log()
        } else {
            self.can_copy(0, own_bytes(state), copied)
        };
        self.account.is_short |= !fits;
        fits
    }

    /// Whether there is memory for a copy that owns `after`, in place of one that owned `before`.
    fn can_copy(&mut self, before: u64, after: u64, copied: &mut u64) -> bool {
        let budget = &self.shared.budget;
        if after > before && !self.account.pay(budget, after - before) {
            return false;
        }
        budget.own(after.saturating_sub(before));
        self.refund(before.saturating_sub(after));
        debug_assert!(*copied >= before, "SPEC-F: a copy owns {before} of {copied} bytes");
        *copied = *copied + after - before;
        true
    }

    /// Whether the undo log has room for as much as an LP has written so far. It grows before the
    /// LP handles an event, not in the middle.
    fn can_log(&mut self) -> bool {
        let words = self.account.log_words_most + LOG_LEAST;
        if self.undo_log.has_room(words) {
            return true;
        }
        // A log that grows moves, so both the old and the new one are there for a moment.
        let bytes = self.undo_log.bytes_with(words) as u64;
        if !self.account.pay(&self.shared.budget, bytes) {
            return false;
        }
        self.undo_log.reserve(words);
        self.account.spare += bytes;
        self.settle_log();
        true
    }

    /// Pays for what the undo log takes by now, or gets back what it does not take any more. What
    /// an LP has written is there, so it is paid for even if it is beyond the limit.
    pub(super) fn settle_log(&mut self) {
        if !const { M::Lp::SAVING.is_by_field() } {
            return;
        }
        self.account.look_at_log(&self.undo_log);
        let budget = &self.shared.budget;
        if !self.account.pay_log(budget, &self.undo_log) {
            // Without its room, perhaps.
            self.undo_log.shrink();
            if !self.account.pay_log(budget, &self.undo_log) {
                let beyond = self.undo_log.bytes() as u64 - self.account.log;
                self.account.log += beyond;
                budget.owe(beyond);
                self.account.is_short = true;
            }
        }
    }

    /// The LP of a group of events has handled them, and some more that it has sent itself.
    pub(super) fn end_group(&mut self, own: u64) {
        if self.is_limited() {
            self.release(own);
            self.settle_log();
        }
    }

    /// Whether the worker could not pay since the last call.
    pub(super) const fn take_shortage(&mut self) -> bool {
        std::mem::replace(&mut self.account.is_short, false)
    }

    /// Counts events, at a moment at which all that there are lie in the calendar, among the late
    /// ones, or in the windows: `in_windows`. The rest is gone.
    fn settle(&mut self, in_windows: u64) {
        let late: usize = self.late.iter().map(Vec::len).sum();
        let here = self.calendar.len() + self.calendar.antis() + in_windows + late as u64;
        let came = self.received.iter().sum::<u64>() as i64 - self.sent.iter().sum::<u64>() as i64;
        let gone = self.account.events + came - here as i64;
        debug_assert!(gone >= 0, "SPEC-F: {} events are not paid for", -gone);
        self.release(gone.max(0) as u64);
        self.settle_log();
    }

    /// The windows begin, with the events in the calendar, which are paid for.
    pub(super) fn begin_account(&mut self) {
        let (workers, events) = (self.shared.workers(), self.calendar.len());
        self.account.begin(&self.shared.budget, workers, events, event_bytes::<M>());
    }
}

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// Gets back what a committed window took, where memory is limited.
    #[cold]
    pub(super) fn settle_account(&mut self, committed: Parity) {
        let copied = self.windows[committed.index()].drop_copies();
        self.sender.refund(copied);
        let in_windows = self.windows.iter().map(Window::held).sum();
        self.sender.settle(in_windows);
    }

    /// The first worker counts anew, what all of them have found at a resize. If it is beyond the
    /// limit, the run fails.
    pub(super) fn count_anew(&self) {
        if self.sender.me == 0 {
            let shared = self.sender.shared;
            // Ordering: Relaxed; barriers lie before and after.
            let owned = shared.resize.owned.swap(0, Ordering::Relaxed);
            let events = shared.resize.pending.load(Ordering::Relaxed);
            if !shared.budget.count_anew(events.saturating_mul(event_bytes::<M>()), owned) {
                shared.fail_for_memory();
            }
        }
    }

    /// The windows were undone: drops their copies, and the room of the undo log, which is empty.
    /// What is left is counted anew.
    pub(super) fn give_up_account(&mut self) {
        if !self.sender.is_limited() {
            return;
        }
        for window in &mut self.windows {
            window.drop_copies();
        }
        let log = &mut self.sender.undo_log;
        log.shrink();
        debug_assert_eq!(log.bytes(), 0, "RESIZE-A: a window can be undone");
        self.sender.account.give_up();
    }

    /// Whether there is memory for an LP to handle late events. If not, requests a resize.
    #[cold]
    pub(super) fn can_handle_late(&mut self, parity: Parity, event: &Event<B>) -> bool {
        let local = self.sender.shared.place(event.to).lp;
        self.sender.settle_log();
        let is_later = self.is_handled_later(parity, local);
        let (window, next) = parity.split(&mut self.windows);
        if !window.has(local) || const { M::Lp::SAVING.is_by_field() } {
            let later = if is_later { next.copy_of(local) } else { None };
            let state = later.unwrap_or(&self.lps[local.index()].state);
            self.sender.can_begin(state, &mut window.copied);
        }
        self.go_on_if_paid()
    }

    /// Whether there is memory to save an LP anew, whose state has changed. If not, requests a
    /// resize.
    pub(super) fn can_save_again(&mut self, parity: Parity, local: LocalLp) -> bool {
        let window = &mut self.windows[parity.index()];
        let after = own_bytes(&self.lps[local.index()].state);
        if let Some(before) = window.copy_of(local).map(own_bytes)
            && !self.sender.can_copy(before, after, &mut window.copied)
        {
            self.sender.account.is_short = true;
        }
        self.go_on_if_paid()
    }

    /// Whether all could be paid for. If not, requests a resize: windows become narrower.
    pub(super) fn go_on_if_paid(&mut self) -> bool {
        let is_short = self.sender.take_shortage();
        if is_short {
            self.request_resize(Reason::SIZE);
        }
        !is_short
    }
}

/// What a state, or a copy of it, owns.
fn own_bytes<L: LogicalProcess>(state: &L) -> u64 {
    if const { needs_drop::<L>() } { state.heap_bytes() as u64 } else { 0 }
}
