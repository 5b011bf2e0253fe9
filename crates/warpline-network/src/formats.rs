//! Readers of networks and of packets: plain text, a line for each link or packet.
//!
//! A topology has `NODE NODE BITS_PER_SECOND DELAY_PS QUEUE_PACKETS`, packets have `TIME_PS SOURCE
//! DESTINATION BYTES FLOW`: whole numbers with spaces between them. What follows `#` is skipped.

use std::path::Path;

use warpline::files;

pub use crate::packet::Due;
use crate::{
    error::FileError,
    topology::{BYTES_MAX, Link, NODES_MAX, Topology, circle},
};

/// The latest time that is exact (ps): whole numbers are, up to here.
pub(crate) const TIME_MAX: u64 = 1 << 53;

/// The numbers of each line, with the number of the line.
fn lines<'a>(
    path: &'a Path,
    text: &'a str,
    form: &'static str,
) -> impl Iterator<Item = Result<(usize, [u64; 5]), FileError>> + 'a {
    text.lines().enumerate().filter_map(move |(index, line)| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace().peekable();
        words.peek()?;
        let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
        let numbers = numbers.and_then(|numbers| <[u64; 5]>::try_from(numbers).ok());
        let wrong =
            || FileError::new(path, index + 1, "this is no line of five whole numbers", form);
        Some(numbers.ok_or_else(wrong).map(|numbers| (index + 1, numbers)))
    })
}

fn read(path: &Path) -> Result<String, FileError> {
    files::read_text(path, files::LIMIT)
        .map_err(|error| FileError::new(path, None, error.to_string(), "name a file of text"))
}

/// Reads a file with a network.
pub(crate) fn topology(path: &Path) -> Result<Topology, FileError> {
    read_topology(path, &read(path)?)
}

/// Reads a network from the text of a file with this name. Hosts are the nodes with one link, or
/// all nodes if fewer than two have one.
///
/// # Errors
///
/// What is wrong with the first line that is wrong.
pub fn read_topology(path: &Path, text: &str) -> Result<Topology, FileError> {
    const FORM: &str = "write NODE NODE BITS_PER_SECOND DELAY_PS QUEUE_PACKETS";
    let mut links = Vec::new();
    let mut degrees: Vec<u32> = Vec::new();
    for line in lines(path, text, FORM) {
        let (line, [a, b, rate, delay, queue]) = line?;
        let check = |ok: bool, what: &str, allowed: &str| match ok {
            true => Ok(()),
            false => Err(FileError::new(path, line, what, allowed)),
        };
        check(a.max(b) < NODES_MAX.into(), "a number of a node is too large", "below 1 048 576")?;
        check(a != b, "a link leads from a node to itself", "connect two nodes")?;
        check((1..=1 << 50).contains(&rate), "the rate is out of range", "1 to 2^50 bits/s")?;
        check(delay < TIME_MAX, "the delay is too long", "less than 2^53 ps")?;
        check(queue <= u32::MAX.into(), "the queue is too long", "at most 4 294 967 295 packets")?;
        let ends = [a as u32, b as u32];
        for end in ends {
            degrees.resize(degrees.len().max(end as usize + 1), 0);
            degrees[end as usize] += 1;
        }
        links.push(Link { ends, rate, delay, queue: queue as u32 });
    }
    if links.is_empty() {
        return Err(FileError::new(path, None, "there is no link", FORM));
    }
    let leaves = degrees.iter().filter(|&&degree| degree == 1).count();
    let is_host = |degree: u32| degree == 1 || (leaves < 2 && degree > 0);
    let hosts = (0..).zip(&degrees).filter(|(_, degree)| is_host(**degree)).map(|(n, _)| n);
    let (hosts, nodes) = (hosts.collect(), degrees.len());
    Ok(Topology { nodes, hosts, links, places: circle(nodes) })
}

/// Reads a file with packets.
pub(crate) fn packets(path: &Path, nodes: usize) -> Result<Vec<Vec<Due>>, FileError> {
    read_packets(path, &read(path)?, nodes)
}

/// Reads packets between so many nodes from the text of a file with this name: by source, in the
/// order of their times, those of one time as in the file.
///
/// # Errors
///
/// What is wrong with the first line that is wrong.
pub fn read_packets(path: &Path, text: &str, nodes: usize) -> Result<Vec<Vec<Due>>, FileError> {
    const FORM: &str = "write TIME_PS SOURCE DESTINATION BYTES FLOW";
    let mut sources = vec![Vec::new(); nodes];
    for (number, line) in (0..).zip(lines(path, text, FORM)) {
        let (line, [at, from, to, bytes, flow]) = line?;
        let check = |ok: bool, what: &str, allowed: &str| match ok {
            true => Ok(()),
            false => Err(FileError::new(path, line, what, allowed)),
        };
        check(at < TIME_MAX, "the time is too late", "before 2^53 ps, some two and a half hours")?;
        check(from.max(to) < nodes as u64, "there is no such node", "take nodes of the topology")?;
        check(from != to, "a packet is sent to its source", "send it to another node")?;
        check(bytes <= BYTES_MAX.into(), "the packet is too large", "at most 65 535 bytes")?;
        check(flow <= u32::MAX.into(), "the flow is too large", "at most 4 294 967 295")?;
        let (destination, bytes, flow) = (to as u32, bytes as u32, flow as u32);
        sources[from as usize].push(Due { at: at as f64, number, destination, bytes, flow });
    }
    for source in &mut sources {
        source.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    Ok(sources)
}
