//! A machine of several nodes, what of Time Warp a replay takes with it, and where each number is
//! from.
//!
//! Figures choose the parameters, print [`NodeParams::constants`], and replay [`variations`] of
//! what nobody has measured.

use crate::{
    Constant, Provenance,
    machine::{Geometry, MachineParams, Replacement},
};

/// A machine of several nodes, with the costs of a run on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeParams {
    /// Its workers and their caches. A miss that memory serves has the cost of the near one.
    pub machine: MachineParams,
    /// Workers of a node, which have close numbers.
    pub workers_per_node: u32,
    /// The time of a far access by that of a near one.
    pub distance: f64,
    /// The part of a miss that a write waits for: nothing, if it goes into the cache while the
    /// program goes on.
    pub write_waits: f64,
    /// What handling an event takes without waiting for memory, and for each byte of state (ns).
    pub handling_ns: [f64; 2],
    /// What Time Warp does beside that for each event: records, queues, GVT (ns).
    pub overhead_ns: f64,
    /// LPs may move this many times in the part of the run that is replayed.
    pub looks: u32,
    /// LPs move when the busiest worker has had this many times the mean to do in `LOOKS` looks
    /// in a row.
    pub uneven: f64,
}

/// As with `--balance on`: looks in a row, and the part of what the busiest worker had that it has
/// after the move at most.
pub(super) const LOOKS: u32 = 3;
pub(super) const GAIN: f64 = 0.95;

impl NodeParams {
    /// The machine of the NUMA paper, 8 nodes of 4 cores; [`constants`](Self::constants) has the
    /// sources.
    #[must_use]
    pub const fn opteron() -> Self {
        Self {
            machine: MachineParams::opteron(),
            workers_per_node: 4,
            distance: 2.0,
            write_waits: 0.0,
            handling_ns: [60.0, 0.07],
            overhead_ns: 100.0,
            looks: 40,
            uneven: 1.1,
        }
    }

    /// One core of it, which has the L3 of its node for itself.
    #[must_use]
    pub const fn one_core(self) -> Self {
        let cache = Some(Geometry { sets: 6656, ways: 16 });
        let machine = MachineParams { workers: 1, cache, ..self.machine };
        Self { machine, workers_per_node: 1, ..self }
    }

    /// All numbers with their sources: those of a replay, and those of the machine.
    #[must_use]
    pub fn constants(&self) -> Vec<Constant> {
        use Provenance::{Estimated, Fitted, Measured, Ours, Paper};
        // Without `..`: a new field has to say where it is from.
        let Self {
            machine,
            workers_per_node,
            distance,
            write_waits,
            handling_ns: [fixed, per_byte],
            overhead_ns,
            looks,
            uneven,
        } = *self;
        let mut constants = vec![
            Constant::number("workers", machine.workers.into(), "", machine.sources.workers),
            Constant::number("cores of a node", workers_per_node.into(), "", Paper("section 4")),
            Constant::number(
                "a far access by a near one",
                distance,
                "",
                Paper("section 4: distances of 10 and 20"),
            ),
            Constant::number(
                "the part of a miss that a write waits for",
                write_waits,
                "",
                Paper("section 3.3: remote reads cost, and remote writes do not"),
            ),
            Constant::number(
                "handling an event",
                fixed,
                "ns",
                Measured("a profile of traffic on an AMD EPYC"),
            ),
            Constant::number(
                "handling, for each byte that is read",
                per_byte,
                "ns",
                Measured("a profile of traffic on an AMD EPYC"),
            ),
            Constant::number(
                "what Time Warp does beside it for each event",
                overhead_ns,
                "ns",
                Estimated("of the order of what one worker takes more than the sequential engine"),
            ),
            Constant::number(
                "looks at the load in the run",
                f64::from(looks),
                "",
                Fitted("a look is a second of the paper's wall time, whose length it does not say"),
            ),
            Constant::number(
                "LPs move from this many times the mean on",
                uneven,
                "",
                Ours("the rule of `--balance on`"),
            ),
        ];
        constants.extend(machine.constants());
        constants
    }
}

/// A change of a number that nobody has measured.
#[derive(Clone, Copy, Debug)]
pub struct Variation {
    /// What is changed, and how.
    pub name: &'static str,
    /// Makes the change.
    pub apply: fn(NodeParams) -> NodeParams,
}

/// Twice and half of every number that is estimated or fitted, or measured on another machine, the
/// other rule of replacement, and the other end of what the paper only says in words. Changes of
/// the caches are without a change of the sequential run.
#[must_use]
pub fn variations() -> Vec<Variation> {
    let of = |name, apply| Variation { name, apply };
    vec![
        of("a far access takes 1.2 times a near one", |p| NodeParams { distance: 1.2, ..p }),
        of("a far access takes 4 times a near one", |p| NodeParams { distance: 4.0, ..p }),
        of("writes wait for misses as reads do", |p| NodeParams { write_waits: 1.0, ..p }),
        of("half of Time Warp's own time", |p| NodeParams { overhead_ns: 50.0, ..p }),
        of("twice Time Warp's own time", |p| NodeParams { overhead_ns: 200.0, ..p }),
        of("half as many looks at the load", |p| NodeParams { looks: 20, ..p }),
        of("twice as many looks at the load", |p| NodeParams { looks: 80, ..p }),
        of("half the time of a hit", |p| costs(p, [0.5, 1.0, 1.0, 1.0])),
        of("twice the time of a hit", |p| costs(p, [2.0, 1.0, 1.0, 1.0])),
        of("half the time of a line from memory", |p| costs(p, [1.0, 0.5, 1.0, 1.0])),
        of("twice the time of a line from memory", |p| costs(p, [1.0, 2.0, 1.0, 1.0])),
        of("half the time of another worker's line", |p| costs(p, [1.0, 1.0, 0.5, 1.0])),
        of("twice the time of another worker's line", |p| costs(p, [1.0, 1.0, 2.0, 1.0])),
        of("half the time of a page walk", |p| costs(p, [1.0, 1.0, 1.0, 0.5])),
        of("twice the time of a page walk", |p| costs(p, [1.0, 1.0, 1.0, 2.0])),
        of("half the time of handling an event", |p| handling(p, 0.5)),
        of("twice the time of handling an event", |p| handling(p, 2.0)),
        of("lines leave a full set at random", |p| {
            let replacement = Replacement::Random(1);
            NodeParams { machine: MachineParams { replacement, ..p.machine }, ..p }
        }),
        of("a quarter of the cache", |p| cache(p, 512)),
        of("twice the cache", |p| cache(p, 4096)),
    ]
}

/// Other times of a hit, of a line from memory, of one from another worker, and of a page walk.
fn costs(params: NodeParams, [hit, memory, remote, page]: [f64; 4]) -> NodeParams {
    let mut costs = params.machine.costs;
    costs.hit_ns *= hit;
    costs.memory_miss_ns *= memory;
    costs.remote_miss_ns *= remote;
    costs.far_miss_ns *= remote;
    costs.announcement_ns *= remote;
    costs.page_miss_ns *= page;
    NodeParams { machine: MachineParams { costs, ..params.machine }, ..params }
}

/// Other times of handling.
fn handling(params: NodeParams, times: f64) -> NodeParams {
    NodeParams { handling_ns: params.handling_ns.map(|ns| times * ns), ..params }
}

/// Another size of a worker's cache.
fn cache(params: NodeParams, sets: u32) -> NodeParams {
    let cache = Some(Geometry { sets, ways: 16 });
    NodeParams { machine: MachineParams { cache, ..params.machine }, ..params }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every variation changes something, and every number that was estimated or fitted, or was
    /// measured on another machine, is changed by one.
    #[test]
    fn variations_are_changes() {
        let params = NodeParams::opteron();
        let changed: Vec<_> = variations().iter().map(|v| (v.apply)(params)).collect();
        for (nth, change) in changed.iter().enumerate() {
            assert!(
                *change != params && !changed[..nth].contains(change),
                "{}",
                variations()[nth].name
            );
        }
        use Provenance::{Estimated, Fitted, Measured};
        for constant in params.constants() {
            let is_weak = matches!(constant.from, Estimated(_) | Fitted(_) | Measured(_));
            let varies = |change: &NodeParams| !change.constants().contains(&constant);
            assert!(!is_weak || changed.iter().any(varies), "nothing varies \"{constant}\"");
        }
    }
}
