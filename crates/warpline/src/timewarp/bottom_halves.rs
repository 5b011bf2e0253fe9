//! Bottom halves: mail that waits with its LP, not with the LP's worker (`--mail bottom-half`).
//!
//! Each LP has two lists, *live* and *expired*. Senders append to the live one, under a short lock.
//! The LP's worker exchanges the two, and files what the expired one has
//! ([`filing_halves`](super::filing_halves)). Both are in the LP's own memory, if it has some;
//! where workers have memory of their own and LPs have none, a list would grow in that of whoever
//! fills it, so the settings refuse that.
//!
//! The paper's workers look at all their LPs for mail. Ours get a *notice* of each event, through
//! the same inbox that would have had the event otherwise, and at the same time. So all that is
//! said of mail holds of notices: GVT finds them ([`gvt`](super::gvt)), and they follow LPs that
//! move ([`moves`](super::moves)). The worker that has the LP takes all its mail with the first
//! notice; those that come later find nothing, and only delay GVT.
//!
//! # Invariants
//!
//! - **HALF-A.** An event that is in a bottom half has a notice on its way, or kept by the worker
//!   that the LP will come to.
//! - **HALF-B.** An event is before its anti-message.
//! - **HALF-C.** An event in a bottom half belongs to no worker. The one that has the LP claims it,
//!   and not the one that the sender had in mind.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, section 3.3.

use std::sync::{Mutex, MutexGuard, PoisonError};

use warpline_core::LpId;

use super::{event::Event, lp_memory::LpMemory};
use crate::timeline::Stamp;

/// A list that is fuller than this many quarters is made twice as large before it is live again.
const FULL_QUARTERS: usize = 3;

/// The bottom halves of all LPs.
#[derive(Debug)]
pub(super) struct BottomHalves(pub(super) Box<[BottomHalf]>);

#[derive(Debug, Default)]
pub(super) struct BottomHalf {
    live: Mutex<List>,
    /// Locked by the LP's worker alone.
    expired: Mutex<List>,
}

#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) mail: Vec<Event>,
    /// Where each of them comes from, if there is a timeline.
    pub(super) origins: Vec<Stamp>,
}

/// Takes the lock. A panic in `Vec` leaves a whole list.
fn lock(list: &Mutex<List>) -> MutexGuard<'_, List> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BottomHalf {
    /// Exchanges the two lists. Returns the expired one, if there is mail in it.
    pub(super) fn exchange(&self) -> Option<MutexGuard<'_, List>> {
        let mut expired = lock(&self.expired);
        let mut live = lock(&self.live);
        if live.mail.is_empty() {
            return None;
        }
        std::mem::swap(&mut *live, &mut *expired);
        debug_assert!(live.mail.is_empty(), "HALF-A: mail was not filed, and would be again");
        drop(live);
        Some(expired)
    }
}

impl List {
    /// Empties an expired list of an LP. If it was nearly full, it gets more room, here, so that
    /// the senders do not have to make it while they hold the lock.
    pub(super) fn renew(&mut self, lp: LpId, memory: Option<&LpMemory>) {
        let is_full = 4 * self.mail.len() > FULL_QUARTERS * self.mail.capacity();
        self.mail.clear();
        self.origins.clear();
        if is_full {
            grow(&mut self.mail, lp, memory);
        }
    }
}

impl BottomHalves {
    pub(super) fn new(lps: usize) -> Self {
        Self((0..lps).map(|_| BottomHalf::default()).collect())
    }

    /// Appends mail for an LP, which `mail` names by its number. If there is a timeline, it comes
    /// from `origin`.
    pub(super) fn push(&self, mail: Event, origin: Option<Stamp>, memory: Option<&LpMemory>) {
        let mut live = lock(&self.0[mail.to().index()].live);
        if live.mail.len() == live.mail.capacity() {
            grow(&mut live.mail, mail.to(), memory);
        }
        debug_assert!(live.mail.len() < live.mail.capacity(), "it would grow in another's memory");
        live.mail.push(mail);
        live.origins.extend(origin);
        debug_assert!(
            [0, live.mail.len()].contains(&live.origins.len()),
            "mail has the origin of another"
        );
    }

    /// All that is in them.
    pub(super) fn all(&self) -> Vec<Event> {
        debug_assert!(
            self.0.iter().all(|half| lock(&half.expired).mail.is_empty()),
            "HALF-A: mail was not filed"
        );
        self.0.iter().flat_map(|half| lock(&half.live).mail.clone()).collect()
    }
}

/// Makes the list of an LP twice as large, in its own memory if it has some.
#[cold]
fn grow(list: &mut Vec<Event>, lp: LpId, memory: Option<&LpMemory>) {
    let _home = memory.map(|memory| memory.enter(lp));
    let room = 2 * list.capacity().max(2);
    list.reserve_exact(room - list.len());
}

#[cfg(test)]
mod tests {
    use warpline_core::{EventKey, VirtualTime};
    use warpline_memory::BufferId;

    use super::*;

    fn event(number: u64) -> Event {
        let key = EventKey::new(VirtualTime::ZERO, 0, LpId::new(0), number);
        Event::new(key, LpId::new(1), None, BufferId::new(7))
    }

    /// A list that was nearly full is twice as large before it is live again; any other stays as it
    /// is. (Red if `grow` asks for room beside the capacity that an empty list has.)
    #[test]
    fn a_full_list_grows_before_it_is_live() {
        let halves = BottomHalves::new(2);
        let mut capacities = Vec::new();
        for mail in [4, 3, 3, 6, 7, 7] {
            (0..mail).for_each(|number| halves.push(event(number), None, None));
            let mut expired = halves.0[1].exchange().expect("there is mail");
            assert_eq!(expired.mail.len() as u64, mail);
            expired.renew(LpId::new(1), None);
            capacities.push(expired.mail.capacity());
        }
        // Two lists take turns.
        assert_eq!(capacities, [8, 4, 8, 8, 16, 16], "from 4, 4, 8, 8, 8 and 8");
        assert!(halves.0[1].exchange().is_none());
    }

    /// Both lists of an LP are in its own memory, whoever makes them larger.
    ///
    /// Red if `grow` enters no home, or the home of another LP.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn bottom_halves_are_in_the_memory_of_their_lp() {
        use crate::settings::{MemoryPlacement, Numa, TimeWarp};

        let numa = Numa::new(MemoryPlacement::Lp);
        let settings = TimeWarp { numa, ..TimeWarp::default() };
        let memory = LpMemory::new(&settings, 3).expect("the allocator is installed");
        memory.set_node(0, Some(0));
        (0..3).for_each(|lp| memory.follow(LpId::new(lp), 0));
        let halves = BottomHalves::new(3);
        // A list that the senders have made larger, and one that the worker has.
        (0..100).for_each(|number| halves.push(event(number), None, Some(&memory)));
        assert_eq!(memory.segments(), [0, 1, 0]);
        let mut expired = halves.0[1].exchange().expect("there is mail");
        expired.mail = Vec::with_capacity(100);
        expired.mail.extend((0..100).map(event));
        expired.renew(LpId::new(1), Some(&memory));
        // 200 descriptors of 32 bytes are small blocks, in the first segment as well.
        assert!(expired.mail.capacity() >= 200 && memory.segments() == [0, 1, 0]);
    }

    /// HALF-B: what is appended later comes later.
    #[test]
    fn mail_keeps_its_order() {
        let halves = BottomHalves::new(2);
        let mail: Vec<_> =
            (0..20).flat_map(|number| [event(number), event(number).anti()]).collect();
        mail.iter().for_each(|&mail| halves.push(mail, None, None));
        assert_eq!(halves.all(), mail);
    }
}
