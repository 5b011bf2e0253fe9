//! What a thread can do: spawn threads, wait for counters, and start split-phase operations.
//!
//! Every thread gets a [`Worker`]; the `Runtime` that runs them is one, too.
//!
//! # Invariants
//!
//! - **WORK-A.** What one worker starts at another arrives there in the order in which it was
//!   started. Puts and gets take effect as they arrive; invoked threads are queued, and run later.
//! - **WORK-B.** Every ticket is waited for until its answer arrives, and is never given out again.

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
    Counter, Place, Region, RuntimeError, Scheduler, Split, Thread,
    counter::{self, Failure, Slot, complete},
    ending::Ending,
    region::Block,
    schedule::Fifo,
    wire::Message,
};

/// The kind of the parcels of runtimes.
pub(super) const KIND: u16 = 0x5254;

/// A message with so many bytes in its blocks travels in a parcel of its own: the start-up cost is
/// small beside it, and gathering would only delay it.
const BULK_BYTES: usize = 1 << 12;

/// Room for the tag and the numbers of any message.
const FRAME_BYTES_MAX: usize = 64;

type Task<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;

/// A thread that others can invoke: what runs, given who asked for it and its arguments.
pub(super) type RemoteThread<'t> =
    Rc<dyn Fn(Worker<'t>, Address, Vec<u8>) -> Pin<Box<dyn Future<Output = Vec<u8>> + 't>> + 't>;

/// An operation whose answer has not arrived.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) slot: Rc<RefCell<Slot>>,
    /// How many bytes the answer has; none when that is up to who answers.
    pub(super) len: Option<u64>,
}

/// A handle on the runtime of one worker, for its threads; clones are the same worker.
#[derive(Clone)]
pub struct Worker<'t>(pub(super) Rc<Inner<'t>>);

/// What all handles share.
pub(super) struct Inner<'t> {
    pub(super) transport: &'t dyn Transport,
    pub(super) here: Address,
    pub(super) outbox: RefCell<Outbox<'t>>,
    /// What has travelled in parcels of its own.
    bulk: Cell<Traffic>,
    pub(super) regions: RefCell<BTreeMap<u32, Block>>,
    pub(super) remote: RefCell<BTreeMap<u32, RemoteThread<'t>>>,
    /// By ticket.
    pub(super) pending: RefCell<BTreeMap<u64, Pending>>,
    /// The root's: who has come to which barrier, with which ticket.
    pub(super) arrived: RefCell<BTreeMap<u64, Vec<(Address, u64)>>>,
    tickets: Cell<u64>,
    barriers: Cell<u64>,
    pub(super) fifo: Rc<RefCell<Fifo<'t>>>,
    /// The default one first.
    pub(super) schedulers: RefCell<Vec<Rc<RefCell<dyn Scheduler<'t> + 't>>>>,
    /// The scheduler that is asked next.
    turn: Cell<usize>,
    /// Suspended futures by number, each with its waker.
    pub(super) tasks: RefCell<BTreeMap<u64, (Task<'t>, Waker)>>,
    spawned: Cell<u64>,
    /// Parcels of the next run.
    pub(super) early: RefCell<Vec<Received>>,
    pub(super) ending: RefCell<Ending>,
    pub(super) failure: Failure,
}

/// Adds one, and gives back what was there.
fn count(cell: &Cell<u64>) -> u64 {
    cell.replace(cell.get() + 1)
}

impl<'t> Worker<'t> {
    pub(super) fn new(transport: &'t dyn Transport, port: usize, aggregation: Aggregation) -> Self {
        let fifo = Rc::new(RefCell::new(Fifo::default()));
        let default: Rc<RefCell<dyn Scheduler<'t> + 't>> = Rc::<RefCell<Fifo<'t>>>::clone(&fifo);
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
            ending: RefCell::default(),
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

    /// What was sent so far: how many messages, and how few parcels.
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

    /// Creates a thread that can wait: the stretches between two waits are atomic threads.
    ///
    /// What it waits for comes from this runtime. A run does not know of other sources, such as
    /// another thread of the machine, and may end, stalled, before they have spoken.
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

    /// Has a data structure schedule threads of its own, in turn with all other schedulers.
    pub fn add_scheduler(&self, scheduler: Rc<RefCell<dyn Scheduler<'t> + 't>>) {
        self.0.schedulers.borrow_mut().push(scheduler);
    }

    /// Makes `block` the region `id` of this worker.
    ///
    /// What others may ask for is registered before the first run; an id that is used again means
    /// the new block from then on.
    pub fn register<T: Pod>(&self, id: u32, block: Vec<T>) -> Region<T> {
        let (region, block) = Region::new(block);
        self.0.regions.borrow_mut().insert(id, block);
        region
    }

    /// Makes `thread` what runs here when others invoke the thread `id`.
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

    /// Copies `block` to another worker's memory; completes when it is there.
    pub fn put<T: Pod>(&self, block: &[T], to: Place) -> Split<()> {
        let (region, offset, block) = (to.region, bytes_of::<T>(to.offset), bytes(block));
        let message = |ticket| Message::Put { ticket, region, offset, block };
        self.request(to.worker, Some(0), drop, message)
    }

    /// Copies `len` elements from another worker's memory; completes when they are here.
    pub fn get<T: Pod>(&self, from: Place, len: usize) -> Split<Vec<T>> {
        let (region, offset, len) = (from.region, bytes_of::<T>(from.offset), bytes_of::<T>(len));
        let message = |ticket| Message::Get { ticket, region, offset, len };
        self.request(from.worker, Some(len), elements, message)
    }

    /// Creates a thread at another worker; completes, with what it returns, when it has ended.
    pub fn invoke(&self, to: Address, thread: u32, args: &[u8]) -> Split<Vec<u8>> {
        let message = |ticket| Message::Invoke { ticket, thread, args };
        self.request(to, None, |answer| answer, message)
    }

    /// The non-blocking store: copies `block` to another worker's memory and then creates the
    /// thread `then` there. Completes when both are done; the thread may not have run.
    ///
    /// `reusable` is incremented when the caller's buffer can be used again. A parcel holds a copy,
    /// so that is before this returns.
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
        let split = self.request(to.worker, Some(0), drop, message);
        reusable.increment();
        split
    }

    /// Completes when all workers have asked for it as often as this one has.
    pub fn barrier(&self) -> Split<()> {
        let number = count(&self.0.barriers);
        self.request(super::ROOT, Some(0), drop, |ticket| Message::Barrier { ticket, number })
    }

    fn request<'a, T>(
        &self,
        to: Address,
        len: Option<u64>,
        decode: fn(Vec<u8>) -> T,
        message: impl FnOnce(u64) -> Message<'a>,
    ) -> Split<T> {
        let (split, slot) = Split::new(&self.0.failure, decode);
        if to.rank < self.0.transport.ranks() && to.port < self.0.transport.ports() {
            let ticket = count(&self.0.tickets);
            self.0.pending.borrow_mut().insert(ticket, Pending { slot, len });
            self.post(to, &message(ticket));
        } else {
            complete(&slot, Err(RuntimeError::NoWorker { address: to }));
        }
        split
    }

    /// Sends a message, or keeps why not: that ends the run.
    pub(super) fn post(&self, to: Address, message: &Message<'_>) {
        let phase = self.0.ending.borrow_mut().post(message);
        let mut outbox = self.0.outbox.borrow_mut();
        let sent = if message.block_len() < BULK_BYTES {
            outbox.put(to, |bytes| message.write(phase, bytes))
        } else {
            // What was put there before goes first: WORK-A.
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

    /// Sends what has gathered; to those that can be reached, even if others cannot.
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

    /// The thread that runs next: SCHED-A.
    pub(super) fn next_thread(&self) -> Option<Thread<'t>> {
        let count = self.0.schedulers.borrow().len();
        (0..count).find_map(|_| {
            let turn = self.0.turn.get() % count;
            self.0.turn.set(turn + 1);
            let scheduler = Rc::clone(&self.0.schedulers.borrow()[turn]);
            scheduler.borrow_mut().next_thread()
        })
    }

    /// Lets a future go on; it may have ended since it was woken.
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

/// How many bytes so many elements have; more than any region, if that is no number.
fn bytes_of<T: Pod>(elements: usize) -> u64 {
    const { assert!(size_of::<T>() > 0, "a block of nothing cannot be transferred") }
    (elements as u64).saturating_mul(size_of::<T>() as u64)
}

fn bytes<T: Pod>(block: &[T]) -> &[u8] {
    bytemuck::cast_slice(block)
}

fn elements<T: Pod>(bytes: Vec<u8>) -> Vec<T> {
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(&bytes);
    elements
}
