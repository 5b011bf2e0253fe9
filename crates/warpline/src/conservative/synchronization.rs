//! Which conservative algorithm runs with a model.

use warpline_core::{LpId, Model};

use crate::{ConfigError, EngineKind, SynchronizationKind};

/// The algorithm that runs: the chosen one, or what `Auto` stands for with this model.
pub(crate) fn resolve<M: Model>(
    chosen: SynchronizationKind,
    model: &M,
) -> Result<SynchronizationKind, ConfigError> {
    if chosen != SynchronizationKind::Auto {
        return Ok(chosen);
    }
    // With no lookahead on any link there would be a deadlock after every event.
    let has_links = || {
        let links = |lp| model.links(LpId::from_index(lp)).into_iter().flatten();
        (0..model.lp_count()).flat_map(links).any(|link| link.lookahead > 0.0)
    };
    if model.lookahead().is_some_and(|lookahead| lookahead > 0.0) {
        Ok(SynchronizationKind::Windows)
    } else if has_links() {
        Ok(SynchronizationKind::NullMessages)
    } else {
        let allowed = "auto, sequential, timewarp or speculative for a model that declares no \
                       lookahead (to declare one, give its Model a `lookahead`: a delay above 0 \
                       that no event between two LPs goes below) and no links (to declare \
                       them, give it `links`: where each LP sends to, and with which delay \
                       above 0 at least)";
        Err(ConfigError::new("engine", EngineKind::Conservative, allowed))
    }
}
