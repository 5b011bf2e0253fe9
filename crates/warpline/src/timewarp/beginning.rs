//! How a worker begins: it makes its LPs and lets each send its first events, or it takes over LPs
//! and events of a [cut](crate::cut).
//!
//! Called once per worker, by [`run`](mod@super::run).
//!
//! # Invariants
//!
//! - **BEGIN-A.** What is sent at the beginning is never canceled. An event of a cut is sent anew
//!   by the worker of its sender, as a first event is, so its buffer comes from where the pool
//!   expects it, and GVT counts it while it is on its way. One whose sender is at another rank has
//!   arrived: its receiver's worker files it as such.

use std::mem::needs_drop;

use warpline_core::{LpId, Model};

use super::{
    history::NONE, load::Work, log_account, policy::Full, saving::Lp, sink::Sending, turn::End,
    worker::TimeWarpWorker,
};
use crate::{
    cut::{Cut, LeftEvent},
    event::{Buffer, Event},
    handling::{self, Halt, Sink, Value},
    panics,
    timeline::Phase,
};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Makes the LPs and lets each send its first events, until `is_to_stop` returns true. Then not
    /// all LPs exist, and no event is handled. Or takes over LPs and events of a cut.
    ///
    /// # Errors
    ///
    /// When an LP failed: the run has failed then, and this worker must not go on.
    pub(super) fn start(&mut self, is_to_stop: impl FnMut() -> bool) -> Result<(), End> {
        self.begin_phase(Phase::Start);
        let begun = match &self.shared.cut {
            Some(parts) => self.take_over(parts.take(self.me)),
            None => self.make_lps(is_to_stop),
        };
        if begun.is_err() {
            // It takes no part in rounds of GVT either.
            self.shared.abandon();
            return begun;
        }
        debug_assert!(
            self.flow.has_begun_short()
                || self.lps.len() == self.shared.directory.lps_of(self.me).len(),
            "PLACE-A: an LP was not made"
        );
        self.send_mail(false);
        self.end_phase(0, 0.0);
        Ok(())
    }

    fn make_lps(&mut self, mut is_to_stop: impl FnMut() -> bool) -> Result<(), End> {
        let seed = self.shared.settings.seed;
        for &id in self.shared.directory.lps_of(self.me) {
            if is_to_stop() {
                self.flow.begin_short();
                break;
            }
            let (model, buffers, sender, lps) =
                (self.model, &self.store.buffers, &mut self.sender, &mut self.lps);
            debug_assert_eq!(sender.places[id.index()].lp.index(), lps.len(), "PLACE-A: {id}");
            if let Some(memory) = sender.memory {
                memory.follow(id, self.me);
            }
            let outcome = panics::catch(|| {
                let _application = sender.memory.map(|memory| memory.enter(id));
                let (sender, is_logging) = (&mut *sender, false);
                let sink = Sending::<M, Full>::new(sender, buffers, is_logging);
                lps.push(begun(id, handling::Lp::new(model, id, seed)));
                let Some(Lp { state, core, .. }) = lps.last_mut() else { return };
                handling::start(state, core, model, id, sink, &mut is_to_stop);
            });
            self.settle_first_events(id, outcome)?;
        }
        Ok(())
    }

    fn take_over(&mut self, cut: Cut<M::Lp, LeftEvent<M>>) -> Result<(), End> {
        self.sender.undo_log = log_account::undo_log(self.shared, cut.log_end);
        for (&id, handling::Lp { state, core }) in
            self.shared.directory.lps_of(self.me).iter().zip(cut.lps)
        {
            let mut state = state;
            if let Some(memory) = self.sender.memory {
                memory.follow(id, self.me);
                // What it owns lies in its own memory from now on.
                if needs_drop::<M::Lp>() {
                    let outcome = panics::catch(|| {
                        let _application = memory.enter(id);
                        state.clone()
                    });
                    match outcome {
                        Ok(copy) => state = copy,
                        Err(fault) => self.settle_first_events(id, Err(fault))?,
                    }
                }
            }
            self.lps.push(begun(id, handling::Lp { state, core }));
        }
        debug_assert_eq!(
            self.lps.len(),
            self.shared.directory.lps_of(self.me).len(),
            "PLACE-A: an LP was not taken over"
        );
        for event in cut.pending {
            if !self.shared.directory.is_here(event.key.sender()) {
                self.file_left(event);
                continue;
            }
            let Event { key, to, io, message } = event;
            debug_assert_eq!(
                self.sender.places[key.sender().index()].worker,
                self.sender.id,
                "BEGIN-A: {key:?} is sent by a worker that has not its sender"
            );
            let (buffers, sender) = (&self.store.buffers, &mut self.sender);
            let outcome = panics::catch(|| {
                let (sender, is_logging) = (&mut *sender, false);
                let mut sink = Sending::<M, Full>::new(sender, buffers, is_logging);
                sink.begin_send();
                sink.begin_first_send();
                sink.accept(key, to, io.get(), Value(message.into_message()));
            });
            self.settle_first_events(key.sender(), outcome)?;
        }
        Ok(())
    }

    /// An LP has sent something at the beginning, or tried to.
    fn settle_first_events(
        &mut self,
        id: LpId,
        outcome: Result<(), warpline_core::Fault>,
    ) -> Result<(), End> {
        let sender = &mut self.sender;
        // BEGIN-A.
        sender.sent.drop_before(sender.sent.back());
        debug_assert_eq!(sender.sent.uncommitted(), 0, "first events could be canceled");
        match sender.cut_off.settle(outcome) {
            Ok(()) => return Ok(()),
            // The loop ends at the next LP, or there is none.
            Err(Halt::Stopped) => {
                self.flow.begin_short();
                return Ok(());
            }
            Err(Halt::Fault(fault)) => self.fail(Some(id), None, fault),
            Err(Halt::OutOfBuffers) => self.fail_for_lack_of_buffers(id, None),
        }
        Err(End::Failed)
    }
}

/// An LP that has handled nothing here.
fn begun<L>(id: LpId, lp: handling::Lp<L>) -> Lp<L> {
    let handling::Lp { state, core } = lp;
    Lp { state, core, last_time: 0.0, last: NONE, work: Work::default(), id }
}
