//! The check of saving: every event is undone by what was saved of the state, and handled again.
//!
//! How that is, depends on how the states of the model are saved:
//!
//! - *by copy*: a copy is made before the event, and takes the place of the state after it. What
//!   copies share with the state (an `Rc`, say) is not as it was;
//! - *by field*: fields write to an undo log, and are undone. A field that changes and saves
//!   nothing is not as it was. Once in a few events of an LP, all of them are undone together, and
//!   the LP goes on with a copy from before that: so a container that was replaced by an equal one
//!   is found, whose old entries are lost.
//!
//! What the model's wires write is checked with it: the message is handled the second time as it is
//! read from its bytes, and the state after the event is read from its bytes and compared.

use std::{fmt, mem};

use warpline_core::{Fault, LogicalProcess, LpId, Model, UndoLog};

use super::{
    Arrival,
    trial::{Outcome, Trial},
    wires,
};
use crate::{
    event::Message,
    handling::{BoundedSink, Lp},
};

/// So many events of an LP are undone together.
const EVENTS: usize = 5;

/// What the check keeps between events.
pub(crate) struct SavingChecker<L> {
    /// By LP, if fields save what they change.
    series: Vec<Series>,
    /// An old copy, of any LP: a copy that uses its memory again is checked, too.
    spare: Option<L>,
    /// Whether the event that the sequential engine is at was handled here.
    is_handled: bool,
}

/// Some events of an LP one after another, which can still be undone.
#[derive(Default)]
struct Series {
    log: UndoLog,
    /// Where the log began with the first event, and the state before it.
    point: u64,
    before: String,
    events: usize,
    /// Entries of plain fields in the log.
    plain: usize,
}

impl<L: LogicalProcess> SavingChecker<L> {
    pub(crate) const fn new() -> Self {
        Self { series: Vec::new(), spare: None, is_handled: false }
    }

    /// Called before the first event, with the number of LPs.
    pub(crate) fn prepare(&mut self, lps: usize) {
        if const { L::SAVING.is_by_field() } {
            self.series.resize_with(lps, Series::default);
        }
    }

    /// Called after each event. A blocking I/O event is not undone, and neither is what was before.
    pub(crate) fn end(&mut self, to: LpId) {
        if !mem::take(&mut self.is_handled)
            && let Some(series) = self.series.get_mut(to.index())
        {
            series.forget();
        }
    }

    /// Handles an event, undoes it, and handles it again.
    pub(crate) fn handle<M: Model<Lp = L>>(
        &mut self,
        model: &M,
        event: &Arrival<'_, Message<M>>,
        lp: &mut Lp<L>,
        sink: &mut impl BoundedSink<Message<M>>,
    ) {
        debug_assert!(!self.is_handled, "the event before {:?} has not ended", event.key);
        self.is_handled = true;
        let message = wires::read_back(model, event, sink);
        let message = message.as_ref().unwrap_or(event.message);
        let again = &Arrival { message, ..*event };
        let mut trial = Trial { model, event, again, sink, show: text_of };
        if const { L::SAVING.is_by_field() } {
            self.series[event.to.index()].handle(&mut trial, lp);
        } else {
            self.handle_copied(&mut trial, lp);
        }
    }

    fn handle_copied<M: Model<Lp = L>>(
        &mut self,
        trial: &mut Trial<'_, M, impl BoundedSink<Message<M>>>,
        lp: &mut Lp<L>,
    ) {
        let (before, rng_before) = (trial.text(&lp.state), lp.core.rng.clone());
        let mut copy = match self.spare.take() {
            Some(mut copy) => {
                copy.clone_from(&lp.state);
                copy
            }
            None => lp.state.clone(),
        };
        trial.expect_same(&before, &trial.text(&copy), Fault::NotCopied);
        let first = trial.forward(lp, None);

        mem::swap(&mut lp.state, &mut copy);
        lp.core.rng = rng_before;
        let undone = trial.text(&lp.state);
        trial.expect_same(&before, &undone, |found| Fault::NotRestored { events: 1, found });

        let second = trial.repeat(lp, None);
        trial.expect_read_back(&second.state, &lp.state);
        trial.conclude(&first, second, lp);
        self.spare = Some(copy);
    }
}

impl Series {
    fn handle<M: Model>(
        &mut self,
        trial: &mut Trial<'_, M, impl BoundedSink<Message<M>>>,
        lp: &mut Lp<M::Lp>,
    ) {
        let (before, rng_before) = (trial.text(&lp.state), lp.core.rng.clone());
        debug_assert!(self.events < EVENTS, "{} events are not undone together", self.events);
        let point = M::Lp::SAVING.begin(&lp.state, &mut self.log);
        let plain = self.log.count_from(point);
        if self.events == 0 {
            (self.point, self.plain) = (point, 0);
            self.before.clone_from(&before);
        }
        let first = trial.forward(lp, Some(&mut self.log));

        let written = self.log.count_from(point) - plain;
        let undone = M::Lp::SAVING.undo_to(&mut lp.state, point, &mut self.log);
        lp.core.rng = rng_before;
        let restored = trial.text(&lp.state);
        trial.expect_same(&before, &restored, |found| Fault::NotRestored { events: 1, found });
        expect_all(trial, 1, written, undone);
        self.log.drop_from(point);

        let again = M::Lp::SAVING.begin(&lp.state, &mut self.log);
        debug_assert_eq!(again, point, "UNDO-A: what was undone is still in the log");
        let second = trial.repeat(lp, Some(&mut self.log));
        trial.expect_read_back(&second.state, &lp.state);
        self.events += 1;
        self.plain += plain;
        if self.events == EVENTS {
            self.undo_all(trial, &second, lp);
        }
        trial.conclude(&first, second, lp);
    }

    /// Undoes all events of the series; then the LP goes on with a copy from before that.
    fn undo_all<M: Model>(
        &mut self,
        trial: &mut Trial<'_, M, impl BoundedSink<Message<M>>>,
        last: &Outcome<Message<M>>,
        lp: &mut Lp<M::Lp>,
    ) {
        let copy = lp.state.clone();
        trial.expect_same(&last.state, &trial.text(&copy), Fault::NotCopied);
        let written = self.log.count_from(self.point) - self.plain;
        let undone = M::Lp::SAVING.undo_to(&mut lp.state, self.point, &mut self.log);
        let (events, restored) = (self.events, trial.text(&lp.state));
        trial.expect_same(&self.before, &restored, |found| Fault::NotRestored { events, found });
        expect_all(trial, events, written, undone);
        lp.state = copy;
        self.forget();
    }

    /// Its events cannot be undone any more.
    fn forget(&mut self) {
        self.log.drop_before(self.log.back());
        self.events = 0;
    }
}

/// If fewer writes were undone than there were, the run ends with a fault.
fn expect_all<M: Model>(
    trial: &mut Trial<'_, M, impl BoundedSink<Message<M>>>,
    events: usize,
    written: usize,
    undone: usize,
) {
    if undone != written {
        trial.fail(Fault::NotUndone { events, written, undone });
    }
}

/// The text of a state: of all its fields, if it knows them.
fn text_of<M: Model>(model: &M, state: &M::Lp) -> String {
    if const { M::Lp::SAVING.is_by_field() } {
        format!("{:#?}", Fields(state))
    } else {
        model.state_text(state)
    }
}

/// The fields of a state, in the layout of a derived `Debug`.
struct Fields<'s, L>(&'s L);

impl<L: LogicalProcess> fmt::Debug for Fields<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("State");
        L::SAVING.fields(self.0, &mut |name, value| {
            shown.field(name, value);
        });
        shown.finish()
    }
}
