//! A packet: before it is sent, and on its way.
//!
//! Made by the readers of files and by what draws packets; nodes pass it on.

use serde::{Deserialize, Serialize};

/// A packet that a node sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due {
    /// When (ps).
    pub at: f64,
    /// Its number: the place in its file, or how many the node sent before.
    pub number: u32,
    /// To whom.
    pub destination: u32,
    /// Its bytes, without the header.
    pub bytes: u32,
    /// Its flow: packets of one flow take one route.
    pub flow: u32,
}

/// A packet, and what happens to it at a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packet {
    /// What happens.
    pub event: PacketEvent,
    /// Whether a queue marked it.
    pub marked: bool,
    /// The links that it has passed when it arrives.
    pub hops: u16,
    /// Its bytes, without the header.
    pub bytes: u16,
    /// Its number: its place in the file of packets, or how many its source sent before.
    pub number: u32,
    /// The node that sent it.
    pub source: u32,
    /// The node to which it goes.
    pub destination: u32,
    /// Its flow: packets of one flow take one route.
    pub flow: u32,
    /// When it was sent (ps).
    pub sent: f64,
    /// When it was known that it would arrive now (ps): when its transmission began.
    pub scheduled: f64,
}

/// What happens at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketEvent {
    /// The next packet of this node is due. All else in the message counts nothing.
    Due,
    /// The packet arrives.
    Arrive,
    /// The packet has reached its destination. Only tables get it.
    Delivered,
    /// The packet found no place in a queue. Only tables get it.
    Dropped,
}

impl Packet {
    /// The message that a packet is due.
    pub(crate) const DUE: Self = Self {
        event: PacketEvent::Due,
        marked: false,
        hops: 0,
        bytes: 0,
        number: 0,
        source: 0,
        destination: 0,
        flow: 0,
        sent: 0.0,
        scheduled: 0.0,
    };

    /// All that it says.
    pub(crate) fn words(&self) -> [u64; 4] {
        let Self { number, source, destination, flow, sent, .. } = *self;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let flags = u32::from(self.marked) | (self.event as u32) << 1 | u32::from(self.hops) << 8;
        [
            pair(flags, self.bytes.into()),
            pair(number, source),
            pair(destination, flow),
            sent.to_bits() ^ self.scheduled.to_bits().rotate_left(32),
        ]
    }
}
