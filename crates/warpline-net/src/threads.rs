//! A transport between threads of one process, which needs no MPI library.
//!
//! # Invariants
//!
//! - **NET-A** holds because each address has one first-in-first-out queue.
//! - **NET-B** and **NET-C** hold because a send puts its parcel straight into the receiver's
//!   queue.
//! - When a rank panics, the drop of its end abandons the network, so no other rank waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{Address, NetError, Parcel, Received, Transport, queue::Queue};

/// The state that all ranks share.
#[derive(Debug)]
struct Network {
    ports: usize,
    /// By rank, and then by port.
    queues: Vec<Vec<Queue>>,
    /// The number of a lost rank plus one, or 0 for none.
    lost: AtomicUsize,
}

/// One rank's end of a network of threads.
#[derive(Debug)]
pub struct ThreadTransport {
    rank: usize,
    network: Arc<Network>,
}

/// Makes a network of `ranks` ranks with `ports` ports each, and returns each rank's end of it.
#[must_use]
pub fn network(ranks: usize, ports: usize) -> Vec<ThreadTransport> {
    let queues = || (0..ports).map(|_| Queue::default()).collect();
    let queues = (0..ranks).map(|_| queues()).collect();
    let network = Arc::new(Network { ports, queues, lost: AtomicUsize::new(0) });
    (0..ranks).map(|rank| ThreadTransport { rank, network: Arc::clone(&network) }).collect()
}

impl Transport for ThreadTransport {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.network.queues.len()
    }

    fn ports(&self) -> usize {
        self.network.ports
    }

    fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError> {
        let received = Received { from: self.rank, bytes: parcel.seal() };
        self.network.queues[to.rank][to.port].push(received);
        Ok(())
    }

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        // Ordering: Acquire; pairs with the Release in `abandon`, so that everything that a lost
        // rank has sent is in the queue.
        let lost = self.network.lost.load(Ordering::Acquire);
        let received = self.network.queues[self.rank][port].pop();
        match lost.checked_sub(1) {
            Some(rank) if received.is_none() => Err(NetError::Lost { rank }),
            _ => Ok(received),
        }
    }

    fn abandon(&self) {
        // Ordering: Release; see `receive`.
        self.network.lost.store(self.rank + 1, Ordering::Release);
    }
}

impl Drop for ThreadTransport {
    fn drop(&mut self) {
        if thread::panicking() {
            self.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parcels_of_one_sender_arrive_in_order() {
        const COUNT: u64 = 2_000;
        let mut ends = network(2, 2);
        let (there, here) = (ends.pop().unwrap(), ends.pop().unwrap());
        thread::scope(|scope| {
            for port in 0..2 {
                let there = &there;
                scope.spawn(move || {
                    for number in 0..COUNT {
                        let parcel = Parcel::with_body(7, port, &number.to_le_bytes());
                        there.send(Address { rank: 0, port }, parcel).unwrap();
                    }
                });
            }
            for port in 0..2 {
                for number in 0..COUNT {
                    let received = loop {
                        match here.receive(port).unwrap() {
                            Some(received) => break received,
                            None => thread::yield_now(),
                        }
                    };
                    let opened = Parcel::open(&received.bytes).unwrap();
                    assert_eq!((received.from, opened.kind, opened.port), (1, 7, port));
                    assert_eq!(opened.body, number.to_le_bytes());
                }
            }
        });
    }

    #[test]
    fn a_rank_that_panics_is_lost_but_what_it_has_sent_is_not() {
        let mut ends = network(2, 1);
        let (there, here) = (ends.pop().unwrap(), ends.pop().unwrap());
        let dies = thread::spawn(move || {
            there
                .send(Address { rank: 0, port: 0 }, Parcel::with_body(1, 0, b"last words"))
                .unwrap();
            let _there = there;
            std::panic::resume_unwind(Box::new("dies"));
        });
        assert!(dies.join().is_err());
        assert!(here.receive(0).unwrap().is_some());
        assert_eq!(here.receive(0).unwrap_err(), NetError::Lost { rank: 1 });
    }
}
