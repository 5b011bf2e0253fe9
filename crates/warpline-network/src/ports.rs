//! The links of each node, in the order of its neighbors.
//!
//! Made for a network; routes are places among them, and nodes send on them.

use warpline::LpId;

use crate::topology::{Link, Topology, transmission};

/// What a node needs to know of one of its links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortTo {
    /// The node at the other end.
    pub(crate) to: LpId,
    pub(crate) rate: u64,
    /// In picoseconds, a whole number.
    pub(crate) delay: f64,
    /// The most packets that wait.
    pub(crate) queue: u32,
    /// The number of the link in the topology.
    pub(crate) link: usize,
    /// The least time from a packet's arrival here to its arrival there (ps).
    pub(crate) lookahead: f64,
}

/// The neighbors of each node, ascending, each as often as there are links to it; with the number
/// of the link, whose order is kept.
pub(crate) fn neighbors(topology: &Topology) -> Vec<Vec<(u32, usize)>> {
    let mut all = vec![Vec::new(); topology.nodes];
    for (number, link) in topology.links.iter().enumerate() {
        let [a, b] = link.ends;
        all[a as usize].push((b, number));
        all[b as usize].push((a, number));
    }
    all.iter_mut().for_each(|neighbors| neighbors.sort_unstable());
    all
}

/// The links of each node, for packets of at least so many bytes.
pub(crate) fn ports(
    topology: &Topology,
    neighbors: &[Vec<(u32, usize)>],
    least: u32,
) -> Vec<Vec<PortTo>> {
    let port = |&(to, link): &(u32, usize)| {
        let Link { rate, delay, queue, .. } = topology.links[link];
        let lookahead = (delay + transmission(least, rate)) as f64;
        PortTo { to: LpId::new(to), rate, delay: delay as f64, queue, link, lookahead }
    };
    neighbors.iter().map(|ports| ports.iter().map(port).collect()).collect()
}
