//! The parameters of the packet network: flags of the command, keys of configuration files.
//!
//! The model is made from them (`model.rs`). Virtual time is in picoseconds.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use warpline::{ConfigError, files::Files};

use crate::{
    source::Source,
    topology::{BYTES_MAX, Cable},
};

/// The most packets of a flow, and the most senders of an incast.
const MANY: u32 = 1_000_000;
/// The most bytes of a chunk.
const CHUNK_MAX: u64 = 1 << 30;

/// The parameters of the packet network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkParams {
    /// The network: fat-tree:K, leaf-spine:LEAVESxSPINESxHOSTS, dragonfly:ROUTERSxHOSTSxGLOBALS,
    /// ring:N, grid:WxH, or a file
    #[arg(long, value_name = "TOPOLOGY", default_value_t = Self::default().topology)]
    pub topology: Source,
    /// Rate of the links, in a generated network
    #[arg(long, value_name = "GBIT/S", default_value_t = Self::default().rate)]
    pub rate: f64,
    /// Mean delay of the links, in a generated network
    #[arg(long, value_name = "PS", default_value_t = Self::default().delay)]
    pub delay: f64,
    /// Part of the mean by which delays differ at most, to either side, in a generated network
    #[arg(long, value_name = "PART", default_value_t = Self::default().delay_spread)]
    pub delay_spread: f64,
    /// Packets that wait for a link at most; more are dropped; in a generated network
    #[arg(long, value_name = "PACKETS", default_value_t = Self::default().queue)]
    pub queue: u32,
    /// Mark packets that find so many or more waiting for a link (ECN) [default: none]
    #[arg(long, value_name = "PACKETS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_at: Option<u32>,
    /// File of packets, in place of those that are drawn
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<PathBuf>,
    /// To whom hosts send
    #[arg(
        long,
        value_enum,
        conflicts_with = "packets",
        default_value_t = Self::default().traffic
    )]
    pub traffic: Pattern,
    /// When hosts send
    #[arg(
        long,
        value_enum,
        conflicts_with = "packets",
        default_value_t = Self::default().arrivals
    )]
    pub arrivals: Arrivals,
    /// Part of the rate of its link with which a host sends, on average
    #[arg(
        long,
        value_name = "PART",
        conflicts_with = "packets",
        default_value_t = Self::default().load
    )]
    pub load: f64,
    /// Bytes of packets without their header of 2, as a list: each is drawn as often
    #[arg(
        long,
        value_name = "BYTES",
        conflicts_with = "packets",
        default_value_t = Self::default().sizes
    )]
    pub sizes: Sizes,
    /// Packets of a flow: all have one destination and one route
    #[arg(
        long,
        value_name = "PACKETS",
        conflicts_with = "packets",
        default_value_t = Self::default().flow_packets
    )]
    pub flow_packets: u32,
    /// Hosts that send to each receiver of an incast
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "packets",
        default_value_t = Self::default().fan_in
    )]
    pub fan_in: u32,
    /// Bytes that a host sends in a step of an all-reduce
    #[arg(
        long,
        value_name = "BYTES",
        conflicts_with = "packets",
        default_value_t = Self::default().chunk
    )]
    pub chunk: u64,
    /// Packets that each host sends at most [default: no limit]
    #[arg(long, value_name = "N", conflicts_with = "packets")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_host: Option<u32>,
    /// Table of all packets, with the time of their arrival or drop (.csv)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_table: Option<PathBuf>,
    /// Table of all links in each direction, with packets, drops, marks and utilization (.csv)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_table: Option<PathBuf>,
}

impl Default for NetworkParams {
    fn default() -> Self {
        Self {
            topology: Source::FatTree(8),
            rate: 10.0,
            delay: 1e6,
            delay_spread: 0.5,
            queue: 64,
            mark_at: None,
            packets: None,
            traffic: Pattern::default(),
            arrivals: Arrivals::default(),
            load: 0.6,
            sizes: Sizes(vec![98, 498, 1498]),
            flow_packets: 20,
            fan_in: 8,
            chunk: 65_536,
            per_host: None,
            packet_table: None,
            link_table: None,
        }
    }
}

impl NetworkParams {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |ok, key, value: f64, allowed| ConfigError::check(ok, key, value, allowed);
        let rate = self.rate;
        check((1e-6..=1e5).contains(&rate), "rate", rate, "from 0.000001 to 100000 Gbit/s")?;
        let delay = self.delay;
        check((1.0..=1e12).contains(&delay), "delay", delay, "from 1 ps to a second")?;
        let spread = self.delay_spread;
        check((0.0..1.0).contains(&spread), "delay-spread", spread, "0 or more, less than 1")?;
        let mark = self.mark_at.unwrap_or(1);
        check(mark > 0, "mark-at", mark.into(), "1 or more")?;
        let load = self.load;
        check(load > 0.0 && load <= 1.0, "load", load, "above 0, at most 1")?;
        for (key, value) in [("flow-packets", self.flow_packets), ("fan-in", self.fan_in)] {
            check((1..=MANY).contains(&value), key, value.into(), "from 1 to a million")?;
        }
        let chunk = self.chunk;
        let allowed = "from 1 to 1 073 741 824 bytes";
        ConfigError::check((1..=CHUNK_MAX).contains(&chunk), "chunk", chunk, allowed)
    }

    /// The links of a generated network.
    pub(crate) fn cable(&self) -> Cable {
        Cable {
            rate: (self.rate * 1e9).round() as u64,
            delay: self.delay,
            spread: self.delay_spread,
            queue: self.queue,
        }
    }

    /// The files that a run reads and writes.
    #[must_use]
    pub fn files(&self) -> Files {
        let topology = match &self.topology {
            Source::File(path) => Some(&**path),
            _ => None,
        };
        Files::default()
            .reading("topology", topology)
            .reading("packets", self.packets.as_deref())
            .writing("packet-table", self.packet_table.as_deref())
            .writing("link-table", self.link_table.as_deref())
    }
}

/// To whom hosts send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each flow to another host, drawn uniformly
    #[default]
    Uniform,
    /// Each host to one other that gets packets from no third one
    Permutation,
    /// Many hosts to one, in groups of --fan-in and their receiver
    Incast,
    /// Ring all-reduce: each host sends a chunk to the next when it has one from the host before
    AllReduce,
}

/// When hosts send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At a constant rate, from a random time on
    Constant,
    /// With exponential times between packets
    #[default]
    Poisson,
    /// The packets of a flow without a gap, then a pause of exponential length
    OnOff,
}

/// The bytes of packets: one or more numbers, each as likely as the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Sizes(Vec<u32>);

impl Sizes {
    /// The numbers; at least one.
    #[must_use]
    pub fn bytes(&self) -> &[u32] {
        &self.0
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |word: &str| word.trim().parse().ok().filter(|n| (1..=BYTES_MAX).contains(n));
        let sizes: Option<Vec<u32>> = text.split(',').map(parse).collect();
        let sizes = sizes.filter(|sizes| sizes.len() <= 1000);
        sizes.map(Self).ok_or_else(|| format!("expected numbers from 1 to {BYTES_MAX}, as 98,1498"))
    }
}

impl TryFrom<String> for Sizes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.to_string()
    }
}
