//! The handover of LPs: what belongs to an LP is taken out of the lists of one worker, and put into
//! those of another.
//!
//! | of an LP | leaves | comes |
//! |---|---|---|
//! | state, random stream, digest | at once; the last LP of the worker takes its index | at a new index |
//! | pending events, also those it waits for | in one pass through the pending set | into the pending set |
//! | processed records, with saved states, or what they wrote to the undo log | out of the middle of the log, as if undone | at the back of the log |
//! | notes of what it sent | a copy; the rest goes with the records | with the records |
//! | the buffers of its events | taken back if returned; they get a new owner | returned again |
//!
//! Records come to the back of the new worker's log in their order, so HIST-A and HIST-B hold.
//! The log is less in the order of keys then, which only delays fossil collection.

use warpline_core::{Io, Model, undo::Moves as UndoMoves};
use warpline_memory::Block;

use super::super::{gvt::Bound, history::NONE, moves::Package, worker::TimeWarpWorker};
use crate::{local_lp::LocalLp, pending::PendingSet, placement::LpPlace};

/// What becomes of the LP with an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It stays, with this index.
    Stays(LocalLp),
    /// It leaves, in this package.
    Leaves(usize),
}

/// The fates of `count` LPs, of which those at `leaving` leave, in descending order.
fn fates(count: usize, leaving: &[(LocalLp, usize)]) -> Vec<Fate> {
    debug_assert!(
        leaving.is_sorted_by(|one, next| one.0 > next.0),
        "the last LP takes the index of one that leaves: {leaving:?}"
    );
    let mut now: Vec<_> = (0..count).map(LocalLp::from_index).collect();
    let mut fates = vec![Fate::Stays(LocalLp::default()); count];
    for (package, &(lp, _)) in leaving.iter().enumerate() {
        now.swap_remove(lp.index());
        fates[lp.index()] = Fate::Leaves(package);
    }
    for (index, &before) in now.iter().enumerate() {
        fates[before.index()] = Fate::Stays(LocalLp::from_index(index));
    }
    fates
}

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Hands over LPs, each by its index here, to other workers.
    pub(super) fn hand_over(&mut self, mut leaving: Vec<(LocalLp, usize)>) {
        debug_assert!(self.aside.canceled.is_empty(), "MOVE-A: what is canceled has indices");
        let Some(moves) = &self.shared.moves else { return };
        let since = moves.time();
        // MOVE-C: what the LPs have sent arrives before they do.
        self.sender.flush();
        last_first(&mut leaving);
        let fates = fates(self.lps.len(), &leaving);
        for (lp, &fate) in (0..).map(LocalLp::new).zip(&fates) {
            if fate != Fate::Stays(lp) && self.aside.waiting.holds(lp) {
                self.unblock(lp);
            }
        }
        let mut packages: Vec<_> = leaving.iter().map(|&(lp, _)| self.pack(lp)).collect();
        debug_assert_eq!(self.lps.len() + packages.len(), fates.len(), "MOVE-B: an LP is lost");
        self.trim();
        self.pack_pending(&fates, &mut packages);
        self.sender.prefetched = 0;
        let mut least = Bound::NEVER;
        for (package, &(_, to)) in packages.into_iter().zip(&leaving) {
            for event in package.events() {
                self.store.buffers.pass_on(event.buffer(), to);
            }
            least = least.min(package.least());
            let mut block = Block::new(self.me as u32);
            block.items.push(Box::new(package));
            moves.arrivals[to].push(block);
        }
        self.statistics.moved_lps += leaving.len() as u64;
        // MOVE-D: the pushes come first, as for mail.
        self.sender.gvt.sent(&self.shared.gvt, least);
        moves.spend(since);
    }

    /// Takes out an LP with its records; the last LP gets its index.
    fn pack(&mut self, index: LocalLp) -> Package<M> {
        let lp = self.lps.swap_remove(index.index());
        let copies = self.log.saving.remove_lp(index);
        let mut positions = Vec::new();
        let mut at = lp.last;
        while self.log.history.is_live(at) {
            debug_assert_eq!(
                self.log.history[at].event.lp(),
                index,
                "HIST-A: a record of another LP"
            );
            positions.push(at);
            at = self.log.history[at].prev;
        }
        positions.reverse();
        let (mut records, mut sent) = (Vec::new(), Vec::new());
        let (mut saved, mut writes) = (Vec::new(), Vec::new());
        for &at in &positions {
            let is_there = self.take_back_buffer(at);
            let notes = self.log.history.sends(at, &self.sender.sent);
            let mut record = self.log.history[at].clone();
            record.event = record.event.with_to(lp.id);
            record.sent_from = sent.len() as u64;
            record.delivered |= !is_there;
            saved.push(self.log.saving.take(at, record.copied));
            writes.push(self.take_writes(at));
            records.push(record);
            self.sender.sent.take_back(&notes);
            sent.extend(notes.map(|place| self.sender.sent.get(place)));
            self.log.history[at].undone = true;
        }
        if let Some(last) = self.lps.get(index.index()) {
            self.sender.note_place(last.id, LpPlace { worker: self.sender.id, lp: index });
            let mut at = last.last;
            while self.log.history.is_live(at) {
                let event = &mut self.log.history[at].event;
                *event = event.with_lp(index);
                at = self.log.history[at].prev;
            }
        }
        let (pending, origins) = (Vec::new(), Vec::new());
        Package { lp, copies, records, positions, saved, writes, sent, pending, origins }
    }

    /// Takes the pending events of LPs that leave out of the pending set; the others get their new
    /// indices.
    fn pack_pending(&mut self, fates: &[Fate], packages: &mut [Package<M>]) {
        let mut all = Vec::with_capacity(self.sender.pending.len());
        self.sender.pending.drain_into(&mut all);
        for event in all {
            match fates[event.lp().index()] {
                Fate::Stays(lp) => self.sender.pending.file(event.with_lp(lp)),
                Fate::Leaves(package) => {
                    let package = &mut packages[package];
                    package.pending.push(event.with_to(package.lp.id));
                    if self.sender.is_recorded() {
                        package.origins.push(self.sender.origin(&event));
                    }
                }
            }
        }
    }

    /// Takes in an LP that has come.
    pub(super) fn take_in(&mut self, package: Package<M>) {
        package.check();
        let Package { mut lp, copies, records, positions, saved, writes, sent, .. } = package;
        let (index, back) = (LocalLp::from_index(self.lps.len()), self.log.history.back());
        let (mut last, mut moved) = (NONE, UndoMoves::default());
        let (mut saved, mut writes) = (saved.into_iter(), writes.into_iter());
        for (number, record) in records.iter().enumerate() {
            let (Some(saved), Some(writes)) = (saved.next(), writes.next()) else { break };
            let end = records.get(number + 1).map_or(sent.len(), |next| next.sent_from as usize);
            let (event, from) = (record.event.with_lp(index), self.sender.sent.back());
            let at = self.log.history.push(event, &record.before, last, from);
            (self.log.history[at].copied, self.log.history[at].delivered) =
                (record.copied, record.delivered);
            if self.store.is_on_the_fly && !record.delivered {
                self.return_early(at);
            }
            if last != NONE {
                self.log.history[last].next = at;
            }
            self.log.saving.put(&self.log.history, at, saved, &self.store.buffers);
            self.put_writes(at, writes, &mut moved);
            self.statistics.outputs += u64::from(event.io() == Some(Io::NonBlocking));
            for note in &sent[record.sent_from as usize..end] {
                self.sender.sent.push(note.event, note.worker);
            }
            last = at;
        }
        let position =
            |old: u64| positions.binary_search(&old).ok().map(|place| back + place as u64);
        self.log.saving.add_lp(copies, position);
        if self.store.is_on_the_fly {
            // Committed records of the LP may be coasted over.
            self.set_horizon();
        }
        self.find_writes(&mut lp, &moved);
        if last != NONE {
            self.flow.note_record(Bound(self.log.history[last].event.key.words()));
        }
        lp.last = last;
        let id = lp.id;
        self.lps.push(lp);
        self.sender.note_place(id, LpPlace { worker: self.sender.id, lp: index });
        for event in &package.pending {
            self.sender.pending.file(event.with_lp(index));
        }
        for (event, &origin) in package.pending.iter().zip(&package.origins) {
            self.sender.note_origin(event, origin);
        }
        if let Some(memory) = self.sender.memory {
            memory.follow(id, self.me);
        }
        let kept = self.optional.moves.end_wait(id);
        debug_assert!(kept.is_some(), "MOVE-B: {id:?} was not awaited");
        if let Some(halves) = &self.shared.halves {
            return self.exchange_halves(halves, id);
        }
        for mail in kept.unwrap_or_default() {
            self.file_mail(mail);
        }
    }
}

/// Sorts LPs and where they go: without the type of the model, so that it is compiled once.
fn last_first(leaving: &mut [(LocalLp, usize)]) {
    leaving.sort_unstable_by(|a, b| b.cmp(a));
}
