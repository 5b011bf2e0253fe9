//! Nodes and edges: the shape of an event graph, which never changes.
//!
//! Edges are numbered by the node that they leave from, and then in the order in which they were
//! given.

use std::ops::Range;

use crate::PlanError;

/// A node's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// An edge's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

impl NodeId {
    /// The index in a table of all nodes.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl EdgeId {
    /// The index in a table of all edges.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The nodes and edges of a graph.
#[derive(Clone, Debug)]
pub struct Topology {
    /// By edge: the node it leaves from, and the node it leads to.
    ends: Vec<[NodeId; 2]>,
    /// By node: its first outgoing edge. One more entry marks the end.
    outgoing: Vec<u32>,
    /// The same for the indices in `incoming`.
    first_incoming: Vec<u32>,
    incoming: Vec<EdgeId>,
}

impl Topology {
    /// A graph of `nodes` nodes with edges `(from, to)`.
    ///
    /// # Errors
    ///
    /// When an edge leads from or to a node that does not exist, or there are 2^32 edges or nodes.
    pub fn new(
        nodes: usize,
        edges: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Self, PlanError> {
        let mut ends = Vec::new();
        let node = |index: usize| match u32::try_from(index) {
            Ok(number) if index < nodes => Ok(NodeId(number)),
            _ => Err(PlanError::NoSuchNode { node: index, nodes }),
        };
        for (from, to) in edges {
            ends.push([node(from)?, node(to)?]);
        }
        if u32::try_from(ends.len().max(nodes)).is_err() {
            return Err(PlanError::TooLarge);
        }
        // A stable sort keeps the order in which a node's edges were given.
        ends.sort_by_key(|[from, _]| *from);
        let outgoing = offsets(nodes, ends.iter().map(|ends| ends[0]));
        let first_incoming = offsets(nodes, ends.iter().map(|ends| ends[1]));
        let mut incoming: Vec<_> = (0..ends.len() as u32).map(EdgeId).collect();
        incoming.sort_by_key(|edge| ends[edge.index()][1]);
        Ok(Self { ends, outgoing, first_incoming, incoming })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.outgoing.len() - 1
    }

    /// How many edges there are.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.ends.len()
    }

    /// The node that an edge leaves from.
    #[inline]
    #[must_use]
    pub fn from(&self, edge: EdgeId) -> NodeId {
        self.ends[edge.index()][0]
    }

    /// The node that an edge leads to.
    #[inline]
    #[must_use]
    pub fn to(&self, edge: EdgeId) -> NodeId {
        self.ends[edge.index()][1]
    }

    /// The numbers of the edges that leave a node.
    #[inline]
    #[must_use]
    pub fn outgoing(&self, node: NodeId) -> Range<u32> {
        self.outgoing[node.index()]..self.outgoing[node.index() + 1]
    }

    /// The edges that lead to a node.
    #[inline]
    #[must_use]
    pub fn incoming(&self, node: NodeId) -> &[EdgeId] {
        let [first, end] = [0, 1].map(|next| self.first_incoming[node.index() + next] as usize);
        &self.incoming[first..end]
    }
}

/// The index of each node's first edge, when edges are sorted by node, and the end of the last
/// node's.
fn offsets(nodes: usize, of: impl Iterator<Item = NodeId>) -> Vec<u32> {
    let mut offsets = vec![0; nodes + 1];
    of.for_each(|node| offsets[node.index() + 1] += 1);
    for place in 0..nodes {
        offsets[place + 1] += offsets[place];
    }
    offsets
}
