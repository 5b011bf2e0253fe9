//! One worker: its processes, and the windows that it handles.
//!
//! [`Worker::work`] is the main loop.

use std::{
    cmp::Reverse,
    sync::{PoisonError, atomic::Ordering},
};

use warpline_core::{Io, LogicalProcess, Model, VirtualTime};
use warpline_net::NetError;

use super::{
    super::{
        crew::{Ended, YIELDS},
        lookout::Lookout,
    },
    abroad::{Abroad, Notice},
    agenda::{self, Agenda},
    calendar::Bucket,
    desk::Desk,
    exchange::{Broken, Word},
    shared::Shared,
};
use crate::{
    admission::Cause,
    failure::FailureOrder,
    sequential::{Buffer, Event, Handling, Lp, Message},
    workers,
};

/// Notes at a meeting: a worker has failed.
const FAILED: u64 = 1;
/// Notes at a meeting: the run is to end early.
const STOP: u64 = 2;
/// Notes at a meeting: there are non-blocking I/O events to be written.
const OUTPUT: u64 = 4;

/// How often the first worker, as it waits for other ranks, asks whether one of them fails.
const ALERT_EVERY: u32 = 64;

/// Processes of a tile take so many bytes, or a few more: with their events, that is a part of a
/// cache of the second level. (64 KiB to 256 KiB are level on W3, 1 MiB is 8 % slower, 2 MiB 13 %.)
const TILE_BYTES: usize = 256 << 10;

/// A tile has two to this power of processes.
pub(super) fn tile_bits<M: Model>() -> u32 {
    (TILE_BYTES / size_of::<Lp<M::Lp>>()).max(64).ilog2()
}

/// See the module.
pub(super) struct Worker<'a, M: Model, B> {
    shared: &'a Shared<'a, M, B>,
    me: usize,
    pub(super) lps: Vec<Lp<M::Lp>>,
    pub(super) desk: Desk<'a, M, B>,
    agenda: Agenda,
    /// The events of the window; kept for its memory.
    pub(super) bucket: Bucket<Event<B>>,
    /// Places in the bucket of non-blocking I/O events that were handled.
    outputs: Vec<usize>,
    /// Those that are to be written at the next meeting.
    pub(super) sudden_outputs: Vec<Event<B>>,
    pub(super) tally: Tally,
    /// Of other ranks, at the last meeting: the first failure, and how much they have committed.
    failed_elsewhere: Option<FailureOrder>,
    committed_elsewhere: u64,
}

/// What a worker counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) meetings: u64,
    pub(super) windows: u64,
    pub(super) committed: u64,
    /// Those that a process sent itself within a window.
    sudden: u64,
    /// The most events that were pending or handled in the window, at the end of one.
    pub(super) peak: u64,
    /// Events that were taken out of the calendar and not handled: the run ended within their
    /// window.
    pub(super) left: u64,
    pub(super) last_time: VirtualTime,
}

impl<'a, M, B> Worker<'a, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    pub(super) fn new(shared: &'a Shared<'a, M, B>, me: usize) -> Self {
        Self {
            shared,
            me,
            lps: Vec::with_capacity(shared.common.homes.residents[me].len()),
            desk: Desk::new(shared, me),
            agenda: Agenda::default(),
            bucket: Bucket::default(),
            outputs: Vec::new(),
            sudden_outputs: Vec::new(),
            tally: Tally::default(),
            failed_elsewhere: None,
            committed_elsewhere: 0,
        }
    }

    /// From the first event to the last.
    pub(super) fn work(&mut self, lookout: &mut Lookout<'_, '_>) -> Ended {
        self.start(lookout);
        loop {
            let Ok(word) = self.meet(lookout) else { return Ended::Failed };
            if word.notes & FAILED != 0 {
                return Ended::Failed;
            }
            if word.notes & STOP != 0 {
                return Ended::Interrupted;
            }
            if word.first > self.shared.last_window || word.first == u64::MAX {
                return Ended::AtEnd;
            }
            self.handle_window(word.first, lookout);
        }
    }

    /// Makes the processes and lets each send its first events.
    fn start(&mut self, lookout: &mut Lookout<'_, '_>) {
        let mut made = 0;
        self.guard(|worker| {
            let residents = &worker.shared.common.homes.residents[worker.me];
            while let Some(&id) = residents.get(made) {
                made += 1;
                if lookout.cuts_off() {
                    return;
                }
                worker.desk.scene.lp = Some(id);
                let common = &worker.shared.common;
                let lp = Lp::start(common.model, id, common.settings.seed, &mut worker.desk);
                worker.lps.push(lp);
            }
        });
    }

    /// Exchanges mail with the others, and learns what the next window is. Output of the last one
    /// is written before that.
    fn meet(&mut self, lookout: &mut Lookout<'_, '_>) -> Result<Word, Broken> {
        let mut notes = self.notes();
        if !self.sudden_outputs.is_empty() {
            notes |= OUTPUT;
            let mut outputs =
                self.shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner);
            outputs.append(&mut self.sudden_outputs);
        }
        let word = self.exchange(notes, lookout)?;
        if word.notes & OUTPUT == 0 {
            return Ok(word);
        }
        if self.me == 0 {
            self.write_outputs();
        }
        // Nobody goes on before it is written.
        let after = self.exchange(self.notes(), lookout)?;
        Ok(Word { notes: word.notes | after.notes, ..after })
    }

    fn notes(&self) -> u64 {
        let failed = if self.shared.common.failure.is_known() { FAILED } else { 0 };
        // Ordering: Relaxed; it publishes nothing but itself, and at a meeting all see the same
        // notes.
        failed | if self.shared.common.stop.soon.load(Ordering::Relaxed) { STOP } else { 0 }
    }

    fn exchange(&mut self, notes: u64, lookout: &mut Lookout<'_, '_>) -> Result<Word, Broken> {
        let meeting = self.tally.meetings;
        let first = self.desk.post(meeting);
        let word = self.meet_here(Word { first, notes }, lookout)?;
        self.desk.collect(meeting);
        let Some(abroad) = &self.shared.abroad else { return Ok(word) };
        let word =
            if self.me == 0 { self.meet_ranks(abroad, word, lookout)? } else { Word::NOTHING };
        let word = self.meet_here(word, lookout)?;
        let mut collected = Ok(());
        self.guard(|worker| collected = worker.desk.collect_abroad(abroad));
        collected.map_err(|error| self.lose(error))?;
        Ok(word)
    }

    /// Meets the other workers of this rank.
    fn meet_here(&mut self, word: Word, lookout: &mut Lookout<'_, '_>) -> Result<Word, Broken> {
        let meeting = self.tally.meetings;
        self.tally.meetings += 1;
        // A worker that has nothing to do is the one that hears of the end.
        let spins = self.shared.common.spins;
        let wait = |waited| {
            lookout.cuts_off();
            workers::wait(waited, spins, YIELDS);
        };
        self.shared.exchange.meet(self.me, meeting, word, wait)
    }

    /// Meets the other ranks, for all workers of this one.
    fn meet_ranks(
        &mut self,
        abroad: &Abroad<'_, M>,
        word: Word,
        lookout: &mut Lookout<'_, '_>,
    ) -> Result<Word, Broken> {
        let shared = self.shared;
        let mut outputs = Vec::new();
        if shared.common.ranks.me() > 0 {
            let events = std::mem::take(
                &mut *shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner),
            );
            self.guard(|_| abroad.write_outputs(&events, &mut outputs));
        }
        // Ordering: Relaxed; a count for people.
        let committed = shared.common.committed.load(Ordering::Relaxed);
        let notice = Notice { word, committed, failure: shared.common.failure.order() };
        let mut waited = 0;
        let wait = || {
            lookout.cuts_off();
            workers::wait(waited, shared.common.spins, YIELDS);
            waited = waited.saturating_add(1);
            let is_over = shared.exchange.is_broken();
            Ok(!is_over && (waited % ALERT_EVERY != 0 || !shared.common.ranks.is_alerted()?))
        };
        let notice = abroad.exchange(notice, &outputs, wait);
        let Some((notice, outputs)) = notice.map_err(|error| self.lose(error))? else {
            shared.exchange.break_up();
            return Err(Broken);
        };
        self.failed_elsewhere = notice.failure;
        if shared.common.ranks.me() == 0 {
            // Ordering: Relaxed; a count for people.
            shared.common.committed.fetch_add(
                notice.committed.wrapping_sub(self.committed_elsewhere),
                Ordering::Relaxed,
            );
            self.committed_elsewhere = notice.committed;
            let mut read = Ok(Vec::new());
            self.guard(|_| read = abroad.read_outputs(&outputs));
            let read = read.map_err(|error| self.lose(error))?;
            shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner).extend(read);
        }
        Ok(notice.word)
    }

    /// Ends the run of this rank: it cannot talk to the others any more.
    #[cold]
    fn lose(&self, error: NetError) -> Broken {
        self.shared.common.failure.note(FailureOrder::End, error.into());
        self.shared.exchange.break_up();
        Broken
    }

    /// Handles the events of a window, tile by tile.
    fn handle_window(&mut self, window: u64, lookout: &mut Lookout<'_, '_>) {
        self.tally.windows += 1;
        self.desk.over = window + 1;
        let (shared, before, sudden) = (self.shared, self.tally.committed, self.tally.sudden);
        lookout.cuts_off();
        let local_of = |event: &Event<B>| shared.local_of(event.to);
        self.desk.calendar.open(window, local_of);
        lookout.reaches(shared.grid.start(window));
        for tile in 0..self.desk.calendar.tiles() {
            self.desk.calendar.take(window, tile, &mut self.bucket);
            if self.bucket.len() == 0 {
                continue;
            }
            let first = tile << tile_bits::<M>();
            let lps = (self.lps.len() - first).min(1 << tile_bits::<M>());
            self.agenda.plan(&self.bucket, [first, lps], local_of);
            let mut at = 0;
            while at < self.agenda.len() && !lookout.is_cut_off() {
                // After a mistake of one process the others go on: an earlier one of theirs counts
                // more.
                self.guard(|worker| worker.handle_groups(&mut at, lookout));
                self.guard(|worker| worker.desk.soon.clear());
            }
            self.tally.left += (self.agenda.len() - at) as u64;
            self.guard(Self::clear);
        }
        let handled = (self.tally.committed - before) as usize;
        let pending = self.desk.calendar.len() + handled;
        self.tally.peak = self.tally.peak.max(pending as u64);
        shared.common.room.give(handled - (self.tally.sudden - sudden) as usize);
        // Ordering: Relaxed; a count for people.
        shared.common.committed.fetch_add(handled as u64, Ordering::Relaxed);
    }

    /// Handles the events of one LP after the other, from the one whose events begin `at` this
    /// place.
    fn handle_groups(&mut self, at: &mut usize, lookout: &mut Lookout<'_, '_>) {
        let Self { shared, lps, desk, agenda, bucket, outputs, sudden_outputs, tally, .. } = self;
        while *at < agenda.len() && !lookout.cuts_off() {
            let group = agenda.group(*at, |item| agenda::event(bucket, item).key);
            *at += group.len();
            let lp = &mut lps[agenda::local(group[0])];
            let mut hand = Hand { shared, lp, desk, tally };
            let mut items = group.iter().copied();
            let mut next = items.next();
            loop {
                let event = next.map(|item| agenda::event(bucket, item));
                let is_sudden = match (event, hand.desk.soon.peek()) {
                    (Some(event), Some(soon)) => soon.0.key < event.key,
                    (None, Some(_)) => true,
                    (Some(_), None) => false,
                    (None, None) => break,
                };
                if is_sudden {
                    let Some(Reverse(soon)) = hand.desk.soon.pop() else { break };
                    let rest = items.len() + usize::from(next.is_some());
                    // A process may keep itself busy within the window for ever.
                    let is_late = lookout.cuts_off() || hand.is_after_failure(&soon);
                    if is_late || !hand.handle(&soon) {
                        hand.leave(rest + 1);
                        break;
                    }
                    if soon.io == Some(Io::NonBlocking) {
                        sudden_outputs.push(soon);
                    } else {
                        hand.desk.spares.recycle(soon.message);
                    }
                    shared.common.room.give(1);
                    hand.tally.sudden += 1;
                } else if let (Some(event), Some(item)) = (event, next) {
                    if hand.is_after_failure(event) || !hand.handle(event) {
                        hand.leave(items.len() + 1);
                        break;
                    }
                    if event.io == Some(Io::NonBlocking) {
                        outputs.push(agenda::place(item));
                    }
                    next = items.next();
                }
            }
        }
    }

    /// Empties the bucket.
    fn clear(&mut self) {
        let Self { outputs, bucket, desk, sudden_outputs, .. } = self;
        if outputs.is_empty() {
            bucket.drain().for_each(|event| desk.spares.recycle(event.message));
        } else {
            outputs.sort_unstable();
            for (place, event) in bucket.drain().enumerate() {
                if outputs.binary_search(&place).is_ok() {
                    sudden_outputs.push(event);
                } else {
                    desk.spares.recycle(event.message);
                }
            }
            outputs.clear();
        }
        self.desk.calendar.reclaim(&mut self.bucket);
    }

    /// Writes what the processes of all workers have said in the last window, in the order of keys,
    /// up to the first mistake.
    fn write_outputs(&mut self) {
        let common = &self.shared.common;
        let outputs =
            std::mem::take(&mut *common.outputs.lock().unwrap_or_else(PoisonError::into_inner));
        let failed = common.failure.order().into_iter().chain(self.failed_elsewhere).min();
        let limit = failed.unwrap_or(FailureOrder::End);
        common.write_outputs(self.me, self, |worker| &mut worker.desk.scene, outputs, limit);
    }

    /// Runs code of the model's: its mistakes and its panics are noted as the run's failure.
    fn guard(&mut self, code: impl FnOnce(&mut Self)) {
        let shared = self.shared;
        shared.common.guard(self.me, self, |worker| &mut worker.desk.scene, code);
    }
}

/// What one process needs to handle its events.
struct Hand<'h, 'a, M: Model, B> {
    shared: &'h &'a Shared<'a, M, B>,
    lp: &'h mut Lp<M::Lp>,
    desk: &'h mut Desk<'a, M, B>,
    tally: &'h mut Tally,
}

impl<M: Model, B: Buffer<Message<M>>> Hand<'_, '_, M, B> {
    /// Handles an event and commits it, if it is before the end.
    #[inline]
    fn handle(&mut self, event: &Event<B>) -> bool {
        let Event { key, to, io, message } = event;
        if key.time_value() >= self.shared.common.end {
            return false;
        }
        let (model, message) = (self.shared.common.model, message.get());
        let Lp { state, rng, sent, digest } = &mut *self.lp;
        self.desk.scene.lp = Some(*to);
        self.desk.scene.event = Some(*key);
        let mut cx = Handling { cause: Cause::event(key, *to), rng, sent, sink: &mut *self.desk };
        match io {
            None => state.handle(model, message, &mut cx),
            Some(Io::Blocking) => state.handle_io(model, message, &mut cx),
            // Written once all that comes before it is handled.
            Some(Io::NonBlocking) => {}
        }
        digest.commit(key, M::Lp::fingerprint(message));
        self.tally.committed += 1;
        self.tally.last_time = self.tally.last_time.max(key.time());
        true
    }

    /// Whether the event comes after a failure that is known: then nobody asks for it.
    #[inline]
    fn is_after_failure(&self, event: &Event<B>) -> bool {
        let failure = &self.shared.common.failure;
        failure.is_known()
            && failure.order().is_some_and(|first| first < FailureOrder::Event(event.key))
    }

    /// Leaves so many events of the bucket, and all that the process has sent to itself.
    #[cold]
    fn leave(&mut self, events: usize) {
        self.tally.left += (events + self.desk.soon.len()) as u64;
        self.desk.soon.clear();
    }
}
