//! What a worker tells the [`Timeline`](crate::timeline::Timeline) of the run, if there is one.
//!
//! Called by the modules that do what is told. A worker without a [`Trace`](super::trace::Trace)
//! tells nothing, and asks once per batch, rollback, canceled event and GVT whether it has one.
//!
//! An arrow to a straggler's rollback begins in the batch that sent the straggler. Each worker
//! notes, by buffer, the stamp of the batch that an event comes from, if that batch is kept. Blocks
//! of mail carry the stamp of their batch; bottom halves, and LPs that move, have one for each
//! event if there is a timeline. Between ranks no stamp is sent. A worker numbers the events that
//! it sends to other ranks, and writes how many that were at the beginning and the end of each
//! batch; the receiver writes the serial number of a straggler.
//!
//! Anti-messages need no stamp: an event that is canceled is known by its key and its buffer at
//! both ends; between ranks by the serial number that its anti-message has.

use warpline_core::{EventKey, LpId, Model, mix};
use warpline_memory::BufferId;
use warpline_net::Address;

use super::{
    event::{Event, key_hash},
    gvt::Bound,
    history::Sent,
    shared::Mail,
    worker::TimeWarpWorker,
};
use crate::{
    local_lp::LocalLp,
    timeline::{Cause, Gauge, Phase, Recorder, Stamp},
};

impl<M: Model> TimeWarpWorker<'_, M> {
    fn recorder(&mut self) -> Option<&mut Recorder> {
        self.optional.trace.as_deref_mut().map(|trace| &mut *trace.recorder)
    }

    /// The same at the beginning and the end of phases, which tell how many events they send to
    /// other ranks.
    #[inline]
    fn counting(&mut self) -> Option<&mut Recorder> {
        let sent = if self.optional.trace.is_some() { self.remote_events() } else { 0 };
        let recorder = self.recorder()?;
        recorder.count = sent;
        Some(recorder)
    }

    /// A phase begins in which no batch is handled.
    #[inline]
    pub(super) fn begin_phase(&mut self, phase: Phase) {
        if let Some(recorder) = self.counting() {
            recorder.begin(phase);
            if matches!(phase, Phase::Start | Phase::BlockingIo) {
                let (stamp, keeps) = (recorder.stamp(), !recorder.leaves_out());
                self.sender.stamp = stamp;
                self.sender.costs.note_sends(keeps);
            }
        }
    }

    /// The phase ends; it was about this number of events, up to that virtual time.
    #[inline]
    pub(super) fn end_phase(&mut self, events: u64, time: f64) {
        if let Some(recorder) = self.counting() {
            recorder.end(events, time);
        }
    }

    /// A turn comes to the handling of events.
    #[inline]
    pub(super) fn begin_batch(&mut self) {
        let Some(recorder) = self.counting() else { return };
        let stamp = recorder.propose_batch();
        let keeps = recorder.keeps(stamp);
        self.sender.stamp = stamp;
        self.sender.costs.note_sends(keeps);
        let processed = self.statistics.processed;
        self.optional.trace.iter_mut().for_each(|trace| trace.processed = processed);
    }

    /// It has ended.
    #[inline]
    pub(super) fn end_batch(&mut self) {
        let Some(trace) = self.optional.trace.as_deref() else { return };
        debug_assert!(self.statistics.processed >= trace.processed, "events are not counted");
        let events = self.statistics.processed - trace.processed;
        let time = self.last_handled().map_or(f64::NAN, |event| event.key.time_value());
        let is_idle = self.counting().is_some_and(|one| one.end_batch(events, time));
        if is_idle && self.recorder().is_some_and(|one| !one.is_waiting()) {
            let why = self.why_idle();
            self.recorder().into_iter().for_each(|one| one.wait(why));
        }
    }

    /// Mail has arrived.
    #[inline]
    pub(super) fn note_mail(&mut self, block: &Mail) {
        let stamp = Stamp(block.stamp);
        let keeps = self.optional.trace.as_deref().is_some_and(|trace| trace.recorder.keeps(stamp));
        // Notices do not tell what is filed.
        if keeps && self.shared.halves.is_none() {
            let events = block.items.iter().filter(|mail| mail.cancels().is_none());
            events.for_each(|event| self.sender.note_origin(event, stamp));
        }
    }

    /// An LP is rolled back, by `undo`, because of that event, if it is one.
    #[inline]
    pub(super) fn recording_rollback(
        &mut self,
        cause: Cause,
        (lp, to): (LocalLp, Bound),
        event: Option<&Event>,
        undo: impl FnOnce(&mut Self),
    ) {
        if self.optional.trace.is_none() {
            return undo(self);
        }
        let before = self.statistics.rolled_back;
        self.begin_rollback(cause, (lp, to), event);
        undo(self);
        let undone = self.statistics.rolled_back - before;
        self.end_phase(undone, f64::NAN);
    }

    #[cold]
    fn begin_rollback(&mut self, cause: Cause, (lp, to): (LocalLp, Bound), event: Option<&Event>) {
        let id = self.lps[lp.index()].id;
        let Some(recorder) = self.recorder() else { return };
        recorder.begin_rollback(cause, id, to.time());
        let Some(event) = event.filter(|_| !recorder.leaves_out()) else { return };
        match cause {
            Cause::AntiMessage => {
                let identity = self.identity(event);
                self.recorder().into_iter().for_each(|one| one.undoes_canceled(identity));
            }
            Cause::Straggler => self.note_sender(event),
            Cause::Horizon | Cause::CutOff => {}
        }
    }

    /// The rollback that has begun is because of this straggler.
    fn note_sender(&mut self, event: &Event) {
        let origin = self.sender.origin(event);
        let place = self.sender.places[event.key.sender().index()];
        let Address { rank, port } = self.shared.directory.address(place.worker);
        let serial = self.serial_of(event);
        debug_assert_eq!(
            serial.is_some(),
            self.shared.directory.local(place.worker).is_none(),
            "only events of other ranks have serial numbers: {event:?}"
        );
        let Some(recorder) = self.recorder() else { return };
        match serial {
            None => recorder.was_sent_in(origin),
            Some(serial) => recorder.was_sent_remotely((rank, port), serial),
        }
    }

    /// An event is canceled that this worker has sent.
    #[inline]
    pub(super) fn note_canceled(&mut self, sent: &Sent) {
        if self.optional.trace.as_deref().is_none_or(|trace| trace.recorder.leaves_out()) {
            return;
        }
        let buffer = sent.event.buffer();
        let identity = match self.shared.directory.local(sent.worker) {
            Some(_) => identity_of(key_hash(sent.event.key), self.buffer_name(buffer)),
            None => identity_of(key_hash(sent.event.key), Err(buffer.get().into())),
        };
        self.recorder().into_iter().for_each(|one| one.cancels(identity));
    }

    /// A canceled event is annihilated that was not handled.
    #[inline]
    pub(super) fn note_annihilated(&mut self, event: &Event) {
        let Some(recorder) = self.recorder() else { return };
        if recorder.leaves_out() {
            return recorder.annihilated(0, LpId::default(), 0.0);
        }
        let (identity, lp) = (self.identity(event), self.lps[event.lp().index()].id);
        let time = event.key.time_value();
        self.recorder().into_iter().for_each(|one| one.annihilated(identity, lp, time));
    }

    /// The same for one of another rank, which had no buffer here yet.
    pub(super) fn note_annihilated_remote(&mut self, key: EventKey, serial: u32, lp: LpId) {
        let identity = identity_of(key_hash(key), Err(serial.into()));
        if let Some(recorder) = self.recorder() {
            recorder.tick();
            recorder.annihilated(identity, lp, key.time_value());
        }
    }

    /// An event of another rank is canceled, which is in a buffer here.
    pub(super) fn note_serial(&mut self, event: &Event, serial: u32) {
        if self.sender.is_recorded() {
            self.sender.note_origin(event, Stamp(serial.into()));
        }
    }

    /// Mail has been filed.
    #[inline]
    pub(super) fn note_canceled_by_mail(&mut self) {
        if !self.aside.canceled.is_empty() {
            // What has canceled the events, at another worker, came before.
            self.recorder().into_iter().for_each(Recorder::tick);
        }
    }

    /// What an event for this worker is known by at both ends of an arrow.
    fn identity(&self, event: &Event) -> u64 {
        let (place, buffer) = (self.sender.places[event.key.sender().index()], event.buffer());
        if self.shared.directory.local(place.worker).is_some() {
            return identity_of(key_hash(event.key), self.buffer_name(buffer));
        }
        // Noted when its anti-message came.
        identity_of(key_hash(event.key), Err(self.sender.origin(event).0))
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
        debug_assert!(self.statistics.committed >= before, "commits were taken back");
        let committed = self.statistics.committed - before;
        self.end_phase(committed, self.clock.gvt.time());
    }

    /// Tells the numbers of this worker, at a new GVT.
    pub(super) fn note_gauges(&mut self) {
        if self.optional.trace.is_none() {
            return;
        }
        let free = self.store.is_limited.then(|| self.free_buffers());
        let uncommitted = self.log.history.len() as f64;
        let (processed, undone) = (self.statistics.processed, self.statistics.rolled_back);
        let Some(recorder) = self.recorder() else { return };
        recorder.sample_efficiency(processed, undone);
        recorder.sample(Gauge::Uncommitted, uncommitted);
        free.into_iter().for_each(|free| recorder.sample(Gauge::FreeBuffers, free));
    }

    /// The worker ends, and hands in what it has written.
    pub(super) fn end_trace(&mut self) {
        self.optional.trace = None;
    }
}

/// What an event is known by: its key, and its buffer, or its serial number between ranks.
const fn identity_of(key_hash: u64, buffer_or_serial: Result<u64, u64>) -> u64 {
    match buffer_or_serial {
        Ok(buffer) => mix(key_hash, buffer),
        Err(serial) => mix(key_hash, 1 << 63 | serial),
    }
}
