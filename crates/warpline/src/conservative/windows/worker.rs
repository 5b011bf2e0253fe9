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
        algorithm::{Ended, YIELDS},
        lookout::Lookout,
    },
    barrier::{Broken, Reduction},
    calendar::Bucket,
    remote::{RankReduction, Remote},
    schedule::{self, Schedule},
    sending::Sender,
    shared::Shared,
};
use crate::{
    event::{Buffer, Event, Message},
    handling::Cause,
    handling::{Core, Handling, Lp},
    run::{FailureOrder, threads},
};

/// Notes at a round: a worker has failed.
const FAILED: u64 = 1;
/// Notes at a round: the run is to end early.
const STOP: u64 = 2;
/// Notes at a round: there are non-blocking I/O events to be written.
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
    pub(super) sender: Sender<'a, M, B>,
    schedule: Schedule,
    /// The events of the window; kept for its memory.
    pub(super) bucket: Bucket<Event<B>>,
    /// Places in the bucket of non-blocking I/O events that were handled.
    outputs: Vec<usize>,
    /// Those that are to be written at the next round.
    pub(super) due_outputs: Vec<Event<B>>,
    pub(super) tally: Tally,
    /// Of other ranks, at the last round: the first failure, and how much they have committed.
    failed_elsewhere: Option<FailureOrder>,
    committed_elsewhere: u64,
}

/// What a worker counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) barriers: u64,
    pub(super) windows: u64,
    pub(super) committed: u64,
    /// Those that a process sent itself within a window.
    self_sent: u64,
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
            lps: Vec::with_capacity(shared.common.directory.lps_of(me).len()),
            sender: Sender::new(shared, me),
            schedule: Schedule::default(),
            bucket: Bucket::default(),
            outputs: Vec::new(),
            due_outputs: Vec::new(),
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
            if word.flags & FAILED != 0 {
                return Ended::Failed;
            }
            if word.flags & STOP != 0 {
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
            let residents = worker.shared.common.directory.lps_of(worker.me);
            while let Some(&id) = residents.get(made) {
                made += 1;
                if lookout.cuts_off() {
                    return;
                }
                worker.sender.error_context.lp = Some(id);
                let common = &worker.shared.common;
                let lp = Lp::start(common.model, id, common.settings.seed, &mut worker.sender);
                worker.lps.push(lp);
            }
        });
    }

    /// Exchanges mail with the others, and learns what the next window is. Output of the last one
    /// is written before that.
    fn meet(&mut self, lookout: &mut Lookout<'_, '_>) -> Result<Reduction, Broken> {
        let mut flags = self.flags();
        if !self.due_outputs.is_empty() {
            flags |= OUTPUT;
            let mut outputs =
                self.shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner);
            outputs.append(&mut self.due_outputs);
        }
        let word = self.exchange(flags, lookout)?;
        if word.flags & OUTPUT == 0 {
            return Ok(word);
        }
        if self.me == 0 {
            self.write_outputs();
        }
        // Nobody goes on before it is written.
        let after = self.exchange(self.flags(), lookout)?;
        Ok(Reduction { flags: word.flags | after.flags, ..after })
    }

    fn flags(&self) -> u64 {
        let failed = if self.shared.common.failure.is_known() { FAILED } else { 0 };
        // Ordering: Relaxed; it publishes nothing but itself, and at a round all see the same
        // flags.
        failed | if self.shared.common.stop.soon.load(Ordering::Relaxed) { STOP } else { 0 }
    }

    fn exchange(&mut self, flags: u64, lookout: &mut Lookout<'_, '_>) -> Result<Reduction, Broken> {
        let round = self.tally.barriers;
        let first = self.sender.post(round);
        let word = self.meet_here(Reduction { first, flags }, lookout)?;
        self.sender.collect(round);
        let Some(remote) = &self.shared.remote else { return Ok(word) };
        let word = if self.me == 0 {
            self.meet_ranks(remote, word, lookout)?
        } else {
            Reduction::IDENTITY
        };
        let word = self.meet_here(word, lookout)?;
        let mut collected = Ok(());
        self.guard(|worker| collected = worker.sender.collect_abroad(remote));
        collected.map_err(|error| self.lose(error))?;
        Ok(word)
    }

    /// Meets the other workers of this rank.
    fn meet_here(
        &mut self,
        word: Reduction,
        lookout: &mut Lookout<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let round = self.tally.barriers;
        self.tally.barriers += 1;
        // A worker that has nothing to do is the one that hears of the end.
        let spins = self.shared.common.spins;
        let wait = |waited| {
            lookout.cuts_off();
            threads::wait(waited, spins, YIELDS);
        };
        self.shared.barrier.meet(self.me, round, word, wait)
    }

    /// Meets the other ranks, for all workers of this one.
    fn meet_ranks(
        &mut self,
        remote: &Remote<'_, M>,
        word: Reduction,
        lookout: &mut Lookout<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let shared = self.shared;
        let mut outputs = Vec::new();
        if shared.common.ranks.me() > 0 {
            let events = std::mem::take(
                &mut *shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner),
            );
            self.guard(|_| remote.write_outputs(&events, &mut outputs));
        }
        // Ordering: Relaxed; a count for people.
        let committed = shared.common.committed.load(Ordering::Relaxed);
        let notice = RankReduction { word, committed, failure: shared.common.failure.order() };
        let mut waited = 0;
        let wait = || {
            lookout.cuts_off();
            threads::wait(waited, shared.common.spins, YIELDS);
            waited = waited.saturating_add(1);
            let is_over = shared.barrier.is_broken();
            Ok(!is_over && (waited % ALERT_EVERY != 0 || !shared.common.ranks.is_alerted()?))
        };
        let notice = remote.exchange(notice, &outputs, wait);
        let Some((notice, outputs)) = notice.map_err(|error| self.lose(error))? else {
            shared.barrier.set_broken();
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
            self.guard(|_| read = remote.read_outputs(&outputs));
            let read = read.map_err(|error| self.lose(error))?;
            shared.common.outputs.lock().unwrap_or_else(PoisonError::into_inner).extend(read);
        }
        Ok(notice.word)
    }

    /// Ends the run of this rank: it cannot talk to the others any more.
    #[cold]
    fn lose(&self, error: NetError) -> Broken {
        self.shared.common.failure.note(FailureOrder::End, error.into());
        self.shared.barrier.set_broken();
        Broken
    }

    /// Handles the events of a window, tile by tile.
    fn handle_window(&mut self, window: u64, lookout: &mut Lookout<'_, '_>) {
        self.tally.windows += 1;
        self.sender.next_window = window + 1;
        let (shared, before, self_sent) = (self.shared, self.tally.committed, self.tally.self_sent);
        lookout.cuts_off();
        let local_of = |event: &Event<B>| shared.local_of(event.to);
        self.sender.calendar.open(window, local_of);
        lookout.reaches(shared.grid.start(window));
        for tile in 0..self.sender.calendar.tiles() {
            self.sender.calendar.take(window, tile, &mut self.bucket);
            if self.bucket.len() == 0 {
                continue;
            }
            let first = tile << tile_bits::<M>();
            let lps = (self.lps.len() - first).min(1 << tile_bits::<M>());
            self.schedule.plan(&self.bucket, [first, lps], local_of);
            let mut at = 0;
            while at < self.schedule.len() && !lookout.is_cut_off() {
                // After a mistake of one process the others go on: an earlier one of theirs counts
                // more.
                self.guard(|worker| worker.handle_groups(&mut at, lookout));
                self.guard(|worker| worker.sender.self_sent.clear());
            }
            self.tally.left += (self.schedule.len() - at) as u64;
            self.guard(Self::clear);
        }
        let handled = (self.tally.committed - before) as usize;
        let pending = self.sender.calendar.len() + handled;
        self.tally.peak = self.tally.peak.max(pending as u64);
        shared.common.memory.release(handled - (self.tally.self_sent - self_sent) as usize);
        // Ordering: Relaxed; a count for people.
        shared.common.committed.fetch_add(handled as u64, Ordering::Relaxed);
    }

    /// Handles the events of one LP after the other, from the one whose events begin `at` this
    /// place.
    fn handle_groups(&mut self, at: &mut usize, lookout: &mut Lookout<'_, '_>) {
        let Self { shared, lps, sender, schedule, bucket, outputs, due_outputs, tally, .. } = self;
        while *at < schedule.len() && !lookout.cuts_off() {
            let group = schedule.group(*at, |item| schedule::event(bucket, item).key);
            *at += group.len();
            let lp = &mut lps[schedule::local(group[0])];
            let mut view = LpView { shared, lp, sender, tally };
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
                    let rest = items.len() + usize::from(next.is_some());
                    // A process may keep itself busy within the window for ever.
                    let is_late = lookout.cuts_off() || view.is_after_failure(&self_sent);
                    if is_late || !view.handle(&self_sent) {
                        view.leave(rest + 1);
                        break;
                    }
                    if self_sent.io == Some(Io::NonBlocking) {
                        due_outputs.push(self_sent);
                    } else {
                        view.sender.spares.recycle(self_sent.message);
                    }
                    shared.common.memory.release(1);
                    view.tally.self_sent += 1;
                } else if let (Some(event), Some(item)) = (event, next) {
                    if view.is_after_failure(event) || !view.handle(event) {
                        view.leave(items.len() + 1);
                        break;
                    }
                    if event.io == Some(Io::NonBlocking) {
                        outputs.push(schedule::place(item));
                    }
                    next = items.next();
                }
            }
        }
    }

    /// Empties the bucket.
    fn clear(&mut self) {
        let Self { outputs, bucket, sender, due_outputs, .. } = self;
        if outputs.is_empty() {
            bucket.drain().for_each(|event| sender.spares.recycle(event.message));
        } else {
            outputs.sort_unstable();
            for (place, event) in bucket.drain().enumerate() {
                if outputs.binary_search(&place).is_ok() {
                    due_outputs.push(event);
                } else {
                    sender.spares.recycle(event.message);
                }
            }
            outputs.clear();
        }
        self.sender.calendar.reclaim(&mut self.bucket);
    }

    /// Writes what the processes of all workers have said in the last window, in the order of keys,
    /// up to the first mistake.
    fn write_outputs(&mut self) {
        let common = &self.shared.common;
        let outputs =
            std::mem::take(&mut *common.outputs.lock().unwrap_or_else(PoisonError::into_inner));
        let failed = common.failure.order().into_iter().chain(self.failed_elsewhere).min();
        let limit = failed.unwrap_or(FailureOrder::End);
        common.write_outputs(
            self.me,
            self,
            |worker| &mut worker.sender.error_context,
            outputs,
            limit,
        );
    }

    /// Runs code of the model's: its mistakes and its panics are noted as the run's failure.
    fn guard(&mut self, code: impl FnOnce(&mut Self)) {
        let shared = self.shared;
        shared.common.guard(self.me, self, |worker| &mut worker.sender.error_context, code);
    }
}

/// What one process needs to handle its events.
struct LpView<'h, 'a, M: Model, B> {
    shared: &'h &'a Shared<'a, M, B>,
    lp: &'h mut Lp<M::Lp>,
    sender: &'h mut Sender<'a, M, B>,
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
        self.sender.error_context.lp = Some(*to);
        self.sender.error_context.event = Some(*key);
        let mut cx = Handling { cause: Cause::event(key, *to), rng, sent, sink: &mut *self.sender };
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
        self.tally.left += (events + self.sender.self_sent.len()) as u64;
        self.sender.self_sent.clear();
    }
}
