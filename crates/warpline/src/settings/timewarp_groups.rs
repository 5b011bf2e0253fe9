//! The settings of Time Warp that belong together: flow control, NUMA, and what watches a run.
//!
//! [`TimeWarp`](super::TimeWarp) has one field for each group.

use std::time::Duration;

use warpline_core::VirtualTime;
use warpline_memory::BufferTrace;

use super::MemoryPlacement;
use crate::{ConfigError, names::names};

/// The most page migration daemons.
const DAEMONS_MAX: usize = 1024;

/// Limits on optimism, but for the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowControl {
    /// After fossil collection a worker waits while less than this fraction of its buffers is free
    /// (F_free1 of GTW, 3.4). Read where memory is limited, as the next two.
    pub free1: f64,
    /// A worker that waits goes on when it expects to reclaim more than this fraction of its
    /// buffers (F_free2 of GTW, 3.4).
    pub free2: f64,
    /// A worker that has fewer free buffers than this asks for global virtual time (buffer paper,
    /// 3.4); 0 for one that waits until it needs a buffer and finds none.
    pub few_buffers: usize,
    /// Whether workers that roll back much are held back.
    pub throttle: bool,
    /// The simulated time barrier at the start (GTW, 2.3); a model moves it by
    /// [`IoContext::set_time_barrier`](crate::IoContext::set_time_barrier).
    pub time_barrier: Option<VirtualTime>,
}

impl FlowControl {
    /// No limit: only a shortage of buffers holds a worker back.
    pub const OFF: Self =
        Self { free1: 0.0, free2: 0.0, few_buffers: 0, throttle: false, time_barrier: None };
}

impl Default for FlowControl {
    fn default() -> Self {
        Self { free1: 0.1, free2: 0.2, few_buffers: 0, throttle: true, time_barrier: None }
    }
}

names! {
    /// Where events for LPs of another worker wait, in Time Warp.
    pub enum MailQueue as "mail", default Worker;
    /// In the worker's inbox, which takes blocks of them (the MsgQ of GTW).
    Worker = "worker";
    /// With the LP, in its bottom half, so that they follow it to another NUMA node (*NUMA Time
    /// Warp*, section 3.3).
    BottomHalf = "bottom-half";
}

/// What there is for machines with several NUMA nodes (*NUMA Time Warp*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numa {
    /// Where the memory of workers is, if they are bound to cores.
    pub memory_placement: MemoryPlacement,
    /// How many threads move the pages of LPs that have come to another NUMA node, if LPs have
    /// memory of their own (section 3.4). Without any, pages stay where they are.
    pub migration_daemons: usize,
    /// How long these threads sleep between two looks.
    pub migration_period: Duration,
    /// Where mail for other workers waits.
    pub mail: MailQueue,
}

impl Default for Numa {
    fn default() -> Self {
        Self {
            memory_placement: MemoryPlacement::Off,
            migration_daemons: 0,
            migration_period: Duration::from_secs(1),
            mail: MailQueue::Worker,
        }
    }
}

impl Numa {
    /// Memory in this place, and mail with the worker.
    #[must_use]
    pub fn new(memory_placement: MemoryPlacement) -> Self {
        Self { memory_placement, ..Self::default() }
    }

    /// Refuses daemons without pages to move, and bottom halves outside of the memory of LPs: if
    /// only workers have some, they would lie in that of whichever sender fills them first, on its
    /// node.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let of_lps = matches!(self.memory_placement, MemoryPlacement::Off | MemoryPlacement::Lp);
        let (ok, allowed) = (
            of_lps || self.mail == MailQueue::Worker,
            "worker unless memory-placement is `lp` or `off`",
        );
        ConfigError::check(ok, "mail", self.mail, allowed)?;
        let daemons = self.migration_daemons;
        let check = |ok, allowed| ConfigError::check(ok, "migration daemons", daemons, allowed);
        let has_homes = self.memory_placement == MemoryPlacement::Lp;
        check(daemons == 0 || has_homes, "0 unless memory-placement is `lp`")?;
        check(daemons <= DAEMONS_MAX, "up to 1024")?;
        let period = self.migration_period;
        let seconds = period.as_secs_f64();
        ConfigError::check(!period.is_zero(), "migration period", seconds, "above 0 seconds")
    }
}

/// What watches a run, or keeps it from being one like others: for measurements, tests, and the
/// search for bugs.
#[derive(Clone, Debug, Default)]
pub struct Instrumentation {
    /// Whether the time that each part of the engine takes is measured, which slows the run down a
    /// little.
    pub measure_costs: bool,
    /// Is told every access to an event buffer.
    pub trace: Option<BufferTrace>,
    /// Whether all workers take turns on the calling thread. That is slow, but such a run repeats
    /// itself exactly, rollbacks and all.
    pub in_turn: bool,
    /// Whether a worker that is alone does all that one of many does: keeps records, saves states
    /// and finds global virtual time. Otherwise it works as the sequential engine does, which GTW
    /// has for its aim (section 3.6.1), because nobody can send it a straggler.
    pub as_if_many: bool,
}

impl Instrumentation {
    /// Nothing but workers that take turns.
    pub const IN_TURN: Self =
        Self { measure_costs: false, trace: None, in_turn: true, as_if_many: false };
    /// Nothing but a single worker that does what one of many does.
    pub const AS_IF_MANY: Self =
        Self { measure_costs: false, trace: None, in_turn: false, as_if_many: true };

    /// Whether anything is on.
    pub(super) const fn is_on(&self) -> bool {
        self.measure_costs || self.trace.is_some() || self.in_turn || self.as_if_many
    }
}
