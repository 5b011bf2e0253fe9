//! One worker: its LPs, and when each of them handles events.
//!
//! [`NullMessageWorker::work`] is the main loop, called on the thread of the worker: take what has
//! arrived, look for a deadlock, let LPs that are ready handle events, send null messages.

use std::{cmp::Reverse, collections::VecDeque, sync::atomic::Ordering};

use warpline_core::{EventKey, Io, LogicalProcess, LpId, Model, VirtualTime};
use warpline_graph::{EventGraph, NodeId, ReadyNodes, Taken};
use warpline_net::{Aggregation, NetError};

use super::{
    super::{
        algorithm::Ended,
        common::YIELDS,
        error_context::{ErrorContext, HasErrorContext},
    },
    channel_event::ChannelEvent,
    channel_time::ChannelTime,
    lp::{LinkedLp, Waiting},
    remote::Remote,
    reports::DeadlockDetection,
    send_buffer::SendBuffer,
    shared::NullMessageShared,
    trace::Trace,
};
use crate::{
    RunError,
    cut::Cut,
    event::{Buffer, Event, Message},
    handling::{self, Cause, Core, Handling, Lp},
    local_lp::LocalLp,
    panics,
    run::{FailureOrder, ProgressMonitor, threads},
    timeline::Phase,
};

/// The most events of one LP in a row.
const TURN_EVENTS: u32 = 32;
/// The most turns in a row, before the worker looks for what has arrived.
const SLICE_TURNS: u32 = 64;
/// After this number of events the worker sends what it has gathered for others, even if it has
/// more to do. Otherwise the receivers would wait until this worker has no work, and then the other
/// way round. (On a hypercube of dimension 7, 2 workers have 1.5 times the rate of sending every
/// 512 events, and are level from 32 to 128; on demand, 32 is best.)
const FLUSH_EVENTS: u64 = 32;
/// The least number of slices between two reports of progress.
const PROGRESS_SLICES: u32 = 8;

/// What a worker counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) committed: u64,
    /// Null messages to other workers and to LPs of this one.
    pub(super) null_messages: u64,
    /// Turns that LPs had.
    pub(super) turns: u64,
    /// Freezes, and how many of them ended a deadlock.
    pub(super) freezes: u64,
    pub(super) deadlocks: u64,
    /// Events that are pending at this worker's LPs, and the most at one time.
    pub(super) pending: u64,
    pub(super) peak: u64,
    pub(super) last_time: VirtualTime,
}

/// A worker of the null-message algorithms.
pub(super) struct NullMessageWorker<'a, M: Model, B> {
    pub(super) shared: &'a NullMessageShared<'a, M, B>,
    /// Its number among all workers, as the event graph has it.
    pub(super) me: usize,
    /// Its number among the workers that share [`NullMessageShared`].
    pub(super) here: usize,
    pub(super) lps: Vec<LinkedLp<M::Lp, B>>,
    pub(super) graph: EventGraph<'a, ChannelEvent<B>>,
    /// Other ranks, if there are any.
    pub(super) remote: Option<Box<Remote<Message<M>>>>,
    /// Of the edges to this worker, by their place: nothing arrives before that any more.
    pub(super) channel_bounds: Vec<ChannelTime>,
    /// LPs that may handle their next event. An LP that has got an earlier event since then may be
    /// in here twice.
    pub(super) ready: ReadyNodes,
    /// LPs that may have to send or request null messages.
    pub(super) review: VecDeque<LocalLp>,
    /// The null messages that may be sent until the next event is handled. Where there are no
    /// events, null-message times grow in small steps, and deadlock recovery is faster.
    pub(super) allowance: usize,
    pub(super) send_buffer: SendBuffer<'a, M, B>,
    /// Non-blocking I/O events that were handled and are not written.
    pub(super) outputs: Vec<Event<B>>,
    pub(super) detection: DeadlockDetection,
    /// The first failure that is known: events after it are not handled.
    pub(super) limit: FailureOrder,
    pub(super) tally: Tally,
    /// If what it does is recorded.
    pub(super) trace: Option<Box<Trace>>,
    /// Where the run ends for now: earlier than the user has said once it is to stop and to leave a
    /// cut, because all LPs go on to where the first one is.
    pub(super) end: f64,
    pub(super) is_finishing: bool,
    /// The number of events that it had committed when it last sent what it had gathered.
    flushed: u64,
    slices: u32,
    pub(super) waited: u32,
}

impl<M: Model, B> HasErrorContext for NullMessageWorker<'_, M, B> {
    fn error_context(&mut self) -> &mut ErrorContext {
        &mut self.send_buffer.error_context
    }
}

impl<'a, M, B> NullMessageWorker<'a, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    pub(super) fn new(shared: &'a NullMessageShared<'a, M, B>, here: usize) -> Self {
        let (directory, mode) = (&shared.common.directory, shared.common.mode as u64);
        let me = directory.global(here).index();
        Self {
            shared,
            me,
            here,
            lps: Vec::with_capacity(directory.lps_of(here).len()),
            graph: EventGraph::make(&shared.plan, &shared.hub, me, shared.connection(), mode),
            remote: Remote::new(shared),
            channel_bounds: vec![ChannelTime::START; shared.plan.incoming_count(me)],
            ready: ReadyNodes::new(shared.schedule()),
            review: VecDeque::new(),
            allowance: 0,
            send_buffer: SendBuffer::new(shared),
            outputs: Vec::new(),
            detection: DeadlockDetection::new(),
            limit: FailureOrder::End,
            tally: Tally::default(),
            trace: None,
            end: shared.common.end,
            is_finishing: false,
            flushed: 0,
            slices: 0,
            waited: 0,
        }
    }

    /// Runs from the first event to the last.
    pub(super) fn work(&mut self, monitor: &mut ProgressMonitor<'_, '_>) -> Ended {
        self.start(monitor);
        self.renew_allowance();
        while !self.shared.is_broken() {
            let ended = self.receive().and_then(|()| self.detect(monitor));
            match ended {
                Ok(None) => {}
                Ok(Some(ended)) => return ended,
                Err(error) => self.abandon(error),
            }
            let freezes = self.graph.is_freezing();
            if freezes {
                self.go_to(Phase::DeadlockDetection);
            }
            let works = !freezes && (self.handle_ready(monitor) || self.review_lps());
            if works {
                self.waited = 0;
            } else {
                self.idle(monitor);
            }
        }
        Ended::Failed
    }

    /// Has nothing to do until something arrives.
    fn idle(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        if self.graph.is_freezing() {
            self.graph.flush();
        } else {
            self.graph.set_idle();
            self.go_to_wait();
        }
        monitor.waits(self.waited);
        // A single worker has nothing to wait for: it finds at once that all is quiescent.
        if self.shared.plan.workers() > 1 {
            threads::wait(self.waited, self.shared.common.spins, YIELDS);
        }
        self.waited = self.waited.saturating_add(1);
        if self.remote.is_some() {
            self.watch_ranks();
        }
    }

    /// Ends the run, because workers cannot talk to each other any more.
    #[cold]
    pub(super) fn abandon(&self, error: NetError) {
        self.shared.common.failure.note(FailureOrder::End, RunError::Net(error));
        self.shared.set_broken();
    }

    /// Makes the LPs and lets each send its first events; or takes over LPs and events.
    fn start(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        if let Some(parts) = &self.shared.common.cut {
            self.take_over(parts.take(self.here));
        } else {
            self.make_lps(monitor);
        }
        for local in (0..self.lps.len()).map(LocalLp::from_index) {
            self.enqueue(local);
            self.note_for_review(local);
        }
    }

    /// Begins with a cut. What is pending has arrived, so it takes no place on any edge.
    fn take_over(&mut self, cut: Cut<M::Lp, Event<B>>) {
        let pending = cut.pending.len() as u64;
        for (lp, &id) in cut.lps.into_iter().zip(self.residents()) {
            self.lps.push(self.linked(lp, id));
        }
        debug_assert_eq!(self.lps.len(), self.residents().len(), "PLACE-A: an LP is missing");
        for event in cut.pending {
            let local = self.shared.local_of(NodeId(event.to.get()));
            self.lps[local.index()].pending.push(Reverse(Waiting { event, edge: None }));
        }
        (self.send_buffer.count, self.tally.pending, self.tally.peak) = (pending, pending, pending);
    }

    /// An LP with the state of its channels at the beginning.
    fn linked(&self, lp: Lp<M::Lp>, id: LpId) -> LinkedLp<M::Lp, B> {
        let incoming = self.shared.plan.topology().incoming(NodeId(id.get()));
        let lookaheads = incoming.iter().map(|edge| self.shared.lookaheads[edge.index()]);
        LinkedLp::new(lp, lookaheads.reduce(f64::min), incoming.first().copied())
    }

    fn make_lps(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        let mut made = 0;
        let shared = self.shared;
        self.guard(|worker| {
            while let Some(&id) = worker.residents().get(made) {
                made += 1;
                if monitor.cuts_off() {
                    return;
                }
                worker.send_buffer.error_context.lp = Some(id);
                let common = &shared.common;
                let mut lp = Lp::new(common.model, id, common.settings.seed);
                let (Lp { state, core }, buffer) = (&mut lp, &mut worker.send_buffer);
                handling::start(state, core, common.model, id, buffer, || monitor.cuts_off());
                worker.lps.push(worker.linked(lp, id));
                let local = LocalLp::from_index(worker.lps.len() - 1);
                worker.deliver(local, ChannelTime::START);
            }
        });
        // Of an LP that was told to stop.
        self.guard(|worker| worker.send_buffer.sent.clear());
    }

    /// Takes what has arrived from other workers, and what was sent within this one.
    fn receive(&mut self) -> Result<(), NetError> {
        // Code of the model reads the bytes of events.
        let polled = panics::catch(|| self.graph.poll());
        if polled.unwrap_or_else(|fault| Err(NetError::Failed(fault.to_string())))? {
            self.waited = 0;
        }
        self.settle();
        while let Some((from, words)) = self.graph.next_control() {
            self.hear(from, &words);
        }
        Ok(())
    }

    /// Gives events, null messages and free places on edges to the LPs that they are for.
    pub(super) fn settle(&mut self) {
        // If an LP could not start, the ones after it do not exist, and the run ends.
        if self.lps.len() < self.residents().len() {
            return;
        }
        while let Some(edge) = self.graph.next_arrival() {
            let local = self.shared.local_of(self.shared.plan.topology().to(edge));
            while let Some(taken) = self.graph.take(edge) {
                match taken {
                    Taken::Own(arrived) => self.arrive(local, edge, arrived),
                    Taken::Shared(_) => self.abandon(NetError::Failed(
                        "an event arrived that was sent on all links of its sender, but an engine \
                         sends each event on one link"
                            .to_owned(),
                    )),
                }
            }
        }
        while let Some(clock) = self.graph.next_clock() {
            self.hear_null_message(&clock);
        }
        while let Some(node) = self.graph.next_unblocked() {
            let local = self.shared.local_of(node);
            if !self.lps[local.index()].outbox.is_empty() {
                self.guard(|worker| worker.send_outbox(local, false));
                self.enqueue(local);
                self.note_for_review(local);
            }
        }
    }

    /// Lets LPs that are ready handle events, in the order of the scheduler (by default the
    /// earliest first); returns whether there was one.
    fn handle_ready(&mut self, monitor: &mut ProgressMonitor<'_, '_>) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        self.graph.set_active();
        self.go_to(Phase::Turns);
        let before = self.tally.committed;
        for _ in 0..SLICE_TURNS {
            let Some(node) = self.ready.pop() else { break };
            let local = LocalLp::new(node.index);
            if self.lps[local.index()].queued != ChannelTime::of_ready(&node) {
                continue;
            }
            self.tally.turns += 1;
            self.lps[local.index()].queued = ChannelTime::NEVER;
            self.take_turn(local, monitor);
            self.settle();
            self.enqueue(local);
            self.finish_turn(local);
            if self.is_stopping() {
                break;
            }
        }
        if self.tally.committed > before {
            self.renew_allowance();
            let committed = &self.shared.common.committed;
            // Ordering: Relaxed; a count for people.
            committed.fetch_add(self.tally.committed - before, Ordering::Relaxed);
        }
        debug_assert!(self.flushed <= self.tally.committed, "more is flushed than was handled");
        let is_enough = self.tally.committed - self.flushed >= FLUSH_EVENTS;
        if is_enough && self.shared.common.settings.engine.aggregation == Aggregation::Adaptive {
            self.flushed = self.tally.committed;
            self.graph.flush();
        }
        self.show_progress(monitor);
        true
    }

    pub(super) fn is_stopping(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        !self.is_finishing && self.shared.common.stop.soon.load(Ordering::Relaxed)
    }

    /// Now and then notes how far the LPs of this worker, and of all that share
    /// [`NullMessageShared`], have come.
    fn show_progress(&mut self, monitor: &mut ProgressMonitor<'_, '_>) {
        // With more LPs less often, so that the scan of all LPs costs little per event.
        let every = PROGRESS_SLICES * (1 + self.lps.len() as u32 / SLICE_TURNS);
        self.slices += 1;
        if !self.slices.is_multiple_of(every) {
            return;
        }
        let end = self.end;
        let times = self.lps.iter().map(|lp| lp.null_message_time(end));
        let reached = times.min().and_then(ChannelTime::time).unwrap_or(f64::MAX).min(end);
        // Ordering: Relaxed; for people.
        self.shared.reached[self.here].store(reached.to_bits(), Ordering::Relaxed);
        let all = self.shared.reached.iter().map(|one| one.load(Ordering::Relaxed)).min();
        monitor.reaches(f64::from_bits(all.unwrap_or_default()));
    }

    /// Lets one LP handle some of the events that it may handle.
    fn take_turn(&mut self, local: LocalLp, monitor: &mut ProgressMonitor<'_, '_>) {
        // What leaves a cut goes on to where the first LP is (CUT-A), however long that takes.
        let leaves_cut = self.shared.common.settings.leaves_cut;
        let is_sound = self.guard(|worker| {
            for _ in 0..TURN_EVENTS {
                if !worker.is_ready(local) || monitor.cuts_off() && !leaves_cut {
                    break;
                }
                let Some(Reverse(waiting)) = worker.lps[local.index()].pending.pop() else { break };
                debug_assert!(worker.tally.pending > 0, "CMB-D: an event beyond the count");
                worker.tally.pending -= 1;
                worker.handle(local, waiting);
            }
        });
        if !is_sound {
            self.lps[local.index()].has_failed = true;
            self.guard(|worker| worker.send_buffer.sent.clear());
        }
    }

    /// Handles an event and commits it, frees its place on its edge, and sends what the handler has
    /// sent.
    #[inline]
    fn handle(&mut self, local: LocalLp, waiting: Waiting<B>) {
        let Waiting { event: Event { key, to, io, message }, edge } = waiting;
        debug_assert!(self.is_next(local, &key), "CMB-C: {to:?} handles {key:?} out of order");
        let (model, send_buffer) = (self.shared.common.model, &mut self.send_buffer);
        let Lp { state, core: Core { rng, sent, digest } } = &mut self.lps[local.index()].lp;
        (send_buffer.error_context.lp, send_buffer.error_context.event) = (Some(to), Some(key));
        let mut cx = Handling { cause: Cause::event(&key, to), rng, sent, sink: send_buffer };
        match io.get() {
            None => state.handle(model, message.get(), &mut cx),
            Some(Io::Blocking) => cx.handle_io(state, model, message.get()),
            // It is written once all events before it are handled.
            Some(Io::NonBlocking) => {}
        }
        digest.commit(&key, M::Lp::fingerprint(model, message.get()));
        self.tally.committed += 1;
        self.tally.last_time = self.tally.last_time.max(key.time());
        let owned = self.shared.common.owned(&message);
        self.shared.common.memory.release(1, owned);
        if let Some(edge) = edge {
            self.graph.free(edge);
        }
        if io.get() == Some(Io::NonBlocking) {
            self.outputs.push(Event { key, to, io, message });
        } else if owned == 0 {
            self.send_buffer.spares.recycle(message);
        }
        self.deliver(local, ChannelTime::of(&key).as_cause());
    }

    /// Whether an event of an LP is before its EIT and before all others that are pending.
    fn is_next(&self, local: LocalLp, key: &EventKey) -> bool {
        let (at, lp) = (ChannelTime::of(key), &self.lps[local.index()]);
        at < lp.eit && lp.pending.peek().is_none_or(|next| *key < next.0.event.key)
    }

    /// Sends what is in the send buffer. Events for edges that are full stay in the LP's outbox.
    #[inline]
    fn deliver(&mut self, local: LocalLp, cause: ChannelTime) {
        let lp = &mut self.lps[local.index()];
        debug_assert!(lp.outbox.is_empty(), "an LP handles events that cannot send");
        for (edge, event) in self.send_buffer.sent.drain(..) {
            let Some(edge) = edge else {
                lp.pending.push(Reverse(Waiting { event, edge: None }));
                self.tally.pending += 1;
                continue;
            };
            if let Err(refused) = self.graph.send(edge, ChannelEvent { event, cause }) {
                lp.outbox.push_back((edge, refused.event.event));
                lp.outbox_cause = cause;
                self.tally.pending += 1;
            }
        }
        self.tally.peak = self.tally.peak.max(self.tally.pending);
    }

    /// Sends what is in the outbox, as far as its edges have free places, or all of it to end a
    /// deadlock. Events on one edge keep their order, because an edge that is full stays full
    /// meanwhile.
    pub(super) fn send_outbox(&mut self, local: LocalLp, exceeds_capacity: bool) {
        let lp = &mut self.lps[local.index()];
        let cause = lp.outbox_cause;
        for _ in 0..lp.outbox.len() {
            let Some((edge, event)) = lp.outbox.pop_front() else { break };
            // Code of the model may write the event as bytes, and fail.
            let context = &mut self.send_buffer.error_context;
            (context.lp, context.event) = (Some(event.key.sender()), Some(event.key));
            let event = ChannelEvent { event, cause };
            let sent = match exceeds_capacity {
                true => self.graph.send_over(edge, event),
                false => self.graph.send(edge, event),
            };
            debug_assert!(self.tally.pending > 0, "CMB-D: an event beyond the count");
            match sent {
                Ok(()) => self.tally.pending -= 1,
                Err(refused) => lp.outbox.push_back((edge, refused.event.event)),
            }
        }
    }

    /// Runs code of the model: its faults and its panics are noted as the run's failure. Returns
    /// whether there was none.
    pub(super) fn guard(&mut self, code: impl FnOnce(&mut Self)) -> bool {
        let (shared, here) = (self.shared, self.here);
        let order = shared.common.guard(here, self, code);
        self.limit = order.map_or(self.limit, |order| order.min(self.limit));
        order.is_none()
    }

    /// Whether an event comes before the first failure that is known.
    #[inline]
    pub(super) fn is_before_failure(&self, key: &EventKey) -> bool {
        FailureOrder::Event(*key) < self.limit
    }

    /// Whether it is the first worker of those that share [`NullMessageShared`].
    pub(super) const fn is_first(&self) -> bool {
        self.here == 0
    }

    /// The LPs of this worker.
    pub(super) fn residents(&self) -> &'a [LpId] {
        self.shared.common.directory.lps_of(self.here)
    }

    /// An LP of this worker as a node of the event graph.
    pub(super) fn node_of(&self, local: LocalLp) -> NodeId {
        NodeId(self.residents()[local.index()].get())
    }
}
