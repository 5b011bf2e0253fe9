//! A network between ranks that takes time: what the machines of the runtime paper had, and threads
//! that share memory have not.
//!
//! [`executor`](crate::executor) runs [`Ranks`](crate::Ranks) that have a [`Network`] on its
//! [`ends`], as threads of this process. A parcel takes its sender a start-up time, in which that
//! does nothing else, and arrives a latency after it was sent.
//!
//! # Invariants
//!
//! - **SLOW-A.** A parcel is received no earlier than its latency after it was sent, and parcels of
//!   an address in the order in which they were sent.

use std::{
    collections::VecDeque,
    hint,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use warpline_net::{Address, NetError, Parcel, Received, ThreadTransport, Transport, network};

/// How long messages between ranks take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// From the time when a parcel is sent to the time when it arrives.
    pub latency: Duration,
    /// What sending a parcel takes its sender.
    pub start_up: Duration,
}

/// One for the worker of a rank, and one for the rank itself.
const PORTS: usize = 2;

/// When the parcels of each address arrive, by rank and then by port.
type Arrivals = Vec<Vec<Mutex<VecDeque<Instant>>>>;

/// One rank's end of such a network.
#[derive(Debug)]
pub(crate) struct Slow {
    inner: ThreadTransport,
    network: Network,
    arrivals: Arc<Arrivals>,
}

/// The ends of such a network, for ranks of one worker each.
pub(crate) fn ends(network_of: Network, ranks: usize) -> Vec<Slow> {
    let queues = || (0..PORTS).map(|_| Mutex::default()).collect();
    let arrivals: Arc<Arrivals> = Arc::new((0..ranks).map(|_| queues()).collect());
    let end = |inner| Slow { inner, network: network_of, arrivals: Arc::clone(&arrivals) };
    network(ranks, PORTS).into_iter().map(end).collect()
}

impl Transport for Slow {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn ports(&self) -> usize {
        self.inner.ports()
    }

    fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError> {
        let begun = Instant::now();
        while begun.elapsed() < self.network.start_up {
            hint::spin_loop();
        }
        let queue = &self.arrivals[to.rank][to.port];
        // The lock is held during the send, so that times and parcels have the same order (SLOW-A).
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(Instant::now() + self.network.latency);
        self.inner.send(to, parcel)
    }

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        let queue = &self.arrivals[self.rank()][port];
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&arrival) = queue.front() {
            if arrival > Instant::now() {
                return Ok(None);
            }
            queue.pop_front();
        }
        self.inner.receive(port)
    }

    fn abandon(&self) {
        self.inner.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parcels keep their order, and none is there before its time (SLOW-A).
    #[test]
    fn parcels_arrive_late_and_in_order() {
        let latency = Duration::from_millis(20);
        let slow = Network { latency, start_up: Duration::from_millis(1) };
        let ends = ends(slow, 2);
        let begun = Instant::now();
        for number in 0..3_u8 {
            let parcel = Parcel::with_body(7, 0, &[number]);
            ends[0].send(Address { rank: 1, port: 1 }, parcel).expect("it is sent");
        }
        assert!(begun.elapsed() >= Duration::from_millis(3), "each takes its start-up time");
        let mut received = Vec::new();
        while received.len() < 3 {
            if let Some(parcel) = ends[1].receive(1).expect("the network works") {
                assert!(begun.elapsed() >= latency, "it is there after {:?}", begun.elapsed());
                received.push(Parcel::open(&parcel.bytes).expect("a parcel").body[0]);
            }
        }
        assert_eq!(
            (received, ends[1].receive(0).expect("it works").is_none()),
            (vec![0, 1, 2], true)
        );
    }
}
