//! States and messages of models in another language: 64-bit words, in place in a size class, or in
//! a box of any size. The model's LP holds them, and a call lends them to its handler.

use std::{cell::RefCell, fmt};

/// Words of a state or a message.
pub(crate) trait Words: Clone + Default + fmt::Debug + Send + Sync + 'static {
    /// A copy that lives until a handler has returned.
    type Kept;

    /// These words, and zeros up to the size of the class.
    fn of(words: &[u64]) -> Self;
    fn get(&self) -> &[u64];
    fn get_mut(&mut self) -> &mut [u64];
    fn keep(&self) -> Self::Kept;
    fn kept(kept: &Self::Kept) -> &[u64];

    /// The bytes that they take on the heap.
    fn heap_bytes(&self) -> usize;
}

impl<const N: usize> Words for [u64; N]
where
    Self: Default,
{
    type Kept = Self;

    #[inline]
    fn of(words: &[u64]) -> Self {
        // They are few, so a loop is faster than a call that copies.
        std::array::from_fn(|at| words.get(at).copied().unwrap_or(0))
    }

    #[inline]
    fn get(&self) -> &[u64] {
        self
    }

    #[inline]
    fn get_mut(&mut self) -> &mut [u64] {
        self
    }

    #[inline]
    fn keep(&self) -> Self {
        *self
    }

    fn kept(kept: &Self) -> &[u64] {
        kept
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Any number of words.
#[derive(Debug, Default)]
pub(crate) struct Boxed(Box<[u64]>);

impl Clone for Boxed {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Engines save states with this; it allocates nothing.
    fn clone_from(&mut self, from: &Self) {
        self.0.clone_from(&from.0);
    }
}

thread_local! {
    /// Room for the copy of a state, which one call after the other uses.
    static ROOM: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A copy of [`Boxed`] words. Its room goes back to the thread.
pub(crate) struct KeptBox(Vec<u64>);

impl Drop for KeptBox {
    fn drop(&mut self) {
        ROOM.set(std::mem::take(&mut self.0));
    }
}

impl Words for Boxed {
    type Kept = KeptBox;

    fn of(words: &[u64]) -> Self {
        Self(words.into())
    }

    fn get(&self) -> &[u64] {
        &self.0
    }

    fn get_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }

    fn keep(&self) -> KeptBox {
        let mut room = ROOM.take();
        room.clear();
        room.extend_from_slice(&self.0);
        KeptBox(room)
    }

    fn kept(kept: &KeptBox) -> &[u64] {
        &kept.0
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}
