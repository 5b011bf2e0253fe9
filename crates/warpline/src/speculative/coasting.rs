//! Coasting forward: an LP is restored from a [sparse copy](super::sparse), and handles its events
//! from there on again, up to the window that it goes back to. What it sends meanwhile was sent
//! before, and is gone.
//!
//! Called by [`rollback`](super::rollback), and by [`resize`](super::resize) before windows are
//! undone. An LP that does not come where it was before (SPARSE-A) depends on something that is not
//! restored: the run fails.

use std::mem;

use warpline_core::{LogicalProcess, Model};

use super::{
    event::Parity,
    executing::execute,
    sparse::SparseCopies,
    window::{Executed, Window},
    worker::SpeculativeWorker,
};
use crate::{
    event::{Buffer, Message},
    local_lp::LocalLp,
    panics,
    scheduling::Instant,
};

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// Restores an LP as it was before an open window in which it was handled, and which it goes
    /// through again: so there is a copy afterwards.
    pub(super) fn coast_and_copy(&mut self, parity: Parity, local: LocalLp) {
        let number = self.windows[parity.index()].number;
        if self.coast_forward(parity, local) < number {
            self.sparse.copy(number, local, &self.lps[local.index()].state);
        }
    }

    /// Restores an LP as it was before an open window in which it was handled: by its last copy,
    /// from which it handles its events again. Returns the window of the copy.
    #[cold]
    fn coast_forward(&mut self, parity: Parity, local: LocalLp) -> u64 {
        let number = self.windows[parity.index()].number;
        let lp = &mut self.lps[local.index()];
        let from = self.sparse.restore(number, local, &mut lp.state);
        if from < number {
            let since = Instant::now();
            let window_end = self.sender.window_end;
            let core = self.window(from).core_of(local).clone();
            self.lps[local.index()].core = core;
            let is_same = (from..number).all(|window| self.coast_over(window, local));
            self.sender.window_end = window_end;
            self.sparse.note_coasting(number - from, since.elapsed());
            let core = self.windows[parity.index()].core_of(local);
            if !is_same || !self.lps[local.index()].core.has_come_to(core) {
                let (_, last) = self.window(from).end_of(local);
                self.fail_to_repeat(self.id(local), last);
            }
        }
        let core = self.windows[parity.index()].core_of(local);
        self.lps[local.index()].core.clone_from(core);
        from
    }

    /// A window of this number.
    fn window(&self, number: u64) -> &Window<M::Lp, B> {
        kept_or_open(&self.sparse, &self.windows, self.oldest, number)
    }

    /// Lets an LP handle its events of a window as it has handled them, if there are any. What it
    /// sends is gone. Returns whether it came as far as it had come.
    fn coast_over(&mut self, number: u64, local: LocalLp) -> bool {
        debug_assert!(self.outputs.is_empty(), "SPARSE-A: outputs of another LP");
        let Self { windows, sparse, lps, sender, places, outputs, oldest, tally, .. } = self;
        let window = kept_or_open(sparse, windows, *oldest, number);
        if !window.has(local) {
            return true;
        }
        window.gather(local, places);
        sender.window_end = window.end;
        let mut executed = Executed::default();
        sender.collect(true);
        let outcome = panics::catch(|| {
            let events = places.iter().map(|&place| window.event(place));
            execute::<true, _, _>(&mut lps[local.index()], events, sender, outputs, &mut executed);
        });
        sender.collect(false);
        let is_same = outcome.is_ok() || window.end_of(local).0;
        if let Err(fault) = outcome {
            sender.error_context.cut_off.reason(fault);
            sender.self_sent.clear();
        }
        let mut sent = mem::take(&mut sender.collected);
        let gone = sent.drain(..).chain(outputs.drain(..)).filter_map(|event| event.message);
        gone.for_each(|message| sender.recycle(message));
        sender.collected = sent;
        tally.coasted += executed.events;
        is_same
    }

    /// Restores the LPs that were handled in a window, before it is undone. Those that were handled
    /// in the oldest one, too, will be restored when that is.
    pub(super) fn restore_sparse(&mut self, parity: Parity) {
        let oldest = Parity::of(self.oldest);
        for at in 0..self.windows[parity.index()].handled() {
            let local = self.windows[parity.index()].local(at);
            let is_oldest = parity == oldest || !self.windows[oldest.index()].has(local);
            if is_oldest && self.windows[parity.index()].is_sparse(local) {
                self.coast_forward(parity, local);
            }
        }
    }
}

/// A window of this number: a kept one, or from the oldest on an open one.
fn kept_or_open<'w, L: LogicalProcess, B>(
    sparse: &'w SparseCopies<L, B>,
    windows: &'w [Window<L, B>; 2],
    oldest: u64,
    number: u64,
) -> &'w Window<L, B> {
    if number < oldest { sparse.window(number) } else { &windows[Parity::of(number).index()] }
}
