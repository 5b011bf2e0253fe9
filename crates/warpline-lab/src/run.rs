//! From figures to files: measures each figure and writes its table, its text and, with the feature
//! `plots`, its plot. The command calls [`run`].

use std::path::PathBuf;

use crate::{
    Figure, Findings, Host, Lab, LabError, Settings, Watch,
    output::Directory,
    text::{self, Text},
};

/// How to get plots, if this build draws none.
pub const PLOTS_HINT: Option<&str> = if cfg!(feature = "plots") {
    None
} else {
    Some("This build draws no plots. To get them, build Warpline with `--features plots`.")
};

/// A figure in the index of all.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: Text,
    #[cfg(feature = "plots")]
    pub(crate) svg: String,
}

/// Measures the figures in turn and writes their files; with `index`, also an index of them: a page
/// that shows them all, or without the feature `plots` a list. Returns the files that were written.
///
/// # Errors
///
/// - [`LabError::Directory`] if the results cannot be written; nothing has run then.
/// - [`LabError::Differs`] if two runs of a model committed different events.
/// - [`LabError::Interrupted`] if the watch asked to stop; the files of finished figures are there.
/// - Otherwise, the error of a run or of a file.
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
        pieces.push(write(figure, &findings, settings, &mut directory)?);
    }
    if index {
        #[cfg(feature = "plots")]
        directory.write("index.html", crate::page::index(&pieces).as_bytes())?;
        #[cfg(not(feature = "plots"))]
        directory.write("index.md", text::index(&pieces).as_bytes())?;
    }
    Ok(directory.written)
}

/// Writes the files of one figure.
fn write(
    figure: &dyn Figure,
    findings: &Findings,
    settings: &Settings,
    directory: &mut Directory,
) -> Result<Piece, LabError> {
    let (name, title) = (figure.name(), figure.title());
    let text = text::of(figure, findings, settings, &Host::detect());
    directory.write(&format!("{name}.csv"), &findings.table.to_csv()?)?;
    #[cfg(feature = "plots")]
    let svg = {
        let svg = findings.plot.to_svg()?;
        directory.write(&format!("{name}.svg"), svg.as_bytes())?;
        directory.write(&format!("{name}.png"), &crate::plot::to_png(&svg)?)?;
        svg
    };
    directory.write(&format!("{name}.md"), text::file(figure, &text).as_bytes())?;
    Ok(Piece {
        name,
        title,
        text,
        #[cfg(feature = "plots")]
        svg,
    })
}
