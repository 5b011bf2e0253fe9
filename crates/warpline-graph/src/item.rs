//! What workers send each other: events, clocks, credits, acknowledgements, markers and control
//! messages. Between ranks they are bytes.

use warpline_core::{append_words, take_words};
use warpline_net::Malformed;

use crate::{EdgeId, NodeId};

/// The number of words in a control message.
pub const CONTROL_WORDS: usize = 12;

/// A message from worker to worker that uses no edge. The caller gives it its meaning.
pub type Control = [u64; CONTROL_WORDS];

/// Turns events into bytes and back, which is needed between ranks only.
pub trait Codec<E>: Sync {
    /// Appends the event's bytes.
    fn write(&self, event: &E, bytes: &mut Vec<u8>);

    /// Takes an event from the front of the bytes.
    ///
    /// # Errors
    ///
    /// When the bytes are not an event.
    fn read(&self, bytes: &mut &[u8]) -> Result<E, Malformed>;
}

/// One thing that a worker sends to another one.
#[derive(Debug)]
pub(crate) enum Item<E> {
    /// An event for one edge.
    Event(EdgeId, E),
    /// An event for all edges from this node to nodes of the receiving worker.
    Fanout(NodeId, E),
    /// A node's clock, for all edges from this node to nodes of the receiving worker.
    Clock(NodeId, [u64; 2]),
    /// The same for one edge.
    EdgeClock(EdgeId, [u64; 2]),
    /// The edge has room for this many more events.
    Credit(EdgeId, u32),
    /// Acknowledges an event, or a copy of it, that this node has sent.
    Ack(NodeId),
    /// The sender freezes, and sends nothing else before it unfreezes.
    Marker,
    /// The sender is ready, and its plan has this fingerprint.
    Hello(u64),
    /// A control message.
    Control(Box<Control>),
}

impl<E> Item<E> {
    /// Appends the item's bytes.
    pub(crate) fn write(&self, codec: &dyn Codec<E>, bytes: &mut Vec<u8>) {
        let mut head = |tag: u8, number: u32| {
            bytes.push(tag);
            bytes.extend(number.to_le_bytes());
        };
        match self {
            Self::Event(edge, event) => {
                head(0, edge.0);
                codec.write(event, bytes);
            }
            Self::Fanout(node, event) => {
                head(1, node.0);
                codec.write(event, bytes);
            }
            Self::Clock(node, words) => {
                head(2, node.0);
                append_words(bytes, *words);
            }
            Self::EdgeClock(edge, words) => {
                head(3, edge.0);
                append_words(bytes, *words);
            }
            Self::Credit(edge, count) => {
                head(4, edge.0);
                bytes.extend(count.to_le_bytes());
            }
            Self::Ack(node) => head(5, node.0),
            Self::Marker => head(6, 0),
            Self::Hello(fingerprint) => {
                head(7, 0);
                append_words(bytes, [*fingerprint]);
            }
            Self::Control(words) => {
                head(8, 0);
                append_words(bytes, **words);
            }
        }
    }

    /// Takes an item from the front of the bytes, and refuses one that names an edge or a node
    /// beyond the numbers of `nodes` and `edges`.
    pub(crate) fn read(
        codec: &dyn Codec<E>,
        [nodes, edges]: [usize; 2],
        bytes: &mut &[u8],
    ) -> Result<Self, Malformed> {
        let [tag] = take(bytes)?;
        let number = u32::from_le_bytes(take(bytes)?);
        let node = || bounded(number, nodes).map(NodeId);
        let edge = || bounded(number, edges).map(EdgeId);
        Ok(match tag {
            0 => Self::Event(edge()?, codec.read(bytes)?),
            1 => Self::Fanout(node()?, codec.read(bytes)?),
            2 => Self::Clock(node()?, read_words(bytes)?),
            3 => Self::EdgeClock(edge()?, read_words(bytes)?),
            4 => Self::Credit(edge()?, u32::from_le_bytes(take(bytes)?)),
            5 => Self::Ack(node()?),
            6 => Self::Marker,
            7 => Self::Hello(read_words::<1>(bytes)?[0]),
            8 => Self::Control(Box::new(read_words(bytes)?)),
            tag => {
                return Err(Malformed::Body(format!(
                    "an item of an event graph has the unknown kind {tag}"
                )));
            }
        })
    }
}

fn bounded(number: u32, count: usize) -> Result<u32, Malformed> {
    let what = || {
        Malformed::Body(format!(
            "an item of an event graph names node or edge {number}, which does not exist"
        ))
    };
    if (number as usize) < count { Ok(number) } else { Err(what()) }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let cut_off = || Malformed::Body("an item of an event graph is cut off".to_owned());
    let (front, rest) = bytes.split_first_chunk().ok_or_else(cut_off)?;
    *bytes = rest;
    Ok(*front)
}

fn read_words<const N: usize>(bytes: &mut &[u8]) -> Result<[u64; N], Malformed> {
    take_words(bytes).map_err(|error| Malformed::Body(error.to_string()))
}
