//! The check of reverse handlers: every event forward, back and forward again.

use warpline_core::{Fault, LogicalProcess, Model, Reversal};

use super::{Arrival, trial::Trial};
use crate::{
    ConfigError, EngineKind,
    event::Message,
    handling::{BoundedSink, Lp},
};

/// Refuses a model that has nothing to check.
pub(crate) fn refuse_irreversible<M: Model>(model: &M) -> Result<(), ConfigError> {
    let allowed = "another engine for this model: it has no reverse handler to check";
    ConfigError::check(model.is_reversible(), "engine", EngineKind::ReverseCheck, allowed)
}

/// Handles an event, reverses it, and handles it again.
pub(crate) fn there_and_back<M: Model>(
    model: &M,
    event: &Arrival<'_, Message<M>>,
    lp: &mut Lp<M::Lp>,
    sink: &mut impl BoundedSink<Message<M>>,
) {
    let mut trial = Trial { model, event, again: event, sink, show: M::state_text };
    let (before, rng_before) = (trial.text(&lp.state), lp.core.rng.clone());
    let first = trial.forward(lp, None);

    let &Arrival { key, to, message } = event;
    let mut reversal = Reversal::new(*key, to, rng_before.clone(), first.note);
    lp.state.reverse(model, message, &mut reversal);
    lp.core.rng = rng_before;
    let reversed = trial.text(&lp.state);
    trial.expect_same(&before, &reversed, Fault::NotReversed);

    let second = trial.repeat(lp, None);
    trial.conclude(&first, second, lp);
}
