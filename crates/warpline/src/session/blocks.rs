//! The layout of a checkpoint's file: a mark, the version of the format, and blocks, each with its
//! kind, its length and a checksum. All numbers have their lowest byte first.

use std::io::{self, Read, Write};

/// Says that a file is a checkpoint, and shows whether it was changed on its way as text is.
const MARK: [u8; 12] = *b"\x8fWARPLINE\r\n\n";
/// The version of the format; a reader refuses other ones.
const FORMAT: u32 = 2;

/// Of which run it is.
pub(super) const HEAD: u8 = b'H';
/// States of LPs, in the order of their numbers.
pub(super) const LPS: u8 = b'L';
/// Pending events.
pub(super) const EVENTS: u8 = b'E';
/// What the caller has attached.
pub(super) const ATTACHED: u8 = b'A';
/// Nothing follows.
pub(super) const END: u8 = b'Z';

/// Writes blocks.
pub(super) struct BlockWriter<W>(W);

impl<W: Write> BlockWriter<W> {
    pub(super) fn begin(mut to: W) -> io::Result<Self> {
        to.write_all(&MARK)?;
        to.write_all(&FORMAT.to_le_bytes())?;
        Ok(Self(to))
    }

    pub(super) fn write(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(
            [HEAD, LPS, EVENTS, ATTACHED, END].contains(&kind),
            "CKPT-B: no reader knows {kind}"
        );
        debug_assert!(kind != END || bytes.is_empty(), "CKPT-B: something is behind the end");
        let too_long = |_| io::Error::new(io::ErrorKind::FileTooLarge, "a state is too large");
        let len = u32::try_from(bytes.len()).map_err(too_long)?;
        self.0.write_all(&[kind])?;
        self.0.write_all(&len.to_le_bytes())?;
        self.0.write_all(&checksum(kind, bytes).to_le_bytes())?;
        self.0.write_all(bytes)
    }
}

/// Reads blocks, and trusts nothing.
pub(super) struct BlockReader<R> {
    from: R,
    /// The kind of the next block, if it was looked at.
    next: Option<u8>,
    is_over: bool,
}

impl<R: Read> BlockReader<R> {
    pub(super) fn open(mut from: R) -> io::Result<Self> {
        let mut mark = [0; MARK.len()];
        let none = || damaged("it is no checkpoint of Warpline");
        from.read_exact(&mut mark).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => none(),
            _ => error,
        })?;
        if mark != MARK {
            return Err(none());
        }
        let format = u32::from_le_bytes(read(&mut from)?);
        if format != FORMAT {
            let what = format!(
                "it has format {format}, and this version of Warpline reads format {FORMAT}"
            );
            return Err(damaged(&what));
        }
        Ok(Self { from, next: None, is_over: false })
    }

    /// The contents of the next block, if it is of this kind.
    pub(super) fn next(&mut self, kind: u8) -> io::Result<Option<Vec<u8>>> {
        debug_assert!(!self.is_over, "CKPT-B: a block behind the end is asked for");
        let next = match self.next {
            Some(next) => next,
            None => read::<1>(&mut self.from)?[0],
        };
        self.next = Some(next);
        if next != kind {
            return Ok(None);
        }
        let len = u32::from_le_bytes(read(&mut self.from)?);
        let expected = u32::from_le_bytes(read(&mut self.from)?);
        // A length that is wrong takes no more memory than there are bytes.
        let mut bytes = Vec::new();
        (&mut self.from).take(len.into()).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != u64::from(len) {
            return Err(truncated());
        }
        if checksum(kind, &bytes) != expected {
            return Err(damaged("it is damaged: a checksum is wrong"));
        }
        self.next = None;
        self.is_over = kind == END;
        Ok(Some(bytes))
    }

    /// Whether the last block was read.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.from.read(&mut [0])? == 0)
    }
}

fn checksum(kind: u8, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(bytes);
    hasher.finalize()
}

fn read<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => truncated(),
        _ => error,
    })?;
    Ok(bytes)
}

fn truncated() -> io::Error {
    damaged("it is cut off: its end is missing")
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
