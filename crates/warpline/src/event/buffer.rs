//! Where the message of a pending event lies: in the event itself, or in a box that is reused.
//!
//! Used by the sequential and the conservative engine, which pick one of the two by the size of the
//! model's messages.

/// Messages up to this size lie inside the pending set. Moving them there costs less than
/// following a pointer to a line that is not in the cache; beyond it the copies cost more.
pub(crate) const INLINE_BYTES_MAX: usize = 64;

/// Holds one message.
pub(crate) trait Buffer<T>: Sized {
    /// The bytes that it takes outside of itself.
    const BYTES_ELSEWHERE: usize;
    /// Puts a message into a buffer, a spare one if there is any.
    fn store(message: T, spares: &mut Vec<Self>) -> Self;
    /// The message.
    fn get(&self) -> &T;
    /// Keeps the buffer for another message, after its event was handled.
    fn recycle(self, spares: &mut Vec<Self>);
}

/// The message itself.
#[derive(Debug)]
pub(crate) struct Inline<T>(T);

impl<T> Buffer<T> for Inline<T> {
    const BYTES_ELSEWHERE: usize = 0;

    #[inline]
    fn store(message: T, _: &mut Vec<Self>) -> Self {
        Self(message)
    }

    #[inline]
    fn get(&self) -> &T {
        &self.0
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
    fn store(message: T, spares: &mut Vec<Self>) -> Self {
        match spares.pop() {
            Some(mut spare) => {
                *spare.0 = message;
                spare
            }
            None => Self(Box::new(message)),
        }
    }

    #[inline]
    fn get(&self) -> &T {
        &self.0
    }

    #[inline]
    fn recycle(self, spares: &mut Vec<Self>) {
        spares.push(self);
    }
}
