//! The node that became ready last runs next, while its neighbors' events are in the cache.
//! `Schedule::ALL` has it as `lifo`.

use super::{NodeScheduler, ReadyNode};

/// The indices of nodes, in the order in which they were pushed.
#[derive(Debug, Default)]
pub(super) struct Lifo(Vec<u32>);

impl NodeScheduler for Lifo {
    fn push(&mut self, node: ReadyNode) {
        self.0.push(node.index);
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
}
