//! A network as nodes and links, before it is a model.
//!
//! Made by the generators and by the reader of files; the model and its routes are made from it.

use warpline::{LpId, Stream};

/// The most nodes of a network.
pub const NODES_MAX: u32 = 1 << 20;
/// The bytes that a link adds to a packet: the header of the point-to-point protocol.
pub const HEADER: u32 = 2;
/// The most bytes of a packet, without the header.
pub const BYTES_MAX: u32 = 65_535;
/// Picoseconds in a second.
const SECOND: u64 = 1_000_000_000_000;

/// A link in both directions, each with a queue of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The nodes that it connects.
    pub ends: [u32; 2],
    /// Bits per second, above 0.
    pub rate: u64,
    /// How long a bit travels (ps).
    pub delay: u64,
    /// The most packets that wait at each end.
    pub queue: u32,
}

/// A network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// How many nodes there are.
    pub nodes: usize,
    /// The nodes between which packets are drawn, ascending.
    pub hosts: Vec<u32>,
    /// The links.
    pub links: Vec<Link>,
    /// Where each node is drawn: to the east and to the north.
    pub places: Vec<[f64; 2]>,
}

/// How the links of a generated network are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cable {
    /// Bits per second.
    pub(crate) rate: u64,
    /// The mean delay (ps).
    pub(crate) delay: f64,
    /// By which part of it the delays differ, to either side.
    pub(crate) spread: f64,
    /// The most packets that wait.
    pub(crate) queue: u32,
}

impl Cable {
    /// The link with this number. Its delay is drawn, the same in every run.
    pub(crate) fn link(self, number: usize, ends: [u32; 2]) -> Link {
        const SEED: u64 = 0x6c69_6e6b;
        let Self { rate, delay, spread, queue } = self;
        let uniform = Stream::for_lp(SEED, LpId::from_index(number)).uniform();
        let delay = delay * (1.0 + spread * (2.0 * uniform - 1.0));
        Link { ends, rate, delay: delay.round() as u64, queue }
    }
}

/// How long a packet occupies a link (ps): to the nearest picosecond, as ns-3 has it.
#[inline]
pub(crate) const fn transmission(bytes: u32, rate: u64) -> u64 {
    // Below 2^64: a packet has less than 2^20 bits.
    let bits = (bytes + HEADER) as u64 * 8;
    (bits * SECOND + rate / 2) / rate
}

/// The nodes on a circle, for a network that has no shape of its own.
pub(crate) fn circle(nodes: usize) -> Vec<[f64; 2]> {
    let angle = |n: usize| n as f64 / nodes as f64 * std::f64::consts::TAU;
    (0..nodes).map(|n| [libm::sin(angle(n)), libm::cos(angle(n))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `DataRate::CalculateBytesTxTime` of ns-3 3.37 says with a resolution of picoseconds.
    #[test]
    fn transmission_times_are_those_of_ns3() {
        for (rate, bytes, ps) in [
            (10_000_000_000, 1, 800),
            (10_000_000_000, 65_535, 52_428_000),
            (3_000_000_000, 1, 2_667),
            (3_000_000_000, 101, 269_333),
            (7_000_000_000, 1_500, 1_714_286),
            (1_000_000_007, 1_500, 12_000_000),
            (1_000_000_007, 65_535, 524_279_996),
            (64_000, 9_002, 1_125_250_000_000),
        ] {
            // These are bytes with the header.
            if bytes >= HEADER {
                assert_eq!(transmission(bytes - HEADER, rate), ps, "{bytes} bytes at {rate}");
            }
        }
    }
}
