//! The packet network as handlers see it: links, routes, what is sent.
//!
//! The LPs (`node.rs`) read it, and nothing changes it during a run. `model.rs` says what the model
//! is.

use std::{fmt, sync::Arc};

use warpline::{ConfigError, digest::mix};

use crate::{
    error::{FileError, NetworkError},
    formats,
    output::{NetworkTables, Recorder},
    params::NetworkParams,
    ports::{PortTo, neighbors, ports},
    routes::{NoRoute, Routes},
    sending::{Drawn, Sending},
    source::Source,
    topology::Topology,
};

/// The packet network, with its routes.
#[derive(Clone)]
pub struct Network {
    pub(crate) params: NetworkParams,
    pub(crate) topology: Arc<Topology>,
    /// By node: its links, in the order of the neighbors (ROUTE-B).
    pub(crate) ports: Vec<Vec<PortTo>>,
    pub(crate) routes: Routes,
    pub(crate) sending: Sending,
    /// How many packets wait where one is marked.
    pub(crate) mark_at: usize,
    /// Whether an event tells what became of each packet.
    pub(crate) tells_packets: bool,
    /// Takes what is written, in a run that writes files.
    pub(crate) shared: Option<Arc<NetworkTables>>,
    /// What the packets of a file are.
    packets_digest: u64,
}

/// What makes this model another one than the next, which ranks compare.
impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("params", &self.params)
            .field("links", &format_args!("{:016x}", digest_of_links(&self.topology)))
            .field("packets", &format_args!("{:016x}", self.packets_digest))
            .finish_non_exhaustive()
    }
}

impl Network {
    /// The model with these parameters. Reads the files that they name.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range, a file cannot be read, or a packet has no route.
    pub fn new(params: NetworkParams) -> Result<Self, NetworkError> {
        params.validate()?;
        let topology = params.topology.topology(params.cable())?;
        let hosts = topology.hosts.len();
        let allowed = "a network with two hosts or more";
        ConfigError::check(hosts >= 2, "topology", &params.topology, allowed)?;
        let neighbors = neighbors(&topology);
        let rate =
            |ports: &Vec<(u32, usize)>| ports.first().map(|port| topology.links[port.1].rate);
        let rates: Vec<_> = neighbors.iter().map(|ports| rate(ports).unwrap_or(1)).collect();
        let sending = match &params.packets {
            Some(path) => Sending::File(formats::packets(path, topology.nodes)?),
            None => Sending::Drawn(Drawn::new(&params, &topology, &rates)),
        };
        let wanted = sending.wanted();
        let wanted = wanted.iter().map(|(to, sources)| (*to, sources.as_slice()));
        let routes = Routes::new(&neighbors, wanted).map_err(|error| no_route(&params, error))?;
        let least = sending.least_bytes();
        let ports = ports(&topology, &neighbors, least);
        Ok(Self {
            mark_at: params.mark_at.map_or(usize::MAX, |mark| mark as usize),
            tells_packets: params.packet_table.is_some(),
            shared: None,
            packets_digest: digest_of_packets(&sending),
            params,
            topology: Arc::new(topology),
            ports,
            routes,
            sending,
        })
    }

    /// Creates the files that the parameters name, if any; the run of this model fills them.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn record(&mut self) -> Result<Option<Recorder>, FileError> {
        self.recorded_by(false)
    }

    /// The same for a run that goes on with a checkpoint: opens the files that the run before has
    /// written, for [`Recorder::go_on`].
    ///
    /// # Errors
    ///
    /// When a file is not there, or cannot be written.
    pub fn record_further(&mut self) -> Result<Option<Recorder>, FileError> {
        self.recorded_by(true)
    }

    fn recorded_by(&mut self, goes_on: bool) -> Result<Option<Recorder>, FileError> {
        let opened = Recorder::create(&self.params, goes_on)?;
        Ok(opened.map(|(recorder, shared)| {
            self.shared = Some(shared);
            recorder
        }))
    }

    /// The network.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The packets that a file has; 0 if they are drawn.
    #[must_use]
    pub fn packets_in_file(&self) -> usize {
        match &self.sending {
            Sending::File(packets) => packets.iter().map(Vec::len).sum(),
            Sending::Drawn(_) => 0,
        }
    }
}

fn no_route(params: &NetworkParams, error: NoRoute) -> NetworkError {
    let (what, allowed) = match error {
        NoRoute::Apart { from, to } => {
            (format!("no links lead from node {from} to node {to}"), "connect them")
        }
        NoRoute::TooLarge => (
            "there are too many nodes and destinations for routes".to_owned(),
            "take a smaller network",
        ),
    };
    match &params.topology {
        Source::File(path) => FileError::new(path, None, what, allowed).into(),
        generated => ConfigError::new("topology", generated, format!("{allowed}: {what}")).into(),
    }
}

fn digest_of_links(topology: &Topology) -> u64 {
    topology.links.iter().fold(0, |digest, link| {
        let [a, b] = link.ends.map(u64::from);
        let ends = mix(digest, a << 32 | b);
        mix(mix(ends, link.rate), mix(link.delay, link.queue.into()))
    })
}

fn digest_of_packets(sending: &Sending) -> u64 {
    let Sending::File(packets) = sending else { return 0 };
    let ended = packets.iter().enumerate();
    let all = ended.flat_map(|(node, packets)| packets.iter().map(move |packet| (node, packet)));
    all.fold(0, |digest, (node, packet)| {
        let who = (node as u64) << 32 | u64::from(packet.destination);
        let what = u64::from(packet.flow) << 32 | u64::from(packet.bytes);
        mix(mix(digest, who), mix(what, packet.at.to_bits() ^ u64::from(packet.number)))
    })
}
