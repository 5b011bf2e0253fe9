//! The NUMA nodes of the machine: their cores, their memory, and how far they are from each other.
//!
//! [`Topology::of_process`] is what a run and `warpline nodes` use. [`Topology::read`] takes
//! another directory with the same files, so that a test can show it any machine.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use thiserror::Error;

use super::system::{self, MemoryPolicy};

/// Where Linux shows the nodes.
const SYSFS: &str = "/sys/devices/system/node";
/// The most numbers that a list of the system may have: the kernel's own limits are lower.
const NUMBERS_MAX: usize = 1 << 16;

/// A directory that does not describe nodes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A file is missing or cannot be read.
    #[error("{}: {why}; it should describe the NUMA nodes as {SYSFS} does", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A file has other contents than the system writes.
    #[error("{}: `{text}` is no list of numbers such as 0-3,8", path.display())]
    NoList {
        /// The file.
        path: PathBuf,
        /// Its contents.
        text: String,
    },
}

/// A NUMA node: cores, and the memory that is close to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number in the system.
    pub id: u32,
    /// The cores of the node that may be used, in ascending order.
    pub cores: Vec<usize>,
    /// The bytes of its memory, and how many of them are free; `None` where that is not shown.
    pub memory_bytes: Option<[u64; 2]>,
    /// Whether memory may be taken from the node.
    pub has_memory: bool,
    /// The distances to the nodes, in their order; 10 is the node itself.
    pub distances: Vec<u32>,
}

/// The nodes of a machine, in ascending order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    nodes: Vec<Node>,
    policy: MemoryPolicy,
}

impl Topology {
    /// The nodes that `directory` describes, with the files that Linux has under
    /// `/sys/devices/system/node`.
    ///
    /// # Errors
    ///
    /// When files are missing, or are not as Linux writes them.
    pub fn read(directory: &Path) -> Result<Self, TopologyError> {
        let ids = list(&directory.join("online"))?;
        let node = |id: usize| {
            let path = directory.join(format!("node{id}"));
            let cores = list(&path.join("cpulist"))?;
            let memory_bytes = memory(&path.join("meminfo"));
            let has_memory = memory_bytes.is_none_or(|[total, _]| total > 0);
            let distances = fs::read_to_string(path.join("distance")).unwrap_or_default();
            let distances =
                distances.split_whitespace().map_while(|word| word.parse().ok()).collect();
            Ok(Node { id: id as u32, cores, memory_bytes, has_memory, distances })
        };
        let nodes = ids.into_iter().map(node).collect::<Result<_, _>>()?;
        Ok(Self { nodes, policy: MemoryPolicy::Local })
    }

    /// One node with these cores: a machine that does not show its nodes.
    #[must_use]
    pub fn single(cores: Vec<usize>) -> Self {
        debug_assert!(cores.is_sorted(), "the cores of a node are in ascending order");
        let node = Node { id: 0, cores, memory_bytes: None, has_memory: true, distances: vec![10] };
        Self { nodes: vec![node], policy: MemoryPolicy::Local }
    }

    /// The nodes of this machine, with the cores and the memory that the process may use: those of
    /// its affinity mask, its cpuset and its memory policy.
    #[must_use]
    pub fn of_process() -> Self {
        static MACHINE: OnceLock<Option<Topology>> = OnceLock::new();
        let machine = MACHINE.get_or_init(|| Self::read(Path::new(SYSFS)).ok());
        let cores = system::allowed_cores();
        machine.clone().map_or_else(
            || Self::single(cores.clone()),
            |machine| machine.limited_to(&cores, system::allowed_nodes().as_deref()),
        )
    }

    /// The part that a process with these cores, and with memory from these nodes, may use.
    #[must_use]
    pub fn limited_to(mut self, cores: &[usize], nodes: Option<&[u32]>) -> Self {
        for node in &mut self.nodes {
            node.cores.retain(|core| cores.contains(core));
            node.has_memory &= nodes.is_none_or(|nodes| nodes.contains(&node.id));
        }
        let known = |core: &&usize| self.nodes.iter().any(|node| node.cores.contains(core));
        if !cores.iter().all(|core| known(&core)) || self.nodes.is_empty() {
            // What the system shows does not fit what it lets the process use.
            return Self::single(cores.to_vec());
        }
        debug_assert!(
            self.cores().count() == cores.len(),
            "a core that the process may use is on two nodes, or on none"
        );
        self.policy = system::memory_policy();
        self
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Where the process takes its memory from, if nobody binds it.
    #[must_use]
    pub const fn policy(&self) -> MemoryPolicy {
        self.policy
    }

    /// The cores, node by node: workers that are bound in this order are side by side.
    pub fn cores(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().flat_map(|node| node.cores.iter().copied())
    }

    /// The node of a core.
    #[must_use]
    pub fn node_of_core(&self, core: usize) -> Option<&Node> {
        self.nodes.iter().find(|node| node.cores.contains(&core))
    }

    /// The node whose memory is nearest to the cores of node `id`: that node, if it has memory that
    /// the process may use.
    #[must_use]
    pub fn memory_near(&self, id: u32) -> Option<u32> {
        let from = self.nodes.iter().find(|node| node.id == id)?;
        let near = |(place, node): &(usize, &Node)| {
            (node.id != id, from.distances.get(*place).copied().unwrap_or(u32::MAX), node.id)
        };
        let candidates = self.nodes.iter().enumerate().filter(|(_, node)| node.has_memory);
        candidates.min_by_key(near).map(|(_, node)| node.id)
    }

    /// How many nodes have cores that may be used.
    #[must_use]
    pub fn nodes_with_cores(&self) -> usize {
        self.nodes.iter().filter(|node| !node.cores.is_empty()).count()
    }
}

/// The numbers of a file such as `0-3,8`.
fn list(path: &Path) -> Result<Vec<usize>, TopologyError> {
    let text = fs::read_to_string(path).map_err(|error| TopologyError::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    numbers(text.trim()).ok_or_else(|| TopologyError::NoList {
        path: path.to_owned(),
        text: text.trim().chars().take(40).collect(),
    })
}

/// The numbers of a list such as `0-3,8`, in ascending order; those of an empty one are none.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= NUMBERS_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    debug_assert!(numbers.last().is_none_or(|&last| last < NUMBERS_MAX), "a number too great");
    Some(numbers)
}

/// The total and the free bytes in a file `meminfo` of a node.
fn memory(path: &Path) -> Option<[u64; 2]> {
    let text = fs::read_to_string(path).ok()?;
    let bytes = |key| {
        let line = text.lines().find_map(|line| line.split_once(key))?.1;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    Some([bytes("MemTotal:")?, bytes("MemFree:")?])
}

// Miri has no files.
#[cfg(all(test, not(miri)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A directory with the files of these nodes: cores, memory in KiB, distances.
    fn machine(online: &str, nodes: &[(u32, &str, u64, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("online"), online).unwrap();
        for (id, cores, memory, distances) in nodes {
            let node = directory.path().join(format!("node{id}"));
            fs::create_dir(&node).unwrap();
            fs::write(node.join("cpulist"), format!("{cores}\n")).unwrap();
            fs::write(node.join("distance"), format!("{distances}\n")).unwrap();
            let text = format!(
                "Node {id} MemTotal:    {memory} kB\nNode {id} MemFree:  {} kB\n",
                memory / 2
            );
            fs::write(node.join("meminfo"), text).unwrap();
        }
        directory
    }

    /// Even cores on one node and odd ones on the other, and a third node without cores.
    fn interleaved() -> Topology {
        let nodes = [
            (0, "0,2,4,6", 4096, "10 21 30"),
            (1, "1,3,5,7", 0, "21 10 17"),
            (4, "", 8192, "30 17 10"),
        ];
        Topology::read(machine("0-1,4\n", &nodes).path()).unwrap()
    }

    #[test]
    fn nodes_are_read_as_the_system_writes_them() {
        let topology = interleaved();
        let ids: Vec<_> = topology.nodes().iter().map(|node| node.id).collect();
        assert_eq!(ids, [0, 1, 4]);
        assert_eq!(topology.nodes()[0].memory_bytes, Some([4 << 20, 2 << 20]));
        assert_eq!(topology.cores().collect::<Vec<_>>(), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(topology.node_of_core(3).map(|node| node.id), Some(1));
        assert_eq!(topology.nodes_with_cores(), 2);
    }

    #[test]
    fn memory_comes_from_the_nearest_node_that_has_some() {
        let topology = interleaved();
        assert_eq!([0, 1, 4].map(|id| topology.memory_near(id)), [Some(0), Some(4), Some(4)]);
        assert_eq!(topology.memory_near(2), None);
        let all: Vec<_> = (0..8).collect();
        let limited = topology.limited_to(&all, Some(&[0]));
        assert_eq!(limited.memory_near(1), Some(0));
    }

    /// A cpuset takes cores away; one that the nodes do not explain makes them worthless.
    #[test]
    fn a_process_has_its_cores_only() {
        let limited = interleaved().limited_to(&[1, 2, 3], None);
        assert_eq!(limited.cores().collect::<Vec<_>>(), [2, 1, 3]);
        let strange = interleaved().limited_to(&[1, 99], None);
        assert_eq!(strange, Topology::single(vec![1, 99]));
    }

    #[test]
    fn bad_files_are_errors_that_name_them() {
        let missing = Topology::read(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(missing.contains("/nowhere/at/all/online"), "{missing}");
        for bad in ["0-", "3-1", "x", "0,,1", "0-99999999999"] {
            let directory = machine("0", &[(0, bad, 1, "10")]);
            let error = Topology::read(directory.path()).unwrap_err().to_string();
            assert!(error.contains("node0/cpulist") && error.contains(bad), "{error}");
        }
    }

    /// The process's own nodes have exactly the cores that it may use.
    #[test]
    #[cfg_attr(miri, ignore = "there are no files of the system")]
    fn the_process_has_nodes() {
        let mut cores: Vec<_> = Topology::of_process().cores().collect();
        cores.sort_unstable();
        assert_eq!(cores, system::allowed_cores());
    }

    proptest! {
        #[test]
        fn lists_have_the_numbers_of_their_ranges(
            ranges in proptest::collection::vec((0_usize..200, 0_usize..9), 0..6)
        ) {
            let text = |&(first, more): &(usize, usize)| match more {
                0 => first.to_string(),
                _ => format!("{first}-{}", first + more),
            };
            let text = ranges.iter().map(text).collect::<Vec<_>>().join(",");
            let set: std::collections::BTreeSet<_> =
                ranges.iter().flat_map(|&(first, more)| first..=first + more).collect();
            prop_assert_eq!(numbers(&text), Some(set.into_iter().collect()));
        }

        #[test]
        fn no_text_panics(text in "[0-9,\\- x]{0,30}") {
            let _ = numbers(&text);
        }
    }
}
