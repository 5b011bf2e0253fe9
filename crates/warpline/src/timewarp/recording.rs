//! What a worker tells the [`Timeline`](crate::timeline::Timeline) of the run, if there is one.
//!
//! Called by the modules that do what is told. A worker without a [`Trace`] tells nothing, and asks
//! once per batch, rollback, canceled event and GVT whether it has one.
//!
//! An arrow to a straggler's rollback begins in the batch that sent the straggler. Blocks of mail
//! carry the stamp of that batch, and the receiver notes it by buffer. Anti-messages need no stamp:
//! an event that is canceled is known by its key and its buffer at both ends; between ranks by the
//! serial number that its anti-message has.

use warpline_core::{EventKey, LpId, Model, mix};
use warpline_memory::BufferId;

use super::{
    event::Event,
    gvt::Bound,
    history::Sent,
    shared::{Mail, Shared},
    worker::Worker,
};
use crate::timeline::{Cause, Gauge, Phase, Recorder, Stamp};

/// What a worker writes its records with.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) recorder: Box<Recorder>,
    /// By buffer: which batch the event in it was sent in, if it came by mail; of a canceled event
    /// of another rank, its serial number.
    sent_in: Vec<Stamp>,
    /// Whether all events of other workers of this rank come in blocks, straight from their sender.
    knows_senders: bool,
    /// Events processed before the phase that goes on.
    processed: u64,
}

impl Trace {
    /// For a worker of a run that has a timeline.
    pub(super) fn take<M: Model>(
        shared: &Shared<M>,
        rank: usize,
        worker: usize,
    ) -> Option<Box<Self>> {
        let recorder = shared.timeline.as_ref()?.take(rank, worker)?;
        // Mail of an LP that moves takes another way, and so does mail in bottom halves.
        let knows_senders = shared.moves.is_none() && shared.halves.is_none();
        Some(Box::new(Self { recorder, sent_in: Vec::new(), knows_senders, processed: 0 }))
    }

    /// An event was sent in that batch.
    #[inline]
    fn note_arrival(&mut self, event: &Event, stamp: Stamp) {
        let buffer = event.buffer().get() as usize;
        if buffer >= self.sent_in.len() {
            self.sent_in.resize((buffer + 1).next_power_of_two(), Stamp::default());
        }
        self.sent_in[buffer] = stamp;
    }
}

impl<M: Model> Worker<'_, M> {
    fn recorder(&mut self) -> Option<&mut Recorder> {
        self.trace.as_deref_mut().map(|trace| &mut *trace.recorder)
    }

    /// A phase begins in which no batch is handled.
    #[inline]
    pub(super) fn begin_phase(&mut self, phase: Phase) {
        if let Some(recorder) = self.recorder() {
            recorder.begin(phase);
            if matches!(phase, Phase::Start | Phase::BlockingIo) {
                self.sender.stamp = recorder.stamp();
            }
        }
    }

    /// The phase ends; it was about this number of events, up to that virtual time.
    #[inline]
    pub(super) fn end_phase(&mut self, events: u64, time: f64) {
        if let Some(recorder) = self.recorder() {
            recorder.end(events, time);
        }
    }

    /// A turn comes to the handling of events.
    #[inline]
    pub(super) fn begin_batch(&mut self) {
        if let Some(trace) = self.trace.as_deref_mut() {
            self.sender.stamp = trace.recorder.propose_batch();
            trace.processed = self.statistics.processed;
        }
    }

    /// It has ended.
    #[inline]
    pub(super) fn end_batch(&mut self) {
        let Some(trace) = self.trace.as_deref() else { return };
        let events = self.statistics.processed - trace.processed;
        let time = self.last_handled().map_or(f64::NAN, |event| event.key.time_value());
        let is_idle = self.recorder().is_some_and(|one| one.end_batch(events, time));
        if is_idle && self.recorder().is_some_and(|one| !one.is_waiting()) {
            let why = self.why_idle();
            self.recorder().into_iter().for_each(|one| one.wait(why));
        }
    }

    /// Mail has arrived.
    #[inline]
    pub(super) fn note_mail(&mut self, block: &Mail) {
        if let Some(trace) = self.trace.as_deref_mut().filter(|trace| trace.knows_senders) {
            let stamp = Stamp(block.stamp);
            block.items.iter().for_each(|mail| trace.note_arrival(mail, stamp));
        }
    }

    /// An LP is rolled back, by `undo`, because of that event, if it is one.
    #[inline]
    pub(super) fn recording_rollback(
        &mut self,
        cause: Cause,
        (lp, to): (u32, Bound),
        event: Option<&Event>,
        undo: impl FnOnce(&mut Self),
    ) {
        if self.trace.is_none() {
            return undo(self);
        }
        let before = self.statistics.rolled_back;
        self.begin_rollback(cause, (lp, to), event);
        undo(self);
        let undone = self.statistics.rolled_back - before;
        self.end_phase(undone, f64::NAN);
    }

    #[cold]
    fn begin_rollback(&mut self, cause: Cause, (lp, to): (u32, Bound), event: Option<&Event>) {
        let id = self.lps[lp as usize].id;
        let identity = event.map(|event| self.identity(event));
        let has_sender = event.is_some_and(|event| self.is_of_another_worker(event));
        let Some(Trace { recorder, sent_in, knows_senders, .. }) = self.trace.as_deref_mut() else {
            return;
        };
        recorder.begin_rollback(cause, id.get(), to.time());
        match (cause, identity, event) {
            (Cause::AntiMessage, Some(identity), _) => recorder.undoes_canceled(identity),
            (Cause::Straggler, _, Some(event)) if *knows_senders && has_sender => {
                let stamp = sent_in.get(event.buffer().get() as usize);
                stamp.into_iter().for_each(|&stamp| recorder.was_sent_in(stamp));
            }
            _ => {}
        }
    }

    /// Whether another worker of this rank has sent the event.
    pub(super) fn is_of_another_worker(&self, event: &Event) -> bool {
        let place = self.sender.places[event.key.sender().index()];
        place.worker != self.sender.id && self.shared.directory.local(place.worker).is_some()
    }

    /// An event is canceled that this worker has sent.
    #[inline]
    pub(super) fn note_canceled(&mut self, sent: &Sent) {
        if self.trace.as_deref().is_none_or(|trace| trace.recorder.leaves_out()) {
            return;
        }
        let buffer = sent.event.buffer();
        let identity = match self.shared.directory.local(sent.worker) {
            Some(_) => identity_of(sent.event.key, self.buffer_name(buffer)),
            None => identity_of(sent.event.key, Err(buffer.get().into())),
        };
        self.recorder().into_iter().for_each(|one| one.cancels(identity));
    }

    /// A canceled event is annihilated that was not handled.
    #[inline]
    pub(super) fn note_annihilated(&mut self, event: &Event) {
        if self.trace.is_none() {
            return;
        }
        let (identity, lp) = (self.identity(event), self.lps[event.lp as usize].id);
        let time = event.key.time_value();
        self.recorder().into_iter().for_each(|one| one.annihilated(identity, lp.get(), time));
    }

    /// The same for one of another rank, which had no buffer here yet.
    pub(super) fn note_annihilated_remote(&mut self, key: EventKey, serial: u32, lp: LpId) {
        let identity = identity_of(key, Err(serial.into()));
        if let Some(recorder) = self.recorder() {
            recorder.tick();
            recorder.annihilated(identity, lp.get(), key.time_value());
        }
    }

    /// An event of another rank is canceled, which is in a buffer here.
    pub(super) fn note_serial(&mut self, event: &Event, serial: u32) {
        if let Some(trace) = self.trace.as_deref_mut() {
            trace.note_arrival(event, Stamp(serial.into()));
        }
    }

    /// Mail has been filed.
    #[inline]
    pub(super) fn note_canceled_by_mail(&mut self) {
        if !self.canceled.is_empty() {
            // What has canceled the events, at another worker, came before.
            self.recorder().into_iter().for_each(Recorder::tick);
        }
    }

    /// What an event for this worker is known by at both ends of an arrow.
    fn identity(&self, event: &Event) -> u64 {
        let (place, buffer) = (self.sender.places[event.key.sender().index()], event.buffer());
        if self.shared.directory.local(place.worker).is_some() {
            return identity_of(event.key, self.buffer_name(buffer));
        }
        let sent_in = self.trace.as_deref().map_or(&[][..], |trace| &trace.sent_in);
        let serial = sent_in.get(buffer.get() as usize).map_or(0, |serial| serial.0);
        identity_of(event.key, Err(serial))
    }

    /// A buffer of this rank.
    fn buffer_name(&self, buffer: BufferId) -> Result<u64, u64> {
        let rank = self.shared.directory.address(self.sender.id).rank as u64;
        Ok(rank << 32 | u64::from(buffer.get()))
    }

    /// Events are committed, by `collect`, at the beginning of the answer to a new GVT.
    #[inline]
    pub(super) fn recording_commits(&mut self, collect: impl FnOnce(&mut Self)) {
        let before = self.statistics.committed;
        let begin = |recorder: &mut Recorder| recorder.begin_at_once(Phase::FossilCollection);
        self.recorder().into_iter().for_each(begin);
        collect(self);
        let committed = self.statistics.committed - before;
        self.end_phase(committed, self.gvt.time());
    }

    /// Tells the numbers of this worker, at a new GVT.
    pub(super) fn note_gauges(&mut self) {
        if self.trace.is_none() {
            return;
        }
        let free = self.is_limited.then(|| self.free_buffers());
        let uncommitted = self.history.len() as f64;
        let (processed, undone) = (self.statistics.processed, self.statistics.rolled_back);
        let Some(recorder) = self.recorder() else { return };
        recorder.sample_efficiency(processed, undone);
        recorder.sample(Gauge::Uncommitted, uncommitted);
        free.into_iter().for_each(|free| recorder.sample(Gauge::FreeBuffers, free));
    }

    /// The worker ends, and hands in what it has written.
    pub(super) fn end_trace(&mut self) {
        if let (Some(trace), Some(timeline)) = (self.trace.take(), &self.shared.timeline) {
            timeline.bring_back(trace.recorder);
        }
    }
}

/// What an event is known by: its key, and its buffer, or its serial number between ranks.
fn identity_of(key: EventKey, buffer_or_serial: Result<u64, u64>) -> u64 {
    let [time, step_and_sender, sequence] = key.words();
    let key = mix(mix(time, step_and_sender), sequence);
    match buffer_or_serial {
        Ok(buffer) => mix(key, buffer),
        Err(serial) => mix(key, 1 << 63 | serial),
    }
}
