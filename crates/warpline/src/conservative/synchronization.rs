//! Which conservative algorithm runs, by name.

use std::{fmt, str::FromStr};

use warpline_core::{LpId, Model};

use crate::{ConfigError, Engine};

/// How the workers of the conservative engine know what they may handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Synchronization {
    /// Windows for a model that declares a [`lookahead`](Model::lookahead) above 0, null messages
    /// for one that declares its [`links`](Model::links).
    #[default]
    Auto,
    /// All workers handle the same window of virtual time, and then meet. Needs a lookahead above
    /// 0.
    Windows,
    /// Each process goes on as far as its links allow (Chandy, Misra and Bryant), and tells the
    /// receivers of its events how far it has come. Needs links.
    NullMessages,
    /// The same, but a process tells it only when it is asked by one that waits.
    NullMessagesOnDemand,
    /// The same, but it is not told at all: when all wait, the first event of all is found.
    DeadlockRecovery,
}

impl Synchronization {
    /// Every algorithm, the default first.
    pub const ALL: &'static [Self] = &[
        Self::Auto,
        Self::Windows,
        Self::NullMessages,
        Self::NullMessagesOnDemand,
        Self::DeadlockRecovery,
    ];

    /// The name that `--synchronization` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Windows => "windows",
            Self::NullMessages => "null-messages",
            Self::NullMessagesOnDemand => "null-messages-on-demand",
            Self::DeadlockRecovery => "deadlock-recovery",
        }
    }

    /// What `Auto` stands for with this model.
    pub(super) fn resolve<M: Model>(self, model: &M) -> Result<Self, ConfigError> {
        if self != Self::Auto {
            return Ok(self);
        }
        // With no lookahead on any link there would be a deadlock after every event.
        let has_links = || {
            let links = |lp| model.links(LpId::from_index(lp)).into_iter().flatten();
            (0..model.lp_count()).flat_map(links).any(|link| link.lookahead > 0.0)
        };
        if model.lookahead().is_some_and(|lookahead| lookahead > 0.0) {
            Ok(Self::Windows)
        } else if has_links() {
            Ok(Self::NullMessages)
        } else {
            let allowed = "sequential or timewarp for a model that declares no lookahead (to declare one, \
                           give its Model a `lookahead`: a delay above 0 that no event between two \
                           processes goes below) and no links (to declare them, give it `links`: where each \
                           process sends to, and with which delay above 0 at least)";
            Err(ConfigError::new("engine", Engine::Conservative, allowed))
        }
    }
}

impl fmt::Display for Synchronization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Synchronization {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|one| one.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|one| one.name()).collect();
            ConfigError::new("synchronization", name, format!("one of {}", names.join(", ")))
        })
    }
}
