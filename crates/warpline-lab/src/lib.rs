//! The laboratory: measures the papers' figures again, and says whether it finds what they found.
//!
//! `warpline lab FIGURE` calls [`run`]. For each [`Figure`] it leaves a table (CSV), a plot (SVG
//! and PNG) and a text (Markdown) in a directory. A figure is one file in `figures/` and one line
//! in [`figures::ALL`]; it says what to run and what the paper claims, and the rest is the same for
//! all.
//!
//! Where an experiment was done on a machine that is no longer built, [`machine`] replays a trace
//! of memory accesses through such a machine's caches, and counts what its hardware monitors would
//! have counted.
//!
//! # Invariants
//!
//! - **LAB-A.** Runs of the same model to the same end commit the same events, or there is no
//!   figure.
//! - **LAB-B.** A verdict is computed from the samples, by a rule that stands beside it.
//! - **LAB-C.** That the results cannot be written is found out before anything runs.

#![forbid(unsafe_code)]

mod claim;
mod counters;
mod error;
mod figure;
pub mod figures;
mod host;
pub mod machine;
mod output;
mod page;
mod plot;
pub mod replay;
mod sampling;
pub mod sends;
mod settings;
mod text;

use std::path::PathBuf;

pub use claim::{CHANCE, Claim, LEVEL, Outcome, Test, Verdict};
pub use error::LabError;
pub use figure::{Figure, Findings, Lab, Source, Table};
pub use host::{Host, cores, processor};
pub use plot::{Axis, Curve, Dot, Plot, Scale};
pub use sampling::{Conservative, Executor, Point, Sample, Setup, TimeWarp, Workload};
pub use settings::{Settings, Watch};

use output::Directory;

/// Measures the figures in turn and writes their files; with `index`, also a page that shows them
/// all. Returns the files that were written.
///
/// # Errors
///
/// - [`LabError::Directory`] when the results cannot be written; nothing has run then.
/// - [`LabError::Differs`] when two runs of a model committed different events.
/// - [`LabError::Interrupted`] when it was told to stop; the figures that were finished are there.
/// - Otherwise, what went wrong in a run or with a file.
pub fn run(
    figures: &[&dyn Figure],
    settings: &Settings,
    watch: &dyn Watch,
    index: bool,
) -> Result<Vec<PathBuf>, LabError> {
    let mut directory = Directory::create(&settings.output)?;
    let mut pieces = Vec::new();
    for &figure in figures {
        let findings = figure.measure(&Lab::new(figure.name(), settings, watch))?;
        let svg = findings.plot.to_svg()?;
        let text = text::body(figure, &findings, settings, &Host::detect());
        let name = figure.name();
        directory.write(&format!("{name}.csv"), &findings.table.to_csv()?)?;
        directory.write(&format!("{name}.svg"), svg.as_bytes())?;
        directory.write(&format!("{name}.png"), &plot::to_png(&svg)?)?;
        directory.write(&format!("{name}.md"), text::with_plot(figure, &text).as_bytes())?;
        pieces.push(page::Piece { name, title: figure.title(), svg, text });
    }
    if index {
        directory.write("index.html", page::index(&pieces).as_bytes())?;
    }
    Ok(directory.written)
}
