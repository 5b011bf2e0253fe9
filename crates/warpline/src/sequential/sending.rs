//! Where the sequential engine's sends go: into the pending set.

use warpline_core::{EventKey, Io, LpId};

use crate::{
    event::{Buffer, Event},
    handling::{Admission, BoundedSink, CutOff, Halt, Sink},
    pending::PendingSet,
};

/// What sends need. It is kept apart from the LPs, which a handler borrows at the same time.
pub(super) struct Sender<B, S> {
    pub(super) admission: Admission,
    pub(super) pending: S,
    /// Buffers of handled events, for the next sends.
    pub(super) spares: Vec<B>,
    /// The most events that were pending at one time.
    pub(super) peak: usize,
    /// The most events that may be pending.
    pub(super) peak_max: usize,
    pub(super) cut_off: CutOff,
}

impl<T, B: Buffer<T>, S: PendingSet<Event<B>>> Sink<T> for Sender<B, S> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.admission
    }

    #[inline(always)]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: T) {
        if self.pending.len() >= self.peak {
            if self.peak == self.peak_max {
                Sink::<T>::halt(self, Halt::OutOfBuffers);
            }
            self.peak += 1;
        }
        let message = B::store(message, &mut self.spares);
        self.pending.insert(Event { key, to, io, message });
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.cut_off.halt(halt)
    }
}

impl<T, B: Buffer<T>, S: PendingSet<Event<B>>> BoundedSink<T> for Sender<B, S> {
    fn has_room_for(&self, events: usize) -> bool {
        self.peak_max - self.pending.len() >= events
    }
}
