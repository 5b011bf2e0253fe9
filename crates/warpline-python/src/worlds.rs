//! Worlds written in Python: their processes are compiled functions (or callbacks of the
//! interpreter), the processes themselves and the sites words.

#![expect(unsafe_code, reason = "processes come as addresses")]

use std::{collections::BTreeMap, mem::transmute, ptr::with_exposed_provenance};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use warpline_cli::ModelParams;
use warpline_foreign::{
    BASE, Facility, FacilityKind, ForeignWorld, PROCESS_LAYOUT, ProcessDescription, Resumption,
    Starter, WorldDescription,
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
}

impl WrittenWorld {
    pub(crate) fn made(mut self) -> PyResult<Made> {
        let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let shown = serde_json::from_str(&self.shown).map_err(|error| wrong(&error))?;
        let name = self.name.clone();
        let finishing = self.finish.take().map(Finishing::new);
        let finish = finishing.as_ref().map(Finishing::of);
        let foreign = self.foreign(finish).map_err(|error| wrong(&error))?;
        let made = foreign.clone();
        let params = ModelParams::made(name, shown, move || made.clone().into_any());
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
        };
        // SAFETY: the functions are compiled with checks of bounds, hold no state of their own, and
        // return every exception as a status; Python keeps them and their data until the run is
        // over.
        unsafe { ForeignWorld::new(description) }
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
