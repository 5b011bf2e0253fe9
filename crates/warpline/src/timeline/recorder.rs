//! What a worker writes while it runs: records, in bounded memory.
//!
//! Engines call a [`Recorder`], which belongs to one worker, at the beginning and the end of what
//! the worker does. Nothing here knows what a phase means; only that phases nest.
//!
//! A *group* is an outermost span with all in it, or a record outside of spans. Groups are kept or
//! left out as a whole, by the slice of time in which they begin; so what is kept still nests, and
//! all workers keep the same slices.
//!
//! # Invariants
//!
//! - **SPAN-D.** Times never decrease from record to record of a worker, and an end has its
//!   beginning.

use serde::{Deserialize, Serialize};
use warpline_core::LpId;
use warpline_memory::Clock;

use super::{Cause, Gauge, Phase};
use crate::monitor::Activity;

/// A slice of time has two to this power ticks: about a millisecond, in which Time Warp computes
/// GVT some ten times.
pub(super) const SLICE_BITS: u32 = 21;
/// Of two to this power slices, one is kept at the least.
const LEVEL_MAX: u32 = 40;
/// Of batches in a slice that is left out, so many begin without a look at the clock, one after the
/// other.
const RESTS: u32 = 3;
/// The bits of a stamp that have the ticks; above them is the worker.
const STAMP_BITS: u32 = 48;

/// Which batch an event was sent in: its worker, and when it began. Mail carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp(pub(crate) u64);

impl Stamp {
    pub(super) const fn worker(self) -> usize {
        (self.0 >> STAMP_BITS) as usize
    }

    pub(super) const fn begin(self) -> u64 {
        self.0 & ((1 << STAMP_BITS) - 1)
    }
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Kind {
    Begin(Phase),
    End,
    /// An event was annihilated; `number` is its identity.
    Annihilated,
    /// The span undoes an event that was canceled; `number` is its identity.
    Canceled,
    /// The span was caused by an event that was sent in the batch with the stamp `number`.
    SentIn,
    /// The same for another rank: `number` is the place of the sender, with the serial number of
    /// the event in `lp`.
    SentRemotely,
    /// The span cancels an event; `number` is its identity.
    Cancels,
    /// `time` is a sample.
    Sample(Gauge),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// In ticks of the clock.
    pub(super) at: u64,
    /// Of a beginning, [`Recorder::count`] then; of an end, a number of events.
    pub(super) number: u64,
    /// A virtual time, or NaN.
    pub(super) time: f64,
    /// An LP, or [`NO_LP`]. Of an end, the lower half of [`Recorder::count`] then.
    pub(super) lp: u32,
    pub(super) kind: Kind,
}

/// No LP.
pub(super) const NO_LP: u32 = u32::MAX;

const _: () = assert!(size_of::<Record>() == 32);

impl Record {
    /// Whether it stands for something that people count as left out.
    const fn counts(&self) -> bool {
        matches!(self.kind, Kind::Begin(_) | Kind::Annihilated)
    }
}

/// What a worker has written, for another rank.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Tape {
    place: (usize, usize),
    now: u64,
    level: u32,
    left_out: u64,
    records: Vec<Record>,
}

/// Written by one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    clock: Clock,
    place: (usize, usize),
    /// When the clock was last looked at.
    now: u64,
    records: Vec<Record>,
    room: usize,
    /// How many spans are open, and whether the outermost of them is one of waiting.
    depth: u32,
    is_waiting: bool,
    /// When the latest group began, and whether it is left out.
    group_at: u64,
    skips: bool,
    /// One of two to this power slices is kept.
    level: u32,
    /// A batch that is recorded only if something happens in it: when it began, and `count` then.
    proposed: Option<(u64, u64)>,
    /// How many batches have begun since the last one that looked at the clock.
    rests: u32,
    left_out: u64,
    /// Something else that the worker has counted since the start; a span tells how much it grew.
    pub(crate) count: u64,
    /// Events processed and rolled back by the last sample.
    sampled: (u64, u64),
}

impl Recorder {
    /// With room for this number of records. Memory is taken as it is needed: a page that is
    /// touched for the first time takes as long as a batch.
    pub(super) fn new(clock: Clock, place: (usize, usize), room: usize) -> Self {
        debug_assert!(place.1 >> (u64::BITS - STAMP_BITS) == 0, "no stamp has worker {}", place.1);
        Self {
            clock,
            place,
            now: 0,
            room,
            records: Vec::new(),
            depth: 0,
            is_waiting: false,
            group_at: 0,
            skips: false,
            level: 0,
            proposed: None,
            rests: 0,
            left_out: 0,
            count: 0,
            sampled: (0, 0),
        }
    }

    /// Another clock counts.
    pub(super) fn restart(&mut self, clock: Clock) {
        self.clock = clock;
    }

    pub(super) fn into_tape(self) -> Tape {
        let Self { place, now, level, left_out, records, .. } = self;
        Tape { place, now, level, left_out, records }
    }

    /// What a worker of another rank has written.
    pub(super) fn of_tape(clock: Clock, tape: Tape) -> Self {
        let Tape { place, now, level, left_out, records } = tape;
        Self { now, level, left_out, records, ..Self::new(clock, place, 0) }
    }

    /// Takes all that was written.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self::new(self.clock, self.place, 0);
        std::mem::replace(self, empty)
    }

    pub(super) const fn place(&self) -> (usize, usize) {
        self.place
    }

    pub(super) const fn level(&self) -> u32 {
        self.level
    }

    pub(super) const fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Looks at the clock.
    pub(crate) fn tick(&mut self) {
        self.now = self.now.max(self.clock.ticks());
    }

    /// A phase begins.
    pub(crate) fn begin(&mut self, phase: Phase) {
        self.begin_about(phase, NO_LP, f64::NAN);
    }

    /// LP `lp` is rolled back, to the virtual time `to`.
    pub(crate) fn begin_rollback(&mut self, cause: Cause, lp: LpId, to: f64) {
        self.begin_about(Phase::Rollback(cause), lp.get(), to);
    }

    fn begin_about(&mut self, phase: Phase, lp: u32, time: f64) {
        self.accept();
        let is_inner = self.depth > u32::from(self.is_waiting);
        if !(is_inner && self.skips) {
            self.tick();
        }
        self.end_waiting(self.now);
        self.open(self.now, phase, lp, time);
    }

    /// A phase begins within another that has just begun.
    pub(crate) fn begin_at_once(&mut self, phase: Phase) {
        self.accept();
        debug_assert!(self.depth > 0, "SPAN-D: the clock was not looked at for {phase:?}");
        self.open(self.now, phase, NO_LP, f64::NAN);
    }

    /// The phase that began last ends.
    pub(crate) fn end(&mut self, events: u64, time: f64) {
        debug_assert!(self.depth > 0 && !self.is_waiting, "SPAN-D: an end has its beginning");
        if !self.skips {
            self.tick();
        }
        self.close_one(self.now, events, time);
    }

    /// Goes from one phase to the next, for workers that are in one phase at any time: the phase
    /// before was about this number of events, up to the virtual time `time`.
    pub(crate) fn change(&mut self, events: u64, time: f64, next: Phase) {
        self.end_last(events, time);
        debug_assert_eq!(self.depth, 0, "SPAN-A: a phase goes on while the next one begins");
        self.open(self.now, next, NO_LP, f64::NAN);
    }

    /// Ends the phase of such a worker, if there was one.
    pub(crate) fn end_last(&mut self, events: u64, time: f64) {
        self.tick();
        if self.depth > 0 {
            self.close_one(self.now, events, time);
        }
    }

    /// A batch begins, if it comes to anything. Says where what is sent in it comes from.
    pub(crate) fn propose_batch(&mut self) -> Stamp {
        self.rests = if self.skips { (self.rests + 1) % (RESTS + 1) } else { 0 };
        if self.rests == 0 {
            self.tick();
        }
        debug_assert!(self.proposed.is_none(), "SPAN-D: a batch is proposed within another");
        self.proposed = Some((self.now, self.count));
        self.stamp()
    }

    /// Says that what is sent from now on comes from the span that begins now.
    pub(crate) const fn stamp(&self) -> Stamp {
        Stamp((self.place.1 as u64) << STAMP_BITS | self.now & ((1 << STAMP_BITS) - 1))
    }

    /// Whether what began at that time is kept, as far as this worker knows.
    #[inline]
    pub(crate) const fn keeps(&self, stamp: Stamp) -> bool {
        keeps(self.level, stamp.begin())
    }

    /// The batch that was proposed ends; `events` were handled, up to the virtual time `time`.
    /// Returns whether there was nothing in it.
    pub(crate) fn end_batch(&mut self, events: u64, time: f64) -> bool {
        if events == 0 && self.proposed.take().is_some() {
            return true;
        }
        self.accept();
        self.end(events, time);
        false
    }

    /// The batch that was proposed begins.
    fn accept(&mut self) {
        if let Some((at, count)) = self.proposed.take() {
            self.end_waiting(at);
            let now = std::mem::replace(&mut self.count, count);
            self.open(at, Phase::Batch, NO_LP, f64::NAN);
            self.count = now;
        }
    }

    /// The worker waits, until something else begins.
    pub(crate) fn wait(&mut self, why: Activity) {
        if self.depth == 0 {
            self.open(self.now, Phase::Waiting(why), NO_LP, f64::NAN);
            self.is_waiting = true;
        }
    }

    pub(crate) const fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Whether what happens in the open group is left out.
    #[inline]
    pub(crate) const fn leaves_out(&self) -> bool {
        self.skips && self.depth > 0 && self.proposed.is_none()
    }

    fn end_waiting(&mut self, at: u64) {
        if std::mem::take(&mut self.is_waiting) {
            debug_assert_eq!(self.depth, 1, "SPAN-A: the worker did something while it waited");
            self.close_one(at, 0, f64::NAN);
        }
    }

    /// The span was caused by an event that was sent in that batch.
    pub(crate) fn was_sent_in(&mut self, stamp: Stamp) {
        self.note(Kind::SentIn, stamp.0, f64::NAN, NO_LP);
    }

    /// The same for a worker of another rank, and an event with that serial number.
    pub(crate) fn was_sent_remotely(&mut self, (rank, worker): (usize, usize), serial: u32) {
        let place = (rank as u64) << 32 | worker as u64;
        self.note(Kind::SentRemotely, place, f64::NAN, serial);
    }

    /// An event of that identity is canceled here.
    pub(crate) fn cancels(&mut self, identity: u64) {
        self.note(Kind::Cancels, identity, f64::NAN, NO_LP);
    }

    /// The open span undoes a canceled event of that identity.
    pub(crate) fn undoes_canceled(&mut self, identity: u64) {
        self.note(Kind::Canceled, identity, f64::NAN, NO_LP);
    }

    /// An event of that identity is annihilated before it was handled.
    pub(crate) fn annihilated(&mut self, identity: u64, lp: LpId, time: f64) {
        self.note(Kind::Annihilated, identity, time, lp.get());
    }

    /// A number is that much now.
    pub(crate) fn sample(&mut self, gauge: Gauge, value: f64) {
        self.note(Kind::Sample(gauge), 0, value, NO_LP);
    }

    /// The efficiency since the last sample, from the events processed and rolled back since the
    /// start.
    pub(crate) fn sample_efficiency(&mut self, processed: u64, rolled_back: u64) {
        let (processed_before, rolled_back_before) = self.sampled;
        if processed > processed_before {
            let undone = rolled_back.saturating_sub(rolled_back_before) as f64;
            let efficiency = 1.0 - undone / (processed - processed_before) as f64;
            self.sampled = (processed, rolled_back);
            self.sample(Gauge::Efficiency, efficiency);
        }
    }

    /// Ends all that is open: the worker ends.
    pub(super) fn close(&mut self) {
        (self.proposed, self.is_waiting, self.sampled) = (None, false, (0, 0));
        self.tick();
        while self.depth > 0 {
            self.close_one(self.now, 0, f64::NAN);
        }
    }

    fn note(&mut self, kind: Kind, number: u64, time: f64, lp: u32) {
        self.accept();
        debug_assert!(
            self.depth > 0 || matches!(kind, Kind::Annihilated | Kind::Sample(_)),
            "SPAN-B: no span is open for the arrow of {kind:?}"
        );
        self.push(Record { at: self.now, number, time, lp, kind });
    }

    fn open(&mut self, at: u64, phase: Phase, lp: u32, time: f64) {
        self.push(Record { at, number: self.count, time, lp, kind: Kind::Begin(phase) });
        self.depth += 1;
    }

    fn close_one(&mut self, at: u64, events: u64, time: f64) {
        let lp = self.count as u32;
        self.push(Record { at, number: events, time, lp, kind: Kind::End });
        debug_assert!(self.depth > 0, "SPAN-D: an end without a beginning");
        self.depth -= 1;
    }

    #[inline]
    fn push(&mut self, record: Record) {
        if self.depth == 0 {
            // It begins a group.
            (self.group_at, self.skips) = (record.at, !keeps(self.level, record.at));
        }
        if !self.skips && self.records.len() == self.room {
            self.thin();
        }
        if self.skips {
            self.left_out += u64::from(record.counts());
            return;
        }
        debug_assert!(
            self.records.last().is_none_or(|last| last.at <= record.at),
            "SPAN-D: {record:?} is before the last one"
        );
        self.records.push(record);
    }

    /// Makes room: leaves out every other slice that is still there, again and again until half of
    /// the room is free; and the end of a slice that alone takes more, with the open group.
    #[cold]
    fn thin(&mut self) {
        let most = self.room / 2;
        while self.records.len() > most && self.level < LEVEL_MAX && self.has_several_slices() {
            self.thin_to(self.level + 1);
        }
        self.skips = !keeps(self.level, self.group_at);
        if self.records.len() > most {
            let rest = self.records.split_off(self.group_around(most));
            self.left_out += rest.iter().filter(|record| record.counts()).count() as u64;
            self.skips |= self.depth > 0;
        }
        debug_assert!(self.records.len() <= most, "SPAN-C: no room was made");
    }

    fn has_several_slices(&self) -> bool {
        let slice = |record: Option<&Record>| record.map(|record| record.at >> SLICE_BITS);
        slice(self.records.first()) != slice(self.records.last())
    }

    /// Leaves out all groups that are not kept at this level.
    pub(super) fn thin_to(&mut self, level: u32) {
        debug_assert!((self.level..=LEVEL_MAX).contains(&level), "SPAN-C: it is thinner already");
        self.level = level;
        let (mut depth, mut keeps_group, mut left_out) = (0_u32, true, 0);
        self.records.retain(|record| {
            if depth == 0 {
                keeps_group = keeps(level, record.at);
            }
            match record.kind {
                Kind::Begin(_) => depth += 1,
                Kind::End => depth -= 1,
                _ => {}
            }
            left_out += u64::from(!keeps_group && record.counts());
            keeps_group
        });
        self.left_out += left_out;
    }

    /// Where the group of that record begins.
    fn group_around(&self, place: usize) -> usize {
        debug_assert!(place < self.records.len(), "there is no record {place}");
        let (mut depth, mut begin) = (0_u32, 0);
        for (at, record) in self.records[..=place].iter().enumerate() {
            begin = if depth == 0 { at } else { begin };
            match record.kind {
                Kind::Begin(_) => depth += 1,
                Kind::End => depth -= 1,
                _ => {}
            }
        }
        begin
    }
}

/// Whether what begins at that time is kept at this level.
const fn keeps(level: u32, at: u64) -> bool {
    (at >> SLICE_BITS).trailing_zeros() >= level
}

#[cfg(test)]
mod tests;
