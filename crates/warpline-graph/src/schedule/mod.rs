//! Which ready node of a worker runs next: the trait of schedulers, which users can implement, and
//! the policies that come with the crate.
//!
//! A node is ready when it may handle an event. Whoever runs nodes, as the null-message engine
//! does, puts those that become ready into [`ReadyNodes`] and takes the next one from there. The
//! paper's simulator does the same with "a scheduler which has knowledge of the simulation time":
//! that is the default, and it is compiled into the loop. Another [`NodeScheduler`] is called
//! through a pointer.
//!
//! | module            | the node that runs next                                              |
//! |-------------------|----------------------------------------------------------------------|
//! | `simulation_time` | the one whose next event is the earliest                             |
//! | `fifo`            | the one that became ready first                                      |
//! | `lifo`            | the one that became ready last                                       |
//!
//! A policy is a file with an implementation of [`NodeScheduler`], and a line in [`Schedule::ALL`].
//!
//! # Invariants
//!
//! - **READY-A.** A node that is put in is taken out, and only once, whatever the scheduler names.
//!   So a bad scheduler makes a run slow and not wrong. Beside a scheduler that is not the default,
//!   [`ReadyNodes`] has a table of what is ready: it asks again when a node is named that is not,
//!   and takes the first of the table when none is named although some are ready.
//!
//! # References
//!
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, section
//! 3.2. The schedulers of `warpline-runtime` are for threads of programs.

mod fifo;
mod lifo;
mod simulation_time;

use std::{fmt, hash, str};

use simulation_time::SimulationTime;

/// A node that is ready. They are ordered by simulation time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadyNode {
    /// The bits of a time that is not negative: they compare as the times do.
    time: u64,
    /// The step of its next event within the instant, if events without delay take steps.
    pub step: u32,
    /// The node's index among those of its worker.
    pub index: u32,
}

impl ReadyNode {
    /// The node with this index, whose next event is at this time, which is not negative.
    #[inline]
    #[must_use]
    pub const fn new(index: u32, time: f64, step: u32) -> Self {
        Self { time: time.to_bits(), step, index }
    }

    /// The simulation time of its next event.
    #[inline]
    #[must_use]
    pub const fn time(&self) -> f64 {
        f64::from_bits(self.time)
    }
}

/// Decides which of the nodes that are ready runs next.
///
/// It never changes what a simulation commits, and no node waits forever: a worker runs every node
/// that is ready before it rests (READY-A).
pub trait NodeScheduler: fmt::Debug {
    /// A node is ready, or the next event of one that is ready is now an earlier one.
    fn push(&mut self, node: ReadyNode);

    /// The index of the node that runs next, which is no longer ready then. One that was named
    /// before and has not been pushed since is passed over.
    fn pop(&mut self) -> Option<u32>;
}

/// A policy by name, which makes a scheduler for each worker. Equal names are equal policies.
#[derive(Clone, Copy)]
pub struct Schedule {
    name: &'static str,
    /// None is the default, which needs no pointer.
    make: Option<fn() -> Box<dyn NodeScheduler>>,
}

impl Schedule {
    /// The paper's: the node whose next event is the earliest runs next.
    pub const SIMULATION_TIME: Self = Self { name: "simulation-time", make: None };
    /// Every policy that comes with the crate.
    pub const ALL: &'static [Self] = &[
        Self::SIMULATION_TIME,
        Self::new("fifo", || Box::<fifo::Fifo>::default()),
        Self::new("lifo", || Box::<lifo::Lifo>::default()),
    ];

    /// A policy of the user's own.
    #[must_use]
    pub const fn new(name: &'static str, make: fn() -> Box<dyn NodeScheduler>) -> Self {
        Self { name, make: Some(make) }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::SIMULATION_TIME
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Schedule {}

impl hash::Hash for Schedule {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schedule").field(&self.name).finish()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// The name of one of [`Schedule::ALL`].
impl str::FromStr for Schedule {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|schedule| schedule.name == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|schedule| schedule.name).collect();
            format!("not a scheduler of nodes: one of {}", names.join(", "))
        })
    }
}

/// The nodes of one worker that are ready.
#[derive(Debug)]
pub struct ReadyNodes(Order);

#[derive(Debug)]
enum Order {
    ByTime(SimulationTime),
    Chosen(Chosen),
}

impl ReadyNodes {
    /// No node is ready yet.
    #[must_use]
    pub fn new(schedule: Schedule) -> Self {
        Self(match schedule.make {
            None => Order::ByTime(SimulationTime::default()),
            Some(make) => Order::Chosen(Chosen::new(make())),
        })
    }

    /// Whether there is nothing to take out.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Order::ByTime(order) => order.0.is_empty(),
            Order::Chosen(chosen) => chosen.ready == 0,
        }
    }

    /// A node is ready, or its next event is now an earlier one.
    #[inline]
    pub fn push(&mut self, node: ReadyNode) {
        match &mut self.0 {
            Order::ByTime(order) => order.push(node),
            Order::Chosen(chosen) => chosen.push(node),
        }
    }

    /// The node that runs next, as it was last put in. By simulation time, a node whose next event
    /// has become an earlier one comes out once more, as it was put in before that.
    #[inline]
    pub fn pop(&mut self) -> Option<ReadyNode> {
        match &mut self.0 {
            Order::ByTime(order) => order.pop(),
            Order::Chosen(chosen) => chosen.pop(),
        }
    }
}

/// A scheduler that is not the default, and what is ready, in case it errs.
#[derive(Debug)]
struct Chosen {
    scheduler: Box<dyn NodeScheduler>,
    /// By index: the node, if it is ready.
    table: Vec<Option<ReadyNode>>,
    /// How many are.
    ready: usize,
    /// How often the scheduler can name a node that it was given and has not named yet.
    given: usize,
}

impl Chosen {
    const fn new(scheduler: Box<dyn NodeScheduler>) -> Self {
        Self { scheduler, table: Vec::new(), ready: 0, given: 0 }
    }

    fn push(&mut self, node: ReadyNode) {
        let index = node.index as usize;
        if self.table.len() <= index {
            self.table.resize(index + 1, None);
        }
        let before = self.table[index].replace(node);
        self.ready += usize::from(before.is_none());
        self.given += 1;
        self.scheduler.push(node);
    }

    /// READY-A: only what is in the table, and all of it.
    fn pop(&mut self) -> Option<ReadyNode> {
        while self.ready > 0 && self.given > 0 {
            let Some(index) = self.scheduler.pop() else { break };
            self.given -= 1;
            if let Some(node) = self.table.get_mut(index as usize).and_then(Option::take) {
                self.ready -= 1;
                return Some(node);
            }
        }
        let node = self.table.iter_mut().find_map(Option::take)?;
        self.ready -= 1;
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: [f64; 4] = [3.0, 1.0, 4.0, 2.0];

    /// The indices in the order in which they come out.
    fn drain(ready: &mut ReadyNodes) -> Vec<u32> {
        std::iter::from_fn(|| ready.pop()).map(|node| node.index).collect()
    }

    fn filled(schedule: Schedule) -> ReadyNodes {
        let mut ready = ReadyNodes::new(schedule);
        for (index, time) in (0..).zip(TIMES) {
            ready.push(ReadyNode::new(index, time, 0));
        }
        ready
    }

    #[test]
    fn each_policy_has_its_order() {
        for (name, order) in
            [("simulation-time", [1, 3, 0, 2]), ("fifo", [0, 1, 2, 3]), ("lifo", [3, 2, 1, 0])]
        {
            let mut ready = filled(name.parse().unwrap());
            assert_eq!(drain(&mut ready), order, "{name}");
            assert!(ready.is_empty());
        }
        let error = "random".parse::<Schedule>().unwrap_err();
        assert!(error.ends_with("one of simulation-time, fifo, lifo"), "{error}");
    }

    /// A node that gets an earlier event runs once, for that event.
    #[test]
    fn a_node_with_an_earlier_event_is_ready_once() {
        for name in ["fifo", "lifo"] {
            let mut ready = filled(name.parse().unwrap());
            ready.push(ReadyNode::new(2, 0.5, 0));
            let nodes: Vec<_> = std::iter::from_fn(|| ready.pop()).collect();
            assert_eq!(nodes.len(), TIMES.len(), "{name}: {nodes:?}");
            assert!(nodes.contains(&ReadyNode::new(2, 0.5, 0)), "{name}: {nodes:?}");
        }
    }

    /// Names the same node again and again, nodes that do not exist, or none.
    #[derive(Debug)]
    struct Wrong(Option<u32>);

    impl NodeScheduler for Wrong {
        fn push(&mut self, _: ReadyNode) {}

        fn pop(&mut self) -> Option<u32> {
            self.0
        }
    }

    /// READY-A: all nodes come out once each. (With the table left out, none does, or one does
    /// without end.)
    #[test]
    fn a_scheduler_that_errs_loses_no_node() {
        for schedule in [
            Schedule::new("none", || Box::new(Wrong(None))),
            Schedule::new("the same", || Box::new(Wrong(Some(2)))),
            Schedule::new("nobody", || Box::new(Wrong(Some(77)))),
        ] {
            let mut ready = filled(schedule);
            let mut nodes = drain(&mut ready);
            assert!(ready.is_empty());
            nodes.sort_unstable();
            assert_eq!(nodes, [0, 1, 2, 3], "{schedule}");
        }
    }
}
