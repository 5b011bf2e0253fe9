//! Bottom halves: mail that waits with its LP, not with the LP's worker (`--mail bottom-half`).
//!
//! Each LP has two lists, *live* and *expired*. Senders append to the live one, under a short lock.
//! The LP's worker exchanges the two, and files what the expired one has
//! ([`Worker::exchange_halves`]). Both are in the LP's own memory, if it has some, so what waits
//! for an LP follows it to another node.
//!
//! The paper's workers look at all their LPs for mail. Ours get a *notice* of each event, through
//! the same inbox that would have had the event otherwise, and at the same time. So all that is
//! said of mail holds of notices: GVT finds them ([`gvt`](super::gvt)), and they follow LPs that
//! move ([`moves`](super::moves)).
//!
//! # Invariants
//!
//! - **HALF-A.** An event that is in a bottom half has a notice on its way, or kept by the worker
//!   that the LP will come to.
//! - **HALF-B.** A worker takes an event only if it owns the event's buffer. So where an LP has
//!   moved, the event waits for its notice, which goes to the worker that the sender had in mind
//!   and makes the LP's new worker the owner on its way.
//! - **HALF-C.** An event is before its anti-message.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, section 3.3.

use std::sync::{Mutex, MutexGuard, PoisonError};

use warpline_core::Model;

use super::{event::Event, lp_memory::LpMemory, worker::Worker};
use crate::pending::PendingSet;

/// A list that is fuller than this many quarters is made twice as large before it is live again.
const FULL_QUARTERS: usize = 3;

/// The bottom halves of all LPs.
#[derive(Debug)]
pub(super) struct BottomHalves(Box<[BottomHalf]>);

#[derive(Debug, Default)]
struct BottomHalf {
    live: Mutex<Vec<Event>>,
    /// Locked by the LP's worker alone.
    expired: Mutex<Vec<Event>>,
}

/// Takes the lock. A panic in `Vec` leaves a whole list.
fn lock(list: &Mutex<Vec<Event>>) -> MutexGuard<'_, Vec<Event>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BottomHalves {
    pub(super) fn new(lps: usize) -> Self {
        Self((0..lps).map(|_| BottomHalf::default()).collect())
    }

    /// Appends mail for an LP, which `mail` names by its number.
    pub(super) fn push(&self, mail: Event, memory: Option<&LpMemory>) {
        let mut live = lock(&self.0[mail.lp as usize].live);
        if live.len() == live.capacity() {
            grow(&mut live, mail.lp, memory);
        }
        live.push(mail);
    }

    /// Puts mail back that an LP's worker has taken, before what was appended meanwhile (HALF-C).
    fn put_back(&self, lp: u32, mail: Vec<Event>) {
        if !mail.is_empty() {
            lock(&self.0[lp as usize].live).splice(0..0, mail);
        }
    }

    /// Whether an LP has this mail.
    fn has(&self, mail: &Event) -> bool {
        lock(&self.0[mail.lp as usize].live).contains(mail)
    }

    /// All that is in them.
    pub(super) fn all(&self) -> Vec<Event> {
        self.0.iter().flat_map(|half| lock(&half.live).clone()).collect()
    }
}

/// Makes room in the list of an LP, in its own memory if it has some.
#[cold]
fn grow(list: &mut Vec<Event>, lp: u32, memory: Option<&LpMemory>) {
    let _home = memory.map(|memory| memory.enter(warpline_core::LpId::new(lp)));
    list.reserve(list.capacity().max(4));
}

impl<M: Model> Worker<'_, M> {
    /// A notice has come: files the mail of its LP, or sends the notice on its way.
    pub(super) fn take_notice(&mut self, halves: &BottomHalves, notice: Event) {
        let place = self.sender.places[notice.lp as usize];
        if place.worker == self.sender.id {
            self.exchange_halves(halves, notice.lp, place.index);
        } else {
            self.pass_on(notice, place.worker);
        }
    }

    /// Files the mail of an LP of this worker, by its number and its index.
    pub(super) fn exchange_halves(&mut self, halves: &BottomHalves, lp: u32, index: u32) {
        let half = &halves.0[lp as usize];
        let mut expired = lock(&half.expired);
        {
            let mut live = lock(&half.live);
            if live.is_empty() {
                return;
            }
            std::mem::swap(&mut *live, &mut *expired);
        }
        let mut waiting = Vec::new();
        for &mail in expired.iter() {
            if self.shared.moves.is_some() && self.must_wait(&mail, &waiting) {
                waiting.push(mail);
                continue;
            }
            let may_take = mail.cancels().is_some() || self.buffers.owns(mail.buffer());
            debug_assert!(may_take, "HALF-B: {mail:?}");
            let mail = mail.with_lp(index);
            match mail.cancels() {
                None => self.sender.pending.insert(mail),
                Some(event) => self.canceled.push(event),
            }
        }
        if 4 * expired.len() > FULL_QUARTERS * expired.capacity() {
            expired.clear();
            grow(&mut expired, lp, self.sender.memory);
        }
        expired.clear();
        halves.put_back(lp, waiting);
    }

    /// Whether mail cannot be taken yet (HALF-B), or comes after mail that cannot.
    #[cold]
    fn must_wait(&self, mail: &Event, waiting: &[Event]) -> bool {
        match mail.cancels() {
            None => !self.buffers.owns(mail.buffer()),
            Some(event) => waiting.contains(&event),
        }
    }

    /// Before a notice is passed on to worker `to`, which has the LP: makes it the owner of the
    /// event's buffer. Says whether the event is still to be taken.
    pub(super) fn pass_on_half(&mut self, halves: &BottomHalves, notice: Event, to: usize) -> bool {
        let is_there = halves.has(&notice);
        if is_there && notice.cancels().is_none() && self.buffers.owns(notice.buffer()) {
            self.buffers.pass_on(notice.buffer(), to);
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use warpline_core::{EventKey, LpId, VirtualTime};
    use warpline_memory::BufferId;

    use super::*;

    /// HALF-C. The simulated runs cannot find this, because nothing comes in the middle of a step.
    #[test]
    fn what_waits_stays_in_front() {
        let halves = BottomHalves::new(2);
        let event = |number| {
            let key = EventKey::new(VirtualTime::ZERO, 0, LpId::new(0), number);
            Event::new(key, 1, None, BufferId::new(7))
        };
        let (first, later) = (event(1), event(2));
        halves.push(first.anti(), None);
        halves.push(later, None);
        halves.put_back(1, vec![first]);
        halves.put_back(0, Vec::new());
        assert_eq!(halves.all(), [first, first.anti(), later]);
        assert!(halves.has(&first) && !halves.has(&event(3)));
    }
}
