//! Cars on motorways: junctions, routes, jams and accidents.
//!
//! An LP is a junction or a portion of a route; virtual time is in seconds. The crate
//! `warpline-traffic` has the model and its parameters. Here is what the command needs to know.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, 2015, section 4.

use warpline::{AnyModel, ConfigError, Figure, Results, files::Files};
use warpline_traffic::{
    error::FileError,
    model::{Traffic, TrafficError},
    output::{Marks, Recorder},
    results::TrafficOutput,
};
pub use warpline_traffic::{params::TrafficParams, source::Source};

use crate::{
    catalog::{Domain, Hold, Load, Parameters, Prepared, Refusal, RunSetup, TimeUnit, Workload},
    tables::{Tables, tables},
};

impl Parameters for TrafficParams {
    const MODEL: &'static str = "traffic";
    const ABOUT: &'static str = "Cars on motorways: junctions, jams, stops and accidents";
    /// A day.
    const END: f64 = 86_400.0;
    const TIME: Option<TimeUnit> = Some(TimeUnit::SECOND);

    fn model(self) -> Result<AnyModel, ConfigError> {
        let network = self.network.to_string();
        match Traffic::new(self) {
            Ok(model) => Ok(model.into_any()),
            Err(TrafficError::Config(error)) => Err(error),
            Err(error) => {
                Err(ConfigError::new("network", network, format!("a sound network: {error}")))
            }
        }
    }

    fn prepare(self, run: &RunSetup) -> Result<Prepared, Refusal> {
        let mut model = Traffic::new(self)?;
        let recording = Recorder::recording(run, |goes_on| {
            if goes_on { model.record_further() } else { model.record() }
        })?;
        Ok(Prepared { end: Self::END, recording, ..Prepared::of(model.into_any()) })
    }

    fn files(&self) -> Files {
        self.files()
    }

    fn results() -> Vec<Figure> {
        TrafficOutput::default().figures()
    }

    fn workloads() -> Vec<Workload> {
        vec![Workload {
            name: "W7",
            title: "traffic: motorways of Italy, 1 024 LPs, a car joins each junction every 45 s",
            params: Self::default().into(),
            end: 28_800.0,
            bare: Load::Hold(Hold { lps: 1024, population: 16_384, remote: 0.5, lookahead: 0.1 }),
        }]
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("network", "", "italy, grid:WIDTHxHEIGHT, or a file"),
                Domain::new("lps", "", "the junctions and routes, or more"),
                Domain::new("interarrival", "s", "above 0"),
                Domain::new("erlang-stages", "", "1 to 1000"),
                Domain::new("leave", "", "0 to 1"),
                Domain::new("uneven", "", "above 0"),
                Domain::new("speed", "km/h", "above 0"),
                Domain::new("speed-deviation", "km/h", "0 or more"),
                Domain::new("speed-min", "km/h", "above 0, at most the mean"),
                Domain::new("speed-max", "km/h", "at least the mean, or inf"),
                Domain::new("junction-length", "km", "above 0"),
                Domain::new("capacity", "cars/km", "above 0"),
                Domain::new("jam", "", "0 to 1"),
                Domain::new("jam-delay", "", "0 or more"),
                Domain::new("jam-deviation", "", "0 or more"),
                Domain::new("accidents", "", "0 or more"),
                Domain::new("accident-spread", "", "above 0"),
                Domain::new("accident-time", "s", "0 or more"),
                Domain::new("accident-deviation", "s", "0 or more"),
                Domain::new("headway", "s", "0 or more"),
                Domain::new("stop", "", "0 to 1"),
                Domain::new("stop-time", "s", "0 or more"),
                Domain::new("stop-deviation", "s", "0 or more"),
                Domain::new("segments", "", "a file that can be written"),
                Domain::new("series", "", "a file that can be written"),
                Domain::new("series-step", "s", "1 or more"),
                Domain::new("map", "", "files *.svg, *.geojson or *.png that can be written"),
            ]
        }
    }
}

tables!(Recorder, Marks, FileError);
