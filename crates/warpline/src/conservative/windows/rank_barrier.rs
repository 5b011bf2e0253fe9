//! The barrier of all ranks: what it exchanges, and what a worker has to say there.
//!
//! At every barrier each rank sends each other rank one parcel: the remote events for that rank,
//! and this rank's contribution to the reduction. Nothing else synchronizes ranks. Called by
//! [`remote`](super::remote), and by the sender, which writes remote events as bytes.
//!
//! # Invariants
//!
//! - **CONS-D.** The parcels of a pair of ranks arrive in their order (NET-A), one for each round,
//!   so the next parcel from a rank is that of the current round. Checked when one is read.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError, RwLock},
};

use warpline_core::{Model, WireError, Wires, append_words, take_bytes, take_words};
use warpline_net::{Address, Malformed, NetError, Parcel, Received, Transport};

use super::super::common::Common;
use crate::{
    event::{Buffer, Event, Message},
    handling::Value,
    remote_event::{RemoteEvent, read_event, write_event},
    run::{ENGINE_KINDS, FailureOrder, Reduction},
};

/// The kind of the parcels.
const WINDOW: u16 = ENGINE_KINDS;
/// The port at which they arrive.
const PORT: usize = 0;
/// The bytes of a parcel before the lengths of its parts.
const HEADER_BYTES: usize = 8 * 8;

/// What a rank contributes to a barrier beside its events, and what it gets from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankReduction {
    pub(super) round: u64,
    pub(super) reduction: Reduction,
    /// The number of events that the rank has committed; in the result, that of all other ranks.
    pub(super) committed: u64,
    /// The first failure that is known.
    pub(super) failure: Option<FailureOrder>,
}

/// Non-blocking I/O events of other ranks, as bytes, with the rank.
pub(super) type Outputs = Vec<(usize, Vec<u8>)>;

/// The barrier of all ranks, shared by the workers of one.
pub(super) struct RankBarrier<'t, M: Model> {
    transport: &'t dyn Transport,
    pub(super) wires: Wires<M>,
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
    pub(super) ranks: &'a RankBarrier<'a, M>,
    me: usize,
    /// Remote events as bytes, by receiver among the workers of all ranks.
    pub(super) outgoing: Vec<Vec<u8>>,
    /// The number of events sent to other ranks, less that of events received from them.
    pub(super) balance: i64,
    /// The first failure of all other ranks, as of the last round.
    pub(super) failure: Option<FailureOrder>,
    /// The number of events that all other ranks have committed, as of the last round.
    pub(super) committed: u64,
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
    pub(super) fn exchange(
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
    pub(super) fn events_for(
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
    pub(super) fn write_outputs<B: Buffer<Message<M>>>(
        &self,
        outputs: &[Event<B>],
        bytes: &mut Vec<u8>,
    ) {
        for Event { key, to, io, message } in outputs {
            write_event(bytes, &self.wires.message, (key, *to, io.get()), message.get());
        }
    }

    /// Reads the non-blocking I/O events of other ranks.
    pub(super) fn read_outputs<B: Buffer<Message<M>>>(
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
                events.push(Event { key, to, io: io.into(), message });
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
