//! The messages between runtimes, and their bytes; written by `worker`, read by `handlers`.
//!
//! A message is a tag, numbers, and blocks, each with its length before it. A number is seven bits
//! a byte, the lowest first, with the top bit set on all bytes but the last. The top bit of the tag
//! distinguishes the messages of one run from those of the next.
//!
//! # Invariants
//!
//! - **MESSAGE-A.** Reading any bytes ends with a message or with an error. It allocates nothing,
//!   and reads no byte past the end of the body.

use warpline_net::Malformed;

/// The bit of a tag that alternates from run to run.
pub(super) const PHASE: u8 = 0x80;

/// The reason why the owner of a region or a thread has refused an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It has no such region.
    #[error("it has no region {0}")]
    Region(u32),
    /// The range is not within the region.
    #[error("region {region} has only {bytes} bytes, and the operation goes beyond them")]
    Range {
        /// The region.
        region: u32,
        /// The length of the region.
        bytes: u64,
    },
    /// It has no such thread.
    #[error("it has no thread {0}")]
    Thread(u32),
}

/// A message; `ticket` is the number by which the answer names its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    Put { ticket: u64, region: u32, offset: u64, block: &'a [u8] },
    Get { ticket: u64, region: u32, offset: u64, len: u64 },
    Invoke { ticket: u64, thread: u32, args: &'a [u8] },
    Store { ticket: u64, region: u32, offset: u64, thread: u32, args: &'a [u8], block: &'a [u8] },
    Barrier { ticket: u64, number: u64 },
    Answer { ticket: u64, block: &'a [u8] },
    Refused { ticket: u64, what: Refusal },
    Probe { wave: u64 },
    Report { wave: u64, sent: u64, received: u64, waiting: u64 },
    Stop { waiting: u64 },
    Failed { what: &'a [u8] },
    Left,
}

impl<'a> Message<'a> {
    /// Whether it belongs to termination detection, which does not count it as in transit.
    pub(super) const fn is_control(&self) -> bool {
        use Message::{Failed, Left, Probe, Report, Stop};
        matches!(self, Probe { .. } | Report { .. } | Stop { .. } | Failed { .. } | Left)
    }

    /// The size of its blocks, which decides whether it gets a parcel of its own.
    pub(super) const fn block_len(&self) -> usize {
        match self {
            Self::Put { block, .. } | Self::Answer { block, .. } => block.len(),
            Self::Invoke { args, .. } => args.len(),
            Self::Store { args, block, .. } => args.len() + block.len(),
            _ => 0,
        }
    }

    /// Appends the message; `phase` is 0 or [`PHASE`].
    pub(super) fn write(&self, phase: u8, bytes: &mut Vec<u8>) {
        let mut frame = |tag: u8, numbers: &[u64], blocks: &[&[u8]]| {
            bytes.push(tag | phase);
            numbers.iter().for_each(|&number| write_number(bytes, number));
            for block in blocks {
                write_number(bytes, block.len() as u64);
                bytes.extend_from_slice(block);
            }
        };
        match *self {
            Self::Put { ticket, region, offset, block } => {
                frame(0, &[ticket, region.into(), offset], &[block]);
            }
            Self::Get { ticket, region, offset, len } => {
                frame(1, &[ticket, region.into(), offset, len], &[]);
            }
            Self::Invoke { ticket, thread, args } => frame(2, &[ticket, thread.into()], &[args]),
            Self::Store { ticket, region, offset, thread, args, block } => {
                frame(3, &[ticket, region.into(), offset, thread.into()], &[args, block]);
            }
            Self::Barrier { ticket, number } => frame(4, &[ticket, number], &[]),
            Self::Answer { ticket, block } => frame(5, &[ticket], &[block]),
            Self::Refused { ticket, what } => {
                let (code, id, len) = match what {
                    Refusal::Region(region) => (0, region, 0),
                    Refusal::Range { region, bytes } => (1, region, bytes),
                    Refusal::Thread(thread) => (2, thread, 0),
                };
                frame(6, &[ticket, code, id.into(), len], &[]);
            }
            Self::Probe { wave } => frame(7, &[wave], &[]),
            Self::Report { wave, sent, received, waiting } => {
                frame(8, &[wave, sent, received, waiting], &[]);
            }
            Self::Stop { waiting } => frame(9, &[waiting], &[]),
            Self::Failed { what } => frame(10, &[], &[what]),
            Self::Left => frame(11, &[], &[]),
        }
    }

    /// Takes the next message from the front of `bytes`.
    pub(super) fn read(phase: u8, bytes: &mut &'a [u8]) -> Result<Self, Malformed> {
        let tag = take_block(bytes, 1)?[0] ^ phase;
        let mut number = || take_number(bytes);
        Ok(match tag {
            0 => {
                let (ticket, region, offset) = (number()?, narrow(number()?)?, number()?);
                Self::Put { ticket, region, offset, block: take_sized(bytes)? }
            }
            1 => Self::Get {
                ticket: number()?,
                region: narrow(number()?)?,
                offset: number()?,
                len: number()?,
            },
            2 => {
                let (ticket, thread) = (number()?, narrow(number()?)?);
                Self::Invoke { ticket, thread, args: take_sized(bytes)? }
            }
            3 => {
                let (ticket, region, offset) = (number()?, narrow(number()?)?, number()?);
                let (thread, args) = (narrow(number()?)?, take_sized(bytes)?);
                Self::Store { ticket, region, offset, thread, args, block: take_sized(bytes)? }
            }
            4 => Self::Barrier { ticket: number()?, number: number()? },
            5 => Self::Answer { ticket: number()?, block: take_sized(bytes)? },
            6 => {
                let (ticket, code, id, bytes) =
                    (number()?, number()?, narrow(number()?)?, number()?);
                let what = match code {
                    0 => Refusal::Region(id),
                    1 => Refusal::Range { region: id, bytes },
                    2 => Refusal::Thread(id),
                    _ => return Err(malformed("a refusal with an unknown reason")),
                };
                Self::Refused { ticket, what }
            }
            7 => Self::Probe { wave: number()? },
            8 => Self::Report {
                wave: number()?,
                sent: number()?,
                received: number()?,
                waiting: number()?,
            },
            9 => Self::Stop { waiting: number()? },
            10 => Self::Failed { what: take_sized(bytes)? },
            11 => Self::Left,
            _ => return Err(malformed("a message of an unknown kind")),
        })
    }
}

/// The error for a body that has no meaning.
pub(super) fn malformed(what: &str) -> Malformed {
    Malformed::Body(what.to_owned())
}

fn narrow(number: u64) -> Result<u32, Malformed> {
    number.try_into().map_err(|_| malformed("an id of more than 32 bits"))
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_block(bytes, 1)?[0];
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            break;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(malformed("a number of more than 64 bits"))
}

fn take_block<'a>(bytes: &mut &'a [u8], len: u64) -> Result<&'a [u8], Malformed> {
    let cut = || malformed("a message is cut off");
    let len = usize::try_from(len).map_err(|_| cut())?;
    bytes.split_off(..len).ok_or_else(cut)
}

fn take_sized<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let len = take_number(bytes)?;
    take_block(bytes, len)
}
