//! The settings of the speculative engine.

use super::{Balance, MemoryPlacement, Placement};
use crate::ConfigError;

/// The speculative engine: workers handle all events of a short window of virtual time before they
/// know all of them, and repair what was wrong before the window is committed.
///
/// It runs every model, and needs no lookahead. The width of windows finds itself.
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Simulation, Speculative};
///
/// let engine = Speculative { workers: 4, ..Speculative::default() };
/// let report = Simulation::new(model).end(100.0).engine(engine).run()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Speculative {
    /// How many workers (threads) share the LPs.
    pub workers: usize,
    /// The width of windows.
    pub width: Width,
    /// Which worker has which LPs.
    pub placement: Placement,
    /// Whether workers are bound to cores, where there are enough of them.
    pub pin: bool,
    /// Where the memory of workers is, if they are bound to cores.
    pub memory_placement: MemoryPlacement,
    /// Whether to measure where the time goes ([`Details::costs`](crate::report::Details::costs)).
    pub measure_costs: bool,
    /// Whether LPs move to other workers, and fewer workers work where that is faster.
    pub balance: Balance,
}

impl Speculative {
    /// Refuses settings that no run can have.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let width = self.width.value().unwrap_or(1.0);
        let is_allowed = width.is_normal() && width > 0.0;
        ConfigError::check(is_allowed, "width", width, "a virtual time above 0, or auto")
    }
}

/// The width of the speculative engine's windows, in units of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Width {
    /// It finds itself.
    #[default]
    Auto,
    /// It finds itself, and the search begins here. A run needs this only if it is so short that a
    /// good beginning matters.
    From(f64),
    /// This one; but windows are narrower where they would waste too much work or memory.
    Fixed(f64),
}

impl Width {
    /// The width that was given.
    pub(crate) const fn value(self) -> Option<f64> {
        match self {
            Self::Auto => None,
            Self::From(width) | Self::Fixed(width) => Some(width),
        }
    }
}

impl Default for Speculative {
    fn default() -> Self {
        Self {
            workers: 2,
            width: Width::Auto,
            placement: Placement::default(),
            pin: true,
            memory_placement: MemoryPlacement::Off,
            measure_costs: false,
            balance: Balance::default(),
        }
    }
}
