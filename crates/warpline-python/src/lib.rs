//! The native part of the Python package `warpline_sim`: calls of the engine, models written in
//! Python, and tables for Arrow.
//!
//! The Python part (`python/warpline_sim`) calls it with keys and values, and gets JSON. A run goes
//! on in a thread of its own, so the interpreter is free; the thread that called looks after
//! signals and progress meanwhile.

mod calls;
mod draws;
mod models;
mod sessions;
mod table;
mod worlds;

use warpline::nodes::NodeAllocator;

/// What a worker allocates lies on its NUMA node, with `memory_placement`.
#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

/// The module, as Python imports it.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::calls::{describe, figures, keywords, lab, main, page, run, sweep};
    #[pymodule_export]
    use super::draws::{discrete, draw, empirical, exponential, laws};
    #[pymodule_export]
    use super::models::{constants_layout, layout, run_model};
    #[pymodule_export]
    use super::sessions::{
        session_branch, session_branch_model, session_branch_world, session_close, session_inject,
        session_open, session_open_model, session_open_world, session_report, session_run,
        session_save, session_spawn, session_state, session_states, session_times,
    };
    /// The version, on which compiled handlers depend.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::table::arrow_stream;
    #[pymodule_export]
    use super::worlds::{process_layout, run_world};
}
