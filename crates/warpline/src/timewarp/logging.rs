//! Incremental state saving: the undo log of a worker, for LPs whose fields save what they change.
//!
//! The worker begins an entry of the processed list with
//! [`Saving::begin`](warpline_core::Saving::begin), which saves the plain fields of the state;
//! tracked fields write to the log through the sink of the handler. The log lies beside the
//! processed list and follows it: at its front entries are committed, at its back they are undone,
//! and what LPs that move wrote goes with their records.
//!
//! # Invariants
//!
//! - **LOG-A.** What a record's event wrote lies in the undo log from its `undo_from` to the next
//!   record's. Nothing else writes to it.
//! - **LOG-B.** Entries of records that were undone, or have left with their LP, stay until the
//!   front or the back of the processed list reaches the record (as HIST-C); no field knows them.
//! - **LOG-C.** With a memory limit, the account of the worker has what the log takes.
//!
//! # References
//!
//! GTW (Das et al. 1994), section 2.1: incrementally checkpointed state.

use warpline_core::{
    LogicalProcess, Model,
    undo::{Moves, Segment},
};

use super::{heap::recharge, log_account::LogAccount, saving::Lp, worker::TimeWarpWorker};

/// Words that there is always room for.
const LEAST: usize = 64;

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Where what a record's event wrote ends.
    fn end_of_writes(&self, at: u64) -> u64 {
        let (history, log) = (&self.log.history, &self.sender.undo_log);
        let end = if at + 1 < history.back() { history[at + 1].undo_from } else { log.back() };
        debug_assert!(history[at].undo_from <= end, "LOG-A: record {at} writes after the next one");
        end
    }

    /// Drops what committed records wrote.
    #[inline]
    pub(super) fn forget_writes(&mut self) {
        if !self.log.saving.is_logging() {
            return;
        }
        let (history, log) = (&self.log.history, &mut self.sender.undo_log);
        let is_empty = history.len() == 0;
        log.drop_before(if is_empty { log.back() } else { history[history.front()].undo_from });
        self.charge_log();
    }

    /// Drops what the record at the back wrote, which was undone.
    #[inline]
    pub(super) fn drop_undone_writes(&mut self, back: u64) {
        if self.log.saving.is_logging() {
            debug_assert!(self.log.history[back].undone, "LOG-B: record {back} can be undone");
            self.sender.undo_log.drop_from(self.log.history[back].undo_from);
        }
    }

    /// Takes out what the event of a record wrote, which leaves this worker.
    pub(super) fn take_writes(&mut self, at: u64) -> Option<Segment> {
        if !self.log.saving.is_logging() {
            return None;
        }
        let (from, to) = (self.log.history[at].undo_from, self.end_of_writes(at));
        Some(self.sender.undo_log.take_segment(from, to))
    }

    /// Puts in what the event of the record at the back wrote.
    pub(super) fn put_writes(&mut self, at: u64, writes: Option<Segment>, moves: &mut Moves) {
        let is_logging = self.log.saving.is_logging();
        debug_assert!(writes.is_some() || !is_logging, "LOG-A: record {at}");
        // A worker that has changed to sparse copies will not undo it (CHOICE-A).
        if let Some(writes) = writes.filter(|_| is_logging) {
            self.log.history[at].undo_from = self.sender.undo_log.put_segment(writes, moves);
        }
    }

    /// Lets an LP that has come find what it wrote in the log of this worker.
    pub(super) fn find_writes(&mut self, lp: &mut Lp<M::Lp>, moves: &Moves) {
        if self.log.saving.is_logging() {
            M::Lp::SAVING.rebase(&mut lp.state, moves);
            self.charge_log();
        }
    }

    /// Whether there is memory for what an event may write: as much as the largest one so far. The
    /// log grows before the event, not in its middle.
    pub(super) fn can_log(&mut self) -> bool {
        let LogAccount { words_most, owned_most, .. } = self.log.account;
        let words = words_most + LEAST;
        let log = &mut self.sender.undo_log;
        let has_room = log.has_room(words);
        // A log that grows moves, so both the old and the new one are there for a moment.
        let bytes = owned_most + if has_room { 0 } else { log.bytes_with(words) };
        if bytes > 0 && !self.store.buffers.ensure_outside(bytes) {
            return false;
        }
        if !has_room {
            log.reserve(words);
            self.charge_log();
        }
        true
    }

    /// Charges the account for what the log takes now.
    #[inline]
    pub(super) fn charge_log(&mut self) {
        if self.log.saving.is_logging() && self.store.is_limited {
            let (log, account) = (&self.sender.undo_log, &mut self.log.account);
            let bytes = log.bytes();
            recharge(&self.store.buffers, std::mem::replace(&mut account.bytes, bytes), bytes);
            let (back, owned) = (log.back(), log.owned_bytes());
            debug_assert!(owned <= bytes, "LOG-C: {owned} bytes beside the words, {bytes} in all");
            let words = back.saturating_sub(account.back) as usize;
            account.words_most = account.words_most.max(words);
            account.owned_most = account.owned_most.max(owned.saturating_sub(account.owned));
            (account.back, account.owned) = (back, owned);
        }
    }

    /// Frees the room of the log, in a shortage.
    pub(super) fn shrink_log(&mut self) {
        if self.log.saving.is_logging() {
            self.sender.undo_log.shrink();
            self.charge_log();
        }
    }
}
