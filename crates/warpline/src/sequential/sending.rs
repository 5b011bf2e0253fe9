//! Where the sequential engine's sends go: into the pending set.

use std::mem::needs_drop;

use warpline_core::{EventKey, Io, LpId};

use crate::{
    event::{Buffer, Event},
    handling::{Admission, BoundedSink, CutOff, Halt, Sink, Source},
    pending::PendingSet,
};

/// What sends need. It is kept apart from the LPs, which a handler borrows at the same time.
pub(super) struct SequentialSender<B, S> {
    pub(super) admission: Admission,
    pub(super) pending: S,
    /// Buffers of handled events, for the next sends.
    pub(super) spares: Vec<B>,
    /// The most events that were pending at one time.
    pub(super) peak: usize,
    /// The most events that may be pending.
    pub(super) peak_max: usize,
    pub(super) heap: Heap<B>,
    pub(super) cut_off: CutOff,
}

/// What the messages of pending events own on the heap, which counts toward the memory limit.
/// Messages without a destructor own nothing.
pub(super) struct Heap<B> {
    /// What a message owns, as the model says.
    pub(super) of: fn(&B) -> usize,
    /// What those of all pending events own.
    pub(super) bytes: u64,
    /// The most that they owned, and the most that pending events took with that.
    pub(super) bytes_peak: u64,
    pub(super) peak: u64,
    pub(super) peak_max: u64,
    pub(super) event_bytes: u64,
}

impl<B> Heap<B> {
    /// Counts the message of an event that is about to be pending, one of so many. Returns false
    /// if there is no memory for it.
    pub(super) fn charge(&mut self, message: &B, events: usize) -> bool {
        let owned = (self.of)(message) as u64;
        let all = self.bytes + owned + events as u64 * self.event_bytes;
        self.bytes += owned;
        if all > self.peak_max {
            return false;
        }
        self.bytes_peak = self.bytes_peak.max(self.bytes);
        self.peak = self.peak.max(all);
        true
    }

    /// The event of a message has been handled. Returns whether the message owned nothing, so that
    /// its buffer may be kept with it.
    pub(super) fn refund(&mut self, message: &B) -> bool {
        let owned = (self.of)(message) as u64;
        debug_assert!(owned <= self.bytes, "a message owns more than it was charged for");
        self.bytes -= owned;
        owned == 0
    }
}

impl<T, B: Buffer<T>, S: PendingSet<Event<B>>> Sink<T> for SequentialSender<B, S> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.admission
    }

    #[inline(always)]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: impl Source<T>) {
        if self.pending.len() >= self.peak {
            if self.peak == self.peak_max {
                Sink::<T>::halt(self, Halt::OutOfBuffers);
            }
            self.peak += 1;
        }
        debug_assert!(self.peak <= self.peak_max, "more events are pending than may be");
        let message = B::store(message, &mut self.spares);
        if const { needs_drop::<T>() } && !self.heap.charge(&message, self.pending.len() + 1) {
            Sink::<T>::halt(self, Halt::OutOfBuffers);
        }
        self.pending.insert(Event { key, to, io: io.into(), message });
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.cut_off.halt(halt)
    }
}

impl<T, B: Buffer<T>, S: PendingSet<Event<B>>> BoundedSink<T> for SequentialSender<B, S> {
    fn has_room_for(&self, events: usize) -> bool {
        debug_assert!(self.pending.len() <= self.peak_max, "more events are pending than may be");
        self.peak_max - self.pending.len() >= events
    }
}
