//! Memory of a worker that other workers can put to and get from.
//!
//! # Invariants
//!
//! - **REGION-A.** The length of a region never changes, and no operation reaches beyond it.

use std::{
    cell::{RefCell, RefMut},
    rc::Rc,
};

use bytemuck::Pod;
use warpline_net::Address;

use super::Refusal;

/// A place in the registered memory of any worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The worker that has it.
    pub worker: Address,
    /// The region's id at that worker.
    pub region: u32,
    /// The index of its first element, in elements of the type that is put or got.
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

    /// Reads or changes the block. No message is handled meanwhile.
    ///
    /// # Panics
    ///
    /// When `access` accesses the same region again, or runs the runtime.
    pub fn with<R>(&self, access: impl FnOnce(&mut [T]) -> R) -> R {
        access(&mut self.0.borrow_mut())
    }
}

/// A region of any type, as the message handlers see it.
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
    /// A range of bytes of the region `id`, or a refusal if the region is too short.
    pub(super) fn range(&self, id: u32, at: u64, len: u64) -> Result<RefMut<'_, [u8]>, Refusal> {
        let bytes = RefMut::map(self.0.borrow_mut(), |block| block.bytes());
        let found = bytes.len();
        let index = |number: u64| usize::try_from(number).ok().filter(|&number| number <= found);
        let range = index(at).zip(at.checked_add(len).and_then(index));
        let (start, end) = range.ok_or(Refusal::Range { region: id, bytes: found as u64 })?;
        Ok(RefMut::map(bytes, |bytes| &mut bytes[start..end]))
    }
}
