//! The settings of a profile: how fast a model could run in parallel.

use crate::names::names;

names! {
    /// What an event costs in a [`Profile`].
    pub enum Cost as "cost", default Events;
    /// Every event costs 1: the same result on every machine and in every run.
    Events = "events";
    /// An event costs the nanoseconds that its handler takes, sends included, at least 1. What the
    /// clock takes is not counted; neither is, on Linux, the time of more than 20 µs in which the
    /// handler waits, or another program has the processor.
    Time = "time";
}

/// The sequential engine, which also finds how fast the model could run in parallel: the report's
/// details have a [`CriticalPath`](crate::report::CriticalPath).
///
/// It commits the same events. An event takes several times as long: a microsecond or two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Profile {
    /// What an event costs.
    pub cost: Cost,
    /// The time that a message between two LPs takes: in nanoseconds, or in events if an event
    /// costs 1.
    pub latency: u64,
}
