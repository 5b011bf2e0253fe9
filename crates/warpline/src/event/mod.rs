//! An event as the sequential and the conservative engine hold it.
//!
//! Time Warp's events are smaller, and their messages lie in the shared buffers of an arena.

mod bucket;
mod buffer;
pub(crate) mod by_lp;
mod io;

use warpline_core::{EventKey, LogicalProcess, LpId, Model};

pub(crate) use bucket::{Bucket, SpareChunks};
pub(crate) use buffer::{Boxed, Buffer, INLINE_BYTES_MAX, Inline, SpareBuffers, heap_bytes};
pub(crate) use io::{IoWord, io_from_code, io_to_code};

use crate::{handling::Value, pending::Entry};

/// The messages of a model's events.
pub(crate) type Message<M> = <<M as Model>::Lp as LogicalProcess>::Message;

/// A pending event.
pub(crate) struct Event<B> {
    pub(crate) key: EventKey,
    pub(crate) to: LpId,
    /// It takes no space for most messages: it lies where padding would be.
    pub(crate) io: IoWord,
    pub(crate) message: B,
}

const _: () = assert!(size_of::<Event<Inline<()>>>() == size_of::<(EventKey, LpId)>());
const _: () = assert!(size_of::<Event<Inline<u64>>>() == size_of::<(EventKey, LpId, u64)>());
const _: () = assert!(size_of::<Option<Event<Inline<u64>>>>() == size_of::<Event<Inline<u64>>>());

impl<B> Event<B> {
    /// The same event with its message in a buffer of another kind.
    pub(crate) fn rebuffered<T, C: Buffer<T>>(self) -> Event<C>
    where
        B: Buffer<T>,
    {
        let Self { key, to, io, message } = self;
        let message = C::store(Value(message.into_message()), &mut Vec::new());
        Event { key, to, io, message }
    }
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
