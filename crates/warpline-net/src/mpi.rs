//! A transport between MPI processes.
//!
//! A rank is a process that `mpirun` or the like has started. A parcel is one MPI message whose tag
//! is the port of the receiver; parcels to a port of the same rank stay in memory. A worker that
//! finds its queue empty takes all messages for its rank from MPI, and puts them into the queues of
//! the ports.
//!
//! # Invariants
//!
//! - All calls of MPI are made under one lock.
//! - **NET-A** holds for three reasons. MPI keeps the order of messages from one rank with one tag.
//!   A message is found and added to those `arriving` from its rank under the lock, and these go
//!   into the queues under the lock, in that order. And a queue keeps its order.
//! - **NET-B** holds because nothing here waits for a transfer. Sends and receives are only
//!   started, and a later holder of the lock finds them done.
//! - **NET-C** holds because each [`receive`](Transport::receive) that finds nothing, and one in
//!   [`TURNS`] that finds a parcel, makes progress in MPI, unless another thread is doing so.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use warpline_mpi::{Library, Transfer};

use crate::{Address, Malformed, NetError, Parcel, Received, Transport, queue::Queue};

/// At most this number of messages is taken from MPI at once, because the receiver has other work.
const MESSAGES_MAX: usize = 64;
/// Testing of transfers stops after this number that are not done.
const UNDONE_MAX: usize = 2;
/// After this number of parcels from a queue a receiver makes progress in MPI even if there are
/// more, because all of them may come from its own rank.
const TURNS: usize = 64;
/// The number of buffers kept for reuse, and their greatest size: 16 MiB in all.
const SPARES_MAX: usize = 64;
const SPARE_BYTES_MAX: usize = 1 << 18;
/// Every MPI library has tags, and so ports, below this number.
const PORTS_MAX: usize = 1 << 15;

/// One rank's end of a job of MPI processes.
///
/// A process has one, and cannot make another after it was dropped. It should be dropped by the
/// thread that made it. The drop waits until all ranks have dropped theirs, and discards what
/// arrives meanwhile. So a rank that ends early with an error that others do not know must call
/// [`abort`](Self::abort) or [`abandon`](Transport::abandon). A drop during a panic ends all ranks.
#[derive(Debug)]
pub struct MpiTransport {
    rank: usize,
    ranks: usize,
    ports: Vec<Port>,
    wire: Mutex<Wire>,
    /// Buffers that can be used again. Its lock is taken after that of `wire`, if both are.
    spares: Mutex<Vec<Vec<u8>>>,
}

/// The parcels that have arrived at a port, and the number of calls of `receive`.
#[derive(Debug, Default)]
struct Port {
    queue: Queue,
    turn: AtomicUsize,
}

/// The state of MPI, which one thread at a time uses.
#[derive(Debug)]
struct Wire {
    library: Library,
    /// Sends that were not done when last tested.
    leaving: VecDeque<Transfer>,
    /// By sender: its messages that have not arrived whole, or come after such a one; with their
    /// ports.
    arriving: Vec<VecDeque<(usize, Transfer)>>,
    /// The number of messages in `arriving`.
    pending: usize,
}

impl MpiTransport {
    /// Joins the other ranks; all call this with the same number of ports.
    ///
    /// # Errors
    ///
    /// When no launcher has started this process; when there is no MPI library, or it cannot be
    /// initialized, was initialized before, or may not be called by several threads; when there are
    /// too many ports, or ranks differ in their number.
    pub fn connect(ports: usize) -> Result<Self, NetError> {
        if ports > PORTS_MAX {
            let what = format!("a rank has {ports} ports, but MPI can address only {PORTS_MAX}");
            return Err(NetError::Failed(what));
        }
        let mut library = Library::initialize()?;
        let (rank, ranks) = library.rank_and_ranks()?;
        // Addresses must mean the same at all ranks.
        let most = library.greatest(ports as u64)?;
        if most > library.greatest(u64::MAX - ports as u64).map(|least| u64::MAX - least)? {
            let what = format!(
                "ranks have different numbers of ports: {ports} here, {most} at another one \
                 (the default is one worker per core; give all ranks the same --workers)"
            );
            return Err(NetError::Failed(what));
        }
        let arriving = (0..ranks).map(|_| VecDeque::new()).collect();
        let wire = Wire { library, leaving: VecDeque::new(), arriving, pending: 0 };
        let ports = (0..ports).map(|_| Port::default()).collect();
        Ok(Self { rank, ranks, ports, wire: Mutex::new(wire), spares: Mutex::default() })
    }

    /// Ends this process and all other ranks at once with this exit status, because a rank is lost
    /// or this one cannot go on. The caller reports the reason before.
    pub fn abort(&self, status: i32) -> ! {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner).library.abort(status)
    }

    /// The lock on MPI, unless another thread has it.
    fn try_wire(&self) -> Option<MutexGuard<'_, Wire>> {
        match self.wire.try_lock() {
            Ok(wire) => Some(wire),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes messages that have arrived from MPI, up to a limit, and puts them into the queues.
    fn progress(&self, wire: &mut Wire) -> Result<(), NetError> {
        self.settle(wire)?;
        if wire.pending > 0 {
            (0..self.ranks).try_for_each(|from| self.deliver(wire, from))?;
        }
        for _ in 0..MESSAGES_MAX {
            let Some(message) = wire.library.probe()? else { break };
            let (from, port) = (message.from(), message.tag());
            let buffer = self.reclaim().unwrap_or_default();
            let transfer = wire.library.receive(message, buffer)?;
            wire.arriving[from].push_back((port, transfer));
            wire.pending += 1;
            self.deliver(wire, from)?;
        }
        Ok(())
    }

    /// Puts the messages of one rank that are whole into the queues, in order.
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

    /// Keeps the buffers of sends that are done.
    fn settle(&self, wire: &mut Wire) -> Result<(), NetError> {
        let mut undone = 0;
        while undone < UNDONE_MAX
            && let Some(transfer) = wire.leaving.pop_front()
        {
            match wire.library.test(transfer)? {
                Ok(buffer) => self.keep(buffer),
                // It goes to the end, so that one slow receiver does not hold back all buffers.
                Err(transfer) => {
                    undone += 1;
                    wire.leaving.push_back(transfer);
                }
            }
        }
        Ok(())
    }

    /// Keeps a buffer for reuse, unless it is large or there are enough.
    fn keep(&self, buffer: Vec<u8>) {
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < SPARES_MAX && buffer.capacity() <= SPARE_BYTES_MAX {
            spares.push(buffer);
        }
    }

    /// Waits until everything that any rank has sent has left it. Meanwhile it receives and
    /// discards what others send, or they would wait for ever.
    fn finish(&self, wire: &mut Wire) -> Result<(), NetError> {
        let mut barrier = None;
        loop {
            match self.progress(wire) {
                // It is discarded anyway, whatever its port.
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
        // Most are done at once, because MPI copies short messages.
        match wire.library.test(transfer)? {
            Ok(buffer) => self.keep(buffer),
            Err(transfer) => wire.leaving.push_back(transfer),
        }
        Ok(())
    }

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        let port = &self.ports[port];
        // Ordering: Relaxed; only the count matters.
        let turn = port.turn.fetch_add(1, Ordering::Relaxed);
        if !turn.is_multiple_of(TURNS)
            && let Some(received) = port.queue.pop()
        {
            return Ok(Some(received));
        }
        if self.ranks > 1
            && let Some(mut wire) = self.try_wire()
        {
            self.progress(&mut wire)?;
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
            // After a failure the library does not wait, either.
            let _ = self.finish(&mut wire);
        }
    }
}
