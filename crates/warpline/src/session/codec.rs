//! States, streams and pending events as bytes: in [checkpoints](super::checkpoint), and on their
//! way between the [ranks](super::ranks) of a session.
//!
//! What the model's wires write stands behind its length. So a wire that reads more or less than it
//! has written is found where it does, and the error names the LP or the event.

use std::{cell::Cell, fmt};

use warpline_core::{
    EventKey, Fault, LpDigest, LpId, Model, Stream, Wire, WireError, Wires, append_words,
    take_bytes, take_words,
};

use super::lacking::Lack;
use crate::{
    cut::{Cut, LeftEvent, Whole},
    event::{Buffer, Event, Inline, Message, io_from_code},
    handling::{Core, Lp, Value},
    panics,
};

/// What is being written or read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Item {
    /// Nothing of the model's.
    Frame,
    /// The state of the LP that has this place among those of its part.
    State(usize),
    /// What an event carries, and to which LP.
    Message(EventKey, LpId),
}

/// What is wrong with a wire, and where it showed.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) item: Item,
    pub(super) fault: Fault,
}

/// Where all LPs are in one part.
impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, fault } = self;
        match item {
            Item::Frame => f.write_str("the model as a whole")?,
            Item::State(index) => write!(f, "{:?}", LpId::from_index(*index))?,
            Item::Message(key, to) => write!(f, "{to:?} at virtual time {}", key.time_value())?,
        }
        write!(f, " {fault}\n  what to do: {}", fault.advice())
    }
}

/// How many bytes say how long something is that a wire has written.
const LENGTH_BYTES: usize = 4;

/// How LPs and events of a model become bytes.
pub(super) struct Codec<M: Model> {
    state: Wire<M::Lp>,
    message: Wire<Message<M>>,
    at: Cell<Item>,
}

impl<M: Model> Codec<M> {
    /// What the layout of plain old data depends on: bytes of a message and of a state, and of a
    /// pointer; with the highest bit for a machine whose words have their highest byte first.
    pub(super) const LAYOUT: [u64; 3] = [
        size_of::<Message<M>>() as u64,
        size_of::<M::Lp>() as u64,
        size_of::<usize>() as u64 | (cfg!(target_endian = "big") as u64) << 63,
    ];

    /// That of a model, or what the model lacks.
    pub(super) fn of(model: &M) -> Result<Self, Vec<Lack>> {
        match (model.state_wire(), model.wires()) {
            (Some(state), Some(Wires { message, .. })) => {
                Ok(Self { state, message, at: Cell::new(Item::Frame) })
            }
            _ => Err(Lack::of(model)),
        }
    }

    /// Runs code that writes or reads. If it panics in a wire, the error says of what.
    pub(super) fn naming<T>(&self, code: impl FnOnce() -> T) -> Result<T, Broken> {
        self.at.set(Item::Frame);
        panics::catch(code)
            .map_err(|fault| self.broken(&fault).unwrap_or(Broken { item: Item::Frame, fault }))
    }

    /// The wire that has failed so, unless what failed is the frame around what wires write.
    pub(super) fn broken(&self, what: &impl ToString) -> Option<Broken> {
        let (item, what) = (self.at.get(), what.to_string());
        let wire = match item {
            Item::Frame => return None,
            Item::State(_) => "Model::state_wire",
            Item::Message(..) => "Model::wires",
        };
        Some(Broken { item, fault: Fault::BrokenWire { wire, what } })
    }

    /// Appends what a wire writes.
    fn write(&self, item: Item, bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert_eq!(self.at.get(), Item::Frame, "a wire writes within another");
        self.at.set(item);
        let begin = bytes.len() + LENGTH_BYTES;
        bytes.extend([0; LENGTH_BYTES]);
        write(bytes);
        let length = bytes.len().checked_sub(begin).and_then(|length| u32::try_from(length).ok());
        let length = length.unwrap_or_else(|| panic!("it writes fewer than no bytes, or 4 GiB"));
        bytes[begin - LENGTH_BYTES..begin].copy_from_slice(&length.to_le_bytes());
        self.at.set(Item::Frame);
    }

    /// Takes what a wire has written, all of it.
    fn read<T>(
        &self,
        item: Item,
        bytes: &mut &[u8],
        read: impl FnOnce(&mut &[u8]) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let mut length = [0; LENGTH_BYTES];
        length.copy_from_slice(take_bytes(bytes, LENGTH_BYTES)?);
        let written = u32::from_le_bytes(length) as usize;
        let mut own = take_bytes(bytes, written)?;
        debug_assert_eq!(self.at.get(), Item::Frame, "a wire reads within another");
        self.at.set(item);
        let value = read(&mut own)?;
        if !own.is_empty() {
            let taken = written - own.len();
            return Err(WireError::new(format!("it reads {taken} of {written} bytes")));
        }
        self.at.set(Item::Frame);
        Ok(value)
    }

    /// A part of a cut. What this reads is as it was sent: a message between ranks has a checksum.
    pub(super) fn read_part(&self, mut bytes: &[u8], all: usize) -> Result<Whole<M>, WireError> {
        let bytes = &mut bytes;
        let [lps, pending, log_end] = take_words(bytes)?;
        let lps = (0..lps as usize).map(|at| self.read_lp(at, bytes)).collect::<Result<_, _>>()?;
        let pending =
            (0..pending).map(|_| self.read_event(bytes, all)).collect::<Result<_, _>>()?;
        match bytes.len() {
            0 => Ok(Whole(Cut { lps, pending, log_end })),
            more => Err(WireError::new(format!("{more} bytes more than are read"))),
        }
    }

    pub(super) fn write_part(&self, Whole(part): &Whole<M>) -> Vec<u8> {
        let Cut { lps, pending, log_end } = part;
        let mut bytes = Vec::new();
        append_words(&mut bytes, [lps.len() as u64, pending.len() as u64, *log_end]);
        lps.iter().enumerate().for_each(|(at, lp)| self.write_lp(at, lp, &mut bytes));
        pending.iter().for_each(|event| self.write_event(event, &mut bytes));
        bytes
    }

    /// `at` is its place in the part.
    pub(super) fn write_lp(&self, at: usize, lp: &Lp<M::Lp>, bytes: &mut Vec<u8>) {
        let Lp { state, core } = lp;
        let [low, high] = core.rng.words();
        append_words(bytes, [low, high, core.sent, core.digest.to_bits()]);
        self.write(Item::State(at), bytes, |bytes| self.state.write(state, bytes));
    }

    pub(super) fn read_lp(&self, at: usize, bytes: &mut &[u8]) -> Result<Lp<M::Lp>, WireError> {
        let [low, high, sent, digest] = take_words(bytes)?;
        let (rng, digest) = (Stream::from_words([low, high]), LpDigest::from_bits(digest));
        let state = self.read(Item::State(at), bytes, |bytes| self.state.read(bytes))?;
        Ok(Lp { state, core: Core { rng, sent, digest } })
    }

    pub(super) fn write_event(&self, event: &LeftEvent<M>, bytes: &mut Vec<u8>) {
        let Event { key, to, io, message } = event;
        let code = *io as u32;
        debug_assert!(code <= u8::MAX.into(), "CKPT-B: the kind takes more than a byte");
        append_words(bytes, key.words());
        bytes.extend(to.get().to_le_bytes());
        bytes.push(code as u8);
        let item = Item::Message(*key, *to);
        self.write(item, bytes, |bytes| self.message.write(message.get(), bytes));
    }

    pub(super) fn read_event(
        &self,
        bytes: &mut &[u8],
        lps: usize,
    ) -> Result<LeftEvent<M>, WireError> {
        let key = EventKey::from_words(take_words(bytes)?);
        let key = key.filter(|key| key.sender().index() < lps);
        let key = key.ok_or_else(|| WireError::new("an event has no key"))?;
        let &[a, b, c, d, io] = take_bytes(bytes, 5)? else {
            return Err(WireError::new("an event has no receiver"));
        };
        let to = LpId::new(u32::from_le_bytes([a, b, c, d]));
        let io = io_from_code(io.into()).filter(|_| to.index() < lps);
        let io = io.ok_or_else(|| WireError::new("an event has no receiver"))?;
        let item = Item::Message(key, to);
        let message = self.read(item, bytes, |bytes| self.message.read(bytes))?;
        let message = Inline::store(Value(message), &mut Vec::new());
        Ok(Event { key, to, io: io.into(), message })
    }
}
