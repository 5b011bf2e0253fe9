//! Late events: an LP handles them after its other events of the window, or is rolled back.
//!
//! Nothing is logged of what LPs send. An LP that is rolled back handles its old events once more
//! from its checkpoint, which tells what it sent, and then the new ones; messages that are the same
//! both times stay as they are (lazy cancellation). Those that were sent before the first late
//! event are, as the LP runs as it did up to there; later ones, where the model tells their
//! identity.
//!
//! # Invariants
//!
//! - **SPEC-B.** After a window is settled, each LP has handled all events of the window that its
//!   worker has received, in the order of their keys. A round of settling takes all late events
//!   that there are, LP by LP. The least key that is wrong grows with each round, because an effect
//!   sorts after its cause (KEY-A), and what was sent before a late event is not canceled; so
//!   settling ends. (If it were, where a model tells no identities, an anti-message could follow
//!   its own effects around a circle of LPs for ever.)

use std::cmp::Ordering;

use warpline_core::{EventKey, LogicalProcess, Model};

use super::{
    change::Change,
    costs::Part,
    event::{Event, Parity},
    executing::execute,
    resize::Reason,
    window::Executed,
    worker::SpeculativeWorker,
};
use crate::{
    event::{Buffer, Message, by_lp},
    local_lp::LocalLp,
    panics,
    run::ProgressMonitor,
    scheduling, sorting,
};

/// So many late events are one step of the timer that says when to look at the clock: handling one
/// may take less than a look.
const LATE_BETWEEN_LOOKS: u64 = 64;

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// Handles the late events of a window until there are none, or a resize is requested.
    pub(super) fn settle(&mut self, parity: Parity, monitor: &mut ProgressMonitor<'_, '_>) {
        if self.sender.late[parity.index()].is_empty() {
            return;
        }
        let outer = self.enter(Part::Settling);
        while !self.sender.late[parity.index()].is_empty() && !self.is_resize_requested() {
            std::mem::swap(&mut self.batch, &mut self.sender.late[parity.index()]);
            let mut batch = std::mem::take(&mut self.batch);
            // By LP, so that each is rolled back once for all. Stable: an anti-message stays
            // between the two events of its key (SPEC-C).
            sorting::by_lp(&mut batch, |event| (event.to, event.key));
            let mut events = batch.drain(..).peekable();
            let is_limited = self.sender.is_limited();
            while let Some(event) =
                events.next_if(|event| !is_limited || self.can_handle_late(parity, event))
            {
                let (to, looked) = (event.to, self.tally.late / LATE_BETWEEN_LOOKS);
                let mut rest = std::iter::from_fn(|| events.next_if(|event| event.to == to));
                self.handle_late(parity, event, &mut rest);
                scheduling::point();
                self.check_waste();
                if self.tally.late / LATE_BETWEEN_LOOKS > looked && monitor.is_to_stop() {
                    self.request_resize(Reason::STOP);
                }
                if self.is_resize_requested() {
                    break;
                }
            }
            // What is left came before the events that are late by now (SPEC-C).
            self.sender.late[parity.index()].splice(..0, events);
            self.batch = batch;
        }
        self.enter(outer);
    }

    /// Handles the late events of an LP: the first one, and then the `rest`.
    fn handle_late(
        &mut self,
        parity: Parity,
        event: Event<B>,
        rest: &mut impl Iterator<Item = Event<B>>,
    ) {
        let local = self.sender.shared.place(event.to).lp;
        let mut next = Some(event);
        while let Some(event) = next.take() {
            self.tally.late += 1;
            if let Some(event) = self.handle_next(parity, local, event) {
                return self.roll_back(parity, local, event, rest);
            }
            // If the handler was cut off for lack of memory, a replay of it would tell of sends
            // that it never made. The rest goes back into the list of late events.
            if self.is_resize_requested() {
                return;
            }
            next = rest.next();
        }
    }

    /// Lets an LP handle an event, or returns it if the LP has to be rolled back for it.
    fn handle_next(&mut self, parity: Parity, local: LocalLp, event: Event<B>) -> Option<Event<B>> {
        self.enter_window(parity);
        debug_assert!(local.index() < self.lps.len(), "the LP is another worker's");
        let is_handled_later = self.is_handled_later(parity, local);
        let window = &mut self.windows[parity.index()];
        if event.is_anti() {
            return Some(event);
        }
        if !window.has(local) {
            self.handle_first(parity, local, event);
            return None;
        }
        let record = window.record(local);
        let (is_last, is_stopped) =
            (record.last.is_none_or(|last| last < event.key), record.is_stopped);
        if is_handled_later || !is_last {
            return Some(event);
        }
        let place = window.add(local, event);
        if !is_stopped {
            self.places.clear();
            self.places.push(place);
            self.run(parity, local);
        }
        None
    }

    /// Handles the first event of an LP in the window.
    fn handle_first(&mut self, parity: Parity, local: LocalLp, event: Event<B>) {
        let old_next = self.replay_old_next(parity, local);
        let is_handled_later = old_next.is_some();
        if is_handled_later {
            // The LP as it was before the next window is as it was before this one.
            if self.windows[parity.other().index()].is_sparse(local) {
                self.coast_and_copy(parity.other(), local);
            } else {
                let next = &mut self.windows[parity.other().index()];
                let lp = &mut self.lps[local.index()];
                next.restore(local, lp, &mut self.sender.undo_log);
            }
        }
        let window = &mut self.windows[parity.index()];
        debug_assert!(!window.has(local), "SPEC-A: the LP has handled events of this window");
        debug_assert!(!event.is_anti(), "SPEC-C: an anti-message before its event");
        let start = window.order.len();
        window.order.push(by_lp::item(local, window.log.len()));
        window.log.push(event);
        let lp = &self.lps[local.index()];
        let log = &mut self.sender.undo_log;
        let is_sparse = self.sparse.touch(window.number, local, &lp.state);
        window.touch(local, lp, start..start + 1, log, is_sparse);
        window.gather(local, &mut self.places);
        self.sender.collect(is_handled_later);
        self.run(parity, local);
        if let Some(old_next) = old_next {
            self.sender.collect(false);
            let fresh = self.take_collected();
            let gone = self.spare_list();
            self.redo_next(parity, local, Differences { gone, fresh }, old_next);
        }
    }

    /// Whether the LP was handled in the window after this one, too.
    pub(super) fn is_handled_later(&self, parity: Parity, local: LocalLp) -> bool {
        self.has_two_windows()
            && parity == self.sender.oldest
            && self.windows[parity.other().index()].has(local)
    }

    /// Lets an LP handle the events at `places`.
    fn run(&mut self, parity: Parity, local: LocalLp) {
        let mut executed = Executed::default();
        let outcome = panics::catch(|| {
            let Self { windows, lps, sender, places, outputs, .. } = self;
            let window = &windows[parity.index()];
            window.resume(local, &mut sender.undo_log);
            let events = places.iter().map(|&place| window.event(place));
            execute::<true, _, _>(&mut lps[local.index()], events, sender, outputs, &mut executed);
        });
        self.windows[parity.index()].outputs.append(&mut self.outputs);
        match outcome {
            Ok(()) => {
                self.tally.processed += executed.events;
                self.windows[parity.index()].executed(local, executed);
            }
            Err(fault) => self.stop_after_panic(parity, local, executed, fault),
        }
    }

    /// Changes the events of an LP in a window by its late events, and lets it handle them again.
    fn roll_back(
        &mut self,
        parity: Parity,
        local: LocalLp,
        first: Event<B>,
        rest: &mut impl Iterator<Item = Event<B>>,
    ) {
        self.tally.rollbacks += 1;
        if !self.windows[parity.index()].has(local) {
            debug_assert!(first.is_anti(), "SPEC-B: an LP that has handled nothing is rolled back");
            return self.fail_to_repeat(first.key.sender(), None);
        }
        let old_next = self.replay_old_next(parity, local);
        let old = self.replay_old(parity, local);
        let from = first.key;
        let stray = self.change_events(parity, local, first, rest);
        if let Some(anti) = stray {
            self.fail_to_repeat(anti.sender(), None);
        }
        if self.sender.has_failed {
            return;
        }
        self.sender.change = Change::at(from);
        let new = self.replay(parity, local);
        let Change { sent_before, .. } = std::mem::take(&mut self.sender.change);
        let differences = self.compare(old, new, sent_before);
        if let Some(old_next) = old_next {
            self.redo_next(parity, local, differences, old_next);
        } else {
            self.cancel_all(parity, differences.gone);
            self.send_all(parity, differences.fresh);
        }
    }

    /// Adds the late events of an LP to those that it has handled in a window, and takes away the
    /// canceled ones. Returns an anti-message that has found no event.
    ///
    /// Its events are put in order once, whatever the number of anti-messages: an LP that many send
    /// to has thousands of both in a window that is far too wide.
    fn change_events(
        &mut self,
        parity: Parity,
        local: LocalLp,
        first: Event<B>,
        rest: &mut impl Iterator<Item = Event<B>>,
    ) -> Option<EventKey> {
        let Self { windows, sender, places, tally, .. } = self;
        let window = &mut windows[parity.index()];
        let (mut gathered, mut stray) = (None, None);
        for event in std::iter::once(first).chain(rest.inspect(|_| tally.late += 1)) {
            if !event.is_anti() {
                let place = window.add(local, event);
                if gathered.is_some() {
                    places.push(place);
                }
                continue;
            }
            let known = *gathered.get_or_insert_with(|| {
                window.gather(local, places);
                places.len()
            });
            // What was added since comes after it: late events are in the order of their keys, too.
            let (handled, added) = places.split_at(known);
            let message = window.take(event.key, handled);
            match message.or_else(|| window.take(event.key, added)) {
                Some(message) => sender.recycle(message),
                None => stray = Some(event.key),
            }
        }
        if gathered.is_some() {
            window.unlink_taken(local);
        }
        stray
    }

    /// If the LP was handled in the window after this one, too, lets it handle its events there
    /// again as it has handled them: what it sent there has to be known before it is rolled back
    /// beyond the beginning of that window, because the undo log does not lead forward (SPEC-E).
    fn replay_old_next(&mut self, parity: Parity, local: LocalLp) -> Option<Vec<Event<B>>> {
        if !self.is_handled_later(parity, local) {
            return None;
        }
        let next = parity.other();
        self.enter_window(next);
        let sent = self.replay_old(next, local);
        self.enter_window(parity);
        Some(sent)
    }

    /// The LP has a new state at the end of a window, and was handled in the next one, where it
    /// sent `old`: lets it handle its events there again. Then sends what is different in both
    /// windows.
    fn redo_next(
        &mut self,
        parity: Parity,
        local: LocalLp,
        here: Differences<B>,
        old: Vec<Event<B>>,
    ) {
        self.tally.deep_rollbacks += 1;
        debug_assert!(self.has_two_windows(), "there is no window after this one");
        debug_assert_eq!(parity, self.sender.oldest, "only the oldest has a window after it");
        let next = parity.other();
        self.enter_window(next);
        if self.sender.is_limited() && !self.can_save_again(next, local) {
            return;
        }
        if self.sender.has_failed {
            return;
        }
        let lp = &self.lps[local.index()];
        let window = &mut self.windows[next.index()];
        if window.is_sparse(local) {
            self.sparse.copy(window.number, local, &lp.state);
        }
        window.save_again(local, lp, &mut self.sender.undo_log);
        let new = self.handle_again(next, local);
        let there = self.compare(old, new, 0);
        // Anti-messages first: a send of this window may have the key of one that was made in the
        // next window (SPEC-C).
        self.cancel_all(parity, here.gone);
        self.cancel_all(next, there.gone);
        self.send_all(parity, here.fresh);
        self.send_all(next, there.fresh);
        self.enter_window(parity);
    }

    /// LPs handle events of this window from here on.
    fn enter_window(&mut self, parity: Parity) {
        self.sender.executing = parity;
        self.sender.window_end = self.windows[parity.index()].end;
    }

    /// Cancels what an LP has sent in a window.
    fn cancel_all(&mut self, parity: Parity, mut gone: Vec<Event<B>>) {
        self.sender.executing = parity;
        gone.drain(..).for_each(|event| self.sender.cancel(event));
        self.lists.push(gone);
    }

    /// Sends what an LP sends in a window.
    fn send_all(&mut self, parity: Parity, mut fresh: Vec<Event<B>>) {
        self.sender.executing = parity;
        fresh.drain(..).for_each(|event| self.sender.send(event));
        self.lists.push(fresh);
    }

    /// Takes what an LP has sent in a replay.
    fn take_collected(&mut self) -> Vec<Event<B>> {
        let empty = self.spare_list();
        debug_assert!(empty.is_empty(), "a spare list has events");
        std::mem::replace(&mut self.sender.collected, empty)
    }

    /// An empty list, with the memory of one that was used before.
    fn spare_list(&mut self) -> Vec<Event<B>> {
        self.lists.pop().unwrap_or_default()
    }

    /// Compares the sends of two executions of an LP. Those before a number are known to be the
    /// same.
    fn compare(
        &mut self,
        mut old: Vec<Event<B>>,
        mut new: Vec<Event<B>>,
        known: u64,
    ) -> Differences<B> {
        let mut differences = Differences { gone: self.spare_list(), fresh: self.spare_list() };
        let (shared, model) = (self.sender.shared, self.sender.shared.model);
        let (mut same, mut owned) = (0, 0);
        differences.find(model, [&mut old, &mut new], known, |event| {
            same += 1;
            owned += event.message.iter().map(|message| shared.owned(message)).sum::<u64>();
        });
        self.sender.release(same);
        self.sender.refund(owned);
        self.lists.extend([old, new]);
        differences
    }

    /// Lets an LP handle its events of a window again as it has handled them, to find out what it
    /// sent. Neither these executions stand afterwards nor those before.
    fn replay_old(&mut self, parity: Parity, local: LocalLp) -> Vec<Event<B>> {
        let before = self.tally.processed;
        let end = self.end_of(parity, local);
        let sent = self.replay(parity, local);
        let events = (self.tally.processed - before) as i64;
        self.windows[parity.index()].standing -= 2 * events;
        self.check_repeated(parity, local, &end);
        sent
    }

    /// Lets an LP handle its events of a window again from before the first one, and returns what
    /// it sent.
    fn replay(&mut self, parity: Parity, local: LocalLp) -> Vec<Event<B>> {
        if self.windows[parity.index()].is_sparse(local) {
            self.coast_and_copy(parity, local);
        } else {
            let window = &mut self.windows[parity.index()];
            window.rewind(local, &mut self.lps[local.index()], &mut self.sender.undo_log);
        }
        self.handle_again(parity, local)
    }

    /// Lets an LP that is as it was before a window handle its events of it again, and returns
    /// what it sent.
    fn handle_again(&mut self, parity: Parity, local: LocalLp) -> Vec<Event<B>> {
        let window = &mut self.windows[parity.index()];
        window.forget(local);
        if !window.outputs.is_empty() {
            let directory = &self.sender.shared.directory;
            window.outputs.retain(|output| directory.place(output.to).lp != local);
        }
        let mut places = std::mem::take(&mut self.places);
        window.gather(local, &mut places);
        self.places = places;
        let before = self.tally.processed;
        debug_assert!(self.sender.collected.is_empty(), "what was collected before is left");
        self.sender.collect(true);
        self.run(parity, local);
        self.sender.collect(false);
        self.tally.replayed += self.tally.processed - before;
        self.take_collected()
    }
}

/// What is different between the sends of two executions of an LP.
struct Differences<B> {
    /// What was sent the first time only.
    gone: Vec<Event<B>>,
    /// What was sent the second time only.
    fresh: Vec<Event<B>>,
}

impl<B> Differences<B> {
    /// Finds them. Both lists are in the order of the LP's sends; they are empty afterwards. Events
    /// that were sent both times go to `same`, twice.
    fn find<M: Model>(
        &mut self,
        model: &M,
        [old, new]: [&mut Vec<Event<B>>; 2],
        known: u64,
        mut same: impl FnMut(Event<B>),
    ) where
        B: Buffer<Message<M>>,
    {
        let in_order = |events: &[Event<B>]| events.is_sorted_by_key(|event| event.key.sequence());
        debug_assert!(in_order(old) && in_order(new), "an LP sends in the order of its numbers");
        let (mut old, mut new) = (old.drain(..).peekable(), new.drain(..).peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (Some(old), Some(new)) => old.key.sequence().cmp(&new.key.sequence()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return,
            };
            let gone = if order.is_le() { old.next() } else { None };
            let fresh = if order.is_ge() { new.next() } else { None };
            if let (Some(old), Some(new)) = (&gone, &fresh)
                && (old.key, old.to, old.io) == (new.key, new.to, new.io)
                && (new.key.sequence() < known || is_equal(model, old, new))
            {
                gone.into_iter().chain(fresh).for_each(&mut same);
                continue;
            }
            self.gone.extend(gone);
            self.fresh.extend(fresh);
        }
    }
}

/// Whether the messages of two events are known to be equal.
fn is_equal<M: Model, B: Buffer<Message<M>>>(model: &M, old: &Event<B>, new: &Event<B>) -> bool {
    let identity = |event: &Event<B>| M::Lp::identity(model, event.message.as_ref()?.get());
    identity(old).is_some_and(|old| identity(new) == Some(old))
}
