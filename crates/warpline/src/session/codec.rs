//! States, streams and pending events as bytes: in [checkpoints](super::checkpoint), and on their
//! way between the [ranks](super::ranks) of a session.

use warpline_core::{
    EventKey, LpDigest, LpId, Model, Stream, Wire, WireError, append_words, take_bytes, take_words,
};

use crate::{
    cut::{Cut, LeftEvent, Whole},
    event::{Buffer, Event, Inline, Message, io_from_code, io_to_code},
    handling::{Core, Lp, Value},
};

/// How LPs and events of a model become bytes.
pub(super) struct Codec<M: Model> {
    state: Wire<M::Lp>,
    message: Wire<Message<M>>,
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
    pub(super) fn of(model: &M) -> Result<Self, &'static str> {
        let state = model.state_wire().ok_or("`Model::state_wire`")?;
        let message = model.wires().ok_or("`Model::wires`")?.message;
        Ok(Self { state, message })
    }

    /// A part of a cut. What this reads is as it was sent: a message between ranks has a checksum.
    pub(super) fn read_part(&self, mut bytes: &[u8], all: usize) -> Result<Whole<M>, WireError> {
        let bytes = &mut bytes;
        let [lps, pending, log_end] = take_words(bytes)?;
        let lps = (0..lps).map(|_| self.read_lp(bytes)).collect::<Result<_, _>>()?;
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
        lps.iter().for_each(|lp| self.write_lp(lp, &mut bytes));
        pending.iter().for_each(|event| self.write_event(event, &mut bytes));
        bytes
    }

    pub(super) fn write_lp(&self, Lp { state, core }: &Lp<M::Lp>, bytes: &mut Vec<u8>) {
        let [low, high] = core.rng.words();
        append_words(bytes, [low, high, core.sent, core.digest.to_bits()]);
        self.state.write(state, bytes);
    }

    pub(super) fn read_lp(&self, bytes: &mut &[u8]) -> Result<Lp<M::Lp>, WireError> {
        let [low, high, sent, digest] = take_words(bytes)?;
        let (rng, digest) = (Stream::from_words([low, high]), LpDigest::from_bits(digest));
        Ok(Lp { state: self.state.read(bytes)?, core: Core { rng, sent, digest } })
    }

    pub(super) fn write_event(&self, event: &LeftEvent<M>, bytes: &mut Vec<u8>) {
        let Event { key, to, io, message } = event;
        debug_assert!(io_to_code(*io) <= u8::MAX.into(), "CKPT-B: the kind takes more than a byte");
        append_words(bytes, key.words());
        bytes.extend(to.get().to_le_bytes());
        bytes.push(io_to_code(*io) as u8);
        self.message.write(message.get(), bytes);
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
        let message = Inline::store(Value(self.message.read(bytes)?), &mut Vec::new());
        Ok(Event { key, to, io, message })
    }
}
