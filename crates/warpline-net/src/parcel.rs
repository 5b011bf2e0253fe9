//! The frame around everything that ranks send each other; written by outboxes and engines, checked
//! by receivers.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | a mark that only parcels of this version have |
//! | 4..6 | the kind, to which the engine gives a meaning |
//! | 6..8 | the port of the sender |
//! | 8..16 | the length of the body in bytes |
//! | 16..20 | the CRC-32 of all other bytes, header and body |
//! | 20.. | the body |
//!
//! Numbers are little-endian. Ranks compare builds and settings before the first event, so parcels
//! of another build are rare; they are refused. The checksum finds every change within 32 bits that
//! follow each other, and any other change but one in 2³². TCP's has 16 bits, and shared memory
//! between ranks has none.

use std::ops::Range;

/// The number of bytes before the body.
pub const HEADER_BYTES: usize = 20;

const LENGTH: Range<usize> = 8..16;
const CHECKSUM: Range<usize> = 16..HEADER_BYTES;

/// The version of the format; it changes with the format.
const FORMAT: u8 = 2;
const MARK: [u8; 4] = [b'W', b'a', b'p', FORMAT];

/// Bytes to be sent, with their frame.
#[derive(Debug)]
pub struct Parcel {
    bytes: Vec<u8>,
}

/// A parcel that has arrived and is well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// What the body means.
    pub kind: u16,
    /// The port of the sender.
    pub port: usize,
    /// The body.
    pub body: &'a [u8],
}

/// The reason why bytes are not a parcel, or a parcel has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Shorter than any parcel.
    #[error("{0} bytes are too few for a parcel")]
    Short(usize),
    /// Not a parcel, or one of another version.
    #[error("not a parcel of this version of Warpline (do all ranks run the same build?)")]
    OtherVersion,
    /// The body does not have the length that the header says.
    #[error("a parcel has {found} bytes, but its header says {said}")]
    Length {
        /// The length in the header.
        said: u64,
        /// The length that has arrived.
        found: u64,
    },
    /// The checksum is not that of the bytes.
    #[error(
        "a parcel of {0} bytes was changed on its way, as its checksum shows (is the memory or the \
         network of a machine faulty?)"
    )]
    Damaged(usize),
    /// The receiver does not know the kind.
    #[error("a parcel of unknown kind {0}")]
    Kind(u16),
    /// The receiver does not have the port.
    #[error(
        "a parcel for port {0}, which does not exist (do all ranks have equally many workers?)"
    )]
    Port(usize),
    /// The body is not of the kind that the header says.
    #[error("{0}")]
    Body(String),
}

impl Parcel {
    /// An empty parcel from `port`, in a buffer that may have been used before.
    #[must_use]
    pub fn new(kind: u16, port: usize, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&MARK);
        buffer.extend_from_slice(&kind.to_le_bytes());
        buffer.extend_from_slice(&(port as u16).to_le_bytes());
        // The length and the checksum, which `seal` writes.
        buffer.resize(HEADER_BYTES, 0);
        Self { bytes: buffer }
    }

    /// A parcel with this body.
    #[must_use]
    pub fn with_body(kind: u16, port: usize, body: &[u8]) -> Self {
        let mut parcel = Self::new(kind, port, Vec::with_capacity(HEADER_BYTES + body.len()));
        parcel.bytes.extend_from_slice(body);
        parcel
    }

    /// The bytes to which the body is appended.
    #[inline]
    pub fn body(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The length of the body so far.
    #[inline]
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.bytes.len().saturating_sub(HEADER_BYTES)
    }

    /// The bytes of the whole parcel, ready to be sent.
    #[must_use]
    pub fn seal(mut self) -> Vec<u8> {
        let len = self.body_len() as u64;
        let Some((header, body)) = self.bytes.split_at_mut_checked(HEADER_BYTES) else {
            return self.bytes;
        };
        header[LENGTH].copy_from_slice(&len.to_le_bytes());
        let checksum = checksum(&header[..CHECKSUM.start], body);
        header[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        self.bytes
    }

    /// Checks bytes that have arrived.
    ///
    /// # Errors
    ///
    /// When they are not a whole parcel of this version.
    pub fn open(bytes: &[u8]) -> Result<Opened<'_>, Malformed> {
        let short = Malformed::Short(bytes.len());
        let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or(short)?;
        if header[..4] != MARK {
            return Err(Malformed::OtherVersion);
        }
        let number = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let mut len = [0; 8];
        len.copy_from_slice(&header[LENGTH]);
        let (said, found) = (u64::from_le_bytes(len), body.len() as u64);
        if said != found {
            return Err(Malformed::Length { said, found });
        }
        if header[CHECKSUM] != checksum(&header[..CHECKSUM.start], body).to_le_bytes() {
            return Err(Malformed::Damaged(bytes.len()));
        }
        Ok(Opened { kind: number(4), port: usize::from(number(6)), body })
    }
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(body);
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sealed_can_be_opened(kind: u16, port: u16, body: Vec<u8>) {
            let bytes = Parcel::with_body(kind, usize::from(port), &body).seal();
            let opened = Parcel::open(&bytes).unwrap();
            let expected = (kind, usize::from(port), &body[..]);
            prop_assert_eq!((opened.kind, opened.port, opened.body), expected);
        }

        /// Changed bytes are an error, and are not read beyond their end.
        #[test]
        fn what_is_cut_or_changed_is_refused(body: Vec<u8>, cut in 0usize..40, flip in 0usize..4) {
            let bytes = Parcel::with_body(1, 2, &body).seal();
            let kept = bytes.len().saturating_sub(cut + 1);
            prop_assert!(Parcel::open(&bytes[..kept]).is_err());
            let mut longer = bytes.clone();
            longer.push(0);
            prop_assert!(Parcel::open(&longer).is_err());
            let mut changed = bytes;
            changed[flip] ^= 0x40;
            prop_assert_eq!(Parcel::open(&changed), Err(Malformed::OtherVersion));
        }

        /// Wherever it is.
        #[test]
        fn a_flipped_bit_is_found(body: Vec<u8>, place: prop::sample::Index) {
            let mut bytes = Parcel::with_body(1, 2, &body).seal();
            let bit = place.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let opened = Parcel::open(&bytes);
            prop_assert!(opened.is_err(), "{:?}", opened);
            if bit / 8 >= HEADER_BYTES {
                prop_assert_eq!(opened, Err(Malformed::Damaged(bytes.len())));
            }
        }

        #[test]
        fn any_bytes_are_a_parcel_or_an_error(bytes: Vec<u8>) {
            let _ = Parcel::open(&bytes);
        }
    }
}
