//! Where the message of a pending event lies: in the event itself, or in a box that is reused.
//!
//! Used by the sequential and the conservative engine, which pick one of the two by the size of the
//! model's messages.

use std::mem::needs_drop;

use warpline_core::{LogicalProcess, Model};

use super::Message;
use crate::handling::Source;

/// Messages up to this size lie inside the pending set. Moving them there costs less than
/// following a pointer to a line that is not in the cache; beyond it the copies cost more.
pub(crate) const INLINE_BYTES_MAX: usize = 64;

/// Spare buffers take at most this memory, beside a few that every worker may keep.
const SPARES_BYTES: usize = 1 << 20;
/// The number of buffers that a worker may always keep, however large they are.
const SPARES_LEAST: usize = 64;

/// Holds one message.
pub(crate) trait Buffer<T>: Sized {
    /// The bytes that it takes outside of itself.
    const BYTES_ELSEWHERE: usize;
    /// Puts a message into a buffer, a spare one if there is any.
    fn store(message: impl Source<T>, spares: &mut Vec<Self>) -> Self;
    /// The message.
    fn get(&self) -> &T;
    /// Takes the message out.
    fn into_message(self) -> T;
    /// Keeps the buffer for another message, after its event was handled.
    fn recycle(self, spares: &mut Vec<Self>);
}

/// What a message owns on the heap, in bytes, as the model says.
#[inline]
pub(crate) fn heap_bytes<M: Model>(message: &impl Buffer<Message<M>>) -> u64 {
    let may_own = const { needs_drop::<Message<M>>() };
    if may_own { M::Lp::message_heap_bytes(message.get()) as u64 } else { 0 }
}

/// The message itself.
#[derive(Debug)]
pub(crate) struct Inline<T>(T);

impl<T> Buffer<T> for Inline<T> {
    const BYTES_ELSEWHERE: usize = 0;

    #[inline]
    fn store(message: impl Source<T>, _: &mut Vec<Self>) -> Self {
        Self(message.make())
    }

    #[inline]
    fn get(&self) -> &T {
        &self.0
    }

    #[inline]
    fn into_message(self) -> T {
        self.0
    }

    #[inline]
    fn recycle(self, _: &mut Vec<Self>) {}
}

/// A message in an allocation of its own. A spare one keeps its old message until it gets a new
/// one.
#[derive(Debug)]
pub(crate) struct Boxed<T>(Box<T>);

impl<T> Buffer<T> for Boxed<T> {
    const BYTES_ELSEWHERE: usize = size_of::<T>();

    #[inline]
    fn store(message: impl Source<T>, spares: &mut Vec<Self>) -> Self {
        match spares.pop() {
            Some(mut spare) => {
                message.overwrite(&mut spare.0);
                spare
            }
            None => Self(Box::new(message.make())),
        }
    }

    #[inline]
    fn get(&self) -> &T {
        &self.0
    }

    #[inline]
    fn into_message(self) -> T {
        *self.0
    }

    #[inline]
    fn recycle(self, spares: &mut Vec<Self>) {
        spares.push(self);
    }
}

/// Buffers of handled events, for the next sends of a worker.
pub(crate) struct SpareBuffers<B>(Vec<B>);

impl<B> SpareBuffers<B> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Puts a message into a buffer.
    #[inline]
    pub(crate) fn store<T>(&mut self, message: impl Source<T>) -> B
    where
        B: Buffer<T>,
    {
        B::store(message, &mut self.0)
    }

    /// Keeps a buffer, unless there are many: a worker that receives more than it sends would keep
    /// all of them.
    #[inline]
    pub(crate) fn recycle<T>(&mut self, message: B)
    where
        B: Buffer<T>,
    {
        if self.0.len() < SPARES_BYTES / size_of::<T>().max(1) + SPARES_LEAST {
            message.recycle(&mut self.0);
        }
    }
}
