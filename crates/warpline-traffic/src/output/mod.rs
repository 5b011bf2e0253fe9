//! What a run writes beside its report: a table of all LPs, a time series, and maps.
//!
//! The parameters name the files, the model hands over what LPs counted, and the command completes
//! the files with [`Recorder::finish`]. Files are created before a run, so that one that cannot be
//! written is found out then; they get their names when they are complete, and an older file stays
//! as it is until then. Only the time series is written while the run goes on: a checkpoint has
//! its [`Marks`], behind which the run that goes on writes.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use warpline::files::{Mark, PartialFile, remedy_of_going_on};

use crate::{
    error::{FileError, Flaw},
    params::TrafficParams,
    results::Tally,
};

mod geojson;
mod palette;
#[cfg(feature = "plots")]
mod png;
mod series;
mod survey;
mod svg;
mod table;

pub(crate) use series::Sample;
pub(crate) use survey::Survey;

/// The files of a run, not complete yet.
#[derive(Debug)]
pub struct Recorder {
    survey: Survey,
    shared: Arc<TrafficCounts>,
    /// Written when the run has ended.
    late: Vec<(Output, Kind)>,
}

/// How far the files of a run are written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Marks {
    series: Option<series::SeriesMark>,
}

/// What the model hands over.
#[derive(Debug, Default)]
pub(crate) struct TrafficCounts {
    series: Mutex<Option<series::Series>>,
    /// What the LPs counted, in their order.
    tallies: Mutex<Option<Vec<Tally>>>,
}

/// A file that is not complete yet.
#[derive(Debug)]
struct Output(PartialFile);

/// What a file has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Table,
    Svg,
    GeoJson,
    Png,
}

impl Output {
    /// The file of a run that begins, or of one that goes on.
    fn open(path: &Path, goes_on: bool) -> Result<Self, FileError> {
        let failed = if goes_on { not_gone_on } else { unwritten };
        PartialFile::open(path, goes_on).map(Self).map_err(|error| failed(path, &error))
    }

    fn mark(&mut self) -> Result<Mark, FileError> {
        self.0.mark().map_err(|error| not_gone_on(self.0.path(), &error))
    }

    fn go_on(&mut self, mark: Mark) -> Result<(), FileError> {
        let gone_on = self.0.check(mark, 0, &[]).and_then(|()| self.0.go_on());
        gone_on.map_err(|error| not_gone_on(self.0.path(), &error))
    }

    /// Does what writes to the file, and names the file if it fails.
    fn with(
        &mut self,
        write: impl FnOnce(&mut PartialFile) -> io::Result<()>,
    ) -> Result<(), FileError> {
        write(&mut self.0).map_err(|error| unwritten(self.0.path(), &error))
    }

    /// The file is complete, and gets its name, which is returned.
    fn complete(mut self) -> Result<PathBuf, FileError> {
        self.with(PartialFile::complete)?;
        Ok(self.0.path().to_owned())
    }
}

fn unwritten(path: &Path, error: &io::Error) -> FileError {
    Flaw::new(error.to_string(), "name a file that can be written").at(path, None)
}

fn not_gone_on(path: &Path, error: &io::Error) -> FileError {
    Flaw::new(error.to_string(), remedy_of_going_on(path, error)).at(path, None)
}

impl Kind {
    /// The kind of a map by the name of its file.
    fn of_map(path: &Path) -> Result<Self, FileError> {
        let wrong =
            |what| Err(Flaw::new(what, "a map is *.svg, *.geojson or *.png").at(path, None));
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
        match ending.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("geojson") => Ok(Self::GeoJson),
            Some("png") if cfg!(feature = "plots") => Ok(Self::Png),
            Some("png") => wrong("this build draws no PNG: build it with `--features plots`"),
            _ => wrong("the kind of the map is not known by this name"),
        }
    }
}

impl Recorder {
    /// Creates the files that the parameters name, or opens them for a run that goes on; none if
    /// they name none. The second result is for the model.
    pub(crate) fn create(
        params: &TrafficParams,
        goes_on: bool,
        survey: impl FnOnce() -> Survey,
    ) -> Result<Option<(Self, Arc<TrafficCounts>)>, FileError> {
        if !params.files().has_outputs() {
            return Ok(None);
        }
        let mut late = Vec::new();
        if let Some(path) = &params.segments {
            late.push((Output::open(path, false)?, Kind::Table));
        }
        for path in &params.map {
            let kind = Kind::of_map(path)?;
            late.push((Output::open(path, false)?, kind));
        }
        let open = |path: &Path| Output::open(path, goes_on);
        let series = params.series.as_deref().map(open).transpose()?;
        let series = series.map(series::Series::begin).transpose()?;
        let shared = TrafficCounts { series: Mutex::new(series), tallies: Mutex::default() };
        let shared = Arc::new(shared);
        Ok(Some((Self { survey: survey(), shared: Arc::clone(&shared), late }, shared)))
    }

    /// How far the files are written; all of that is on the disk then.
    ///
    /// # Errors
    ///
    /// When the time series could not be written, or is no file to which rows can be appended
    /// later.
    pub fn mark(&self) -> Result<Marks, FileError> {
        let series = lock(&self.shared.series).as_mut().map(series::Series::mark).transpose()?;
        Ok(Marks { series })
    }

    /// Goes on behind the marks, with files that were
    /// [opened](crate::model::Traffic::record_further) for that. Nothing is written before.
    ///
    /// # Errors
    ///
    /// When the time series is not what had been written up to its mark.
    pub fn go_on(&self, marks: &Marks) -> Result<(), FileError> {
        let mut series = lock(&self.shared.series);
        series.as_mut().map_or(Ok(()), |series| series.go_on(marks.series))
    }

    /// Completes the files after the run, and names each; or says why it could not be written.
    #[must_use]
    pub fn finish(self) -> Vec<Result<PathBuf, FileError>> {
        let Self { mut survey, shared, late } = self;
        survey.count(lock(&shared.tallies).take().unwrap_or_default());
        let late = late.into_iter().map(|(output, kind)| write_late(output, kind, &survey));
        let mut files: Vec<_> = late.collect();
        files.extend(lock(&shared.series).take().map(series::Series::finish));
        files
    }
}

/// Writes a file whose contents are known when the run has ended.
fn write_late(mut output: Output, kind: Kind, survey: &Survey) -> Result<PathBuf, FileError> {
    output.with(|writer| {
        match kind {
            Kind::Table => table::write(&mut *writer, survey)?,
            Kind::Svg => writer.write_all(svg::draw(survey).as_bytes())?,
            Kind::GeoJson => geojson::write(&mut *writer, survey)?,
            #[cfg(feature = "plots")]
            Kind::Png => writer.write_all(&png::render(&svg::draw(survey))?)?,
            #[cfg(not(feature = "plots"))]
            Kind::Png => {}
        }
        Ok(())
    })?;
    output.complete()
}

impl TrafficCounts {
    /// Takes what an LP counted at a time. Times come in order.
    pub(crate) fn sample(&self, time: f64, sample: Sample) {
        if let Some(series) = lock(&self.series).as_mut() {
            series.add(time, sample);
        }
    }

    /// Takes what all LPs counted.
    pub(crate) fn take(&self, tallies: Vec<Tally>) {
        *lock(&self.tallies) = Some(tallies);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
