//! A transport between a rank and the network that changes, delays or loses parcels.

use std::fmt;

use warpline::{error::NetError, ranks::Transport};
use warpline_net::{Address, Parcel, Received, ThreadTransport};

/// The end of a network at a rank, with an interceptor between the two.
#[derive(Debug)]
pub(crate) struct Between<W> {
    pub(crate) inner: ThreadTransport,
    pub(crate) who: W,
}

/// What an interceptor does to parcels; by default nothing.
pub(crate) trait Interceptor: fmt::Debug + Send + Sync {
    fn send(&self, inner: &ThreadTransport, to: Address, parcel: Parcel) -> Result<(), NetError> {
        inner.send(to, parcel)
    }

    fn receive(&self, inner: &ThreadTransport, port: usize) -> Result<Option<Received>, NetError> {
        inner.receive(port)
    }
}

impl<W: Interceptor> Transport for Between<W> {
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
        self.who.send(&self.inner, to, parcel)
    }

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        self.who.receive(&self.inner, port)
    }

    fn abandon(&self) {
        self.inner.abandon();
    }
}
