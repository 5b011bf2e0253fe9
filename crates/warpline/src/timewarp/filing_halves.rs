//! A worker files the mail that waits with its LPs.
//!
//! Called when a notice of such mail comes, and when an LP has moved.

use warpline_core::{LpId, Model};

use super::{
    bottom_halves::{BottomHalves, List},
    event::Event,
    worker::TimeWarpWorker,
};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// A notice has come: files the mail of its LP, or sends the notice on its way.
    pub(super) fn take_notice(&mut self, halves: &BottomHalves, notice: Event) {
        let place = self.sender.places[notice.to().index()];
        if place.worker == self.sender.id {
            self.exchange_halves(halves, notice.to());
        } else {
            self.pass_on(notice, place.worker);
        }
    }

    /// Files the mail of an LP of this worker, if there is some.
    pub(super) fn exchange_halves(&mut self, halves: &BottomHalves, lp: LpId) {
        let Some(mut expired) = halves.0[lp.index()].exchange() else { return };
        let List { mail, origins } = &mut *expired;
        for (place, &mail) in mail.iter().enumerate() {
            debug_assert_eq!(mail.to(), lp, "HALF-A: mail of another LP: {mail:?}");
            if mail.cancels().is_none() {
                if let Some(&origin) = origins.get(place) {
                    self.sender.note_origin(&mail, origin);
                }
                let claimed = self.store.buffers.claim(mail.buffer());
                assert!(claimed, "HALF-C: {mail:?} belongs to another worker");
            }
            self.file_mail(mail);
        }
        expired.renew(lp, self.sender.memory);
    }
}
