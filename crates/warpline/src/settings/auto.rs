//! The settings of the engine that chooses engines.

use super::{Balance, MemoryPlacement, Placement};

/// The engine that is best for the model and the machine: the run tries the sequential, the
/// conservative and the speculative engine for short times, goes on with the one that commits the
/// most events per second, and looks again when that changes.
///
/// It runs every model. The [report](crate::report::Details::remarks) says what was chosen, and
/// what the trials cost.
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Auto, Simulation};
///
/// let report = Simulation::new(model).end(100.0).engine(Auto::default()).run()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Auto {
    /// The most workers (threads) that share the LPs; fewer work if that is faster. Several ranks
    /// run Time Warp with this number of workers each.
    pub workers: usize,
    /// Which worker has which LPs.
    pub placement: Placement,
    /// Whether workers are bound to cores, where there are enough of them.
    pub pin: bool,
    /// Where the memory of workers is, if they are bound to cores.
    pub memory_placement: MemoryPlacement,
    /// Whether LPs move to other workers, and other engines are tried.
    pub balance: Balance,
}

/// As many workers as the machine has cores.
impl Default for Auto {
    fn default() -> Self {
        let workers = warpline_memory::cores();
        Self {
            workers,
            placement: Placement::default(),
            pin: true,
            memory_placement: MemoryPlacement::Off,
            balance: Balance::default(),
        }
    }
}
