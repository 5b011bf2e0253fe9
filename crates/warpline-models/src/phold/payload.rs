//! The messages of PHOLD, of several sizes: what they carry, and how it travels between ranks.
//!
//! Called by the model. A message has room for as many bytes as its type says, because engines copy
//! messages as they are; large ones have a box for more.

use std::fmt;

use warpline::{
    digest::mix,
    state::heap_block,
    wire::{WireError, take_bytes},
};

/// The bytes of a large payload that lie in the message itself. What is beyond them lies in a box.
pub const LARGE_BYTES: usize = 1024;

/// A message: `CAPACITY` bytes, of which the model uses `--payload`, and what does not fit.
#[derive(Clone, Debug)]
pub struct Payload<const CAPACITY: usize, R = ()> {
    bytes: [u8; CAPACITY],
    rest: R,
}

/// The bytes of a payload that do not lie in the message: none, or those in a box.
pub trait Rest: Clone + fmt::Debug + Send + Sync + 'static {
    /// This many bytes of the same value.
    fn filled(bytes: usize, fill: u8) -> Self;
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// Writes them for another rank.
    fn write(&self, to: &mut Vec<u8>);
    /// Reads them.
    ///
    /// # Errors
    ///
    /// When the bytes end before.
    fn read(from: &mut &[u8]) -> Result<Self, WireError>;
}

impl<const CAPACITY: usize, R: Rest> Payload<CAPACITY, R> {
    /// A payload of this many bytes of the same value.
    #[inline]
    pub(super) fn filled(bytes: usize, fill: u8) -> Self {
        let within = bytes.min(CAPACITY);
        let mut payload = Self { bytes: [0; CAPACITY], rest: R::filled(bytes - within, fill) };
        payload.bytes[..within].fill(fill);
        payload
    }

    /// Whether the first `bytes` bytes are the same, as every LP sends them.
    #[inline]
    pub(super) fn is_filled(&self, bytes: usize) -> bool {
        let within = &self.bytes[..bytes.min(CAPACITY)];
        let first = self.bytes.first().copied().unwrap_or(0);
        // Without an early exit, the loops read several bytes per instruction.
        let differs = |differs, byte: &u8| differs | (byte ^ first);
        within.iter().fold(0, differs) | self.rest.bytes().iter().fold(0, differs) == 0
    }

    /// The first byte, or 0.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.bytes.first().copied().map_or(0, u64::from)
    }

    /// A number that depends on every byte.
    #[inline]
    pub(super) fn identity(&self) -> u64 {
        let (words, bytes) = self.bytes.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let bytes = bytes.iter().chain(self.rest.bytes()).map(|byte| u64::from(*byte));
        words.chain(bytes).fold(0, mix)
    }

    /// What the box takes.
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        heap_block(self.rest.bytes().len())
    }

    /// Writes it for another rank.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.bytes);
        self.rest.write(to);
    }

    /// Reads it.
    pub(super) fn read(from: &mut &[u8]) -> Result<Self, WireError> {
        let mut bytes = [0; CAPACITY];
        bytes.copy_from_slice(take_bytes(from, CAPACITY)?);
        Ok(Self { bytes, rest: R::read(from)? })
    }
}

impl Rest for () {
    #[inline]
    fn filled(_: usize, _: u8) -> Self {}

    #[inline]
    fn bytes(&self) -> &[u8] {
        &[]
    }

    fn write(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut &[u8]) -> Result<Self, WireError> {
        Ok(())
    }
}

impl Rest for Box<[u8]> {
    fn filled(bytes: usize, fill: u8) -> Self {
        vec![fill; bytes].into()
    }

    fn bytes(&self) -> &[u8] {
        self
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend((self.len() as u64).to_le_bytes());
        to.extend_from_slice(self);
    }

    fn read(from: &mut &[u8]) -> Result<Self, WireError> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(take_bytes(from, 8)?);
        let bytes = usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX);
        Ok(take_bytes(from, bytes)?.into())
    }
}
