//! A transport between MPI processes; with the cargo feature `mpi`.
//!
//! A rank is a process that `mpirun` or the like has started. A parcel is one MPI message whose tag
//! is the port of the receiver; parcels to a port of the same rank stay in memory. Any worker that
//! has nothing to do takes whatever has arrived for its rank from MPI, and puts it into the queues
//! of the ports.
//!
//! # Invariants
//!
//! - All calls of MPI are made under one lock: see `library`, which has the unsafe code.
//! - **NET-A** holds because MPI keeps the order of messages from one rank with one tag; because a
//!   message is found and put among those that are `arriving` from its rank under the lock, and
//!   these go into the queues under the lock, in that order; and because a queue is a queue.
//! - **NET-B** holds because nothing here waits for a transfer: sends and receives are started, and
//!   found to be done later, by whoever has the lock.
//! - **NET-C** holds because every [`receive`](Transport::receive) that finds nothing, and one in
//!   [`TURNS`] that finds something, sees to MPI, or somebody else is doing so.

#[allow(unsafe_code, reason = "MPI is a C library")]
mod library;

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use self::library::{Library, Transfer};
use crate::{Address, Malformed, NetError, Parcel, Received, Transport, queue::Queue};

/// How many messages are taken from MPI at once, at most: the receiver has other things to do.
const MESSAGES_MAX: usize = 64;
/// How many transfers that are not done are asked about at once, at most.
const UNDONE_MAX: usize = 2;
/// After so many parcels from a queue MPI is seen to, even if there are more: they may be from this
/// very rank.
const TURNS: usize = 64;
/// How many buffers are kept for reuse, and how large they are at most: 16 MiB in all.
const SPARES_MAX: usize = 64;
const SPARE_BYTES_MAX: usize = 1 << 18;
/// Every MPI library has tags, and so ports, below this number.
const PORTS_MAX: usize = 1 << 15;

/// One rank's end of a job of MPI processes.
///
/// There is one per process, and after it was dropped there cannot be another one. It should be
/// dropped by the thread that made it. Dropping it waits until all ranks have dropped theirs, and
/// meanwhile throws away what arrives; so a rank that ends early with an error that others do not
/// know of must call [`abort`](Self::abort), or [`abandon`](Transport::abandon). When it is dropped
/// by a panic, that ends all ranks.
#[derive(Debug)]
pub struct MpiTransport {
    rank: usize,
    ranks: usize,
    ports: Vec<Port>,
    wire: Mutex<Wire>,
    /// Buffers that can be used again. Taken after the lock of `wire`, if both are.
    spares: Mutex<Vec<Vec<u8>>>,
}

/// What has arrived at a port, and how often somebody has looked.
#[derive(Debug, Default)]
struct Port {
    queue: Queue,
    turn: AtomicUsize,
}

/// What only one thread at a time has to do with.
#[derive(Debug)]
struct Wire {
    library: Library,
    /// Sends that were not done when last asked about.
    leaving: VecDeque<Transfer>,
    /// By sender: its messages that are not here yet, or come after one that is not; with their
    /// ports.
    arriving: Vec<VecDeque<(usize, Transfer)>>,
    /// How many messages `arriving` has.
    pending: usize,
}

impl MpiTransport {
    /// Joins the other ranks; all must call this, with the same number of ports.
    ///
    /// # Errors
    ///
    /// When MPI cannot be initialised or was before, may not be called by several threads, or has
    /// too few tags.
    pub fn connect(ports: usize) -> Result<Self, NetError> {
        if ports > PORTS_MAX {
            let what = format!("{ports} workers a rank; over MPI there can be {PORTS_MAX}");
            return Err(NetError::Failed(what));
        }
        let mut library = Library::initialise()?;
        let (rank, ranks) = library.rank_and_ranks()?;
        // Addresses mean the same at all ranks.
        let most = library.greatest(ports as u64)?;
        if most > library.greatest(u64::MAX - ports as u64).map(|least| u64::MAX - least)? {
            let what = format!(
                "ranks have different numbers of ports: {ports} here, {most} at another one (do all have as many \
                 workers? by default one for each core: give --workers)"
            );
            return Err(NetError::Failed(what));
        }
        let arriving = (0..ranks).map(|_| VecDeque::new()).collect();
        let wire = Wire { library, leaving: VecDeque::new(), arriving, pending: 0 };
        let ports = (0..ports).map(|_| Port::default()).collect();
        Ok(Self { rank, ranks, ports, wire: Mutex::new(wire), spares: Mutex::default() })
    }

    /// Ends this process and all other ranks at once with this exit status: a peer is lost, or this
    /// rank cannot go on. Say why before.
    pub fn abort(&self, status: i32) -> ! {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner).library.abort(status)
    }

    /// The wire, unless somebody else has it.
    fn try_wire(&self) -> Option<MutexGuard<'_, Wire>> {
        match self.wire.try_lock() {
            Ok(wire) => Some(wire),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes from MPI what has arrived, up to a limit, and puts it into the queues.
    fn take_in(&self, wire: &mut Wire) -> Result<(), NetError> {
        self.settle(wire)?;
        if wire.pending > 0 {
            (0..self.ranks).try_for_each(|from| self.deliver(wire, from))?;
        }
        for _ in 0..MESSAGES_MAX {
            let Some(message) = wire.library.probe()? else { break };
            let (from, port) = (message.from, message.tag);
            let buffer = self.reclaim().unwrap_or_default();
            let transfer = wire.library.receive(message, buffer)?;
            wire.arriving[from].push_back((port, transfer));
            wire.pending += 1;
            self.deliver(wire, from)?;
        }
        Ok(())
    }

    /// Puts into the queues what is here from one rank, in order.
    fn deliver(&self, wire: &mut Wire, from: usize) -> Result<(), NetError> {
        while let Some((port, transfer)) = wire.arriving[from].pop_front() {
            match wire.library.test(transfer)? {
                Ok(bytes) => {
                    wire.pending -= 1;
                    let what = Malformed::Port(port);
                    let port = self.ports.get(port).ok_or(NetError::Malformed { from, what })?;
                    port.queue.push(Received { from, bytes });
                }
                Err(transfer) => {
                    wire.arriving[from].push_front((port, transfer));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes back the buffers of sends that are done.
    fn settle(&self, wire: &mut Wire) -> Result<(), NetError> {
        let mut undone = 0;
        while undone < UNDONE_MAX
            && let Some(transfer) = wire.leaving.pop_front()
        {
            match wire.library.test(transfer)? {
                Ok(buffer) => self.keep(buffer),
                // To the end: one slow receiver does not keep the buffers of all others.
                Err(transfer) => {
                    undone += 1;
                    wire.leaving.push_back(transfer);
                }
            }
        }
        Ok(())
    }

    /// Keeps a buffer for reuse, if there are not enough.
    fn keep(&self, buffer: Vec<u8>) {
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < SPARES_MAX && buffer.capacity() <= SPARE_BYTES_MAX {
            spares.push(buffer);
        }
    }

    /// Waits until all that this rank has sent is gone, and all ranks say so; meanwhile takes in
    /// what others send, or they would wait for ever.
    fn finish(&self, wire: &mut Wire) -> Result<(), NetError> {
        let mut barrier = None;
        loop {
            match self.take_in(wire) {
                // Nobody waits for it any more, wherever it should go.
                Ok(()) | Err(NetError::Malformed { .. }) => {}
                Err(error) => return Err(error),
            }
            self.ports.iter().for_each(|port| while port.queue.pop().is_some() {});
            if wire.leaving.is_empty() && wire.pending == 0 {
                let started = match barrier.take() {
                    Some(barrier) => barrier,
                    None => wire.library.barrier()?,
                };
                match wire.library.test(started)? {
                    Ok(_) => return Ok(()),
                    Err(started) => barrier = Some(started),
                }
            }
            thread::yield_now();
        }
    }
}

impl Transport for MpiTransport {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn ports(&self) -> usize {
        self.ports.len()
    }

    fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError> {
        let bytes = parcel.seal();
        if to.rank == self.rank {
            self.ports[to.port].queue.push(Received { from: self.rank, bytes });
            return Ok(());
        }
        let mut wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle(&mut wire)?;
        let transfer = wire.library.send(to.rank, to.port, bytes)?;
        // Most are done at once: MPI has copied what is short.
        match wire.library.test(transfer)? {
            Ok(buffer) => self.keep(buffer),
            Err(transfer) => wire.leaving.push_back(transfer),
        }
        Ok(())
    }

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        let port = &self.ports[port];
        // Ordering: Relaxed; a number to count with.
        let turn = port.turn.fetch_add(1, Ordering::Relaxed);
        if !turn.is_multiple_of(TURNS)
            && let Some(received) = port.queue.pop()
        {
            return Ok(Some(received));
        }
        if self.ranks > 1
            && let Some(mut wire) = self.try_wire()
        {
            self.take_in(&mut wire)?;
        }
        Ok(port.queue.pop())
    }

    fn abandon(&self) {
        self.abort(1)
    }

    fn reclaim(&self) -> Option<Vec<u8>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl Drop for MpiTransport {
    fn drop(&mut self) {
        if thread::panicking() {
            self.abort(1);
        }
        let mut wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        if !wire.library.is_broken() {
            // If this fails, the library knows, and does not wait either.
            let _ = self.finish(&mut wire);
        }
    }
}
