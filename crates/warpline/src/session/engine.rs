//! Which engine carries out the next steps of a session, on which ranks, with how much memory.
//!
//! What cannot be is refused here, before an engine gets the state.

use std::fmt;

use warpline_core::Model;

use super::{
    Session,
    ranks::{self, Home},
};
use crate::{
    ConfigError, Engine, EngineKind, RunError, conservative,
    engines::{COMPILED, Engines, ON_RANKS, after_trial, check_on_ranks, refuse_cuts},
};

impl<M: Model, E: Engines> Session<'_, M, E> {
    /// Lets another engine, with its settings, carry out the next steps, on as many ranks as
    /// before.
    ///
    /// # Errors
    ///
    /// [`RunError::Config`] if it cannot: it looks at a whole run, was not compiled, needs another
    /// model, or a single rank. Or if other programs have the other ranks, with the engine that
    /// they were started with; or a trial that its placement asks for fails. Nothing has changed
    /// then.
    pub fn set_engine(&mut self, engine: impl Into<Engine>) -> Result<(), RunError> {
        let (engine, ranks) = (engine.into(), self.home.ranks());
        self.refuse_across("engine", engine.kind())?;
        let ok = check_on_ranks(engine.kind(), ranks).is_ok();
        let allowed = format!(
            "{ON_RANKS}, and the session has {ranks}: `set_ranks(1)` first, or set both with \
             `set_engine_on`"
        );
        ConfigError::check(ok, "engine", engine.kind(), &allowed)?;
        self.set_engine_on(engine, ranks)
    }

    /// Lets another engine carry out the next steps on so many ranks, which are threads of this
    /// program: [`set_engine`](Self::set_engine) and [`set_ranks`](Self::set_ranks) together, for
    /// an engine that does not take the ranks of before.
    ///
    /// # Errors
    ///
    /// Those of both. Nothing has changed then.
    pub fn set_engine_on(
        &mut self,
        engine: impl Into<Engine>,
        ranks: usize,
    ) -> Result<(), RunError> {
        let engine = engine.into();
        ConfigError::check(ranks > 0, "ranks", ranks, "1 or more")?;
        self.refuse_across("engine", engine.kind())?;
        Self::check_engine(self.model(), &engine, ranks)?;
        let settings = self.settings.with(engine);
        self.settings = after_trial(|trial| E::count(self.model(), trial), &settings)?.into_owned();
        self.home = Home::Here(ranks);
        Ok(())
    }

    /// Lets the next steps run on so many ranks, which are threads of this program; one for none of
    /// that. The model needs [`wires`](Model::wires) and a [`state_wire`](Model::state_wire).
    ///
    /// # Errors
    ///
    /// [`RunError::Config`] if the engine takes a single rank, or other programs have the other
    /// ranks. Nothing has changed then.
    pub fn set_ranks(&mut self, ranks: usize) -> Result<(), RunError> {
        ConfigError::check(ranks > 0, "ranks", ranks, "1 or more")?;
        self.refuse_across("ranks", ranks)?;
        Self::check_engine(self.model(), &self.settings.engine, ranks)?;
        self.home = Home::Here(ranks);
        Ok(())
    }

    /// Other programs have been started with what they have.
    pub(super) fn refuse_across(
        &self,
        key: &str,
        value: impl fmt::Display,
    ) -> Result<(), ConfigError> {
        let allowed = "as it is while other programs have the other ranks: save a checkpoint, and \
                       start all of them anew";
        ConfigError::check(matches!(self.home, Home::Here(_)), key, value, allowed)
    }

    /// Limits the bytes of event buffers in the next steps, as
    /// [`Simulation::memory`](crate::Simulation::memory) does; none for no limit.
    pub const fn set_memory(&mut self, bytes: Option<u64>) {
        self.settings.memory = bytes;
    }

    /// Refuses an engine before it gets the state.
    pub(super) fn check_engine(
        model: &M,
        engine: &Engine,
        ranks: usize,
    ) -> Result<(), ConfigError> {
        use EngineKind::{Auto, Conservative, Sequential, Speculative, TimeWarp};
        let kind = engine.kind();
        let ok = matches!(kind, Auto | Sequential | Conservative | Speculative | TimeWarp);
        refuse_cuts(kind, !ok)?;
        check_on_ranks(kind, ranks)?;
        ConfigError::check(E::has(kind), "engine", kind, COMPILED)?;
        if ranks > 1 {
            ranks::codec(model, ranks)?;
        }
        match engine {
            Engine::Conservative(engine) => {
                conservative::resolve(engine.synchronization.kind(), model).map(drop)
            }
            Engine::Speculative(engine) => engine.validate(),
            Engine::TimeWarp(engine) => engine.validate(ranks),
            _ => Ok(()),
        }
    }
}
