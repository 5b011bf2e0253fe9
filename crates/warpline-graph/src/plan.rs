//! What all workers agree on before there is an event graph: its shape, which worker has which
//! node, and the techniques.
//!
//! Made once per rank, and shared by the rank's workers. All ranks make the same plan, which they
//! check by its [fingerprint](Plan::fingerprint).

use warpline_net::{Address, Aggregation};

use crate::{EdgeId, NodeId, PlanError, Topology};

/// The techniques of the paper's section 4.2, which the crate's documentation describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Techniques {
    /// A send is complete at once, not when it is acknowledged.
    pub lazy_sends: bool,
    /// An event goes to each worker once, not to each node.
    pub caching: bool,
    /// Credits return to the sender for many events together, not for each.
    pub replicated_flow_control: bool,
}

impl Default for Techniques {
    fn default() -> Self {
        Self { lazy_sends: true, caching: true, replicated_flow_control: true }
    }
}

/// The edges from one node to one worker: a range of the table of listeners.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fan {
    pub(crate) worker: u32,
    first: u32,
    end: u32,
}

/// The shape, the placement and the techniques of an event graph.
#[derive(Clone, Debug)]
pub struct Plan {
    topology: Topology,
    /// Workers of each rank.
    ports: usize,
    workers: usize,
    capacity: u32,
    techniques: Techniques,
    aggregation: Aggregation,
    /// By node.
    worker_of: Vec<u32>,
    /// By edge: its index among those that leave from its sender's worker, and among those that
    /// lead to its receiver's.
    places: Vec<[u32; 2]>,
    /// By worker: how many edges leave from it, and how many lead to it.
    counts: Vec<[u32; 2]>,
    /// By node: its first fan. One more entry marks the end.
    first_fans: Vec<u32>,
    fans: Vec<Fan>,
    /// All edges, sorted by sender, and then by the receiver's worker.
    listeners: Vec<EdgeId>,
}

impl Plan {
    /// A plan for `ranks` ranks of `ports` workers each. `partition` has the worker of each node,
    /// where workers are numbered rank after rank, and edges hold `capacity` events.
    ///
    /// # Errors
    ///
    /// When these do not fit together.
    pub fn new(
        topology: Topology,
        partition: &[usize],
        [ranks, ports]: [usize; 2],
        capacity: usize,
    ) -> Result<Self, PlanError> {
        let (nodes, workers) = (topology.nodes(), ranks * ports);
        if partition.len() != nodes {
            return Err(PlanError::OtherPartition { entries: partition.len(), nodes });
        }
        if let Some(node) = partition.iter().position(|&worker| worker >= workers) {
            return Err(PlanError::NoSuchWorker { node, worker: partition[node], workers });
        }
        let capacity = u32::try_from(capacity).ok().filter(|count| (1..=1 << 30).contains(count));
        let capacity = capacity.ok_or(PlanError::Capacity)?;
        let worker_of: Vec<u32> = partition.iter().map(|&worker| worker as u32).collect();
        let mut counts = vec![[0; 2]; workers];
        let place = |edge| {
            let ends = [topology.from(EdgeId(edge)), topology.to(EdgeId(edge))];
            let mut next = |side: usize| {
                let count: &mut u32 = &mut counts[worker_of[ends[side].index()] as usize][side];
                *count += 1;
                *count - 1
            };
            [next(0), next(1)]
        };
        let places = (0..topology.edges() as u32).map(place).collect();
        let mut plan = Self {
            topology,
            ports,
            workers,
            capacity,
            techniques: Techniques::default(),
            aggregation: Aggregation::default(),
            worker_of,
            places,
            counts,
            first_fans: Vec::new(),
            fans: Vec::new(),
            listeners: Vec::new(),
        };
        plan.find_fans();
        Ok(plan)
    }

    /// Groups every node's edges by the worker that they lead to.
    fn find_fans(&mut self) {
        for node in 0..self.topology.nodes() as u32 {
            self.first_fans.push(self.fans.len() as u32);
            let begin = self.listeners.len();
            self.listeners.extend(self.topology.outgoing(NodeId(node)).map(EdgeId));
            let worker_of = |edge: &EdgeId| self.worker_of[self.topology.to(*edge).index()];
            self.listeners[begin..].sort_by_key(worker_of);
            let mut first = begin;
            for group in self.listeners[begin..].chunk_by(|a, b| worker_of(a) == worker_of(b)) {
                let end = first + group.len();
                let worker = worker_of(&group[0]);
                self.fans.push(Fan { worker, first: first as u32, end: end as u32 });
                first = end;
            }
        }
        self.first_fans.push(self.fans.len() as u32);
    }

    /// Uses only these techniques.
    #[must_use]
    pub fn techniques(mut self, techniques: Techniques) -> Self {
        self.techniques = techniques;
        self
    }

    /// Aggregates messages like this, within ranks and between them.
    #[must_use]
    pub fn aggregation(mut self, aggregation: Aggregation) -> Self {
        self.aggregation = aggregation;
        self
    }

    /// The nodes and edges.
    #[inline]
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How many events an edge holds.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// How many workers there are, at all ranks.
    #[must_use]
    pub const fn workers(&self) -> usize {
        self.workers
    }

    /// The worker that has a node.
    #[inline]
    #[must_use]
    pub fn worker_of(&self, node: NodeId) -> usize {
        self.worker_of[node.index()] as usize
    }

    /// The index of an edge among those that lead to the same worker.
    #[inline]
    #[must_use]
    pub fn place(&self, edge: EdgeId) -> usize {
        self.places[edge.index()][1] as usize
    }

    /// How many edges lead to a worker.
    #[must_use]
    pub fn incoming_count(&self, worker: usize) -> usize {
        self.counts[worker][1] as usize
    }

    /// From how many nodes several edges lead to a worker that get one copy of an event.
    pub(crate) fn shared_count(&self, worker: usize) -> usize {
        let nodes = (0..self.topology.nodes() as u32).map(NodeId);
        let shares = |node: &NodeId| self.listeners(*node, worker).len() > 1;
        if self.techniques.caching { nodes.filter(shares).count() } else { 0 }
    }

    /// The edges from a node to the nodes of one worker.
    #[must_use]
    pub fn listeners(&self, node: NodeId, worker: usize) -> &[EdgeId] {
        let fan = self.fans(node).iter().find(|fan| fan.worker as usize == worker);
        fan.map_or(&[], |fan| self.fan(fan))
    }

    /// A hash of the plan and of `more`, by which ranks find out whether they have the same of
    /// both.
    #[must_use]
    pub fn fingerprint(&self, more: u64) -> u64 {
        let Techniques { lazy_sends, caching, replicated_flow_control } = self.techniques;
        let techniques = [lazy_sends, caching, replicated_flow_control].map(u64::from);
        let sizes = [self.ports as u64, self.workers as u64, u64::from(self.capacity), more];
        let ends = (0..self.topology.edges() as u32).map(EdgeId).map(|edge| {
            let [from, to] = [self.topology.from(edge), self.topology.to(edge)];
            u64::from(from.0) << 32 | u64::from(to.0)
        });
        let partition = self.worker_of.iter().map(|&worker| u64::from(worker));
        // FNV-1a, on words.
        let hash = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        let words = techniques.into_iter().chain(sizes).chain(ends).chain(partition);
        words.fold(0xcbf2_9ce4_8422_2325, hash)
    }

    #[inline]
    pub(crate) const fn uses(&self) -> Techniques {
        self.techniques
    }

    pub(crate) const fn aggregates(&self) -> Aggregation {
        self.aggregation
    }

    pub(crate) const fn ports(&self) -> usize {
        self.ports
    }

    #[inline]
    pub(crate) const fn address(&self, worker: usize) -> Address {
        Address { rank: worker / self.ports, port: worker % self.ports }
    }

    #[inline]
    pub(crate) fn place_at_sender(&self, edge: EdgeId) -> usize {
        self.places[edge.index()][0] as usize
    }

    pub(crate) fn outgoing_count(&self, worker: usize) -> usize {
        self.counts[worker][0] as usize
    }

    #[inline]
    pub(crate) fn fans(&self, node: NodeId) -> &[Fan] {
        let [first, end] = [0, 1].map(|next| self.first_fans[node.index() + next] as usize);
        &self.fans[first..end]
    }

    #[inline]
    pub(crate) fn fan(&self, fan: &Fan) -> &[EdgeId] {
        &self.listeners[fan.first as usize..fan.end as usize]
    }
}
