//! Step 1 of the main loop: incoming messages are filed.
//!
//! Called once per turn. Messages are events and anti-messages, in blocks that other workers have
//! pushed into this worker's inbox (the paper's MsgQ). Events go into the pending set, whatever
//! they are late for (TW-A); anti-messages name the events that step 2 annihilates.

use warpline_core::Model;

use super::{event::Event, worker::TimeWarpWorker};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Files all messages that have arrived.
    #[inline]
    pub(super) fn receive(&mut self) {
        self.receive_lps();
        for block in self.shared.inboxes[self.me].drain() {
            debug_assert!(!block.items.is_empty(), "a block without mail was sent");
            self.statistics.received += block.items.len() as u64;
            self.note_mail(&block);
            match &self.shared.halves {
                None => block.items.iter().for_each(|&mail| self.file_mail(mail)),
                Some(halves) => {
                    block.items.iter().for_each(|&notice| self.take_notice(halves, notice));
                }
            }
            self.sender.recycle(block);
        }
        self.receive_remote();
    }

    /// Files an event or an anti-message for an LP of this worker; any other goes on its way.
    #[inline]
    pub(super) fn file_mail(&mut self, mail: Event) {
        let place = self.sender.places[mail.to().index()];
        if place.worker != self.sender.id {
            // It was not in the mail: an anti-message for an LP that was here when it was sent to.
            self.sender.fill_half(mail);
            return self.pass_on(mail, place.worker);
        }
        // Where a start was stopped, some LPs were never made, and nothing is handled any more.
        let is_here = place.lp.index() < self.lps.len() || self.flow.is_over();
        debug_assert!(is_here, "MOVE-A: the LP is not here");
        let mail = mail.with_lp(place.lp);
        match mail.cancels() {
            None => self.sender.pending.file(mail),
            Some(event) => self.aside.canceled.push(event),
        }
    }
}
