//! Models by name, for commands, benchmarks and laboratories.
//!
//! The author of a model implements [`Parameters`] for its parameters. [`entry`] turns them into an
//! entry of a list of models. [`ModelParams`] are the parameters of any model, without their type.
//! All engines are compiled for a model once, in the crate whose [`Parameters::model`] calls
//! [`AnyModel::new`].
//!
//! ```
//! use warpline_models::{catalog::ModelParams, phold::PholdParams};
//!
//! let params = PholdParams { lps: 8, population: 16, ..PholdParams::default() };
//! let params = ModelParams::from(params);
//! let report = warpline::Simulation::new(params.model()?).end(10.0).run()?;
//! assert_eq!(report.model, params.name());
//! # Ok::<(), warpline::RunError>(())
//! ```

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use clap::ArgMatches;
use serde::Serialize;
use serde_json::Value;
use warpline::{AnyModel, ConfigError, Figure, files::Files};

use crate::domain;
pub use crate::{
    domain::{Domain, Parameter},
    prepared::{Measured, Prepared, Recorded, Recording, Refusal, RunSetup},
    time_unit::{TimeUnit, time},
};

/// The parameters of a model, and what a command needs to know about the model.
///
/// The fields are flags of the command, keys of configuration files and keys of reports, by the
/// same names; a field's comment is its help. So a field cannot have the name of a flag that the
/// command has itself, as `memory` or `end`: the command refuses such a model.
pub trait Parameters:
    clap::Args + Serialize + Clone + fmt::Debug + Send + Sync + Sized + 'static
{
    /// The model's name: one word in lower case, as it is typed.
    const MODEL: &'static str;
    /// What the model is, in one line.
    const ABOUT: &'static str;
    /// The virtual time at which a run ends, unless `--end` gives another one.
    const END: f64;
    /// The unit of virtual time, if it has one: then times may be typed with units.
    const TIME: Option<TimeUnit> = None;

    /// Makes the model.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    fn model(self) -> Result<AnyModel, ConfigError>;

    /// Makes the model for a run, and what the run writes beside its report.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range, or a file cannot be used.
    fn prepare(self, run: &RunSetup) -> Result<Prepared, Refusal> {
        let _ = run;
        Ok(Prepared { end: Self::END, ..Prepared::of(self.model()?) })
    }

    /// The files that a run reads, and those that it writes beside its report. If it writes some,
    /// it has to be a single one.
    fn files(&self) -> Files {
        Files::default()
    }

    /// How many events are pending when a run begins, at the least; 0 if that is not known. A run
    /// whose first events do not fit into memory is refused.
    fn events_at_start(&self) -> u64 {
        0
    }

    /// Where a run ends by default, in words.
    fn end_in_words() -> String {
        let unit = Self::TIME.map_or(String::new(), |unit| format!(" {unit}"));
        format!("the model's, {}{unit}", Self::END)
    }

    /// The figures that a run reports. Their values are not used.
    fn results() -> Vec<Figure>;

    /// The unit and the range of each parameter. Before a model is made, numbers are compared with
    /// what their ranges say ([`Domain`]).
    fn domains() -> &'static [Domain] {
        &[]
    }

    /// The standard workloads that are runs of this model.
    fn workloads() -> Vec<Workload> {
        Vec::new()
    }
}

/// The load of a workload, for the bare loops that engines are compared with: events that each send
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hold {
    /// How many LPs there are.
    pub lps: usize,
    /// How many events are pending at any time.
    pub population: usize,
    /// The part of the events that go to another LP, drawn at random.
    pub remote: f64,
    /// The constant part of the delays, in units of their mean.
    pub lookahead: f64,
}

/// A run with which engines are measured.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its short name.
    pub name: &'static str,
    /// Its model and the main parameters, in one line.
    pub title: &'static str,
    /// The model.
    pub params: ModelParams,
    /// The virtual time to which a sample of full length runs: a few million events.
    pub end: f64,
    /// The same load without an engine.
    pub bare: Load,
}

/// A load for bare loops, the yardsticks of engines.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// Events that each send one.
    Hold(Hold),
    /// The model's own loop: does what a run up to this virtual time does, and says how long that
    /// took, without making the model.
    Loop(fn(f64) -> Duration),
}

/// An entry of a list of models: a model that can be chosen by its name.
pub trait Entry: Send + Sync {
    /// The model's name.
    fn name(&self) -> &'static str;
    /// What the model is, in one line.
    fn about(&self) -> &'static str;
    /// The virtual time at which a run ends, unless `--end` gives another one.
    fn end(&self) -> f64;
    /// The same in words.
    fn end_in_words(&self) -> String;
    /// The unit of virtual time, if it has one.
    fn time_unit(&self) -> Option<TimeUnit>;
    /// Adds the flags of the parameters to a command.
    fn augment(&self, command: clap::Command) -> clap::Command;
    /// Reads the parameters from the command line.
    ///
    /// # Errors
    ///
    /// When a value cannot be read. Whether it is in its range is checked when the model is made.
    fn parse(&self, matches: &ArgMatches) -> Result<ModelParams, clap::Error>;
    /// The parameters, in the order of their declaration.
    fn parameters(&self) -> Vec<Parameter>;
    /// The figures that a run reports.
    fn results(&self) -> Vec<Figure>;
    /// The standard workloads that are runs of this model.
    fn workloads(&self) -> Vec<Workload>;
}

/// The entry of a list of models for the model with these parameters.
#[must_use]
pub const fn entry<P: Parameters>() -> &'static dyn Entry {
    &Of::<P>(PhantomData)
}

/// The entry of one model.
struct Of<P>(PhantomData<fn() -> P>);

impl<P: Parameters> Entry for Of<P> {
    fn name(&self) -> &'static str {
        P::MODEL
    }

    fn about(&self) -> &'static str {
        P::ABOUT
    }

    fn end(&self) -> f64 {
        P::END
    }

    fn end_in_words(&self) -> String {
        P::end_in_words()
    }

    fn time_unit(&self) -> Option<TimeUnit> {
        P::TIME
    }

    fn augment(&self, command: clap::Command) -> clap::Command {
        domain::with_units(P::augment_args(command), P::domains())
    }

    fn parse(&self, matches: &ArgMatches) -> Result<ModelParams, clap::Error> {
        Ok(P::from_arg_matches(matches)?.into())
    }

    fn parameters(&self) -> Vec<Parameter> {
        let command = P::augment_args(clap::Command::new(P::MODEL));
        command.get_arguments().map(|arg| domain::parameter(arg, P::domains())).collect()
    }

    fn results(&self) -> Vec<Figure> {
        P::results()
    }

    fn workloads(&self) -> Vec<Workload> {
        P::workloads()
    }
}

/// The parameters of a model that was chosen by its name.
#[derive(Clone)]
pub struct ModelParams(Arc<dyn Chosen>);

/// Parameters without their type.
trait Chosen: fmt::Debug + Send + Sync {
    fn name(&self) -> &str;
    fn end(&self) -> f64;
    fn model(&self) -> Result<AnyModel, ConfigError>;
    fn prepare(&self, run: &RunSetup) -> Result<Prepared, Refusal>;
    fn files(&self) -> Files;
    fn events_at_start(&self) -> u64;
    fn to_json(&self) -> Value;
    /// The parameters without a flag, as [`to_json`](Self::to_json) has them; nothing if the model
    /// needs some.
    fn defaults(&self) -> Value {
        Value::Null
    }
}

impl<P: Parameters> Chosen for P {
    fn name(&self) -> &str {
        P::MODEL
    }

    fn end(&self) -> f64 {
        P::END
    }

    fn model(&self) -> Result<AnyModel, ConfigError> {
        check_domains(self)?;
        Ok(Parameters::model(self.clone())?.or_parameters(self.clone()))
    }

    fn prepare(&self, run: &RunSetup) -> Result<Prepared, Refusal> {
        check_domains(self)?;
        let prepared = Parameters::prepare(self.clone(), run)?;
        Ok(Prepared { model: prepared.model.or_parameters(self.clone()), ..prepared })
    }

    fn files(&self) -> Files {
        Parameters::files(self)
    }

    fn events_at_start(&self) -> u64 {
        Parameters::events_at_start(self)
    }

    fn to_json(&self) -> Value {
        // Plain structures of numbers and strings can always be serialized.
        serde_json::to_value(self).unwrap_or_default()
    }

    fn defaults(&self) -> Value {
        let command = P::augment_args(clap::Command::new(P::MODEL));
        let matches = command.try_get_matches_from([P::MODEL]);
        let params = matches.and_then(|matches| P::from_arg_matches(&matches));
        params.map(|params| Chosen::to_json(&params)).unwrap_or_default()
    }
}

/// Compares parameters with what is said of their values.
fn check_domains<P: Parameters>(params: &P) -> Result<(), ConfigError> {
    let command = P::augment_args(clap::Command::new(P::MODEL));
    domain::check(&Chosen::to_json(params), &command, P::domains())
}

/// A model that was made while the program runs.
struct Made<F> {
    name: String,
    end: f64,
    parameters: Value,
    make: F,
    files: Files,
    /// The model with what takes the outputs of a run, if it writes files.
    record: Option<Box<Record>>,
}

type Record = dyn Fn() -> Recorder + Send + Sync;
type Recorder = Result<(AnyModel, Box<dyn Recording>), Refusal>;

impl<F: Fn() -> AnyModel + Send + Sync> Chosen for Made<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn end(&self) -> f64 {
        self.end
    }

    fn model(&self) -> Result<AnyModel, ConfigError> {
        Ok((self.make)())
    }

    fn prepare(&self, run: &RunSetup) -> Result<Prepared, Refusal> {
        let Some(record) = self.record.as_ref().filter(|_| run.records) else {
            return Ok(Prepared { end: self.end, ..Prepared::of((self.make)()) });
        };
        let (model, recording) = record()?;
        Ok(Prepared { recording: Some(recording), end: self.end, ..Prepared::of(model) })
    }

    fn files(&self) -> Files {
        self.files.clone()
    }

    fn events_at_start(&self) -> u64 {
        0
    }

    fn to_json(&self) -> Value {
        self.parameters.clone()
    }
}

impl<F> fmt::Debug for Made<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(&self.name).field("parameters", &self.parameters).finish()
    }
}

impl<P: Parameters> From<P> for ModelParams {
    fn from(params: P) -> Self {
        Self(Arc::new(params))
    }
}

impl ModelParams {
    /// The parameters of a model that no list has, because it was made while the program runs.
    #[must_use]
    pub fn made(
        name: String,
        parameters: Value,
        make: impl Fn() -> AnyModel + Send + Sync + 'static,
    ) -> Self {
        Self::made_until(f64::INFINITY, (name, parameters), make)
    }

    /// The same, with the virtual time at which a run ends, unless `--end` gives another one.
    #[must_use]
    pub fn made_until(
        end: f64,
        (name, parameters): (String, Value),
        make: impl Fn() -> AnyModel + Send + Sync + 'static,
    ) -> Self {
        let files = Files::default();
        Self(Arc::new(Made { name, end, parameters, make, files, record: None }))
    }

    /// The same, where a run writes these files: `record` makes the model for it.
    #[must_use]
    pub fn made_with_files(
        (name, parameters): (String, Value),
        make: impl Fn() -> AnyModel + Send + Sync + 'static,
        files: Files,
        record: impl Fn() -> Recorder + Send + Sync + 'static,
    ) -> Self {
        let record: Option<Box<Record>> = Some(Box::new(record));
        let end = f64::INFINITY;
        Self(Arc::new(Made { name, end, parameters, make, files, record }))
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The virtual time at which a run ends, unless `--end` gives another one.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.0.end()
    }

    /// Makes the model.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    pub fn model(&self) -> Result<AnyModel, ConfigError> {
        self.0.model()
    }

    /// Makes the model for a run, and what the run writes beside its report. On several ranks only
    /// the first process records; the model is the same at all.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range, or a file cannot be used.
    pub fn prepare(&self, run: &RunSetup) -> Result<Prepared, Refusal> {
        self.0.prepare(run)
    }

    /// The files that a run reads, and those that it writes beside its report. If it writes some,
    /// it has to be a single one.
    #[must_use]
    pub fn files(&self) -> Files {
        self.0.files()
    }

    /// How many events are pending when a run begins, at the least; 0 if that is not known.
    #[must_use]
    pub fn events_at_start(&self) -> u64 {
        self.0.events_at_start()
    }

    /// The parameters by their names, as reports have them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.0.to_json()
    }

    /// The parameters as flags of the command, those that differ from their defaults. (A flag may
    /// only stand beside another one, as the step of a series beside the series.)
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let Value::Object(mut params) = self.to_json() else { return Vec::new() };
        let defaults = self.0.defaults();
        params.retain(|key, value| !value.is_null() && defaults.get(key) != Some(value));
        let flag = |(key, value): (&String, &Value)| match value {
            Value::String(word) => format!("--{key}={word}"),
            value => format!("--{key}={value}"),
        };
        params.iter().map(flag).collect()
    }
}

impl fmt::Debug for ModelParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Equal if they are of the same model and have the same values.
impl PartialEq for ModelParams {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.to_json() == other.to_json()
    }
}
