//! One worker: its lps, and when each of them may go on.
//!
//! [`Worker::work`] is the main loop.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    sync::atomic::Ordering,
};

use warpline_core::{Io, LogicalProcess, Model, VirtualTime};
use warpline_graph::{EventGraph, NodeId, Remote, Taken};
use warpline_net::{Aggregation, NetError};

use super::{
    super::{
        algorithm::{Ended, YIELDS},
        lookout::Lookout,
    },
    channel_time::ChannelTime,
    detection::Detection,
    lp::{LinkedLp, Waiting},
    remote::ChannelEvent,
    send_buffer::SendBuffer,
    shared::Shared,
};
use crate::{
    RunError, Synchronization,
    event::{Buffer, Event, Message},
    handling::Cause,
    handling::{Core, Handling, Lp},
    panics,
    run::{ENGINE_KINDS, FailureOrder, threads},
};

/// Events of one process in a row, and processes in a row, before the worker looks for what has
/// arrived.
const TURN_EVENTS: u32 = 32;
const SLICE_TURNS: u32 = 64;
/// After so many events what has gathered for others is sent, even if there is more to do here: who
/// waits for it would wait until all is done here, and then the other way round. (On a hypercube of
/// dimension 7, 2 workers have 1.5 times the rate of sending every 512, and are level from 32 to
/// 128; on demand, 32 is best.)
const FLUSH_EVENTS: u64 = 32;
/// How far the processes have come is told after so many slices, at the least.
const PROGRESS_SLICES: u32 = 8;

/// What a worker counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) committed: u64,
    /// Messages that carried a clock to another worker, or to processes of this one.
    pub(super) null_messages: u64,
    /// Freezes, and how many of them ended a deadlock.
    pub(super) freezes: u64,
    pub(super) deadlocks: u64,
    /// Events that are pending at this worker's lps, and the most at one time.
    pub(super) pending: u64,
    pub(super) peak: u64,
    pub(super) last_time: VirtualTime,
}

/// See the module.
pub(super) struct Worker<'a, M: Model, B> {
    pub(super) shared: &'a Shared<'a, M, B>,
    /// Its number among all workers of all ranks.
    pub(super) me: usize,
    pub(super) lps: Vec<LinkedLp<M::Lp, B>>,
    pub(super) graph: EventGraph<'a, ChannelEvent<B>>,
    /// Of the edges that lead to this worker, by their place: nothing arrives before that any
    /// more.
    pub(super) bounds: Vec<ChannelTime>,
    /// Processes that may handle their next event, by where that is. One that has got an earlier
    /// event is in here twice.
    pub(super) ready: BinaryHeap<Reverse<(ChannelTime, u32)>>,
    /// Processes whose clock may have grown, or that may have to ask.
    pub(super) review: VecDeque<u32>,
    /// Null messages that may be sent until the next event is handled: where there are no events,
    /// clocks grow in small steps, and it is faster to look for the next event of all.
    pub(super) allowance: usize,
    pub(super) send_buffer: SendBuffer<'a, M, B>,
    /// Non-blocking I/O events that were handled and are not written.
    pub(super) outputs: Vec<Event<B>>,
    pub(super) detection: Detection,
    /// Events after the first failure are not handled.
    pub(super) limit: FailureOrder,
    pub(super) tally: Tally,
    /// How many events it had committed when it last sent what had gathered.
    flushed: u64,
    slices: u32,
    waited: u32,
}

impl<'a, M, B> Worker<'a, M, B>
where
    M: Model,
    B: Buffer<Message<M>>,
{
    pub(super) fn new(shared: &'a Shared<'a, M, B>, me: usize) -> Self {
        let far = shared.common.ranks.transport();
        let far =
            far.map(|transport| Remote { transport, codec: &shared.codec, kind: ENGINE_KINDS });
        let mode = shared.common.mode as u64;
        Self {
            shared,
            me,
            lps: Vec::with_capacity(shared.residents_of(me).len()),
            graph: EventGraph::make(&shared.plan, &shared.hub, me, far, mode),
            bounds: vec![ChannelTime::START; shared.plan.incoming_count(me)],
            ready: BinaryHeap::new(),
            review: VecDeque::new(),
            allowance: 0,
            send_buffer: SendBuffer::new(shared),
            outputs: Vec::new(),
            detection: Detection::new(shared),
            limit: FailureOrder::End,
            tally: Tally::default(),
            flushed: 0,
            slices: 0,
            waited: 0,
        }
    }

    /// From the first event to the last.
    pub(super) fn work(&mut self, lookout: &mut Lookout<'_, '_>) -> Ended {
        self.start(lookout);
        self.renew_allowance();
        while !self.shared.is_broken() {
            let ended = self.take_in().and_then(|()| self.detect(lookout));
            match ended {
                Ok(None) => {}
                Ok(Some(ended)) => return ended,
                Err(error) => self.lose(error),
            }
            let works =
                !self.graph.is_freezing() && (self.handle_ready(lookout) || self.review_clocks());
            if works {
                self.waited = 0;
            } else {
                self.rest(lookout);
            }
        }
        Ended::Failed
    }

    /// Has nothing to do until something arrives.
    fn rest(&mut self, lookout: &mut Lookout<'_, '_>) {
        if self.graph.is_freezing() {
            self.graph.flush();
        } else {
            self.graph.set_idle();
        }
        lookout.cuts_off();
        // Alone, there is nothing to wait for: the next look finds that all is quiet.
        if self.shared.plan.workers() > 1 {
            threads::wait(self.waited, self.shared.common.spins, YIELDS);
        }
        self.waited = self.waited.saturating_add(1);
        if self.me == self.detection.first && self.waited.is_multiple_of(16) {
            match self.shared.common.ranks.is_alerted() {
                Ok(false) => {}
                Ok(true) => self.shared.set_broken(),
                Err(error) => self.lose(error),
            }
        }
    }

    /// Ranks cannot talk any more.
    #[cold]
    pub(super) fn lose(&self, error: NetError) {
        self.shared.common.failure.note(FailureOrder::End, RunError::Net(error));
        self.shared.set_broken();
    }

    /// Makes the processes and lets each send its first events.
    fn start(&mut self, lookout: &mut Lookout<'_, '_>) {
        let mut made = 0;
        let (shared, topology) = (self.shared, self.shared.plan.topology());
        self.guard(|worker| {
            while let Some(&id) = shared.residents_of(worker.me).get(made) {
                made += 1;
                if lookout.cuts_off() {
                    return;
                }
                worker.send_buffer.error_context.lp = Some(id);
                let common = &shared.common;
                let lp = Lp::start(common.model, id, common.settings.seed, &mut worker.send_buffer);
                let incoming = topology.incoming(NodeId(id.get()));
                let lookaheads = incoming.iter().map(|edge| shared.lookaheads[edge.index()]);
                let least = lookaheads.reduce(f64::min);
                worker.lps.push(LinkedLp::new(lp, least, incoming.first().copied()));
                let local = worker.lps.len() - 1;
                worker.deliver(local, ChannelTime::START);
            }
        });
        for local in 0..self.lps.len() {
            self.enqueue(local);
            self.note_for_review(local);
        }
    }

    /// Takes in what has arrived, if anything has, and what was sent within this worker.
    fn take_in(&mut self) -> Result<(), NetError> {
        // Reading events is the model's code.
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

    /// Gives events, clocks and room to the processes that they are for.
    pub(super) fn settle(&mut self) {
        // One that could not start all its processes has nothing to give it to, and the run ends.
        if self.lps.len() < self.shared.residents_of(self.me).len() {
            return;
        }
        while let Some(edge) = self.graph.next_arrival() {
            let local = self.shared.local_of(self.shared.plan.topology().to(edge));
            while let Some(taken) = self.graph.take(edge) {
                match taken {
                    Taken::Own(departure) => self.arrive(local, edge, departure),
                    Taken::Shared(_) => self.lose(NetError::Failed(
                        "an event came for all links of its sender, but each is sent on one"
                            .to_owned(),
                    )),
                }
            }
        }
        while let Some(clock) = self.graph.next_clock() {
            self.hear_clock(&clock);
        }
        while let Some(node) = self.graph.next_unblocked() {
            let local = self.shared.local_of(node);
            if !self.lps[local].outbox.is_empty() {
                self.guard(|worker| worker.send_outbox(local, false));
                self.enqueue(local);
                self.note_for_review(local);
            }
        }
    }

    /// Lets processes that are ready handle events, the first one first; says whether there was
    /// one.
    fn handle_ready(&mut self, lookout: &mut Lookout<'_, '_>) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        self.graph.set_active();
        let before = self.tally.committed;
        for _ in 0..SLICE_TURNS {
            let Some(Reverse((at, local))) = self.ready.pop() else { break };
            let local = local as usize;
            if self.lps[local].queued != at {
                continue;
            }
            self.lps[local].queued = ChannelTime::NEVER;
            self.take_turn(local, lookout);
            self.settle();
            self.enqueue(local);
            self.finish_turn(local);
            if self.is_stopping() {
                break;
            }
        }
        if self.tally.committed > before {
            self.renew_allowance();
            // Ordering: Relaxed; a count for people.
            self.shared
                .common
                .committed
                .fetch_add(self.tally.committed - before, Ordering::Relaxed);
        }
        let is_enough = self.tally.committed - self.flushed >= FLUSH_EVENTS;
        if is_enough && self.shared.common.settings.aggregation == Aggregation::Adaptive {
            self.flushed = self.tally.committed;
            self.graph.flush();
        }
        self.show_progress(lookout);
        true
    }

    pub(super) fn is_stopping(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.shared.common.stop.soon.load(Ordering::Relaxed)
    }

    /// Now and then notes how far the processes of this worker, and of the rank, have come.
    fn show_progress(&mut self, lookout: &mut Lookout<'_, '_>) {
        // So seldom that the sum is small.
        let every = PROGRESS_SLICES * (1 + self.lps.len() as u32 / SLICE_TURNS);
        self.slices += 1;
        if !self.slices.is_multiple_of(every) {
            return;
        }
        let end = self.shared.common.end;
        let clocks = self.lps.iter().map(|process| process.clock(end));
        let reached = clocks.min().and_then(ChannelTime::time).unwrap_or(f64::MAX).min(end);
        // Ordering: Relaxed; for people.
        self.shared.reached[self.me - self.detection.first]
            .store(reached.to_bits(), Ordering::Relaxed);
        let all = self.shared.reached.iter().map(|one| one.load(Ordering::Relaxed)).min();
        lookout.reaches(f64::from_bits(all.unwrap_or_default()));
    }

    /// Lets one process handle some of the events that it may handle.
    fn take_turn(&mut self, local: usize, lookout: &mut Lookout<'_, '_>) {
        let is_sound = self.guard(|worker| {
            for _ in 0..TURN_EVENTS {
                if !worker.is_ready(local) || lookout.cuts_off() {
                    break;
                }
                let Some(Reverse(waiting)) = worker.lps[local].pending.pop() else { break };
                worker.tally.pending -= 1;
                worker.handle(local, waiting);
            }
        });
        if !is_sound {
            self.lps[local].has_failed = true;
            self.guard(|worker| worker.send_buffer.sent.clear());
        }
    }

    /// Whether a process may handle its next event.
    #[inline]
    pub(super) fn is_ready(&self, local: usize) -> bool {
        let process = &self.lps[local];
        let Some(Reverse(Waiting { event, .. })) = process.pending.peek() else { return false };
        ChannelTime::of(&event.key) < process.bound
            && event.key.time_value() < self.shared.common.end
            && process.outbox.is_empty()
            && FailureOrder::Event(event.key) < self.limit
            && !process.has_failed
    }

    /// Handles an event and commits it, frees its room, and sends what the handler has sent.
    #[inline]
    fn handle(&mut self, local: usize, waiting: Waiting<B>) {
        let Waiting { event: Event { key, to, io, message }, edge } = waiting;
        let (model, send_buffer) = (self.shared.common.model, &mut self.send_buffer);
        let Lp { state, core: Core { rng, sent, digest } } = &mut self.lps[local].lp;
        (send_buffer.error_context.lp, send_buffer.error_context.event) = (Some(to), Some(key));
        let mut cx = Handling { cause: Cause::event(&key, to), rng, sent, sink: send_buffer };
        match io {
            None => state.handle(model, message.get(), &mut cx),
            Some(Io::Blocking) => state.handle_io(model, message.get(), &mut cx),
            // Written once all that comes before it is handled.
            Some(Io::NonBlocking) => {}
        }
        digest.commit(&key, M::Lp::fingerprint(message.get()));
        self.tally.committed += 1;
        self.tally.last_time = self.tally.last_time.max(key.time());
        self.shared.common.memory.release(1);
        if let Some(edge) = edge {
            self.graph.free(edge);
        }
        if io == Some(Io::NonBlocking) {
            self.outputs.push(Event { key, to, io, message });
        } else {
            self.send_buffer.spares.recycle(message);
        }
        self.deliver(local, ChannelTime::of(&key).as_cause());
    }

    /// Sends what is on the send_buffer; what finds no room stays in the process's outbox.
    #[inline]
    fn deliver(&mut self, local: usize, cause: ChannelTime) {
        let process = &mut self.lps[local];
        for (edge, event) in self.send_buffer.sent.drain(..) {
            let Some(edge) = edge else {
                process.pending.push(Reverse(Waiting { event, edge: None }));
                self.tally.pending += 1;
                continue;
            };
            if let Err(refused) = self.graph.send(edge, ChannelEvent { event, cause }) {
                process.outbox.push_back((edge, refused.event.event));
                process.outbox_cause = cause;
                self.tally.pending += 1;
            }
        }
        self.tally.peak = self.tally.peak.max(self.tally.pending);
    }

    /// Sends what is in the outbox as far as there is room; or all of it, to end a deadlock. What
    /// is sent on one edge keeps its order: an edge that is full stays so meanwhile.
    pub(super) fn send_outbox(&mut self, local: usize, over: bool) {
        let process = &mut self.lps[local];
        let cause = process.outbox_cause;
        for _ in 0..process.outbox.len() {
            let Some((edge, event)) = process.outbox.pop_front() else { break };
            // Between ranks it is the model that writes it.
            (self.send_buffer.error_context.lp, self.send_buffer.error_context.event) =
                (Some(event.key.sender()), Some(event.key));
            let departure = ChannelEvent { event, cause };
            let sent = match over {
                true => self.graph.send_over(edge, departure),
                false => self.graph.send(edge, departure),
            };
            match sent {
                Ok(()) => self.tally.pending -= 1,
                Err(refused) => process.outbox.push_back((edge, refused.event.event)),
            }
        }
    }

    /// Runs code of the model's: its mistakes and its panics are noted as the run's failure. Says
    /// whether there was none.
    pub(super) fn guard(&mut self, code: impl FnOnce(&mut Self)) -> bool {
        let (shared, me) = (self.shared, self.me - self.detection.first);
        let order =
            shared.common.guard(me, self, |worker| &mut worker.send_buffer.error_context, code);
        self.limit = order.map_or(self.limit, |order| order.min(self.limit));
        order.is_none()
    }

    /// Whether clocks are of any use.
    #[inline]
    pub(super) fn has_clocks(&self) -> bool {
        self.shared.common.mode != Synchronization::DeadlockRecovery
    }
}
