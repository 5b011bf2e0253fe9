//! A transport that counts what the workers of a rank send and receive.
//!
//! Engines get it from [`Ranks`](super::Ranks). At the end of a run the ranks tell each other what
//! they have sent, and each takes what its workers have not read out of the network: the next run
//! on it must not find that (RANK-C).

use std::sync::atomic::{AtomicU64, Ordering};

use warpline_net::{Address, NetError, Parcel, Received, Transport};

use super::threads;

/// How often a waiting rank looks again before it lets other threads have the core, and before it
/// sleeps.
pub(super) const SPINS: u32 = 200;
pub(super) const YIELDS: u32 = 2_000;

/// One rank's end of a network, with counts of the parcels at the ports of workers.
#[derive(Debug)]
pub(super) struct Counted<'t> {
    /// The same end without counts, for the control port.
    pub(super) inner: &'t dyn Transport,
    /// By rank.
    sent: Box<[AtomicU64]>,
    received: AtomicU64,
}

impl<'t> Counted<'t> {
    pub(super) fn new(inner: &'t dyn Transport) -> Self {
        let sent = (0..inner.ranks()).map(|_| AtomicU64::new(0)).collect();
        Self { inner, sent, received: AtomicU64::new(0) }
    }

    /// How many parcels the workers have sent to each rank. Exact once they have ended.
    pub(super) fn sent(&self) -> Vec<u64> {
        // Ordering: Relaxed, here and below; counts, which are read after the workers were joined.
        self.sent.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// Takes out of the network what the workers have not read of the parcels that were sent to
    /// this rank, and waits for those that have not arrived. The workers have ended.
    ///
    /// # Errors
    ///
    /// Those of [`Transport::receive`].
    pub(super) fn discard_unread(&self, sent_here: u64) -> Result<(), NetError> {
        let mut waited = 0;
        // Ordering: Relaxed, see `sent`.
        while self.received.load(Ordering::Relaxed) < sent_here {
            for port in 0..self.ports() - 1 {
                while self.receive(port)?.is_some() {
                    waited = 0;
                }
            }
            threads::wait(waited, SPINS, YIELDS);
            waited = waited.saturating_add(1);
        }
        Ok(())
    }
}

impl Transport for Counted<'_> {
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
        debug_assert!(
            to.rank != self.rank() && to.port + 1 < self.ports(),
            "RANK-C: {to:?} is not a worker of another rank, and would not be read"
        );
        self.inner.send(to, parcel)?;
        // Ordering: Relaxed, see `sent`.
        self.sent[to.rank].fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        debug_assert!(port < self.ports(), "RANK-C: nothing comes to port {port}");
        let received = self.inner.receive(port)?;
        if received.is_some() {
            // Ordering: Relaxed, see `sent`.
            self.received.fetch_add(1, Ordering::Relaxed);
        }
        Ok(received)
    }

    fn abandon(&self) {
        self.inner.abandon();
    }

    fn reclaim(&self) -> Option<Vec<u8>> {
        self.inner.reclaim()
    }
}
