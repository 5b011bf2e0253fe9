//! An event as workers pass it around: its key, its receiver, and the buffer that has its message.
//!
//! 32 bytes that can be copied: the pending set, the processed list, the sender's list of what it
//! has sent and the mail between workers all hold this, and the message itself stays where it was
//! written.

use std::cmp::Ordering;

use warpline_core::{EventKey, Io, LpId, VirtualTime, mix};
use warpline_memory::{BUFFERS_MAX, BufferId};

use crate::{
    event::{io_from_code, io_to_code},
    local_lp::LocalLp,
    pending::Entry,
};

/// The bits of a tag above the buffer's number.
const KIND_SHIFT: u32 = BUFFERS_MAX.trailing_zeros();
const KIND_MASK: u32 = 0b11 << KIND_SHIFT;
const ANTI: u32 = 1 << 31;

/// An event, or an anti-message for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) key: EventKey,
    /// In mail and in notes of what was sent, the receiver's number ([`to`](Self::to)); elsewhere
    /// its index among the LPs of its worker ([`lp`](Self::lp); MOVE-A).
    receiver: u32,
    /// The buffer's number; above it the kind, and whether this is an anti-message.
    tag: u32,
}

impl Event {
    /// Fills unused places.
    pub(super) const FILLER: Self =
        Self { key: EventKey::new(VirtualTime::ZERO, 0, LpId::new(0), 0), receiver: 0, tag: 0 };

    /// An event for an LP of any worker.
    #[inline]
    pub(super) fn new(key: EventKey, to: LpId, io: Option<Io>, buffer: BufferId) -> Self {
        debug_assert!(buffer.get() < BUFFERS_MAX, "POOL-B: a number that does not fit");
        Self { key, receiver: to.get(), tag: buffer.get() | io_to_code(io) << KIND_SHIFT }
    }

    /// The receiver of an event in mail or in a note of what was sent.
    #[inline]
    pub(super) const fn to(&self) -> LpId {
        LpId::new(self.receiver)
    }

    /// The receiver of any other event, which is at its worker.
    #[inline]
    pub(super) const fn lp(&self) -> LocalLp {
        LocalLp::new(self.receiver)
    }

    #[inline]
    pub(super) const fn buffer(&self) -> BufferId {
        BufferId::new(self.tag & (BUFFERS_MAX - 1))
    }

    /// Whether the event is not an I/O event.
    #[inline]
    pub(super) const fn is_ordinary(&self) -> bool {
        self.tag & KIND_MASK == 0
    }

    /// Which kind of I/O event it is, if it is one.
    #[inline]
    pub(super) const fn io(&self) -> Option<Io> {
        match io_from_code((self.tag & KIND_MASK) >> KIND_SHIFT) {
            Some(io) => io,
            None => None,
        }
    }

    /// The same event, with the receiver's index at its worker.
    #[inline]
    pub(super) const fn with_lp(self, lp: LocalLp) -> Self {
        Self { receiver: lp.get(), ..self }
    }

    /// The same event, with the receiver's number.
    #[inline]
    pub(super) const fn with_to(self, to: LpId) -> Self {
        Self { receiver: to.get(), ..self }
    }

    /// The anti-message that cancels this event.
    pub(super) const fn anti(self) -> Self {
        debug_assert!(self.tag & ANTI == 0, "an anti-message is canceled");
        Self { tag: self.tag | ANTI, ..self }
    }

    /// The event that this anti-message cancels, if it is one.
    #[inline]
    pub(super) fn cancels(self) -> Option<Self> {
        (self.tag & ANTI != 0).then_some(Self { tag: self.tag & !ANTI, ..self })
    }
}

/// A hash of a key.
pub(super) const fn key_hash(key: EventKey) -> u64 {
    let [time, step_and_sender, sequence] = key.words();
    mix(mix(time, step_and_sender), sequence)
}

impl Entry for Event {
    #[inline]
    fn time(&self) -> f64 {
        self.key.time_value()
    }
}

impl Ord for Event {
    /// By key, then by buffer and receiver: an event that was canceled and the one that is sent in
    /// its place share the key, and perhaps the buffer.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then((self.tag, self.receiver).cmp(&(other.tag, other.receiver)))
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.key < other.key
            || (self.key == other.key && (self.tag, self.receiver) < (other.tag, other.receiver))
    }
}

const _: () = assert!(size_of::<Event>() == 32);
