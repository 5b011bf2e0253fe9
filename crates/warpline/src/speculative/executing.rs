//! How LPs handle their events of a window: tile by tile when the window is opened, and LP by LP
//! when events come late.
//!
//! # Invariants
//!
//! - **SPEC-A.** In a window, an LP handles its events in the order of their keys, from its state
//!   before the window; if an event comes too late for that, it is [rolled back](super::rollback).

use std::time::Instant;

use warpline_core::{EventKey, Fault, Io, LogicalProcess, Model};

use super::{
    event::{Event, Parity},
    resize::Reason,
    sending::SpeculativeSender,
    window::{Executed, Window},
    worker::SpeculativeWorker,
};
use crate::{
    event::{Buffer, Message, by_lp},
    handling::{Cause, Core, Halt, Handling, Lp},
    local_lp::LocalLp,
    panics,
    run::ProgressMonitor,
};

/// Lets an LP handle events, which come in the order of their keys, and what it sends itself within
/// the window. Self-sent outputs go to `outputs`. A panic leaves `executed` as it was before the
/// event. With `IS_APART`, all that an event takes is not put where this is called.
#[inline(always)]
pub(super) fn execute<'e, const IS_APART: bool, M: Model, B: Buffer<Message<M>> + 'e>(
    lp: &mut Lp<M::Lp>,
    events: impl Iterator<Item = &'e Event<B>>,
    sender: &mut SpeculativeSender<'_, M, B>,
    outputs: &mut Vec<Event<B>>,
    executed: &mut Executed,
) {
    debug_assert!(sender.self_sent.is_empty(), "SPEC-A: another LP has sent that to itself");
    for event in events {
        handle_own(lp, Some(event.key), sender, outputs, executed);
        if IS_APART {
            handle_apart(lp, event, sender, executed);
        } else {
            handle::<IS_APART, _, _>(lp, event, sender, executed);
        }
    }
    handle_own(lp, None, sender, outputs, executed);
}

/// Lets an LP handle the events that it sent to itself within the window, and which are before the
/// next one.
#[inline]
fn handle_own<M: Model, B: Buffer<Message<M>>>(
    lp: &mut Lp<M::Lp>,
    next: Option<EventKey>,
    sender: &mut SpeculativeSender<'_, M, B>,
    outputs: &mut Vec<Event<B>>,
    executed: &mut Executed,
) {
    while let Some(own) = sender.self_sent.pop_if(|own| next.is_none_or(|next| own.key < next)) {
        debug_assert_eq!(own.to, own.key.sender(), "only an LP's events for itself are kept");
        handle_apart(lp, &own, sender, executed);
        if own.io == Some(Io::NonBlocking) {
            outputs.push(own);
        } else {
            own.message.into_iter().for_each(|message| sender.recycle(message));
        }
    }
}

/// Handles an event without putting all that it takes where it is called.
#[inline(never)]
fn handle_apart<M: Model, B: Buffer<Message<M>>>(
    lp: &mut Lp<M::Lp>,
    event: &Event<B>,
    sender: &mut SpeculativeSender<'_, M, B>,
    executed: &mut Executed,
) {
    handle::<true, _, _>(lp, event, sender, executed);
}

/// Lets an LP handle an event, or stops it if that has to wait until nothing can undo it.
///
/// There is a copy of the model's handler for each of the two places where this is called. A
/// function that is called at one place is put there by the compiler, however large it is; with one
/// handler for two places there is a call for each event, or not, by how the program is divided
/// into units: 30 of 520 instructions (PHOLD).
#[inline(always)]
fn handle<const IS_APART: bool, M: Model, B: Buffer<Message<M>>>(
    lp: &mut Lp<M::Lp>,
    event: &Event<B>,
    sender: &mut SpeculativeSender<'_, M, B>,
    executed: &mut Executed,
) {
    // No error of the model is reported from here, so nothing notes what an error would name: the
    // event is handled once more if it is committed (`stop_after_panic`).
    let Event { key, to, io, message, .. } = event;
    let Some(message) = message else { return };
    if executed.is_stopped {
        return;
    }
    let in_order = executed.last.is_none_or(|last| last < *key);
    debug_assert!(in_order || !cfg!(test), "SPEC-A: {key:?} {executed:?}");
    executed.last = Some(*key);
    if *io == Some(Io::Blocking) {
        executed.is_stopped = true;
        return;
    }
    let message = message.get();
    let Lp { state, core: Core { rng, sent, digest } } = lp;
    let model = sender.shared.model;
    if io.is_none() {
        let cause = Cause::event(key, *to);
        if IS_APART {
            // Another type of sink, so another handler.
            let sink = &mut &mut *sender;
            state.handle(model, message, &mut Handling { cause, rng, sent, sink });
            sender.change.note(key, *sent);
        } else {
            state.handle(model, message, &mut Handling { cause, rng, sent, sink: &mut *sender });
        }
    } else {
        sender.has_outputs = true;
    }
    digest.commit(key, M::Lp::fingerprint(model, message));
    executed.events += 1;
}

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// Lets all LPs of a tile handle their events of the newest window.
    pub(super) fn open_tile(
        &mut self,
        parity: Parity,
        tile: usize,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) {
        if monitor.measures(self.newest) {
            let (before, since) = (self.tally.processed, Instant::now());
            self.handle_tile(parity, tile);
            monitor.note_handling(self.tally.processed - before, since);
        } else {
            self.handle_tile(parity, tile);
        }
    }

    fn handle_tile(&mut self, parity: Parity, tile: usize) {
        let window = &mut self.windows[parity.index()];
        debug_assert_eq!(
            self.sender.opened[parity.index()].tiles,
            tile,
            "SLOT-A: tiles are opened one after the other"
        );
        debug_assert_eq!(
            self.sender.opened[parity.index()].end,
            window.end,
            "SLOT-A: two ends of window {}",
            window.number
        );
        self.sender.opened[parity.index()].tiles = tile + 1;
        self.sender.executing = parity;
        self.sender.window_end = window.end;
        let first = window.log.len();
        for slot in self.newest_begin..window.end {
            self.sender.calendar.take(slot, tile, &mut window.log);
        }
        if window.log.len() == first {
            return;
        }
        let mut at = window.order.len();
        self.sort(parity, tile, first);
        let end = self.windows[parity.index()].order.len();
        while at < end {
            let mut executed = Executed::default();
            let groups = panics::catch(|| self.execute_groups(parity, &mut at, &mut executed));
            if let Err(fault) = groups {
                let item = self.windows[parity.index()].order[at - 1];
                self.stop_after_panic(parity, by_lp::local(item), executed, fault);
            }
        }
        if self.sender.is_limited() {
            self.go_on_if_paid();
        }
    }

    /// Sorts the events of the log from `first` on by LP, all of them of this tile.
    fn sort(&mut self, parity: Parity, tile: usize, first: usize) {
        let shared = self.sender.shared;
        let Window { log, order, .. } = &mut self.windows[parity.index()];
        debug_assert!(first < log.len(), "nothing is to be sorted");
        let base = tile << shared.tile_bits;
        debug_assert!(base < self.lps.len(), "there are no LPs in tile {tile}");
        let lps = (self.lps.len() - base).min(1 << shared.tile_bits);
        let item = |event: &Event<B>, place| by_lp::item(shared.place(event.to).lp, place);
        self.by_lp.sort([(first, &log[first..])].into_iter(), item, [base, lps], order);
    }

    /// Handles the events of one LP after the other. `at` moves on to the next LP's first event
    /// before an LP is handled.
    fn execute_groups(&mut self, parity: Parity, at: &mut usize, executed: &mut Executed) {
        let Self { windows, lps, sender, tally, sampler, sparse, .. } = self;
        let window = &mut windows[parity.index()];
        let measures = sampler.measures(window.number);
        let is_watched = measures || sender.is_limited();
        let end = window.order.len();
        while *at < end {
            let began = if is_watched {
                let state = &lps[by_lp::local(window.order[*at]).index()].state;
                if sender.is_limited() && !sender.can_begin(state, &mut window.copied) {
                    // The rest of the window is given up.
                    *at = end;
                    return;
                }
                Some((measures.then(Instant::now), window.outputs.len()))
            } else {
                None
            };
            let key = |item| window.log[by_lp::place(item)].key;
            let group = by_lp::group(&mut window.order, *at, key, lps);
            let (local, len) = (by_lp::local(group[0]), group.len());
            debug_assert!(len > 0, "a group without events");
            let lp = &mut lps[local.index()];
            let group = *at..*at + len;
            let is_sparse = sparse.touch(window.number, local, &lp.state);
            window.touch(local, lp, group.clone(), &mut sender.undo_log, is_sparse);
            *executed = Executed::default();
            *at += len;
            let events = window.order[group].iter().map(|&item| &window.log[by_lp::place(item)]);
            execute::<false, _, _>(lp, events, sender, &mut window.outputs, executed);
            tally.processed += executed.events;
            window.executed(local, *executed);
            if let Some((began, outputs)) = began {
                // Those that the LP has sent itself; outputs among them are there still.
                let others = len + window.outputs.len() - outputs;
                sender.end_group(executed.events.saturating_sub(others as u64));
                began.into_iter().for_each(|began| sampler.note(local, began));
            }
        }
    }

    /// Notes that an LP did not come through its events, because of a mistake or a panic of the
    /// model. It may yet be undone. If it is not, the events of the window are handled one by one
    /// ([`one_by_one`](super::one_by_one)): the mistake happens again there, and is the run's
    /// failure.
    #[cold]
    pub(super) fn stop_after_panic(
        &mut self,
        parity: Parity,
        local: LocalLp,
        mut executed: Executed,
        fault: Fault,
    ) {
        if let Halt::OutOfBuffers = self.sender.error_context.cut_off.reason(fault) {
            // A replay may find memory, so it would not tell what was sent here: nothing of this
            // window may stand.
            self.request_resize(Reason::SIZE);
        }
        executed.is_stopped = true;
        self.tally.processed += executed.events;
        self.windows[parity.index()].executed(local, executed);
        self.sender.self_sent.clear();
    }
}
