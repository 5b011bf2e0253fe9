//! The laboratory: measures the papers' figures again, and says whether it finds what they found.
//!
//! `warpline lab FIGURE` calls [`run()`]. For each [`Figure`] it leaves a table (CSV) and a text
//! (Markdown) in a directory, and with the feature `plots` also a plot (SVG and PNG). A figure is
//! one file in `figures/` and one line in [`figures::ALL`]: it says what to run and what the paper
//! claims. The rest is the same for all figures.
//!
//! Some of the papers' experiments depend on a machine that is no longer built. For these,
//! [`machine`] replays a trace of memory accesses through a model of its caches, and counts what
//! the machine's hardware monitors would have counted.
//!
//! # Invariants
//!
//! - **LAB-A.** Runs of the same model to the same end commit the same events; otherwise the figure
//!   fails.
//! - **LAB-B.** A verdict is computed from what was found, by a rule that the text prints beside
//!   it.
//! - **LAB-C.** A directory that cannot be written is refused before anything runs.

#![forbid(unsafe_code)]

mod claim;
mod constant;
mod counters;
mod error;
mod executor;
mod figure;
pub mod figures;
pub mod hogging;
mod host;
mod index;
pub mod machine;
pub mod memory_system;
mod mpi;
mod network;
pub mod nodes;
mod output;
#[cfg(feature = "plots")]
mod page;
mod plot;
pub mod replay;
pub mod results;
mod rule;
mod run;
mod sampling;
pub mod sends;
mod settings;
mod text;
pub mod traffic_trace;
mod verdicts;
pub mod yardstick;

pub use claim::{Basis, Claim, Origin, Test, Verdict};
pub use constant::{Constant, Provenance};
pub use error::LabError;
pub use executor::{Conservative, Executor, GVT_WHEN_SHORT, Limit, RankEngine, Ranks, TimeWarp};
pub use figure::{Figure, Findings, Lab, Source, Table};
pub use host::Host;
pub use network::Network;
pub use plot::{Axis, Curve, Dot, Plot, Scale};
pub use rule::{Bounds, CHANCE, LEVEL, Outcome};
pub use run::{files, run};
pub use sampling::{Point, Sample, Setup, Workload};
pub use settings::{Settings, Watch};
pub use text::PLOTS_HINT;
