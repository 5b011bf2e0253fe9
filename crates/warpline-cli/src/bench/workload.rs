//! The workloads that everything is measured on: those of the models that Warpline ships.

use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use warpline_models::catalog::{self, Load, ModelParams};

static ALL: LazyLock<Vec<catalog::Workload>> =
    LazyLock::new(|| warpline_models::ALL.iter().flat_map(|model| model.workloads()).collect());

/// A standard workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload(&'static catalog::Workload);

impl PartialEq for Workload {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Workload {
    /// Every workload, in the order of the models.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(Self)
    }

    /// The workload with this name, in upper or lower case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|workload| workload.name().eq_ignore_ascii_case(name))
    }

    /// Reads a name from the command line.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        let value = |workload: Self| PossibleValue::new(workload.name()).help(workload.title());
        PossibleValuesParser::new(Self::all().map(value))
            .try_map(|name| Self::named(&name).ok_or("no such workload"))
    }

    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    pub(crate) fn title(self) -> &'static str {
        self.0.title
    }

    pub(crate) fn params(self) -> &'static ModelParams {
        &self.0.params
    }

    /// Whether the model promises a lookahead, so that the conservative engine can run it.
    pub(crate) fn has_lookahead(self) -> bool {
        self.params().model().is_ok_and(|model| model.lookahead().is_some())
    }

    /// What the bare loops do.
    pub(crate) fn bare(self) -> Load {
        self.0.bare
    }

    /// The events that are pending at any time, if that is always the same number.
    pub(crate) fn population(self) -> Option<usize> {
        match self.0.bare {
            Load::Hold(hold) => Some(hold.population),
            Load::Loop(_) => None,
        }
    }

    /// The virtual time that a sample of full length runs to.
    pub(crate) fn end(self) -> f64 {
        self.0.end
    }
}
