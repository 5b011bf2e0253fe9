//! The node that became ready first runs next. `Schedule::ALL` has it as `fifo`.

use std::collections::VecDeque;

use super::{NodeScheduler, ReadyNode};

/// The indices of nodes, in the order in which they were pushed.
#[derive(Debug, Default)]
pub(super) struct Fifo(VecDeque<u32>);

impl NodeScheduler for Fifo {
    fn push(&mut self, node: ReadyNode) {
        self.0.push_back(node.index);
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}
