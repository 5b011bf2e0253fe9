//! How a handler's sends become pending events, with what is counted and checked on the way.
//!
//! Used by the sequential engine for every handler call, and by the reverse check, which lets a
//! handler send into nothing first.

use std::fmt;

use warpline_core::{Context, EventKey, Fault, Io, IoContext, LpId, Stream, VirtualTime};

use super::buffer::{Buffer, Inline};
use crate::{
    admission::{Admission, Cause},
    panics,
    pending::{Entry, PendingSet},
};

/// An event as the pending set holds it.
pub(crate) struct Event<B> {
    pub(crate) key: EventKey,
    pub(crate) to: LpId,
    /// None for an ordinary event. It lies in what would be padding.
    pub(crate) io: Option<Io>,
    pub(crate) message: B,
}

const _: () = assert!(size_of::<Event<Inline<()>>>() == size_of::<(EventKey, LpId)>());
const _: () = assert!(size_of::<Event<Inline<u64>>>() == size_of::<(EventKey, LpId, u64)>());

/// Why a run cannot go on.
pub(crate) enum Halt {
    Fault(Fault),
    OutOfBuffers,
}

/// Where events go that are sent.
pub(crate) trait Sink<T> {
    /// The rules they have to keep.
    fn admission(&self) -> &Admission;
    /// Whether so many more events may be pending.
    fn has_room_for(&self, events: usize) -> bool;
    /// Takes an event that keeps the rules.
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: T);
    /// Notes why the run cannot go on, and leaves the handler: it might go on for ever otherwise.
    fn halt(&mut self, halt: Halt) -> !;
    /// Takes the word that the handler leaves for its reversal.
    #[inline]
    fn note(&mut self, _word: u64) {}
}

/// What sends need: kept apart from the processes, which a handler borrows at the same time.
pub(super) struct Sender<B, S> {
    pub(super) admission: Admission,
    pub(super) pending: S,
    /// Buffers of handled events, for the next sends.
    pub(super) spares: Vec<B>,
    /// The most events that were pending at one time.
    pub(super) peak: usize,
    /// The most events that may be pending.
    pub(super) peak_max: usize,
    pub(super) halt: Option<Box<Halt>>,
}

impl<T, B: Buffer<T>, S: PendingSet<Event<B>>> Sink<T> for Sender<B, S> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn has_room_for(&self, events: usize) -> bool {
        self.peak_max - self.pending.len() >= events
    }

    #[inline]
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
        self.halt.get_or_insert_with(|| Box::new(halt));
        panics::cut_off()
    }
}

/// The context of one handler call.
pub(crate) struct Handling<'a, K> {
    pub(crate) cause: Cause,
    pub(crate) rng: &'a mut Stream,
    pub(crate) sent: &'a mut u64,
    pub(crate) sink: &'a mut K,
}

impl<K> Handling<'_, K> {
    /// Sends an event, if the rules admit it.
    #[inline]
    fn send_event<T>(&mut self, io: Option<Io>, to: LpId, time: f64, message: T)
    where
        K: Sink<T>,
    {
        match self.sink.admission().admit(&self.cause, to, time, *self.sent) {
            Ok(key) => self.sink.accept(key, to, io, message),
            Err(fault) => self.sink.halt(Halt::Fault(fault)),
        }
        *self.sent += 1;
    }

    /// The time of an event sent with a delay.
    #[inline]
    fn after<T>(&mut self, to: LpId, delay: f64) -> f64
    where
        K: Sink<T>,
    {
        match Admission::after(&self.cause, to, delay) {
            Ok(time) => time,
            Err(fault) => self.sink.halt(Halt::Fault(fault)),
        }
    }
}

impl<T, K: Sink<T>> Context<T> for Handling<'_, K> {
    #[inline]
    fn now(&self) -> VirtualTime {
        self.cause.now
    }

    #[inline]
    fn me(&self) -> LpId {
        self.cause.me
    }

    #[inline]
    fn lp_count(&self) -> usize {
        self.sink.admission().lp_count()
    }

    #[inline]
    fn rng(&mut self) -> &mut Stream {
        self.rng
    }

    #[inline]
    fn send(&mut self, to: LpId, delay: f64, message: T) {
        let time = self.after(to, delay);
        self.send_event(None, to, time, message);
    }

    #[inline]
    fn send_at(&mut self, to: LpId, time: f64, message: T) {
        self.send_event(None, to, time, message);
    }

    #[inline]
    fn send_io(&mut self, io: Io, to: LpId, delay: f64, message: T) {
        let time = self.after(to, delay);
        self.send_event(Some(io), to, time, message);
    }

    fn fail(&mut self, reason: fmt::Arguments<'_>) {
        self.sink.halt(Halt::Fault(Fault::Failed(reason.to_string())));
    }

    #[inline]
    fn note(&mut self, word: u64) {
        self.sink.note(word);
    }
}

impl<T, K: Sink<T>> IoContext<T> for Handling<'_, K> {
    /// Nothing is ever handled ahead of time here.
    fn set_time_barrier(&mut self, _: Option<VirtualTime>) {}
}

impl<B> Entry for Event<B> {
    #[inline]
    fn time(&self) -> f64 {
        self.key.time_value()
    }
}

impl<B> PartialEq for Event<B> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<B> Eq for Event<B> {}

impl<B> PartialOrd for Event<B> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.key < other.key
    }
}

impl<B> Ord for Event<B> {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
