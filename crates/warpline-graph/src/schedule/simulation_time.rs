//! The node whose next event is the earliest runs next; among those of one instant, the one with
//! the least index. It is the paper's scheduler and the default, so `ReadyNodes` calls it directly.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::ReadyNode;

/// Nodes by the time of their next events. One that is pushed again with an earlier event is in
/// here twice; whoever takes it out sees by the time which of the two is the valid one.
#[derive(Debug, Default)]
pub(super) struct SimulationTime(pub(super) BinaryHeap<Reverse<ReadyNode>>);

impl SimulationTime {
    #[inline]
    pub(super) fn push(&mut self, node: ReadyNode) {
        self.0.push(Reverse(node));
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<ReadyNode> {
        self.0.pop().map(|Reverse(node)| node)
    }
}
