//! The handlers of messages, which run between two threads.
//!
//! A handler copies bytes, queues threads and sends answers. It runs no code of the program and
//! never waits. So the network is drained as fast as bytes can be copied, however long the queue of
//! threads is.
//!
//! # Invariants
//!
//! - **HAND-A.** Bytes from other ranks never cause a panic: they are a valid message or an error.
//! - **HAND-B.** Every request is answered once: by its handler, or at the end of its thread.

use std::rc::Rc;

use warpline_net::{Address, Malformed, NetError, Parcel, Received};

use super::{
    ROOT, Refusal, RuntimeError, Worker,
    counter::complete,
    message::{Message, PHASE, malformed},
    worker::{KIND, RemoteThread},
};

/// The number of parcels that are handled before a thread runs, so that a flood starves no thread.
const DRAIN_PARCELS_MAX: usize = 1 << 8;

impl<'t> Worker<'t> {
    /// Handles what has arrived; a run that is over handles nothing any more.
    pub(super) fn drain(&self) {
        for received in self.0.early.take() {
            self.handle_parcel(received);
        }
        for _ in 0..DRAIN_PARCELS_MAX {
            if self.outcome().is_some() || self.0.failure.borrow().is_some() {
                return;
            }
            match self.0.transport.receive(self.0.here.port) {
                Ok(Some(received)) => self.handle_parcel(received),
                Ok(None) => return,
                Err(error) => return self.fail(error.into()),
            }
        }
    }

    /// Handles one parcel; a malformed one ends the run.
    fn handle_parcel(&self, received: Received) {
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
            return Err(malformed("a parcel from a port that its rank does not have"));
        }
        let (from, mut body) = (Address { rank: received.from, port: opened.port }, opened.body);
        let phase = self.0.termination.borrow().phase;
        if body.first().is_some_and(|tag| tag & PHASE != phase) {
            // END-B: the sender knows that this run is over; this worker does not know it yet.
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
        self.0.termination.borrow_mut().accept(&message);
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
            // Their answers have been sent, or will be sent by the thread.
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

    /// Queues a thread for another worker, which gets its result under the ticket.
    fn launch(&self, thread: RemoteThread<'t>, from: Address, args: &[u8], ticket: Option<u64>) {
        let (worker, args) = (self.clone(), args.to_vec());
        self.spawn_async(async move {
            let answer = thread(worker.clone(), from, args).await;
            if let Some(ticket) = ticket {
                worker.post(from, &Message::Answer { ticket, block: &answer });
            }
        });
    }

    /// Notes that a worker has reached a barrier, and opens it when all have.
    fn arrive(&self, from: Address, ticket: u64, number: u64) -> Result<(), Malformed> {
        if self.0.here != ROOT {
            return Err(malformed("a barrier message at a worker that is not the root"));
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

    /// Completes an operation of this worker.
    fn resolve(&self, ticket: u64, answer: Result<&[u8], RuntimeError>) -> Result<(), Malformed> {
        let pending = self.0.pending.borrow_mut().remove(&ticket);
        let pending = pending.ok_or_else(|| malformed("an answer without a request"))?;
        if answer
            .as_ref()
            .is_ok_and(|block| pending.len.is_some_and(|len| len != block.len() as u64))
        {
            return Err(malformed("an answer whose length is not the requested one"));
        }
        complete(&pending.slot, answer.map(pending.decode));
        Ok(())
    }
}
