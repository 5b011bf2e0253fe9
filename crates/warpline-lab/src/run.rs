//! From figures to files: measures each figure and writes its table, its text and, with the feature
//! `plots`, its plot. The command calls [`run`].

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::{
    Figure, Findings, Host, Lab, LabError, Settings, Source, Watch, constant,
    index::Piece,
    output::Directory,
    results::{Destination, Results},
    text,
    verdicts::Verdicts,
};

/// The kinds of files that each figure has, in the order in which they are written.
const KINDS: &[&str] =
    if cfg!(feature = "plots") { &["csv", "svg", "png", "md"] } else { &["csv", "md"] };
/// The file that shows all figures.
const INDEX: &str = if cfg!(feature = "plots") { "index.html" } else { "index.md" };

/// The files that [`run`] writes into this directory.
pub fn files(figures: &[&dyn Figure], directory: &Path, index: bool) -> Vec<PathBuf> {
    let names = figures.iter().map(|figure| figure.name());
    let names = names.flat_map(|name| KINDS.iter().map(move |kind| format!("{name}.{kind}")));
    let names = names.chain(index.then(|| INDEX.to_owned()));
    names.map(|name| directory.join(name)).collect()
}

/// Measures the figures in turn and writes their files; with `index`, also an index of them: a page
/// that shows them all, or without the feature `plots` a list. Returns the files that were written.
///
/// # Errors
///
/// - [`LabError::Directory`] or [`LabError::Results`] if the results cannot be written; nothing has
///   run then.
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
    let destination = settings.results.as_deref().map(Destination::open).transpose()?;
    let mut verdicts = settings.claims.as_deref().map(Verdicts::open).transpose()?;
    let mut pieces = Vec::new();
    for &figure in figures {
        let mut findings = figure.measure(&Lab::new(figure.name(), settings, watch))?;
        findings.claims = constant::grounded(findings.claims, &findings.constants);
        if let Some(destination) = &destination {
            destination.write(results(figure, &findings, settings))?;
        }
        if let Some(verdicts) = &mut verdicts {
            verdicts.write(figure, &findings, settings)?;
        }
        pieces.push(write(figure, &findings, settings, &mut directory)?);
    }
    if index {
        #[cfg(feature = "plots")]
        directory.write(INDEX, crate::page::index(&pieces).as_bytes())?;
        #[cfg(not(feature = "plots"))]
        directory.write(INDEX, crate::index::list(&pieces).as_bytes())?;
    }
    debug_assert_eq!(directory.written, files(figures, &settings.output, index));
    Ok(directory.written)
}

/// The table of a figure, as a file of results.
fn results(figure: &dyn Figure, findings: &Findings, settings: &Settings) -> Results {
    let mut flags = Map::new();
    flags.insert("flags".to_owned(), Value::from(settings.flags().trim()));
    let title = format!("{}: {}", figure.name(), figure.title());
    let mut results = Results::new(&title, flags, findings.table.header.clone());
    let number = |cell: &String| cell.parse().map_or_else(|_| cell.as_str().into(), number_of);
    results.rows = findings.table.rows.iter().map(|row| row.iter().map(number).collect()).collect();
    match findings.source {
        Source::Samples => results.rounds = Some(settings.samples),
        Source::Computed => results.how = "computed: the same on every machine".to_owned(),
    }
    results.sources.insert("crates/warpline-lab/src".to_owned(), None);
    results
}

/// A number of a table; whole ones without a point.
fn number_of(number: f64) -> Value {
    let whole = number as i64;
    if whole as f64 == number { Value::from(whole) } else { Value::from(number) }
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
