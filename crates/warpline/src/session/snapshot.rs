//! Copies of all that a session is: for going back, and for branches, which may have other
//! parameters.

use std::{fmt, marker::PhantomData, ptr, sync::Arc};

use warpline_core::{LogicalProcess, LpId, Model, NOT_ADAPTED};

use super::{
    Session, State,
    lacking::{self, Lack},
};
use crate::{
    ConfigError, RunError,
    cut::{Cut, LeftEvent, Whole},
    engines::Engines,
    error::BranchError,
    event::{Buffer, Event, Inline, Message},
    handling::Value,
    settings::AnyParameters,
    watch::Watch,
};

/// A session's states and pending events at one point, from
/// [`Session::snapshot`](super::Session::snapshot).
pub struct Snapshot<M: Model>(pub(super) State<M>);

impl<M: Model> fmt::Debug for Snapshot<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("now", &self.0.now).finish_non_exhaustive()
    }
}

impl<'a, M: Model, E: Engines> Session<'a, M, E> {
    /// A copy of all states and pending events.
    ///
    /// # Errors
    ///
    /// If a step has failed, or a copy panics.
    pub fn snapshot(&self) -> Result<Snapshot<M>, RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        self.snapshot_with(&Clone::clone)
    }

    /// Goes back to a snapshot of this session, or goes on from one of another session of the same
    /// model.
    ///
    /// # Errors
    ///
    /// If it is of a model with another number of LPs, or a copy panics.
    pub fn restore(&mut self, snapshot: &Snapshot<M>) -> Result<(), RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        self.restore_with(snapshot, &Clone::clone)
    }

    pub(crate) fn restore_with(
        &mut self,
        snapshot: &Snapshot<M>,
        copy: &dyn Fn(&Message<M>) -> Message<M>,
    ) -> Result<(), RunError> {
        let (lps, all) = (snapshot.0.whole.0.lps.len(), self.model.lp_count());
        ConfigError::check(lps == all, "snapshot", lps, &format!("of {all} LPs"))?;
        self.state = Some(self.guard(|| copy_of(&snapshot.0, copy))?);
        Ok(())
    }

    /// Another session that goes on from here: the same states, pending events and random streams.
    /// Both may go on, each by itself. The new one has no observer.
    ///
    /// # Errors
    ///
    /// Those of [`snapshot`](Self::snapshot).
    pub fn branch(&self) -> Result<Session<'a, M, E>, RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        self.branch_from(self.snapshot()?, Arc::clone(&self.model))
    }

    /// Another session that goes on from here as `model`, which has the same LPs and other
    /// parameters. The random streams go on from the same point, so that branches have common
    /// random numbers.
    ///
    /// # Errors
    ///
    /// Those of [`snapshot`](Self::snapshot), and [`RunError::Config`] if the model
    /// [may not go on](Model::adapt) with these LPs.
    pub fn branch_as(&self, model: M) -> Result<Session<'a, M, E>, RunError>
    where
        <M::Lp as LogicalProcess>::Message: Clone,
    {
        let snapshot = self.snapshot()?;
        self.branch_from(snapshot, Arc::new(model))
    }

    pub(crate) fn branch_from(&self, from: Snapshot<M>, model: Arc<M>) -> Result<Self, RunError> {
        let Snapshot(mut state) = from;
        if !Arc::ptr_eq(&model, &self.model) {
            self.refuse_across("branch", model.name())?;
            let (now, before) = (model.lp_count(), self.model.lp_count());
            let allowed = format!("{before}, as before the branch");
            ConfigError::check(now == before, "lp_count", now, &allowed)?;
            let refused = |why: String| BranchError {
                what: match &*why {
                    NOT_ADAPTED => lacking::text(&no_branch(&*model), &[Lack::Adapt]),
                    why => format!("{}: {why}", no_branch(&*model)),
                },
            };
            for (number, lp) in state.whole.0.lps.iter_mut().enumerate() {
                let id = LpId::from_index(number);
                let adapted = self.guard(|| model.adapt(&self.model, id, &mut lp.state))?;
                adapted.map_err(refused)?;
            }
        }
        debug_assert_eq!(state.whole.0.lps.len(), model.lp_count(), "CUT-A: an LP is missing");
        let watch = Watch { stop: self.watch.stop, ..Watch::default() };
        let (settings, home) = (self.settings.clone(), self.home.clone());
        let (state, attached, engines) = (Some(state), Vec::new(), PhantomData);
        Ok(Self { model, settings, home, watch, state, attached, engines })
    }

    /// The same session, with what stands for the parameters of its model in checkpoints.
    pub(crate) fn with_parameters(mut self, parameters: Option<AnyParameters>) -> Self {
        self.settings.parameters = parameters;
        self
    }

    /// Refuses to copy pending events of a model that does not say how, and to go on with LPs that
    /// it does not adapt: what is missing for the branch is told at once.
    pub(crate) fn check_branch(&self, model: &M) -> Result<(), RunError> {
        let of_adapting = || {
            let first = self.state()?.whole.0.lps.first().map(|lp| lp.state.clone());
            let Some(mut first) = first.filter(|_| !ptr::eq(model, &*self.model)) else {
                return Ok(None);
            };
            let adapted = self.guard(|| model.adapt(&self.model, LpId::new(0), &mut first))?;
            Ok::<_, RunError>(adapted.is_err_and(|why| why == NOT_ADAPTED).then_some(Lack::Adapt))
        };
        if self.guard(|| self.model.wires())?.is_some() {
            return Ok(());
        }
        let lacks: Vec<_> = [Some(Lack::Wires), of_adapting()?].into_iter().flatten().collect();
        debug_assert_eq!(lacks.first(), Some(&Lack::Wires), "it can copy its messages");
        Err(BranchError { what: lacking::text(&no_branch(model), &lacks) }.into())
    }

    pub(crate) fn snapshot_with(
        &self,
        copy: &dyn Fn(&Message<M>) -> Message<M>,
    ) -> Result<Snapshot<M>, RunError> {
        let state = self.state()?;
        Ok(Snapshot(self.guard(|| copy_of(state, copy))?))
    }

    pub(crate) fn shared_model(&self) -> Arc<M> {
        Arc::clone(&self.model)
    }
}

/// What a model that lacks something is kept from.
fn no_branch<M: Model>(model: &M) -> String {
    format!("the model {} has no branches yet", model.name())
}

/// A copy of where a session is; `copy` copies a message.
pub(super) fn copy_of<M: Model>(
    state: &State<M>,
    copy: &dyn Fn(&Message<M>) -> Message<M>,
) -> State<M> {
    let Cut { lps, pending, log_end } = &state.whole.0;
    let copy_event = |&Event { key, to, io, ref message }: &LeftEvent<M>| {
        let message = Inline::store(Value(copy(message.get())), &mut Vec::new());
        Event { key, to, io, message }
    };
    let pending: Vec<_> = pending.iter().map(copy_event).collect();
    debug_assert_eq!(pending.len(), state.whole.0.pending.len(), "CUT-A: an event was not copied");
    State {
        whole: Whole(Cut { lps: lps.clone(), pending, log_end: *log_end }),
        now: state.now,
        is_past_now: state.is_past_now,
        totals: state.totals.clone(),
        wall: state.wall,
        details: state.details.clone(),
        pace: state.pace,
    }
}
