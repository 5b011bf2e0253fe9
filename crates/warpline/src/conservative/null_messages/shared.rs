//! What the workers of a rank share: read-only tables, the hub of the event graph, and whether the
//! run is broken off.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use warpline_core::{Link, LpId, Model, VirtualTime, Wires};
use warpline_graph::{EdgeId, Hub, NodeId, Plan, PlanError, Schedule, Topology};

use super::{
    super::common::Common,
    channel_event::{ChannelEvent, EventCodec},
};
use crate::{
    ConfigError, RunError, SynchronizationKind,
    event::{Buffer, Message},
    local_lp::LocalLp,
    placement::links_from,
};

/// The state of the null-message algorithms that all workers of a rank share.
pub(in crate::conservative) struct NullMessageShared<'m, M: Model, B> {
    pub(super) common: Common<'m, M, B>,
    pub(super) codec: EventCodec<M>,
    pub(super) plan: Plan,
    /// By edge.
    pub(super) lookaheads: Vec<f64>,
    pub(super) hub: Hub<ChannelEvent<B>>,
    /// Nobody can go on, because a rank is lost, or fails outside of its main loop.
    broken: AtomicBool,
    /// By worker of this rank: the bits of a time before which it will not handle anything.
    pub(super) reached: Box<[AtomicU64]>,
}

impl<'m, M: Model, B: Buffer<Message<M>>> NullMessageShared<'m, M, B> {
    pub(super) fn new(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError> {
        let Common { model, settings, ranks, mode, directory, .. } = &common;
        let (topology, lookaheads) = network(*model, *mode, common.admission.lp_count())?;
        let shape = [ranks.count(), common.workers()];
        // An algorithm without edges never gets here.
        let capacity = settings.engine.synchronization.edge_capacity().unwrap_or_default();
        let plan = Plan::new(topology, &directory.partition(), shape, capacity);
        let plan = plan.map_err(|error| refused(&error, capacity))?;
        let plan = plan.aggregation(settings.engine.aggregation);
        Ok(Self {
            codec: EventCodec(wires),
            plan,
            lookaheads,
            hub: Hub::new(common.workers()),
            broken: AtomicBool::new(false),
            reached: (0..common.workers()).map(|_| AtomicU64::new(0)).collect(),
            common,
        })
    }

    /// Which ready LP of a worker has the next turn.
    pub(super) fn schedule(&self) -> Schedule {
        self.common.settings.engine.synchronization.schedule().unwrap_or_default()
    }

    /// The index of an LP at its worker.
    #[inline]
    pub(super) fn local_of(&self, node: NodeId) -> LocalLp {
        self.common.directory.place(LpId::new(node.0)).lp
    }

    /// The edge from one LP to another one.
    #[inline]
    pub(super) fn edge(&self, from: LpId, to: LpId) -> Option<EdgeId> {
        let topology = self.plan.topology();
        let edges = topology.outgoing(NodeId(from.get()));
        debug_assert!(edges.start <= edges.end, "links end before they begin");
        let (mut first, mut end) = (edges.start, edges.end);
        while first < end {
            let middle = first + (end - first) / 2;
            match topology.to(EdgeId(middle)).0.cmp(&to.get()) {
                std::cmp::Ordering::Less => first = middle + 1,
                std::cmp::Ordering::Equal => return Some(EdgeId(middle)),
                std::cmp::Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// Ends the run for all workers at once.
    pub(super) fn set_broken(&self) {
        // Ordering: Relaxed; it publishes nothing but itself.
        if !self.broken.swap(true, Ordering::Relaxed) {
            self.common.ranks.alert();
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        // Ordering: Relaxed; see `set_broken`.
        self.broken.load(Ordering::Relaxed)
    }
}

/// The LPs and their links as a graph, and the lookahead of each link.
fn network<M: Model>(
    model: &M,
    mode: SynchronizationKind,
    lps: usize,
) -> Result<(Topology, Vec<f64>), RunError> {
    let of_model = model.lookahead().unwrap_or(0.0);
    let links_of = |from| links_from(model, from, ("synchronization", &mode), "windows");
    network_of(lps, of_model, &links_of)
}

/// The same without the type of the model.
fn network_of(
    lps: usize,
    of_model: f64,
    links_of: &dyn Fn(LpId) -> Result<Vec<Link>, ConfigError>,
) -> Result<(Topology, Vec<f64>), RunError> {
    let (mut edges, mut lookaheads) = (Vec::new(), Vec::new());
    for from in (0..lps).map(LpId::from_index) {
        let links = links_of(from)?;
        for link in shortest_to_others(from, links) {
            if VirtualTime::new(link.lookahead).is_err() {
                let allowed =
                    format!("finite and not negative, on the link from {from:?} to {:?}", link.to);
                return Err(ConfigError::new("lookahead", link.lookahead, allowed).into());
            }
            edges.push((from.index(), link.to.index()));
            lookaheads.push(link.lookahead.max(of_model));
        }
    }
    debug_assert_eq!(edges.len(), lookaheads.len(), "a link without a lookahead");
    debug_assert!(edges.iter().all(|(from, to)| from != to), "a link to itself");
    let topology = Topology::new(lps, edges);
    let refused = |error: PlanError| ConfigError::new("links", error, "between LPs of the model");
    Ok((topology.map_err(refused)?, lookaheads))
}

/// Of two links to the same LP, the one with the shorter lookahead counts.
fn shortest_to_others(from: LpId, mut links: Vec<Link>) -> Vec<Link> {
    links.retain(|link| link.to != from);
    links.sort_by(|a, b| a.to.cmp(&b.to).then(a.lookahead.total_cmp(&b.lookahead)));
    links.dedup_by_key(|link| link.to);
    debug_assert!(links.windows(2).all(|pair| pair[0].to < pair[1].to), "two links to one LP");
    links
}

fn refused(error: &PlanError, edge_capacity: usize) -> ConfigError {
    ConfigError::new("edge-capacity", edge_capacity, format!("1 or more ({error})"))
}
