//! Memory of a worker that others can put to and get from.
//!
//! # Invariants
//!
//! - **REGION-A.** A region has the same length for ever, and is touched only within it.

use std::{
    cell::{RefCell, RefMut},
    rc::Rc,
};

use bytemuck::Pod;
use warpline_net::Address;

use super::Refusal;

/// A place in another worker's memory, or in one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose.
    pub worker: Address,
    /// The region's id there.
    pub region: u32,
    /// How many elements come before it, of the type that is put or got.
    pub offset: usize,
}

/// A registered block of elements; clones are the same block.
#[derive(Clone, Debug)]
pub struct Region<T>(Rc<RefCell<Vec<T>>>);

impl<T: Pod> Region<T> {
    pub(super) fn new(block: Vec<T>) -> (Self, Block) {
        let block = Rc::new(RefCell::new(block));
        (Self(Rc::clone(&block)), Block(block))
    }

    /// Reads or changes the block. No message is handled in between.
    ///
    /// # Panics
    ///
    /// When `access` accesses the same region once more, or runs the runtime.
    pub fn with<R>(&self, access: impl FnOnce(&mut [T]) -> R) -> R {
        access(&mut self.0.borrow_mut())
    }
}

/// A region of any type, as the network sees it.
#[derive(Clone)]
pub(super) struct Block(Rc<RefCell<dyn Bytes>>);

trait Bytes {
    fn bytes(&mut self) -> &mut [u8];
}

impl<T: Pod> Bytes for Vec<T> {
    fn bytes(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

impl Block {
    /// These bytes, if the region `id` has them.
    pub(super) fn range(&self, id: u32, at: u64, len: u64) -> Result<RefMut<'_, [u8]>, Refusal> {
        let bytes = RefMut::map(self.0.borrow_mut(), |block| block.bytes());
        let found = bytes.len();
        let index = |number: u64| usize::try_from(number).ok().filter(|&number| number <= found);
        let range = index(at).zip(at.checked_add(len).and_then(index));
        let (start, end) = range.ok_or(Refusal::Range { region: id, bytes: found as u64 })?;
        Ok(RefMut::map(bytes, |bytes| &mut bytes[start..end]))
    }
}
