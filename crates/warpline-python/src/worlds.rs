//! Worlds written in Python: their processes are compiled functions (or callbacks of the
//! interpreter), the processes themselves and the sites words.

#![expect(unsafe_code, reason = "processes come as addresses")]

use std::{
    collections::BTreeMap,
    mem::transmute,
    path::{Path, PathBuf},
    ptr::with_exposed_provenance,
};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use warpline::{AnyModel, files::Files};
use warpline_cli::{ModelParams, Recorded, Recording, Refusal};
use warpline_foreign::{
    BASE, EventLog, Facility, FacilityKind, ForeignWorld, PROCESS_LAYOUT, ProcessDescription,
    Resumption, Starter, WorldDescription,
};

use crate::{
    calls::Setting,
    models::{Finishing, Foreign, Made, link, run_made, statistic, words},
};

/// Where the fields of a process's context are, in bytes.
#[pyfunction]
pub(crate) fn process_layout() -> BTreeMap<&'static str, usize> {
    BASE.iter().chain(PROCESS_LAYOUT).copied().collect()
}

/// Of a facility the name, the kind, and of each site the capacity and what is there at first.
type WrittenFacility = (String, String, Vec<(f64, f64)>);

/// What Python says of a world.
#[derive(FromPyObject)]
pub(crate) struct WrittenWorld {
    name: String,
    /// The addresses of the functions, which Python keeps alive.
    start: usize,
    /// Of each kind of processes the name, the address, and the words of a process.
    processes: Vec<(String, usize, usize)>,
    facilities: Vec<WrittenFacility>,
    sites: usize,
    site_words: usize,
    /// Name, kind, unit, meaning and offset of each statistic in a site.
    statistics: Vec<(String, String, String, String, usize)>,
    initial: Vec<u8>,
    parameters: Vec<u8>,
    /// The parameters as JSON, for the report.
    shown: String,
    identity: String,
    lookahead: Option<f64>,
    /// Sender, receiver and lookahead of each link.
    links: Option<Vec<(u32, u32, f64)>>,
    /// From the sites at the end of a run, and its end, to the names and values of results.
    finish: Option<Py<PyAny>>,
    /// Whether it has an event log, and the file that a run writes it to.
    is_logged: bool,
    event_log: Option<PathBuf>,
}

impl WrittenWorld {
    pub(crate) fn made(mut self) -> PyResult<Made> {
        let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let shown = serde_json::from_str(&self.shown).map_err(|error| wrong(&error))?;
        let name = self.name.clone();
        let finishing = self.finish.take().map(Finishing::new);
        let finish = finishing.as_ref().map(Finishing::of);
        let log = self.event_log.take();
        let foreign = self.foreign(finish).map_err(|error| wrong(&error))?;
        let made = foreign.clone();
        let make = move || made.clone().into_any();
        let params = match log {
            None => ModelParams::made(name, shown, make),
            Some(path) => {
                let made = foreign.clone();
                let files = Files::default().writing("event-log", Some(&path));
                let record = move || logged(&made, &path);
                ModelParams::made_with_files((name, shown), make, files, record)
            }
        };
        Ok(Made { foreign: Foreign::World(foreign), params, finishing })
    }

    fn foreign(
        self,
        finish: Option<warpline_foreign::Finish>,
    ) -> Result<ForeignWorld, warpline::ConfigError> {
        // SAFETY: Numba, or ctypes, has made a function with this signature at the address.
        let start = unsafe { transmute::<*const (), Starter>(with_exposed_provenance(self.start)) };
        let description = WorldDescription {
            name: self.name,
            sites: self.sites,
            start,
            processes: self.processes.into_iter().map(process).collect(),
            facilities: self.facilities.into_iter().map(facility).collect::<Result<_, _>>()?,
            site_words: self.site_words,
            initial: words(&self.initial),
            parameters: words(&self.parameters),
            identity: self.identity,
            lookahead: self.lookahead,
            links: self.links.map(|links| links.into_iter().map(link).collect()),
            statistics: self.statistics.into_iter().map(statistic).collect::<Result<_, _>>()?,
            finish,
            is_logged: self.is_logged,
        };
        // SAFETY: the functions are compiled with checks of bounds, hold no state of their own, and
        // return every exception as a status; Python keeps them and their data until the run is
        // over.
        unsafe { ForeignWorld::new(description) }
    }
}

/// The file of an event log.
#[derive(Debug)]
struct LogFile {
    log: EventLog,
    path: PathBuf,
}

/// A world whose run writes its event log to this file.
fn logged(world: &ForeignWorld, path: &Path) -> Result<(AnyModel, Box<dyn Recording>), Refusal> {
    let message = |error| format!("{}: {error}", path.display());
    let log = EventLog::file(path).map_err(message)?;
    let model = world.clone().into_any_with(&log);
    Ok((model, Box::new(LogFile { log, path: path.to_owned() })))
}

impl Recording for LogFile {
    fn finish(&self, _: f64) -> Recorded {
        let path = self.path.clone();
        match self.log.finish() {
            Ok(()) => Recorded { files: vec![path], ..Recorded::default() },
            Err(error) => {
                let failures = vec![format!("{}: {error}", path.display())];
                Recorded { failures, ..Recorded::default() }
            }
        }
    }
}

/// Runs a world, and returns its report as JSON, and the sites at its end.
#[pyfunction]
pub(crate) fn run_world<'py>(
    py: Python<'py>,
    world: WrittenWorld,
    settings: Vec<(String, Setting)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    run_made(py, &world.made()?, settings, progress)
}

fn process((name, address, words): (String, usize, usize)) -> ProcessDescription {
    // SAFETY: Numba, or ctypes, has made a function with this signature at the address.
    let resume = unsafe { transmute::<*const (), Resumption>(with_exposed_provenance(address)) };
    ProcessDescription { name, resume, words }
}

fn facility((name, kind, of_sites): WrittenFacility) -> Result<Facility, warpline::ConfigError> {
    let kind = match &*kind {
        "resource" => FacilityKind::Resource,
        "preemptive" => FacilityKind::Preemptive,
        "store" => FacilityKind::Store,
        "container" => FacilityKind::Container,
        "condition" => FacilityKind::Condition,
        _ => return Err(warpline::ConfigError::new(&name, kind, "a kind of facilities")),
    };
    Ok(Facility { name, kind, of_sites })
}
