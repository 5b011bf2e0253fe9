//! A transport that does everything the trait allows and nobody likes; tests put it around another
//! one.
//!
//! It holds parcels back, so that those of different senders overtake each other, and it can lose
//! its rank. What it does follows from its seed and from what arrives when: around `threads`,
//! driven by one thread, a seed gives the same again.
//!
//! # Invariants
//!
//! - **NET-A** holds: a *pair* is a sender, known by its rank and by the port in its parcels, and a
//!   receiver; what one pair has under way stays in order. A thread must therefore put one and the
//!   same port into its parcels.
//! - A parcel is held back for fewer than [`HOLD_MAX`] calls of `receive`, and then until its turn
//!   comes; so all arrive at whoever goes on asking.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use warpline_core::{LpId, Stream};

use crate::{Address, NetError, Parcel, Received, Transport};

/// For how many calls of `receive` a parcel is held back at most.
const HOLD_MAX: u64 = 16;
/// How many parcels are taken from the transport below in one call at most.
const TAKE_MAX: usize = 64;

/// One rank's end of a network, with faults.
#[derive(Debug)]
pub struct Faulty<T> {
    inner: T,
    /// By port.
    held: Vec<Mutex<Held>>,
    /// How many parcels may be sent before the rank dies.
    sends_max: u64,
    sends: AtomicU64,
}

/// What is held back at one port.
#[derive(Debug)]
struct Held {
    random: Stream,
    /// How often somebody has asked.
    calls: u64,
    pairs: Vec<Pair>,
    /// What went wrong; it waits for what has arrived before it.
    error: Option<NetError>,
}

/// What is held back of one sender.
#[derive(Debug)]
struct Pair {
    rank: usize,
    port: usize,
    /// With the call of `receive` that may have it, at the earliest.
    parcels: VecDeque<(u64, Received)>,
}

impl<T: Transport> Faulty<T> {
    /// Delays and reorders what arrives at this end.
    #[must_use]
    pub fn new(inner: T, seed: u64) -> Self {
        let (rank, ports) = (inner.rank(), inner.ports());
        let held = |port| {
            let random = Stream::for_lp(seed, LpId::from_index(rank * ports + port));
            Mutex::new(Held { random, calls: 0, pairs: Vec::new(), error: None })
        };
        let held = (0..ports).map(held).collect();
        Self { inner, held, sends_max: u64::MAX, sends: AtomicU64::new(0) }
    }

    /// Lets the rank die with the last of so many sends: all that it does after that fails, and its
    /// peers find it lost.
    #[must_use]
    pub fn dying_after(mut self, sends: u64) -> Self {
        self.sends_max = sends;
        if sends == 0 {
            self.inner.abandon();
        }
        self
    }

    fn dead(&self) -> NetError {
        NetError::Failed(format!("rank {} is dead, as it was told", self.inner.rank()))
    }
}

impl Held {
    /// Takes what has arrived.
    fn put_in(&mut self, received: Received) {
        let rank = received.from;
        let port = Parcel::open(&received.bytes).map_or(0, |opened| opened.port);
        let due = self.calls + self.random.below(HOLD_MAX);
        let place = self.pairs.iter().position(|pair| (pair.rank, pair.port) == (rank, port));
        let place = place.unwrap_or_else(|| {
            self.pairs.push(Pair { rank, port, parcels: VecDeque::new() });
            self.pairs.len() - 1
        });
        self.pairs[place].parcels.push_back((due, received));
    }

    /// Gives out the first parcel of any pair that has been held back for long enough.
    fn take_out(&mut self) -> Option<Received> {
        let calls = self.calls;
        let due = self.pairs.iter().filter(|pair| pair.is_due(calls)).count();
        let chosen = self.random.below(due as u64) as usize;
        let pair = self.pairs.iter_mut().filter(|pair| pair.is_due(calls)).nth(chosen)?;
        pair.parcels.pop_front().map(|first| first.1)
    }

    fn is_empty(&self) -> bool {
        self.pairs.iter().all(|pair| pair.parcels.is_empty())
    }
}

impl Pair {
    fn is_due(&self, calls: u64) -> bool {
        self.parcels.front().is_some_and(|first| first.0 <= calls)
    }
}

impl<T: Transport> Transport for Faulty<T> {
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
        // Ordering: Relaxed; a number to count with.
        let before = self.sends.fetch_add(1, Ordering::Relaxed);
        if before >= self.sends_max {
            return Err(self.dead());
        }
        self.inner.send(to, parcel)?;
        if before + 1 == self.sends_max {
            self.inner.abandon();
        }
        Ok(())
    }

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        // Ordering: Relaxed; while another thread dies, one may still receive a last parcel.
        if self.sends.load(Ordering::Relaxed) >= self.sends_max {
            return Err(self.dead());
        }
        let mut held = self.held[port].lock().unwrap_or_else(PoisonError::into_inner);
        held.calls += 1;
        for _ in 0..TAKE_MAX {
            match self.inner.receive(port) {
                Ok(Some(received)) => held.put_in(received),
                Ok(None) => break,
                Err(error) => {
                    held.error = Some(error);
                    break;
                }
            }
        }
        match held.take_out() {
            None if held.is_empty() => held.error.take().map_or(Ok(None), Err),
            received => Ok(received),
        }
    }

    fn abandon(&self) {
        self.inner.abandon();
    }

    fn reclaim(&self) -> Option<Vec<u8>> {
        self.inner.reclaim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ThreadTransport, network};
    use proptest::prelude::*;

    /// All ends of a network of threads, with faults.
    fn faulty(ranks: usize, ports: usize, seed: u64) -> Vec<Faulty<ThreadTransport>> {
        network(ranks, ports).into_iter().map(|end| Faulty::new(end, seed)).collect()
    }

    /// Sends a parcel that says who has sent it and which one it is.
    fn send(ends: &[Faulty<ThreadTransport>], from: Address, to: Address, number: u16) {
        let parcel = Parcel::with_body(number, from.port, b"");
        ends[from.rank].send(to, parcel).unwrap();
    }

    /// Who has sent the next parcel, and which one it is.
    fn receive(ends: &[Faulty<ThreadTransport>], at: Address) -> Option<(Address, u16)> {
        let received = ends[at.rank].receive(at.port).unwrap()?;
        let opened = Parcel::open(&received.bytes).unwrap();
        Some((Address { rank: received.from, port: opened.port }, opened.kind))
    }

    /// One sends, or the other asks.
    fn step() -> impl Strategy<Value = (bool, usize, usize)> {
        (any::<bool>(), 0usize..6, 0usize..6)
    }

    proptest! {
        /// NET-A: nothing is lost, nothing comes twice, and every pair keeps its order.
        #[test]
        fn pairs_keep_their_order(
            ranks in 1usize..=3,
            ports in 1usize..=2,
            seed in any::<u64>(),
            steps in proptest::collection::vec(step(), 0..400),
        ) {
            let ends = faulty(ranks, ports, seed);
            let places = ranks * ports;
            let address = |place: usize| Address { rank: place / ports, port: place % ports };
            let mut sent = vec![vec![0u16; places]; places];
            let mut arrived = sent.clone();
            let ask = |arrived: &mut Vec<Vec<u16>>, at: usize| {
                let Some((from, number)) = receive(&ends, address(at)) else { return Ok(()) };
                let next = &mut arrived[at][from.rank * ports + from.port];
                prop_assert_eq!(number, *next, "from {:?} to {:?}", from, address(at));
                *next += 1;
                Ok(())
            };
            for (sends, from, to) in steps {
                let (from, to) = (from % places, to % places);
                if sends {
                    send(&ends, address(from), address(to), sent[to][from]);
                    sent[to][from] += 1;
                } else {
                    ask(&mut arrived, to)?;
                }
            }
            for to in 0..places {
                let calls = HOLD_MAX + sent[to].iter().map(|&sent| u64::from(sent)).sum::<u64>();
                (0..calls).try_for_each(|_| ask(&mut arrived, to))?;
                prop_assert!(ends[to / ports].receive(to % ports).unwrap().is_none());
            }
            prop_assert_eq!(arrived, sent);
        }
    }

    /// In which order parcels arrive that two senders have sent in turn.
    fn order(senders: [Address; 2], ports: usize, seed: u64) -> Vec<Address> {
        let ends = faulty(3, ports, seed);
        let to = Address { rank: 0, port: 0 };
        for number in 0..40 {
            send(&ends, senders[usize::from(number) % 2], to, number);
        }
        let asked = (0..40 + HOLD_MAX).map(|_| receive(&ends, to));
        asked.flatten().map(|received| received.0).collect()
    }

    #[test]
    fn pairs_overtake_each_other() {
        let (here, there) = (Address { rank: 0, port: 0 }, Address { rank: 2, port: 0 });
        let beside = Address { rank: 0, port: 1 };
        for (senders, ports) in [([here, there], 1), ([here, beside], 2)] {
            let in_turn: Vec<_> = senders.into_iter().cycle().take(40).collect();
            let one = order(senders, ports, 1);
            assert_eq!(one.len(), 40);
            assert_ne!(one, in_turn);
            assert_eq!(one, order(senders, ports, 1));
            assert_ne!(one, order(senders, ports, 2));
        }
    }

    #[test]
    fn parcels_are_late() {
        let to = Address { rank: 0, port: 0 };
        let calls_until_it_comes = |seed| {
            let ends = faulty(1, 1, seed);
            send(&ends, to, to, 0);
            (0..HOLD_MAX).find(|_| receive(&ends, to).is_some()).unwrap()
        };
        let latest = (0..100).map(calls_until_it_comes).max();
        assert!(latest > Some(HOLD_MAX / 2));
    }

    #[test]
    fn a_rank_dies_after_its_last_send() {
        let mut ends = network(2, 1).into_iter();
        let here = Faulty::new(ends.next().unwrap(), 7);
        let there = Faulty::new(ends.next().unwrap(), 7).dying_after(2);
        let send = || there.send(Address { rank: 0, port: 0 }, Parcel::with_body(0, 0, b""));
        assert!(there.receive(0).unwrap().is_none());
        send().and_then(|()| send()).unwrap();
        assert!(matches!(send(), Err(NetError::Failed(_))));
        assert!(matches!(there.receive(0), Err(NetError::Failed(_))));
        let asked: Vec<_> = (0..=2 + HOLD_MAX).map(|_| here.receive(0)).collect();
        let arrived = asked.iter().flatten().flatten().count();
        let error = asked.into_iter().find_map(Result::err);
        assert_eq!((arrived, error), (2, Some(NetError::Lost { rank: 1 })));
    }
}
