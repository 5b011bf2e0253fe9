//! What a thread can do: spawn threads, wait for counters, and start split-phase operations.
//!
//! Every thread gets a [`Worker`], and the `Runtime` that runs them dereferences to one.
//!
//! # Invariants
//!
//! - **WORK-A.** Operations of one worker on another arrive there in the order in which they were
//!   started. Puts and gets take effect as they arrive; invoked threads are queued, and run later.
//! - **WORK-B.** A ticket belongs to one operation, and is pending until the answer arrives.
//! - **SCHED-A.** Between two threads of one scheduler, every other scheduler is asked once, so
//!   none can starve another. [`Worker::next_thread`] sees to that.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Waker},
};

use bytemuck::Pod;
use warpline_net::{
    Address, Aggregation, HEADER_BYTES, NetError, Outbox, Parcel, Received, Traffic, Transport,
};

use super::{
    Counter, Place, Region, RuntimeError, Split,
    counter::{self, Answer, Failure, Slot, complete},
    fifo::Fifo,
    message::Message,
    region::Block,
    termination::Termination,
};

/// The kind of the parcels of runtimes.
pub(super) const KIND: u16 = 0x5254;

/// A message with at least this number of bytes in its blocks gets a parcel of its own: the
/// start-up cost is small beside it, and gathering would only delay it.
const BULK_BYTES: usize = 1 << 12;

/// At least as many bytes as the tag and the numbers of any message have.
const FRAME_BYTES_MAX: usize = 64;

/// A finite computation that runs without interruption; its context is what it captures.
pub type Thread<'t> = Box<dyn FnOnce(&Worker<'t>) + 't>;

/// A data structure that schedules its own threads, for example by simulation time.
///
/// The runtime asks all schedulers in turn for one thread each. A run may end while a scheduler
/// keeps threads that are not eligible. That is how a conservative simulation learns that it is
/// deadlocked; it then makes one of them eligible and runs again.
pub trait Scheduler<'t> {
    /// The eligible thread to run next, if there is one.
    fn next_thread(&mut self) -> Option<Thread<'t>>;
}

impl<'t> Scheduler<'t> for Fifo<Thread<'t>> {
    fn next_thread(&mut self) -> Option<Thread<'t>> {
        for number in self.take_woken() {
            self.push(Box::new(move |worker| worker.resume(number)));
        }
        self.pop()
    }
}

type Task<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;

/// A thread that other workers can invoke: a function of its worker, the caller and the arguments.
pub(super) type RemoteThread<'t> =
    Rc<dyn Fn(Worker<'t>, Address, Vec<u8>) -> Pin<Box<dyn Future<Output = Vec<u8>> + 't>> + 't>;

/// An operation whose answer has not arrived.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) slot: Rc<RefCell<Slot>>,
    /// The number of bytes that the answer must have, or none if any number will do.
    pub(super) len: Option<u64>,
    /// Makes the answer of the bytes in the parcel, which are copied once.
    pub(super) decode: fn(&[u8]) -> Answer,
}

/// A handle on the runtime of one worker, for its threads; clones are the same worker.
#[derive(Clone)]
pub struct Worker<'t>(pub(super) Rc<Inner<'t>>);

/// What all handles share.
pub(super) struct Inner<'t> {
    pub(super) transport: &'t dyn Transport,
    pub(super) here: Address,
    pub(super) outbox: RefCell<Outbox<'t>>,
    /// Counts of messages that were sent in parcels of their own.
    bulk: Cell<Traffic>,
    pub(super) regions: RefCell<BTreeMap<u32, Block>>,
    pub(super) remote: RefCell<BTreeMap<u32, RemoteThread<'t>>>,
    /// By ticket.
    pub(super) pending: RefCell<BTreeMap<u64, Pending>>,
    /// At the root: by barrier, the workers that have reached it, with their tickets.
    pub(super) arrived: RefCell<BTreeMap<u64, Vec<(Address, u64)>>>,
    tickets: Cell<u64>,
    barriers: Cell<u64>,
    pub(super) fifo: Rc<RefCell<Fifo<Thread<'t>>>>,
    /// The default one comes first.
    pub(super) schedulers: RefCell<Vec<Rc<RefCell<dyn Scheduler<'t> + 't>>>>,
    /// The scheduler that is asked next.
    turn: Cell<usize>,
    /// Suspended futures by number, each with its waker.
    pub(super) tasks: RefCell<BTreeMap<u64, (Task<'t>, Waker)>>,
    spawned: Cell<u64>,
    /// Parcels of the next run that have arrived early.
    pub(super) early: RefCell<Vec<Received>>,
    pub(super) termination: RefCell<Termination>,
    pub(super) failure: Failure,
}

/// Adds one, and returns the value before.
fn count(cell: &Cell<u64>) -> u64 {
    cell.replace(cell.get() + 1)
}

impl<'t> Worker<'t> {
    pub(super) fn new(transport: &'t dyn Transport, port: usize, aggregation: Aggregation) -> Self {
        let fifo = Rc::new(RefCell::new(Fifo::default()));
        let default: Rc<RefCell<dyn Scheduler<'t> + 't>> =
            Rc::<RefCell<Fifo<Thread<'t>>>>::clone(&fifo);
        Self(Rc::new(Inner {
            transport,
            here: Address { rank: transport.rank(), port },
            outbox: RefCell::new(Outbox::new(transport, KIND, port, aggregation)),
            bulk: Cell::default(),
            regions: RefCell::default(),
            remote: RefCell::default(),
            pending: RefCell::default(),
            arrived: RefCell::default(),
            tickets: Cell::default(),
            barriers: Cell::default(),
            fifo,
            schedulers: RefCell::new(vec![default]),
            turn: Cell::default(),
            tasks: RefCell::default(),
            spawned: Cell::default(),
            early: RefCell::default(),
            termination: RefCell::default(),
            failure: Failure::default(),
        }))
    }

    /// This worker.
    #[must_use]
    pub fn here(&self) -> Address {
        self.0.here
    }

    /// All workers, in the same order everywhere.
    #[must_use]
    pub fn workers(&self) -> Vec<Address> {
        let (ranks, ports) = (self.0.transport.ranks(), self.0.transport.ports());
        let places = (0..ranks).flat_map(|rank| (0..ports).map(move |port| (rank, port)));
        places.map(|(rank, port)| Address { rank, port }).collect()
    }

    /// The numbers of messages, parcels and bytes sent so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let (gathered, bulk) = (self.0.outbox.borrow().traffic(), self.0.bulk.get());
        Traffic {
            messages: gathered.messages + bulk.messages,
            parcels: gathered.parcels + bulk.parcels,
            bytes: gathered.bytes + bulk.bytes,
        }
    }

    /// Creates a thread that is eligible at once.
    pub fn spawn(&self, thread: impl FnOnce(&Self) + 't) {
        self.0.fifo.borrow_mut().push(Box::new(thread));
    }

    /// Creates a thread that can wait: its parts between two waits are atomic threads.
    ///
    /// It must wait only for operations and counters of this runtime. A run does not know of other
    /// sources, such as another operating-system thread, and may end as stalled before they wake
    /// the future.
    pub fn spawn_async(&self, future: impl Future<Output = ()> + 't) {
        let number = count(&self.0.spawned);
        let waker = self.0.fifo.borrow().waker(number);
        self.0.tasks.borrow_mut().insert(number, (Box::pin(future), waker));
        self.spawn(move |worker| worker.resume(number));
    }

    /// Creates a thread that becomes eligible when the counter reaches `n`.
    pub fn when(&self, counter: &Counter, n: u64, thread: impl FnOnce(&Self) + 't) {
        let (reached, worker) = (counter.reaches(n), self.clone());
        self.spawn_async(async move {
            reached.await;
            thread(&worker);
        });
    }

    /// Adds a scheduler, which takes turns with all other schedulers.
    pub fn add_scheduler(&self, scheduler: Rc<RefCell<dyn Scheduler<'t> + 't>>) {
        self.0.schedulers.borrow_mut().push(scheduler);
    }

    /// Makes `block` the region `id` of this worker.
    ///
    /// Regions are registered before the first run. An id that is used again means the new block
    /// from then on.
    pub fn register<T: Pod>(&self, id: u32, block: Vec<T>) -> Region<T> {
        let (region, block) = Region::new(block);
        self.0.regions.borrow_mut().insert(id, block);
        region
    }

    /// Makes `thread` the function that runs here when a worker invokes the thread `id`.
    pub fn register_thread<F>(
        &self,
        id: u32,
        thread: impl Fn(Worker<'t>, Address, Vec<u8>) -> F + 't,
    ) where
        F: Future<Output = Vec<u8>> + 't,
    {
        let boxed: RemoteThread<'t> = Rc::new(move |w, from, args| Box::pin(thread(w, from, args)));
        self.0.remote.borrow_mut().insert(id, boxed);
    }

    /// Copies `block` to another worker's memory; completes when it has arrived.
    pub fn put<T: Pod>(&self, block: &[T], to: Place) -> Split<()> {
        let (region, offset, block) = (to.region, bytes_of::<T>(to.offset), bytes(block));
        let message = |ticket| Message::Put { ticket, region, offset, block };
        self.request(to.worker, Some(0), nothing, message)
    }

    /// Copies `len` elements from another worker's memory; completes when they have arrived.
    pub fn get<T: Pod>(&self, from: Place, len: usize) -> Split<Vec<T>> {
        let (region, offset, len) = (from.region, bytes_of::<T>(from.offset), bytes_of::<T>(len));
        let message = |ticket| Message::Get { ticket, region, offset, len };
        self.request(from.worker, Some(len), elements::<T>, message)
    }

    /// Creates a thread at another worker; completes with its result when it has ended.
    pub fn invoke(&self, to: Address, thread: u32, args: &[u8]) -> Split<Vec<u8>> {
        let message = |ticket| Message::Invoke { ticket, thread, args };
        self.request(to, None, |bytes| Box::new(bytes.to_vec()), message)
    }

    /// The non-blocking store: copies `block` to another worker's memory and then creates the
    /// thread `then` there. Completes when both are done, perhaps before the thread has run.
    ///
    /// `reusable` is incremented when the caller's buffer can be used again. A parcel holds a copy,
    /// so this happens before the function returns.
    pub fn store<T: Pod>(
        &self,
        block: &[T],
        to: Place,
        then: u32,
        args: &[u8],
        reusable: &Counter,
    ) -> Split<()> {
        let (region, offset, block) = (to.region, bytes_of::<T>(to.offset), bytes(block));
        let message = |ticket| Message::Store { ticket, region, offset, thread: then, args, block };
        let split = self.request(to.worker, Some(0), nothing, message);
        reusable.increment();
        split
    }

    /// Completes when all workers have called this as often as this one has.
    pub fn barrier(&self) -> Split<()> {
        let number = count(&self.0.barriers);
        self.request(super::ROOT, Some(0), nothing, |ticket| Message::Barrier { ticket, number })
    }

    /// Starts an operation, whose answer `decode` makes: a `T`.
    fn request<'a, T: 'static>(
        &self,
        to: Address,
        len: Option<u64>,
        decode: fn(&[u8]) -> Answer,
        message: impl FnOnce(u64) -> Message<'a>,
    ) -> Split<T> {
        let (split, slot) = Split::new(&self.0.failure);
        if to.rank < self.0.transport.ranks() && to.port < self.0.transport.ports() {
            let ticket = count(&self.0.tickets);
            let before = self.0.pending.borrow_mut().insert(ticket, Pending { slot, len, decode });
            debug_assert!(before.is_none(), "WORK-B: ticket {ticket} is used twice");
            self.post(to, &message(ticket));
        } else {
            complete(&slot, Err(RuntimeError::NoWorker { address: to }));
        }
        split
    }

    /// Sends a message. An error is kept, and ends the run.
    pub(super) fn post(&self, to: Address, message: &Message<'_>) {
        let phase = self.0.termination.borrow_mut().post(message);
        let mut outbox = self.0.outbox.borrow_mut();
        let sent = if message.block_len() < BULK_BYTES {
            outbox.put(to, |bytes| message.write(phase, bytes))
        } else {
            // Earlier messages have to arrive before it (WORK-A).
            outbox.flush().and_then(|()| self.send_bulk(to, phase, message))
        };
        drop(outbox);
        self.check(sent);
    }

    fn send_bulk(&self, to: Address, phase: u8, message: &Message<'_>) -> Result<(), NetError> {
        let mut buffer = self.0.transport.reclaim().unwrap_or_default();
        buffer.reserve(HEADER_BYTES + FRAME_BYTES_MAX + message.block_len());
        let mut parcel = Parcel::new(KIND, self.0.here.port, buffer);
        message.write(phase, parcel.body());
        let Traffic { messages, parcels, bytes } = self.0.bulk.get();
        let bytes = bytes + (HEADER_BYTES + parcel.body_len()) as u64;
        self.0.bulk.set(Traffic { messages: messages + 1, parcels: parcels + 1, bytes });
        self.0.transport.send(to, parcel)
    }

    /// Sends what has gathered, also when some receivers cannot be reached.
    pub(super) fn flush(&self) {
        let mut outbox = self.0.outbox.borrow_mut();
        while !outbox.is_empty() {
            self.check(outbox.flush());
        }
    }

    fn check(&self, sent: Result<(), NetError>) {
        sent.unwrap_or_else(|error| self.fail(error.into()));
    }

    pub(super) fn fail(&self, error: RuntimeError) {
        counter::fail(&self.0.failure, error);
    }

    /// The thread that runs next (SCHED-A).
    pub(super) fn next_thread(&self) -> Option<Thread<'t>> {
        let count = self.0.schedulers.borrow().len();
        (0..count).find_map(|_| {
            let turn = self.0.turn.get() % count;
            self.0.turn.set(turn + 1);
            let scheduler = Rc::clone(&self.0.schedulers.borrow()[turn]);
            scheduler.borrow_mut().next_thread()
        })
    }

    /// Polls a future, which may have ended since it was woken.
    pub(super) fn resume(&self, number: u64) {
        let taken = self.0.tasks.borrow_mut().remove(&number);
        let Some((mut future, waker)) = taken else { return };
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.0.tasks.borrow_mut().insert(number, (future, waker));
        }
    }
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("here", &self.0.here).finish_non_exhaustive()
    }
}

/// The size of `elements` elements in bytes; on overflow, more than any region has.
fn bytes_of<T: Pod>(elements: usize) -> u64 {
    const { assert!(size_of::<T>() > 0, "elements without a size cannot be transferred") }
    (elements as u64).saturating_mul(size_of::<T>() as u64)
}

fn bytes<T: Pod>(block: &[T]) -> &[u8] {
    bytemuck::cast_slice(block)
}

/// The answer of an operation that is only done.
fn nothing(_: &[u8]) -> Answer {
    Box::new(())
}

/// The answer that is a vector: the only copy of the bytes in the parcel.
fn elements<T: Pod>(bytes: &[u8]) -> Answer {
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    Box::new(elements)
}
