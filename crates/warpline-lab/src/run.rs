//! From figures to files: measures each figure and writes its table, its text and, with the feature
//! `plots`, its plot. The command calls [`run`].

use std::path::PathBuf;

use crate::{
    Figure, Findings, Host, Lab, LabError, Settings, Watch, index::Piece, output::Directory, text,
};

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
        directory.write("index.md", crate::index::list(&pieces).as_bytes())?;
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
