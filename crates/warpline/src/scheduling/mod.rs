//! Where the seeded simulation of schedules takes part in a speculative run.
//!
//! The workers call these functions at every place where it matters which of them runs, or how late
//! one sees what another one has done. In a build without tests all of them are empty. In a
//! simulated run (`simulated.rs`) all workers are coroutines on one thread, and a seed decides.

#[cfg(test)]
pub(crate) mod simulated;

#[cfg(not(test))]
mod absent;

#[cfg(not(test))]
pub(crate) use absent::*;
#[cfg(test)]
pub(crate) use simulated::hooks::*;
