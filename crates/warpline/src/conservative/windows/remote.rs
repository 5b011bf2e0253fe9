//! Mail between ranks: at the end of every window each rank sends each other one a parcel, with the
//! events for it and with its word for the round.
//!
//! Workers leave the bytes of their events here before a round of the rank. Its first worker
//! sends them off then, waits for the parcels of all other ranks, and combines the words; after a
//! second round of the rank the workers read what is for them. The parcels are all there is of
//! global synchronisation.
//!
//! # Invariants
//!
//! - **ABR-A.** The parcels of a pair of ranks arrive in their order (NET-A), one per round, so
//!   the next one from a rank is that of the round that this rank is at.
//! - **ABR-B.** What arrives is read with care: bytes that do not mean events of LPs of this worker
//!   end the run with an error.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError, RwLock},
};

use warpline_core::{Model, Wire, WireError, Wires, take_bytes};
use warpline_net::{Address, Malformed, NetError, Parcel, Received, Transport};

use super::barrier::Reduction;
use crate::{
    event::{Buffer, Event, Message},
    remote_event::{RemoteEvent, read_event, write_event},
    run::{ENGINE_KINDS, FailureOrder},
};

/// The kind of the parcels.
const WINDOW: u16 = ENGINE_KINDS;
/// Where they arrive.
const PORT: usize = 0;

/// What a rank says at a round, beside events: seven words.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankReduction {
    pub(super) word: Reduction,
    /// The events that it has committed; in the end, those that all others have.
    pub(super) committed: u64,
    /// The first failure that it knows of.
    pub(super) failure: Option<FailureOrder>,
}

/// Non-blocking I/O events of other ranks, as bytes.
pub(super) type Outputs = Vec<(usize, Vec<u8>)>;

/// See the module.
pub(super) struct Remote<'t, M: Model> {
    transport: &'t dyn Transport,
    wires: Wires<M>,
    /// Of each rank.
    workers: usize,
    /// By worker of this rank, and then by worker of all ranks: events as bytes.
    departures: Vec<Mutex<Vec<Vec<u8>>>>,
    /// By rank: the parcels of the last round.
    arrivals: RwLock<Vec<Vec<u8>>>,
    /// By rank: parcels that came before their round.
    early: Mutex<Vec<VecDeque<Vec<u8>>>>,
}

/// The bytes of a parcel before the lengths of its parts.
const NOTICE_BYTES: usize = 7 * 8;

impl<'t, M: Model> Remote<'t, M> {
    pub(super) fn new(transport: &'t dyn Transport, wires: Wires<M>, workers: usize) -> Self {
        let all = workers * transport.ranks();
        let departures = || Mutex::new(vec![Vec::new(); all]);
        Self {
            transport,
            wires,
            workers,
            departures: (0..workers).map(|_| departures()).collect(),
            arrivals: RwLock::new(vec![Vec::new(); transport.ranks()]),
            early: Mutex::new(vec![VecDeque::new(); transport.ranks()]),
        }
    }

    pub(super) const fn wire(&self) -> Wire<Message<M>> {
        self.wires.message
    }

    /// Leaves what worker `me` of this rank has for workers of other ranks, and takes the empty
    /// buffers of the last round.
    pub(super) fn leave(&self, me: usize, bytes: &mut Vec<Vec<u8>>) {
        let mut departures = self.departures[me].lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *departures, bytes);
    }

    /// Sends a parcel to every other rank and waits for theirs: the first worker does so, after a
    /// round at which all of its rank have left their mail. `outputs` go to the first rank,
    /// which gets those of the others. `wait` is called as long as a rank is missing, and says
    /// whether to go on waiting.
    pub(super) fn exchange(
        &self,
        notice: RankReduction,
        outputs: &[u8],
        mut wait: impl FnMut() -> Result<bool, NetError>,
    ) -> Result<Option<(RankReduction, Outputs)>, NetError> {
        let me = self.transport.rank();
        for rank in (0..self.transport.ranks()).filter(|&rank| rank != me) {
            let outputs = if rank == 0 { outputs } else { &[] };
            let parcel = self.pack(rank, notice, outputs);
            self.transport.send(Address { rank, port: PORT }, parcel)?;
        }
        let mut all = RankReduction { committed: 0, ..notice };
        let mut outputs = Outputs::new();
        for rank in (0..self.transport.ranks()).filter(|&rank| rank != me) {
            let Some(bytes) = self.next_of(rank, &mut wait)? else { return Ok(None) };
            let malformed = |error: WireError| malformed(rank, &error);
            let mut body = open(&bytes, rank)?;
            let theirs = read_notice(&mut body).map_err(malformed)?;
            all.committed = all.committed.saturating_add(theirs.committed);
            all.word.first = all.word.first.min(theirs.word.first);
            all.word.flags |= theirs.word.flags;
            all.failure = [all.failure, theirs.failure].into_iter().flatten().min();
            let lengths = self.lengths(&mut body).map_err(malformed)?;
            let events = lengths.iter().fold(0usize, |sum, len| sum.saturating_add(*len));
            take_bytes(&mut body, events).map_err(malformed)?;
            if !body.is_empty() {
                outputs.push((rank, body.to_vec()));
            }
            self.arrivals.write().unwrap_or_else(PoisonError::into_inner)[rank] = bytes;
        }
        Ok(Some((all, outputs)))
    }

    fn pack(&self, rank: usize, notice: RankReduction, outputs: &[u8]) -> Parcel {
        let mut departures: Vec<_> = self
            .departures
            .iter()
            .map(|of_worker| of_worker.lock().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let buffer = self.transport.reclaim().unwrap_or_default();
        let mut parcel = Parcel::new(WINDOW, PORT, buffer);
        let body = parcel.body();
        let failure = FailureOrder::to_words(notice.failure);
        let words = [notice.word.first, notice.word.flags, notice.committed];
        words.iter().chain(&failure).for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        let receivers = rank * self.workers..(rank + 1) * self.workers;
        for to in receivers.clone() {
            let len: usize = departures.iter().map(|from| from[to].len()).sum();
            body.extend_from_slice(&(len as u64).to_le_bytes());
        }
        for to in receivers {
            for from in &mut departures {
                body.extend_from_slice(&from[to]);
                from[to].clear();
            }
        }
        body.extend_from_slice(outputs);
        parcel
    }

    /// The next parcel of a rank, or none if nobody is to wait for it any more.
    fn next_of(
        &self,
        rank: usize,
        mut wait: impl FnMut() -> Result<bool, NetError>,
    ) -> Result<Option<Vec<u8>>, NetError> {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(bytes) = early[rank].pop_front() {
                return Ok(Some(bytes));
            }
            match self.transport.receive(PORT)? {
                Some(Received { from, bytes }) => early[from].push_back(bytes),
                None if wait()? => {}
                None => return Ok(None),
            }
        }
    }

    fn lengths(&self, body: &mut &[u8]) -> Result<Vec<usize>, WireError> {
        (0..self.workers).map(|_| Ok(usize::try_from(word(body)?).unwrap_or(usize::MAX))).collect()
    }

    /// Shows worker `me` of this rank the events that other ranks have for it.
    pub(super) fn collect(
        &self,
        me: usize,
        mut accept: impl FnMut(RemoteEvent<Message<M>>) -> Result<(), WireError>,
    ) -> Result<(), NetError> {
        let arrivals = self.arrivals.read().unwrap_or_else(PoisonError::into_inner);
        for (rank, bytes) in arrivals.iter().enumerate() {
            if rank == self.transport.rank() {
                continue;
            }
            let malformed = |error: WireError| malformed(rank, &error);
            let mut body = open(bytes, rank)?;
            take_bytes(&mut body, NOTICE_BYTES).map_err(malformed)?;
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

    /// Makes bytes of outputs, for the first rank.
    pub(super) fn write_outputs<B: Buffer<Message<M>>>(
        &self,
        outputs: &[Event<B>],
        bytes: &mut Vec<u8>,
    ) {
        for Event { key, to, io, message } in outputs {
            write_event(bytes, &self.wires.message, (key, *to, *io), message.get());
        }
    }

    /// Reads the outputs of other ranks.
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
                let message = B::store(message, &mut Vec::new());
                events.push(Event { key, to, io, message });
            }
        }
        Ok(events)
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

fn word(bytes: &mut &[u8]) -> Result<u64, WireError> {
    let mut word = [0; 8];
    word.copy_from_slice(take_bytes(bytes, 8)?);
    Ok(u64::from_le_bytes(word))
}

fn read_notice(body: &mut &[u8]) -> Result<RankReduction, WireError> {
    let mut next = || word(body);
    let (word, committed) = (Reduction { first: next()?, flags: next()? }, next()?);
    let failure = [next()?, next()?, next()?, next()?];
    let failure = FailureOrder::from_words(failure)
        .ok_or_else(|| WireError::new("the place of a failure means nothing"))?;
    Ok(RankReduction { word, committed, failure })
}
