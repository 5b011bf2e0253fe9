//! All that the windows algorithm knows of other ranks.
//!
//! At every barrier each rank sends each other rank one parcel: the remote events for that rank,
//! and this rank's contribution to the reduction. Nothing else synchronizes ranks. A barrier
//! between ranks has four steps: the workers of a rank write their remote events as bytes
//! ([`Remote::post`]) and come to their own barrier; the first worker sends the parcels, waits for
//! those of all other ranks, and reduces ([`RankBarrier::exchange`]); the workers come to their
//! barrier a second time, which shows them the result; each reads the events that are for its LPs.
//!
//! The main loop calls it at three points: [`Sender::send_remote`] for a remote event,
//! [`Remote::post`] before a barrier, and [`Worker::synchronize_ranks`] after it.
//!
//! # Invariants
//!
//! - **CONS-D.** The parcels of a pair of ranks arrive in their order (NET-A), one for each round,
//!   so the next parcel from a rank is that of the current round. Checked when one is read.
//! - **CONS-E.** Received bytes are checked: bytes that are not events for LPs of this worker, due
//!   in this window or later, end the run with an error.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError, RwLock, atomic::Ordering},
};

use warpline_core::{
    EventKey, Io, LpId, Model, WireError, Wires, append_words, take_bytes, take_words,
};
use warpline_net::{Address, Malformed, NetError, Parcel, Received, Transport, append};

use super::{
    super::common::{Common, YIELDS},
    sending::Sender,
    worker::Worker,
};
use crate::{
    event::{Buffer, Event, Message},
    handling::Value,
    remote_event::{RemoteEvent, read_event, write_event},
    run::{Broken, ENGINE_KINDS, FailureOrder, ProgressMonitor, Reduction, threads},
};

/// The kind of the parcels.
const WINDOW: u16 = ENGINE_KINDS;
/// The port at which they arrive.
const PORT: usize = 0;
/// How often the first worker, while it waits for other ranks, asks whether one of them fails.
const ALERT_EVERY: u32 = 64;
/// The bytes of a parcel before the lengths of its parts.
const HEADER_BYTES: usize = 8 * 8;

/// What a rank contributes to a barrier beside its events, and what it gets from it.
#[derive(Clone, Copy, Debug)]
struct RankReduction {
    round: u64,
    reduction: Reduction,
    /// The number of events that the rank has committed; in the result, that of all other ranks.
    committed: u64,
    /// The first failure that is known.
    failure: Option<FailureOrder>,
}

/// Non-blocking I/O events of other ranks, as bytes, with the rank.
type Outputs = Vec<(usize, Vec<u8>)>;

/// The barrier of all ranks, shared by the workers of one.
pub(super) struct RankBarrier<'t, M: Model> {
    transport: &'t dyn Transport,
    wires: Wires<M>,
    /// The workers of each rank.
    workers: usize,
    /// By worker of this rank, and then by worker of all ranks: events as bytes.
    outgoing: Vec<Mutex<Vec<Vec<u8>>>>,
    /// By rank: the parcels of the last round.
    incoming: RwLock<Vec<Vec<u8>>>,
    /// By rank: parcels that arrived before their round.
    early: Mutex<Vec<VecDeque<Vec<u8>>>>,
}

/// One worker's view of other ranks.
pub(super) struct Remote<'a, M: Model> {
    ranks: &'a RankBarrier<'a, M>,
    me: usize,
    /// Remote events as bytes, by receiver among the workers of all ranks.
    outgoing: Vec<Vec<u8>>,
    /// The number of events sent to other ranks, less that of events received from them.
    pub(super) balance: i64,
    /// The first failure of all other ranks, as of the last round.
    failure: Option<FailureOrder>,
    /// The number of events that all other ranks have committed, as of the last round.
    committed: u64,
}

impl<'a, M: Model> Remote<'a, M> {
    pub(super) fn new(ranks: &'a RankBarrier<'a, M>, me: usize) -> Self {
        let outgoing = vec![Vec::new(); ranks.workers * ranks.transport.ranks()];
        Self { ranks, me, outgoing, balance: 0, failure: None, committed: 0 }
    }

    /// Hands over the remote events of this worker, and takes the empty buffers of the last round.
    pub(super) fn post(&mut self) {
        let outgoing = &self.ranks.outgoing[self.me];
        let mut outgoing = outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(
            outgoing.iter().all(Vec::is_empty),
            "CONS-D: what was posted for the last round was not sent"
        );
        std::mem::swap(&mut *outgoing, &mut self.outgoing);
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sender<'_, M, B> {
    /// Writes an event for an LP of another rank. It reserves memory there, not here.
    pub(super) fn send_remote(
        &mut self,
        window: u64,
        event: (&EventKey, LpId, Option<Io>),
        message: &Message<M>,
    ) {
        let Some(remote) = &mut self.remote else { return };
        let to = self.shared.common.directory.place(event.1).worker.index();
        debug_assert!(window >= self.next_window, "CONS-A: {:?} is due in this window", event.0);
        self.first_sent = self.first_sent.min(window);
        append(&mut remote.outgoing[to], |bytes| {
            write_event(bytes, &remote.ranks.wires.message, event, message)
        });
        remote.balance += 1;
    }

    /// Inserts what other ranks have sent in the last round.
    fn collect_remote(&mut self) -> Result<(), NetError> {
        let Some(remote) = &self.remote else { return Ok(()) };
        let (ranks, mut count) = (remote.ranks, 0);
        let collected = ranks.events_for(self.me, |RemoteEvent { key, to, io, message }| {
            let shared = self.shared;
            let window = shared.grid.window(key.time_value());
            let directory = &shared.common.directory;
            let worker = directory.find(to).and_then(|place| directory.local(place.worker));
            // CONS-E: the event is for an LP of this worker, and for a window to come.
            if worker != Some(self.me) || window < self.next_window {
                return Err(WireError::new(format!(
                    "an event for {to:?} at {}, which is not due at this worker",
                    key.time_value()
                )));
            }
            count += 1;
            self.error_context.lp = Some(key.sender());
            let message = self.store(message);
            let owned = shared.common.owned(&message);
            shared.common.memory.reserve(&mut self.error_context, owned);
            let make = || Event { key, to, io, message };
            self.calendar.insert(window, shared.local_of(to), make);
            Ok(())
        });
        if let Some(remote) = &mut self.remote {
            remote.balance -= count;
        }
        collected
    }
}

impl<M: Model, B: Buffer<Message<M>>> Worker<'_, M, B> {
    /// Extends a barrier of the workers of this rank, at which they got `mine`, to all ranks.
    pub(super) fn synchronize_ranks(
        &mut self,
        mine: Reduction,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let all = if self.me == 0 { self.exchange(mine, monitor)? } else { Reduction::IDENTITY };
        let all = self.wait_at_barrier(all, monitor)?;
        let mut collected = Ok(());
        self.guard(|worker| collected = worker.sender.collect_remote());
        collected.map_err(|error| self.abandon(error))?;
        Ok(all)
    }

    /// The first worker of a rank exchanges parcels with all other ranks.
    fn exchange(
        &mut self,
        reduction: Reduction,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> Result<Reduction, Broken> {
        let Some(ranks) = &self.shared.ranks else { return Ok(reduction) };
        let (shared, common) = (self.shared, &self.shared.common);
        let is_first_rank = common.ranks.me() == 0;
        let mut outputs = Vec::new();
        if !is_first_rank {
            let events = std::mem::take(&mut *common.lock_outputs());
            self.guard(|_| ranks.write_outputs(&events, &mut outputs));
        }
        let mine = RankReduction {
            round: self.tally.barriers,
            reduction,
            // Ordering: Relaxed; a count for people.
            committed: common.committed.load(Ordering::Relaxed),
            failure: common.failure.order(),
        };
        let mut waited = 0;
        let idle = || {
            monitor.waits(waited);
            threads::wait(waited, common.spins, YIELDS);
            waited = waited.saturating_add(1);
            let is_over = shared.barrier.is_broken();
            Ok(!is_over && (waited % ALERT_EVERY != 0 || !common.ranks.is_alerted()?))
        };
        let all = ranks.exchange(mine, &outputs, idle);
        let Some((all, outputs)) = all.map_err(|error| self.abandon(error))? else {
            shared.barrier.set_broken();
            return Err(Broken);
        };
        let Some(remote) = &mut self.sender.remote else { return Ok(reduction) };
        remote.failure = all.failure;
        if is_first_rank {
            let before = std::mem::replace(&mut remote.committed, all.committed);
            // Ordering: Relaxed; a count for people.
            common.committed.fetch_add(all.committed.wrapping_sub(before), Ordering::Relaxed);
            let mut read = Ok(Vec::new());
            self.guard(|_| read = ranks.read_outputs(&outputs));
            let read = read.map_err(|error| self.abandon(error))?;
            common.lock_outputs().extend(read);
        }
        Ok(all.reduction)
    }

    /// The first failure of all ranks, as far as it is known here.
    pub(super) fn first_failure(&self) -> Option<FailureOrder> {
        let elsewhere = self.sender.remote.as_ref().and_then(|remote| remote.failure);
        self.shared.common.failure.order().into_iter().chain(elsewhere).min()
    }

    /// Ends the run of this rank, because it cannot talk to the others any more.
    #[cold]
    fn abandon(&self, error: NetError) -> Broken {
        self.shared.common.failure.note(FailureOrder::End, error.into());
        self.shared.barrier.set_broken();
        Broken
    }
}

impl<'t, M: Model> RankBarrier<'t, M> {
    /// Nothing if there is only one rank.
    pub(super) fn new<B>(common: &Common<'t, M, B>, wires: Option<Wires<M>>) -> Option<Self> {
        let (wires, transport) = wires.zip(common.ranks.transport())?;
        let workers = common.workers();
        let all = workers * transport.ranks();
        let outgoing = || Mutex::new(vec![Vec::new(); all]);
        Some(Self {
            transport,
            wires,
            workers,
            outgoing: (0..workers).map(|_| outgoing()).collect(),
            incoming: RwLock::new(vec![Vec::new(); transport.ranks()]),
            early: Mutex::new(vec![VecDeque::new(); transport.ranks()]),
        })
    }

    /// All ranks but this one.
    fn others(&self) -> impl Iterator<Item = usize> + use<M> {
        let me = self.transport.rank();
        (0..self.transport.ranks()).filter(move |&rank| rank != me)
    }

    /// Sends a parcel to every other rank and waits for theirs. The first worker does so, after a
    /// barrier before which all workers of its rank have posted their remote events. `outputs` go
    /// to the first rank, which gets those of all others. Calls `idle` while a parcel is missing;
    /// it returns whether to go on waiting. If not, nothing is returned.
    fn exchange(
        &self,
        mine: RankReduction,
        outputs: &[u8],
        mut idle: impl FnMut() -> Result<bool, NetError>,
    ) -> Result<Option<(RankReduction, Outputs)>, NetError> {
        debug_assert!(
            outputs.is_empty() || self.transport.rank() > 0,
            "rank 0 writes its I/O events itself"
        );
        for rank in self.others() {
            let outputs = if rank == 0 { outputs } else { &[] };
            let parcel = self.pack(rank, mine, outputs);
            self.transport.send(Address { rank, port: PORT }, parcel)?;
        }
        let mut all = RankReduction { committed: 0, ..mine };
        let mut outputs = Outputs::new();
        for rank in self.others() {
            let Some(bytes) = self.next_of(rank, &mut idle)? else { return Ok(None) };
            let malformed = |error: WireError| malformed(rank, &error);
            let mut body = open(&bytes, rank)?;
            let theirs = RankReduction::read(&mut body).map_err(malformed)?;
            if theirs.round != mine.round {
                let what = format!("CONS-D: round {} in round {}", theirs.round, mine.round);
                return Err(malformed(WireError::new(what)));
            }
            all.committed = all.committed.saturating_add(theirs.committed);
            all.reduction = all.reduction.combine(theirs.reduction);
            all.failure = [all.failure, theirs.failure].into_iter().flatten().min();
            let lengths = self.lengths(&mut body).map_err(malformed)?;
            let events = lengths.iter().fold(0usize, |sum, len| sum.saturating_add(*len));
            take_bytes(&mut body, events).map_err(malformed)?;
            if !body.is_empty() {
                outputs.push((rank, body.to_vec()));
            }
            self.incoming.write().unwrap_or_else(PoisonError::into_inner)[rank] = bytes;
        }
        Ok(Some((all, outputs)))
    }

    fn pack(&self, rank: usize, mine: RankReduction, outputs: &[u8]) -> Parcel {
        let mut outgoing: Vec<_> = self
            .outgoing
            .iter()
            .map(|of_worker| of_worker.lock().unwrap_or_else(PoisonError::into_inner))
            .collect();
        debug_assert_ne!(rank, self.transport.rank(), "a rank sends itself a parcel");
        let buffer = self.transport.reclaim().unwrap_or_default();
        let mut parcel = Parcel::new(WINDOW, PORT, buffer);
        let body = parcel.body();
        let frame = body.len();
        mine.write(body);
        let receivers = rank * self.workers..(rank + 1) * self.workers;
        for to in receivers.clone() {
            let len: usize = outgoing.iter().map(|from| from[to].len()).sum();
            append_words(body, [len as u64]);
        }
        debug_assert_eq!(
            body.len() - frame,
            HEADER_BYTES + 8 * self.workers,
            "CONS-E: a header of another size"
        );
        for to in receivers {
            for from in &mut outgoing {
                body.extend_from_slice(&from[to]);
                from[to].clear();
            }
        }
        body.extend_from_slice(outputs);
        parcel
    }

    /// The next parcel of a rank; nothing if `idle` returns that there is no reason to wait.
    fn next_of(
        &self,
        rank: usize,
        mut idle: impl FnMut() -> Result<bool, NetError>,
    ) -> Result<Option<Vec<u8>>, NetError> {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(bytes) = early[rank].pop_front() {
                return Ok(Some(bytes));
            }
            match self.transport.receive(PORT)? {
                Some(Received { from, bytes }) => early[from].push_back(bytes),
                None if idle()? => {}
                None => return Ok(None),
            }
        }
    }

    fn lengths(&self, body: &mut &[u8]) -> Result<Vec<usize>, WireError> {
        let length = |body: &mut &[u8]| {
            let [length] = take_words(body)?;
            Ok(usize::try_from(length).unwrap_or(usize::MAX))
        };
        (0..self.workers).map(|_| length(body)).collect()
    }

    /// Shows worker `me` of this rank the events that other ranks have for it.
    fn events_for(
        &self,
        me: usize,
        mut accept: impl FnMut(RemoteEvent<Message<M>>) -> Result<(), WireError>,
    ) -> Result<(), NetError> {
        let incoming = self.incoming.read().unwrap_or_else(PoisonError::into_inner);
        for rank in self.others() {
            let malformed = |error: WireError| malformed(rank, &error);
            let mut body = open(&incoming[rank], rank)?;
            take_bytes(&mut body, HEADER_BYTES).map_err(malformed)?;
            let lengths = self.lengths(&mut body).map_err(malformed)?;
            let before = lengths[..me].iter().fold(0usize, |sum, len| sum.saturating_add(*len));
            take_bytes(&mut body, before).map_err(malformed)?;
            let mut events = take_bytes(&mut body, lengths[me]).map_err(malformed)?;
            while !events.is_empty() {
                let arrival = read_event(&mut events, &self.wires.message).map_err(malformed)?;
                accept(arrival).map_err(malformed)?;
            }
        }
        Ok(())
    }

    /// Writes non-blocking I/O events for the first rank.
    fn write_outputs<B: Buffer<Message<M>>>(&self, outputs: &[Event<B>], bytes: &mut Vec<u8>) {
        for Event { key, to, io, message } in outputs {
            write_event(bytes, &self.wires.message, (key, *to, *io), message.get());
        }
    }

    /// Reads the non-blocking I/O events of other ranks.
    fn read_outputs<B: Buffer<Message<M>>>(
        &self,
        outputs: &Outputs,
    ) -> Result<Vec<Event<B>>, NetError> {
        let mut events = Vec::new();
        for (rank, bytes) in outputs {
            let mut bytes = &bytes[..];
            while !bytes.is_empty() {
                let arrival = read_event(&mut bytes, &self.wires.message);
                let RemoteEvent { key, to, io, message } =
                    arrival.map_err(|error| malformed(*rank, &error))?;
                let message = B::store(Value(message), &mut Vec::new());
                events.push(Event { key, to, io, message });
            }
        }
        Ok(events)
    }
}

impl RankReduction {
    fn write(self, bytes: &mut Vec<u8>) {
        let Reduction { lbts, flags } = self.reduction;
        append_words(bytes, [self.round, lbts, flags, self.committed]);
        append_words(bytes, FailureOrder::to_words(self.failure));
    }

    fn read(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let [round, lbts, flags, committed] = take_words(bytes)?;
        let reduction = Reduction { lbts, flags };
        let failure = FailureOrder::from_words(take_words(bytes)?)
            .ok_or_else(|| WireError::new("a failure at a place that does not exist"))?;
        Ok(Self { round, reduction, committed, failure })
    }
}

fn open(bytes: &[u8], from: usize) -> Result<&[u8], NetError> {
    let opened = Parcel::open(bytes).map_err(|what| NetError::Malformed { from, what })?;
    if opened.kind == WINDOW {
        Ok(opened.body)
    } else {
        Err(NetError::Malformed { from, what: Malformed::Kind(opened.kind) })
    }
}

fn malformed(from: usize, error: &WireError) -> NetError {
    NetError::Malformed { from, what: Malformed::Body(error.to_string()) }
}
