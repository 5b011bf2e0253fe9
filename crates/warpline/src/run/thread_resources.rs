//! The resources of a thread: the core that it is bound to, and the memory that it takes.
//!
//! Every parallel engine lets a worker's thread take its resources before the worker makes
//! anything, and give them back at the end. What the worker makes in between is allocated in a heap
//! of its own, on its node, if the settings say so: records, pending events, mail, LPs. (A worker
//! of Time Warp takes its heap along to other threads: [`ThreadResources::give_home`].)

use std::{num::NonZero, time::Duration};

use warpline_memory::{
    Binding, Home, PlatformRoute, Residency, Topology, bind_worker, running_threads,
};

use super::{ranks::Ranks, threads};
use crate::{
    crowd,
    placement::LpDirectory,
    settings::{MemoryPlacement, Parallel, Placement},
};

impl Ranks<'_> {
    /// The same where this number of ranks are threads of this process.
    pub(crate) const fn sharing_cores(mut self, ranks: usize) -> Self {
        assert!(ranks > 0, "this rank is one of them");
        self.in_process = ranks;
        self
    }

    /// The cores that this rank may keep busy, at least one.
    pub(crate) fn cores(&self) -> usize {
        (threads::cores() / self.in_process).max(1)
    }

    /// How many of these cores no thread uses at this moment, apart from the calling one: a guess,
    /// for how a run of this number of workers begins. All of them, where nobody can tell. The more
    /// LPs, the longer it takes to make them, and the longer this looks for a core for each worker.
    ///
    /// One worker alone works on the core that it has. Nobody looks for it: many runs of some
    /// microseconds, which begin beside each other, would be ten times as slow.
    pub(crate) fn idle_cores(&self, workers: usize, lps: usize) -> usize {
        /// To make an LP and its first events takes longer than this.
        const OF_AN_LP: Duration = Duration::from_nanos(100);
        const LEAST: Duration = Duration::from_micros(120);
        const MOST: Duration = Duration::from_millis(10);
        if workers <= 1 {
            return 1;
        }
        let patience = OF_AN_LP.saturating_mul(u32::try_from(lps).unwrap_or(u32::MAX));
        let few = (self.cores() + 1).saturating_sub(workers).max(1);
        let look = || running_threads(few, patience.clamp(LEAST, MOST));
        let running = if self.in_process == 1 { look() } else { None };
        let others = running.map_or(0, |running| running.saturating_sub(1));
        self.cores().saturating_sub(others)
    }

    /// How many of these workers work on each rank, and where their LPs are: not all, if they are a
    /// [crowd]. Ranks that are processes may be on machines with other numbers of cores, and would
    /// not agree on it.
    pub(crate) fn uncrowded(
        &self,
        (workers, placement): (usize, &Placement),
        per_core: usize,
    ) -> Option<(usize, Placement)> {
        let fewer = crowd::uncrowded(workers, self.cores(), per_core);
        let are_threads = self.count() == self.in_process;
        let of_all = |workers| workers * self.count();
        let placement = || crowd::among_fewer(placement, of_all(workers), of_all(fewer));
        (are_threads && fewer < workers).then(|| (fewer, placement()))
    }
}

/// The names of what is counted, in reports.
const PAGES: &str = "pages";
const AT_HOME: &str = "pages_at_home";
const REFUSED: &str = "bindings_refused";
const BEYOND: &str = "bindings_beyond_limit";

/// What a worker has of the machine. It is the thread's, for as long as it lives.
#[derive(Debug)]
pub(crate) struct ThreadResources {
    // Dropped in this order: the thread leaves its heap before the heap loses its owner.
    route: Option<PlatformRoute>,
    home: Option<Home>,
    node: Option<u32>,
    /// Whether it has given its heap to a worker.
    gives: bool,
    binding: Option<Binding>,
}

impl ThreadResources {
    /// Binds the thread of worker `me` of this rank to a core, and its memory to the node of the
    /// core, if the settings say so. Ranks that are threads of one process share its cores.
    pub(crate) fn take(directory: &LpDirectory, me: usize, settings: &Parallel<'_>) -> Self {
        let bind = || bind_worker(directory.global(me).index(), directory.workers());
        let binding = settings.pin.then(bind);
        let topology = Topology::of_process();
        if !has_homes(settings.memory_placement, &topology) {
            return Self { route: None, home: None, node: None, gives: false, binding };
        }
        let node = binding.as_ref().and_then(Binding::node);
        let node = node.and_then(|node| topology.memory_near(node));
        let home = Home::of_worker(node);
        let node = home.as_ref().and_then(Home::node);
        Self { route: home.as_ref().map(Home::enter), home, node, gives: false, binding }
    }

    /// Gives the heap to a worker, which enters it when it works, on whatever thread; each further
    /// worker of this thread gets another one. From now on, the thread allocates as a program
    /// without heaps does.
    pub(crate) fn give_home(&mut self) -> Option<Home> {
        debug_assert!(!self.gives || self.home.is_none(), "a heap has two workers");
        self.route = None;
        let another = || if self.gives { Home::of_worker(self.node) } else { None };
        let home = self.home.take().or_else(another);
        self.gives = home.is_some();
        home
    }

    /// The binding of the thread, if it was bound.
    pub(crate) fn bindings(&mut self) -> impl Iterator<Item = &mut Binding> {
        self.binding.iter_mut()
    }

    /// The node that the thread's memory is on, if it is known.
    pub(crate) const fn node(&self) -> Option<u32> {
        self.node
    }

    /// Gives the resources back; says where the memory lies that was taken.
    pub(crate) fn give_back(self) -> Option<Residency> {
        debug_assert!(
            self.route.is_none() || self.home.is_some(),
            "the thread is in a heap that it has given away"
        );
        drop(self.route);
        self.home.as_ref().map(Home::residency)
    }
}

/// How many nodes have memory.
fn nodes_with_memory(topology: &Topology) -> usize {
    topology.nodes().iter().filter(|node| node.has_memory).count()
}

/// Whether workers have heaps of their own.
fn has_homes(placement: MemoryPlacement, topology: &Topology) -> bool {
    match placement {
        MemoryPlacement::Off => false,
        MemoryPlacement::Worker | MemoryPlacement::Lp => true,
        MemoryPlacement::Auto => nodes_with_memory(topology) > 1,
    }
}

/// The counters of a report for the memory of all threads, if any had some of its own.
/// (Compiled once: whose results they are of does not matter.)
pub(crate) fn counters(
    resources: &mut dyn Iterator<Item = Option<Residency>>,
) -> Vec<(&'static str, u64)> {
    let Some(all) = resources.flatten().reduce(Residency::plus) else { return Vec::new() };
    debug_assert!(all.pages_at_home <= all.pages, "more pages are at home than there are");
    vec![
        (PAGES, all.pages),
        (AT_HOME, all.pages_at_home),
        (REFUSED, all.refused),
        (BEYOND, all.beyond_limit),
    ]
}

/// What a report says of the placement of memory.
pub(crate) fn remark(
    settings: &Parallel<'_>,
    counters: &[(&'static str, u64)],
    topology: &Topology,
) -> Option<String> {
    let placement = settings.memory_placement;
    if !has_homes(placement, topology) {
        return None;
    }
    let count = |name| counters.iter().find(|(key, _)| *key == name).map(|(_, count)| *count);
    let outcome = match (count(PAGES), count(AT_HOME), count(REFUSED)) {
        (None, ..) if Home::of_worker(None).is_none() => {
            "this program has not installed Warpline's allocator (`warpline::nodes::NodeAllocator`)\
             , or the system has no addresses to spare; pages lie where they are first touched"
                .to_owned()
        }
        _ if nodes_with_memory(topology) < 2 => {
            "this machine has a single NUMA node, so there is nothing to gain".to_owned()
        }
        (.., Some(refused)) if refused > 0 => format!(
            "the system refused to bind memory to nodes {refused} times (in a container, allow \
             `mbind`); pages lie where they are first touched"
        ),
        _ if count(BEYOND).is_some_and(|runs| runs > 0) => format!(
            "the system has room for a number of mappings only (`vm.max_map_count`), so {} pieces \
             of memory were not bound to nodes; their pages lie where they are first touched",
            count(BEYOND).unwrap_or(0)
        ),
        (Some(pages), Some(at_home), _) if let Some(pages) = NonZero::new(pages) => format!(
            "{at_home} of {pages} pages of the workers {}lie on the nodes of their workers \
             ({:.1} %)",
            if placement == MemoryPlacement::Lp { "and of their LPs " } else { "" },
            100.0 * at_home as f64 / pages.get() as f64
        ),
        _ => "workers are not bound to cores, so their memory cannot be bound to nodes".to_owned(),
    };
    Some(format!("memory placement {placement}: {outcome}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings::{Numa, Settings, TimeWarp};

    /// A machine with this many nodes of one core each.
    fn machine(nodes: usize) -> Topology {
        // Tests run at the same time, in threads of several processes.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let directory = std::env::temp_dir().join(format!("nodes-{nodes}-{process}-{thread:?}"));
        for node in 0..nodes {
            let path = directory.join(format!("node{node}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("cpulist"), format!("{node}\n")).unwrap();
        }
        fs::write(directory.join("online"), format!("0-{}\n", nodes - 1)).unwrap();
        let topology = Topology::read(&directory).unwrap();
        fs::remove_dir_all(directory).unwrap();
        topology
    }

    fn remark_of(placement: MemoryPlacement, nodes: usize, counts: [u64; 4]) -> Option<String> {
        let engine = TimeWarp { numa: Numa::new(placement), ..TimeWarp::default() };
        let settings = Settings { engine, ..Settings::default() };
        let counters: Vec<_> = [PAGES, AT_HOME, REFUSED, BEYOND].into_iter().zip(counts).collect();
        remark(&settings.parallel(), &counters, &machine(nodes))
    }

    #[test]
    fn auto_places_where_there_is_a_choice() {
        use MemoryPlacement::{Auto, Off, Worker};
        let places = |placement| [1, 2].map(|nodes| has_homes(placement, &machine(nodes)));
        assert_eq!([Off, Worker, Auto].map(places), [[false; 2], [true; 2], [false, true]]);
        assert_eq!(remark_of(Off, 4, [8, 8, 0, 0]), None);
        assert_eq!(remark_of(Auto, 1, [8, 8, 0, 0]), None);
    }

    /// What the remark says of each case.
    #[test]
    fn the_remark_names_the_reason() {
        let says = |nodes, counts, part: &str| {
            let text = remark_of(MemoryPlacement::Worker, nodes, counts).unwrap();
            assert!(text.contains(part), "{text}");
        };
        says(1, [8, 8, 0, 0], "single NUMA node");
        says(4, [8, 8, 0, 7], "so 7 pieces of memory were not bound");
        says(4, [8, 8, 3, 0], "refused to bind memory to nodes 3 times");
        says(
            4,
            [8, 6, 0, 0],
            "6 of 8 pages of the workers lie on the nodes of their workers (75.0 %)",
        );
        says(4, [0, 0, 0, 0], "not bound to cores");
    }
}
