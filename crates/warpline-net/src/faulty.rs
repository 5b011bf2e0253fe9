//! A transport that uses every freedom that the trait leaves it; tests put it around another
//! transport.
//!
//! It holds parcels back, so that those of different senders overtake each other, it can lose its
//! rank, and it can flip a bit of a parcel. Its actions follow from its seed and from the times of
//! arrival: around `threads`, driven by one thread, equal seeds give equal runs.
//!
//! # Invariants
//!
//! - **NET-A** holds because the parcels of a *pair* stay in order. A pair is a receiver and a
//!   sender, and a sender is known by its rank and by the port in its parcels. So a thread must put
//!   the same port into all its parcels.
//! - A parcel is held back for fewer than [`HOLD_MAX`] calls of `receive`, and then until its turn
//!   comes. So a receiver that keeps calling gets all parcels.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use warpline_core::{LpId, Stream};

use crate::{Address, NetError, Parcel, Received, Transport};

/// A parcel is held back for fewer than this number of calls of `receive`.
const HOLD_MAX: u64 = 16;
/// One call takes at most this number of parcels from the inner transport.
const TAKE_MAX: usize = 64;

/// One rank's end of a network, with faults.
#[derive(Debug)]
pub struct Faulty<T> {
    inner: T,
    /// By port.
    held: Vec<Mutex<Held>>,
    /// The number of sends after which the rank dies.
    sends_max: u64,
    sends: AtomicU64,
    flip: Option<Flip>,
}

/// A bit that is flipped in a parcel that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Flip {
    /// The port where it arrives.
    pub port: usize,
    /// How many parcels arrive there before it.
    pub after: u64,
    /// The bit, counted from the first of the parcel, and on from its end at its beginning.
    pub bit: u64,
}

/// The parcels held back at one port.
#[derive(Debug)]
struct Held {
    /// The number of parcels that have arrived.
    arrived: u64,
    random: Stream,
    /// The number of calls of `receive`.
    calls: u64,
    pairs: Vec<Pair>,
    /// An error, which waits until the parcels that have arrived before it were taken.
    error: Option<NetError>,
}

/// The parcels held back of one sender.
#[derive(Debug)]
struct Pair {
    rank: usize,
    port: usize,
    /// Each with the first call of `receive` that may return it.
    parcels: VecDeque<(u64, Received)>,
}

impl<T: Transport> Faulty<T> {
    /// Delays and reorders what arrives at this end.
    #[must_use]
    pub fn new(inner: T, seed: u64) -> Self {
        let (rank, ports) = (inner.rank(), inner.ports());
        let held = |port| {
            let random = Stream::for_lp(seed, LpId::from_index(rank * ports + port));
            Mutex::new(Held { arrived: 0, random, calls: 0, pairs: Vec::new(), error: None })
        };
        let held = (0..ports).map(held).collect();
        Self { inner, held, sends_max: u64::MAX, sends: AtomicU64::new(0), flip: None }
    }

    /// Lets the rank die after `sends` sends: everything that it does after that fails, and the
    /// other ranks find it lost.
    #[must_use]
    pub fn dying_after(mut self, sends: u64) -> Self {
        self.sends_max = sends;
        if sends == 0 {
            self.inner.abandon();
        }
        self
    }

    /// Flips a bit.
    #[must_use]
    pub fn flipping(mut self, flip: Flip) -> Self {
        self.flip = Some(flip);
        self
    }

    fn dead(&self) -> NetError {
        NetError::Failed(format!("rank {} has died, as the test wants", self.inner.rank()))
    }
}

impl Held {
    /// Holds back a parcel that has arrived.
    fn put_in(&mut self, mut received: Received, flip: Option<Flip>) {
        if let Some(Flip { bit, .. }) = flip.filter(|flip| flip.after == self.arrived) {
            let bit = bit % (received.bytes.len() as u64 * 8);
            received.bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        self.arrived += 1;
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

    /// Takes the first parcel of a random pair whose first parcel was held back long enough.
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
        // Ordering: Relaxed; only the count matters.
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
                Ok(Some(received)) => {
                    let flip = self.flip.filter(|flip| flip.port == port);
                    held.put_in(received, flip);
                }
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

    /// Sends a parcel with its sender and its number.
    fn send(ends: &[Faulty<ThreadTransport>], from: Address, to: Address, number: u16) {
        let parcel = Parcel::with_body(number, from.port, b"");
        ends[from.rank].send(to, parcel).unwrap();
    }

    /// The sender and the number of the next parcel.
    fn receive(ends: &[Faulty<ThreadTransport>], at: Address) -> Option<(Address, u16)> {
        let received = ends[at.rank].receive(at.port).unwrap()?;
        let opened = Parcel::open(&received.bytes).unwrap();
        Some((Address { rank: received.from, port: opened.port }, opened.kind))
    }

    /// Whether to send or to receive, and two addresses.
    fn step() -> impl Strategy<Value = (bool, usize, usize)> {
        (any::<bool>(), 0usize..6, 0usize..6)
    }

    proptest! {
        /// NET-A: no parcel is lost or arrives twice, and every pair keeps its order.
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

    /// The senders of parcels in the order of arrival, when two senders send in turn.
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
