//! Message aggregation: small messages to the same worker of another rank gather in one parcel
//! until it is full, or until their sender has nothing else to do.
//!
//! Each worker of an engine has its own outbox. A message is written once, straight into the parcel
//! that carries it.
//!
//! # Invariants
//!
//! - **OUT-A.** A message is sent by the next [`flush`](Outbox::flush) at the latest. Messages to
//!   the same address are sent in the order in which they were put in.
//!
//! # References
//!
//! Wen and Yelick, 1995, section 3.1: the threshold, and the flush when no other thread is
//! eligible. A threshold that adapts is among their future work (section 7).

use std::{fmt, str::FromStr};

use crate::{Address, HEADER_BYTES, NetError, Parcel, Transport};

/// How many bytes of messages to one address are sent together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregation {
    /// Every message gets a parcel of its own.
    Off,
    /// A parcel is sent as soon as it has this number of bytes.
    Bytes(usize),
    /// Each receiver has its own threshold. It doubles after a parcel that was full, and halves
    /// after one that was sent early and less than a quarter full.
    #[default]
    Adaptive,
}

impl FromStr for Aggregation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Adaptive),
            bytes => match bytes.parse() {
                Ok(bytes) if bytes > 0 => Ok(Self::Bytes(bytes)),
                _ => {
                    Err(format!("`{text}` is not `auto`, `off`, or a number of bytes of 1 or more"))
                }
            },
        }
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.pad("off"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Adaptive => f.pad("auto"),
        }
    }
}

/// The first, the least and the greatest threshold of an adaptive outbox. Beyond 64 KiB, copies
/// leave the first levels of cache, and the start-up cost of any network is small.
const THRESHOLD: usize = 1 << 10;
const THRESHOLD_MIN: usize = 1 << 7;
const THRESHOLD_MAX: usize = 1 << 16;

/// Counts of what an outbox has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Parcels that carried them.
    pub parcels: u64,
    /// Bytes, headers included.
    pub bytes: u64,
}

/// Decides when enough bytes have gathered to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    bytes: usize,
    adapts: bool,
}

impl Threshold {
    /// The threshold that one receiver starts with.
    #[must_use]
    pub const fn new(aggregation: Aggregation) -> Self {
        let bytes = match aggregation {
            Aggregation::Off => 0,
            Aggregation::Bytes(bytes) => bytes,
            Aggregation::Adaptive => THRESHOLD,
        };
        Self { bytes, adapts: matches!(aggregation, Aggregation::Adaptive) }
    }

    /// Whether `len` bytes are enough to be sent; if so, an adaptive threshold doubles.
    #[inline]
    pub fn is_reached(&mut self, len: usize) -> bool {
        if len < self.bytes {
            return false;
        }
        if self.adapts {
            self.bytes = THRESHOLD_MAX.min(2 * self.bytes);
        }
        true
    }

    /// `len` bytes are sent before the threshold is reached; if they are few, an adaptive one
    /// halves.
    #[inline]
    pub fn is_not_awaited(&mut self, len: usize) {
        if self.adapts && 4 * len < self.bytes {
            self.bytes = THRESHOLD_MIN.max(self.bytes / 2);
        }
    }
}

/// The messages that gather for one address.
#[derive(Debug)]
struct Gathering {
    parcel: Option<Parcel>,
    threshold: Threshold,
}

/// Appends to bytes; if `write` panics, they stay as they were.
pub fn append(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    struct Undo<'b> {
        bytes: &'b mut Vec<u8>,
        len: usize,
    }
    impl Drop for Undo<'_> {
        fn drop(&mut self) {
            self.bytes.truncate(self.len);
        }
    }
    let mut undo = Undo { len: bytes.len(), bytes };
    write(undo.bytes);
    undo.len = undo.bytes.len();
}

/// Gathers one worker's messages into parcels.
#[derive(Debug)]
pub struct Outbox<'t> {
    transport: &'t dyn Transport,
    kind: u16,
    port: usize,
    /// By rank, and then by port.
    gatherings: Vec<Gathering>,
    /// Indices in `gatherings` of those that are not empty.
    filled: Vec<usize>,
    spares: Vec<Vec<u8>>,
    traffic: Traffic,
}

impl<'t> Outbox<'t> {
    /// The outbox of the worker at `port`; its parcels are of this `kind`.
    #[must_use]
    pub fn new(
        transport: &'t dyn Transport,
        kind: u16,
        port: usize,
        aggregation: Aggregation,
    ) -> Self {
        let threshold = Threshold::new(aggregation);
        let addresses = transport.ranks() * transport.ports();
        let gatherings = (0..addresses).map(|_| Gathering { parcel: None, threshold }).collect();
        let (filled, spares, traffic) = (Vec::new(), Vec::new(), Traffic::default());
        Self { transport, kind, port, gatherings, filled, spares, traffic }
    }

    /// Puts in a message: `write` appends it to the bytes that it gets, and must not change them
    /// otherwise. If `write` panics, there is no message.
    ///
    /// # Errors
    ///
    /// Those of [`Transport::send`].
    #[inline]
    pub fn put(&mut self, to: Address, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), NetError> {
        let place = to.rank * self.transport.ports() + to.port;
        let gathering = &mut self.gatherings[place];
        let parcel = match &mut gathering.parcel {
            Some(parcel) => parcel,
            none => {
                self.filled.push(place);
                let spare = self.spares.pop().or_else(|| self.transport.reclaim());
                none.insert(Parcel::new(self.kind, self.port, spare.unwrap_or_default()))
            }
        };
        append(parcel.body(), write);
        self.traffic.messages += 1;
        if gathering.threshold.is_reached(parcel.body_len()) {
            self.filled.retain(|&filled| filled != place);
            self.send(place)?;
        }
        Ok(())
    }

    /// Sends all that has gathered, because the worker has nothing else to do or others wait for
    /// the messages.
    ///
    /// # Errors
    ///
    /// Those of [`Transport::send`].
    pub fn flush(&mut self) -> Result<(), NetError> {
        while let Some(place) = self.filled.pop() {
            let gathering = &mut self.gatherings[place];
            let len = gathering.parcel.as_ref().map_or(0, Parcel::body_len);
            gathering.threshold.is_not_awaited(len);
            self.send(place)?;
        }
        Ok(())
    }

    /// Whether nothing has gathered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    fn send(&mut self, place: usize) -> Result<(), NetError> {
        let Some(parcel) = self.gatherings[place].parcel.take() else { return Ok(()) };
        self.traffic.parcels += 1;
        self.traffic.bytes += (HEADER_BYTES + parcel.body_len()) as u64;
        let (ports, to) = (self.transport.ports(), place);
        self.transport.send(Address { rank: to / ports, port: to % ports }, parcel)
    }

    /// Takes the buffer of a parcel that was read, and uses it for a later one.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        const SPARES: usize = 64;
        if self.spares.len() < SPARES {
            self.spares.push(buffer);
        }
    }

    /// Counts of what was sent so far.
    #[must_use]
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network;
    use proptest::prelude::*;

    fn aggregation() -> impl Strategy<Value = Aggregation> {
        prop_oneof![
            Just(Aggregation::Off),
            (1usize..300).prop_map(Aggregation::Bytes),
            Just(Aggregation::Adaptive),
        ]
    }

    proptest! {
        /// OUT-A: after a flush every message has arrived once, in order. Without aggregation, each
        /// message has its own parcel.
        #[test]
        fn everything_arrives_in_order(
            aggregation in aggregation(),
            messages in proptest::collection::vec((0usize..3, 0usize..2, any::<u16>()), 0..300),
            flushes in proptest::collection::vec(0usize..300, 0..4),
        ) {
            let ends = network(3, 2);
            let mut outbox = Outbox::new(&ends[0], 5, 1, aggregation);
            for (number, &(rank, port, value)) in messages.iter().enumerate() {
                if flushes.contains(&number) {
                    outbox.flush().unwrap();
                }
                let to = Address { rank, port };
                outbox.put(to, |bytes| bytes.extend_from_slice(&value.to_le_bytes())).unwrap();
            }
            outbox.flush().unwrap();
            prop_assert!(outbox.is_empty());
            let mut parcels = 0;
            for (rank, end) in ends.iter().enumerate() {
                for port in 0..2 {
                    let mut arrived = Vec::new();
                    while let Some(received) = end.receive(port).unwrap() {
                        parcels += 1;
                        let opened = Parcel::open(&received.bytes).unwrap();
                        prop_assert_eq!((received.from, opened.kind, opened.port), (0, 5, 1));
                        let values = opened.body.chunks(2);
                        let number = |value: &[u8]| u16::from_le_bytes([value[0], value[1]]);
                        arrived.extend(values.map(number));
                    }
                    let put = messages.iter().filter(|message| message.0 == rank);
                    let put = put.filter(|message| message.1 == port).map(|message| message.2);
                    prop_assert_eq!(arrived, put.collect::<Vec<_>>());
                }
            }
            let traffic = outbox.traffic();
            prop_assert_eq!((traffic.messages, traffic.parcels), (messages.len() as u64, parcels));
            if aggregation == Aggregation::Off {
                prop_assert_eq!(parcels, messages.len() as u64);
            }
        }
    }

    /// The threshold rises under a flood, and falls when every message is flushed.
    #[test]
    fn the_threshold_adapts() {
        let ends = network(2, 1);
        let mut outbox = Outbox::new(&ends[0], 0, 0, Aggregation::Adaptive);
        let to = Address { rank: 1, port: 0 };
        let put = |outbox: &mut Outbox<'_>| outbox.put(to, |bytes| bytes.extend([0; 64])).unwrap();
        (0..10_000).for_each(|_| put(&mut outbox));
        assert_eq!(outbox.gatherings[1].threshold.bytes, THRESHOLD_MAX);
        for _ in 0..20 {
            put(&mut outbox);
            outbox.flush().unwrap();
        }
        assert_eq!(outbox.gatherings[1].threshold.bytes, 4 * 64);
    }

    /// A message whose writing panics leaves no bytes behind.
    #[test]
    fn half_a_message_is_none() {
        let ends = network(2, 1);
        let mut outbox = Outbox::new(&ends[0], 0, 0, Aggregation::Bytes(100));
        let to = Address { rank: 1, port: 0 };
        outbox.put(to, |bytes| bytes.extend([1; 8])).unwrap();
        let broken = std::panic::AssertUnwindSafe(|| {
            outbox.put(to, |bytes| {
                bytes.extend([2; 4]);
                panic!("on purpose")
            })
        });
        assert!(std::panic::catch_unwind(broken).is_err());
        outbox.put(to, |bytes| bytes.extend([3; 8])).unwrap();
        outbox.flush().unwrap();
        let received = ends[1].receive(0).unwrap().unwrap();
        let opened = Parcel::open(&received.bytes).unwrap();
        assert_eq!(opened.body, [[1; 8], [3; 8]].as_flattened());
    }
}
