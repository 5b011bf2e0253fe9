//! The network handlers: they take in what has arrived, between two threads.
//!
//! A handler copies bytes and queues threads, and does nothing else: no code of the user's runs in
//! it, it waits for nothing, and it may only send answers. So the network is drained as fast as
//! the machine can copy, however long the queue of threads is.
//!
//! # Invariants
//!
//! - **HAND-A.** Bytes from elsewhere never cause a panic: they mean something, or are refused.
//! - **HAND-B.** Every request is answered once: by its handler, or at the end of its thread.

use std::rc::Rc;

use warpline_net::{Address, Malformed, NetError, Parcel, Received};

use super::{
    ROOT, Refusal, RuntimeError, Worker,
    counter::complete,
    wire::{Message, PHASE, malformed},
    worker::{KIND, RemoteThread},
};

/// So many parcels are taken in before a thread gets its turn, lest a flood starve all threads.
const DRAIN_PARCELS_MAX: usize = 1 << 8;

impl<'t> Worker<'t> {
    /// Takes in what has arrived; a run that is over takes in nothing any more.
    pub(super) fn drain(&self) {
        for received in self.0.early.take() {
            self.take_in(received);
        }
        for _ in 0..DRAIN_PARCELS_MAX {
            if self.verdict().is_some() || self.0.failure.borrow().is_some() {
                return;
            }
            match self.0.transport.receive(self.0.here.port) {
                Ok(Some(received)) => self.take_in(received),
                Ok(None) => return,
                Err(error) => return self.fail(error.into()),
            }
        }
    }

    fn take_in(&self, received: Received) {
        let from = received.from;
        if let Err(what) = self.open(received) {
            self.fail(NetError::Malformed { from, what }.into());
        }
    }

    fn open(&self, received: Received) -> Result<(), Malformed> {
        let opened = Parcel::open(&received.bytes)?;
        if opened.kind != KIND {
            return Err(Malformed::Kind(opened.kind));
        }
        if opened.port >= self.0.transport.ports() {
            return Err(malformed("a parcel of a port that is not there"));
        }
        let (from, mut body) = (Address { rank: received.from, port: opened.port }, opened.body);
        let phase = self.0.ending.borrow().phase;
        if body.first().is_some_and(|tag| tag & PHASE != phase) {
            // END-B: the sender knows that this run is over, and this worker does not yet.
            self.0.early.borrow_mut().push(received);
            return Ok(());
        }
        while !body.is_empty() {
            self.handle(from, Message::read(phase, &mut body)?)?;
        }
        self.0.outbox.borrow_mut().recycle(received.bytes);
        Ok(())
    }

    fn handle(&self, from: Address, message: Message<'_>) -> Result<(), Malformed> {
        self.0.ending.borrow_mut().accept(&message);
        let (ticket, done) = match message {
            Message::Put { ticket, region, offset, block } => {
                (ticket, self.write(region, offset, block))
            }
            Message::Get { ticket, region, offset, len } => {
                (ticket, self.answer_get(from, ticket, region, offset, len))
            }
            Message::Invoke { ticket, thread, args } => {
                let thread = self.thread(thread);
                (ticket, thread.map(|thread| self.launch(thread, from, args, Some(ticket))))
            }
            Message::Store { ticket, region, offset, thread, args, block } => {
                let stored = self.thread(thread).and_then(|thread| {
                    self.write(region, offset, block)?;
                    self.launch(thread, from, args, None);
                    Ok(())
                });
                (ticket, stored)
            }
            Message::Barrier { ticket, number } => return self.arrive(from, ticket, number),
            Message::Answer { ticket, block } => return self.resolve(ticket, Ok(block)),
            Message::Refused { ticket, what } => {
                return self.resolve(ticket, Err(RuntimeError::Refused { by: from, what }));
            }
            control => return self.control(from, &control),
        };
        match (message, done) {
            (_, Err(what)) => self.post(from, &Message::Refused { ticket, what }),
            // These are answered when there is something to say.
            (Message::Get { .. } | Message::Invoke { .. }, Ok(())) => {}
            (_, Ok(())) => self.post(from, &Message::Answer { ticket, block: &[] }),
        }
        Ok(())
    }

    fn write(&self, region: u32, offset: u64, block: &[u8]) -> Result<(), Refusal> {
        let regions = self.0.regions.borrow();
        let registered = regions.get(&region).ok_or(Refusal::Region(region))?;
        registered.range(region, offset, block.len() as u64)?.copy_from_slice(block);
        Ok(())
    }

    fn answer_get(
        &self,
        from: Address,
        ticket: u64,
        region: u32,
        offset: u64,
        len: u64,
    ) -> Result<(), Refusal> {
        let regions = self.0.regions.borrow();
        let registered = regions.get(&region).ok_or(Refusal::Region(region))?;
        let block = &*registered.range(region, offset, len)?;
        self.post(from, &Message::Answer { ticket, block });
        Ok(())
    }

    fn thread(&self, id: u32) -> Result<RemoteThread<'t>, Refusal> {
        self.0.remote.borrow().get(&id).map(Rc::clone).ok_or(Refusal::Thread(id))
    }

    /// Queues a thread for another worker, which hears of its end under the ticket.
    fn launch(&self, thread: RemoteThread<'t>, from: Address, args: &[u8], ticket: Option<u64>) {
        let (worker, args) = (self.clone(), args.to_vec());
        self.spawn_async(async move {
            let answer = thread(worker.clone(), from, args).await;
            if let Some(ticket) = ticket {
                worker.post(from, &Message::Answer { ticket, block: &answer });
            }
        });
    }

    /// Notes that a worker has come to a barrier, and opens it when all have.
    fn arrive(&self, from: Address, ticket: u64, number: u64) -> Result<(), Malformed> {
        if self.0.here != ROOT {
            return Err(malformed("only the root keeps barriers"));
        }
        let mut barriers = self.0.arrived.borrow_mut();
        let arrived = barriers.entry(number).or_default();
        arrived.push((from, ticket));
        if arrived.len() == self.workers().len() {
            for (worker, ticket) in barriers.remove(&number).unwrap_or_default() {
                self.post(worker, &Message::Answer { ticket, block: &[] });
            }
        }
        Ok(())
    }

    /// Completes an operation of this worker's.
    fn resolve(&self, ticket: u64, answer: Result<&[u8], RuntimeError>) -> Result<(), Malformed> {
        let pending = self.0.pending.borrow_mut().remove(&ticket);
        let pending = pending.ok_or_else(|| malformed("an answer to no question"))?;
        if answer
            .as_ref()
            .is_ok_and(|block| pending.len.is_some_and(|len| len != block.len() as u64))
        {
            return Err(malformed("an answer of another length than was asked for"));
        }
        complete(&pending.slot, answer.map(<[u8]>::to_vec));
        Ok(())
    }
}
