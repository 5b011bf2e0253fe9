//! A network between ranks that takes time: what the machines of the runtime paper had, and threads
//! that share memory have not.
//!
//! [`sampling`](crate::sampling) runs the points here whose [`Ranks`] have a [`Network`]. Ranks are
//! threads of this process. A parcel takes its sender a start-up time, in which that does nothing
//! else, and arrives a latency after it was sent.
//!
//! # Invariants
//!
//! - **SLOW-A.** A parcel is received no earlier than its latency after it was sent, and parcels of
//!   an address in the order in which they were sent.

use std::{
    collections::VecDeque,
    hint,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    thread,
    time::Instant,
};

use warpline::{RunError, Simulation};
use warpline_models::catalog::ModelParams;
use warpline_net::{Address, NetError, Parcel, Received, ThreadTransport, Transport, network};

use crate::{Executor, Network, Ranks, executor::Outcome};

/// When the parcels of each address arrive, by rank and then by port.
type Arrivals = Vec<Vec<Mutex<VecDeque<Instant>>>>;

/// One rank's end of such a network.
#[derive(Debug)]
struct Slow {
    inner: ThreadTransport,
    network: Network,
    arrivals: Arc<Arrivals>,
}

impl Slow {
    /// The ends of a network.
    fn network(network_of: Network, ranks: usize, ports: usize) -> Vec<Self> {
        let queues = || (0..ports).map(|_| Mutex::default()).collect();
        let arrivals = Arc::new((0..ranks).map(|_| queues()).collect());
        let end = |inner| Self { inner, network: network_of, arrivals: Arc::clone(&arrivals) };
        network(ranks, ports).into_iter().map(end).collect()
    }
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
        let received = self.inner.receive(port)?;
        Ok(received)
    }

    fn abandon(&self) {
        self.inner.abandon();
    }
}

/// Runs a model on ranks of one worker each that talk over such a network; `None` if the run was
/// interrupted.
pub(crate) fn run(
    ranks: Ranks,
    network: Network,
    params: &ModelParams,
    end: f64,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Option<Outcome>, RunError> {
    // One port more than a rank has workers.
    let mut ends = Slow::network(network, ranks.count, 2).into_iter();
    let work = |transport: &Slow| {
        let engine = Executor::Ranks(ranks).engine();
        let simulation = Simulation::new(params.model()?).engine(engine).seed(seed);
        let report = simulation.end(end).stop_when(stop).run_across(transport);
        if matches!(report, Err(RunError::Net(_))) {
            transport.abandon();
        }
        report
    };
    let work = &work;
    let first = ends.next();
    thread::scope(|scope| {
        let others: Vec<_> = ends.map(|end| scope.spawn(move || work(&end).map(drop))).collect();
        let report = first.map_or(Ok(None), |end| work(&end))?;
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(report.and_then(|report| Outcome::of(&report)))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Parcels keep their order, and none is there before its time (SLOW-A).
    #[test]
    fn parcels_arrive_late_and_in_order() {
        let latency = Duration::from_millis(20);
        let slow = Network { latency, start_up: Duration::from_millis(1) };
        let ends = Slow::network(slow, 2, 2);
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
