//! Step 1 of the main loop: incoming messages are filed.
//!
//! Called once per turn. Messages are events and anti-messages, in blocks that other workers have
//! pushed into this worker's inbox (the paper's MsgQ). Events go into the pending set, whatever
//! they are late for (TW-A); anti-messages name the events that step 2 annihilates.

use warpline_core::Model;

use super::worker::Worker;
use crate::pending::PendingSet;

impl<M: Model> Worker<'_, M> {
    /// Files all messages that have arrived.
    #[inline]
    pub(super) fn receive(&mut self) {
        for block in self.shared.inboxes[self.me].drain() {
            self.statistics.received += block.items.len() as u64;
            for &mail in &block.items {
                match mail.cancels() {
                    None => self.sender.pending.insert(mail),
                    Some(event) => self.canceled.push(event),
                }
            }
            self.sender.recycle(block);
        }
        self.receive_remote();
    }
}
