//! Fuzz targets: whatever bytes a reader gets, it returns what they mean, or an error for people.
//!
//! A target is a function of bytes, called by the binary of its name in `fuzz_targets/`, which
//! `fuzz/run` builds and starts. A panic, an overflow, an endless loop or a greedy allocation is a
//! finding. What was accepted is looked at, too: it is what its type promises.

use std::path::Path;

use warpline_circuits::{bench as gates, spice as decks};
use warpline_memory::PairSizes;
use warpline_net::{HEADER_BYTES, Parcel};
use warpline_network::formats as packets_and_links;
use warpline_traffic::formats;

/// An expanded deck may take this many bytes: inputs stay quick.
const DECK_BYTES: usize = 1 << 16;
/// The most files that a deck includes: a few bytes can include all others many thousand times.
const FILES: usize = 16;

/// A text, of which the reader of a file has made sure that it is UTF-8.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// An error says something.
fn explained<T, E: std::fmt::Display>(outcome: Result<T, E>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(!error.to_string().trim().is_empty(), "an error without a text");
            None
        }
    }
}

/// SPICE decks. What they include is the text after a line `*file`.
pub fn spice(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let (deck, included) = text.split_once("\n*file\n").unwrap_or((text, ""));
    let mut files = 0..FILES;
    let mut include = |_: &str, name: &str| match files.next() {
        Some(_) => Ok((name.to_owned(), included.to_owned())),
        None => Err(std::io::Error::other("one file too many")),
    };
    if let Some(deck) = explained(decks::read_within("deck.cir", deck, &mut include, DECK_BYTES)) {
        let end = deck.circuit.end;
        assert!(end.is_finite() && end >= 0.0, "a run that ends at {end}");
    }
}

/// ISCAS `.bench` files.
pub fn bench(data: &[u8]) {
    let Some(text) = text(data) else { return };
    explained(gates::read("gates.bench", text));
}

/// Networks of roads as CSV.
pub fn csv(data: &[u8]) {
    network("roads.csv", data);
}

/// Networks of roads as JSON (node-link).
pub fn json(data: &[u8]) {
    network("roads.json", data);
}

/// Networks of roads as GraphML.
pub fn graphml(data: &[u8]) {
    network("roads.graphml", data);
}

/// Networks of roads of SUMO.
pub fn sumo(data: &[u8]) {
    network("roads.net.xml", data);
}

/// Networks of roads as `[INTERSECTIONS]` and `[ROUTES]`.
pub fn text_network(data: &[u8]) {
    network("roads.txt", data);
}

fn network(name: &str, data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Some(network) = explained(formats::read_text(Path::new(name), text)) {
        assert!(network.parts() > 0, "a network without a place");
        let is_sound = |km: f64| km.is_finite() && km > 0.0;
        assert!(network.routes.iter().all(|route| is_sound(route.km)), "a route without a length");
    }
}

/// Packet networks. Links lead from one node to another.
pub fn topology(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let read = packets_and_links::read_topology(Path::new("net.txt"), text);
    if let Some(topology) = explained(read) {
        let is_there = |end: u32| (end as usize) < topology.nodes;
        for link in &topology.links {
            assert!(link.ends.into_iter().all(is_there) && link.ends[0] != link.ends[1]);
            assert!(link.rate > 0, "a link without a rate");
        }
        assert!(topology.hosts.iter().copied().all(is_there), "a host that is no node");
    }
}

/// Packets, each from one node to another one, in the order of their times.
pub fn packets(data: &[u8]) {
    const NODES: usize = 100;
    let Some(text) = text(data) else { return };
    let read = packets_and_links::read_packets(Path::new("packets.txt"), text, NODES);
    for packets in explained(read).unwrap_or_default() {
        assert!(packets.is_sorted_by_key(|packet| packet.at), "packets out of order");
        assert!(packets.iter().all(|packet| (packet.destination as usize) < NODES));
    }
}

/// Files with the sizes of partitioned pools.
pub fn pair_sizes(data: &[u8]) {
    let Some(text) = text(data) else { return };
    explained(text.parse::<PairSizes>());
}

/// Parcels between ranks. One that is well-formed is what sealing its parts gives.
pub fn parcel(data: &[u8]) {
    if let Some(opened) = explained(Parcel::open(data)) {
        let again = Parcel::with_body(opened.kind, opened.port, opened.body).seal();
        assert_eq!(again, data, "a parcel that nobody has sealed");
    }
    // With a header that fits: few inputs have a checksum by chance.
    if let Some((head, body)) = data.split_at_checked(4) {
        let [a, b, c, d] = [head[0], head[1], head[2], head[3]];
        let (kind, port) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]).into());
        let mut sealed = Parcel::with_body(kind, port, body).seal();
        let opened = Parcel::open(&sealed).expect("a parcel that was sealed");
        assert_eq!((opened.kind, opened.port, opened.body), (kind, port, body));
        let at = usize::from(a) % (HEADER_BYTES + body.len());
        sealed[at] ^= 1 | b;
        assert!(Parcel::open(&sealed).is_err(), "a parcel that was changed");
    }
}

/// Configuration files.
#[cfg(feature = "command")]
pub fn config(data: &[u8]) {
    let Some(text) = text(data) else { return };
    explained(warpline_cli::readers::configuration(text));
}

/// Files with the worker of each LP.
#[cfg(feature = "command")]
pub fn placement(data: &[u8]) {
    let Some(text) = text(data) else { return };
    explained(warpline_cli::readers::placement(text));
}

/// Files with the weight of each LP.
#[cfg(feature = "command")]
pub fn weights(data: &[u8]) {
    let Some(text) = text(data) else { return };
    explained(warpline_cli::readers::weights(text));
}
