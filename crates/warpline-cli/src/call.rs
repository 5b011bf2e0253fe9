//! Calls from another language: a command with keys and values, in place of a command line, and
//! JSON in place of text.
//!
//! The keys are those of configuration files, and the same code checks them. Whoever calls is told
//! how far the call has come, and may end it ([`Caller`]); nothing is printed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
};

use clap::{Args, FromArgMatches};
use serde_json::{Value, json};
use warpline::{RunError, error::Place};
use warpline_models::catalog::ModelParams;

use crate::{
    Application,
    application::Request,
    args::{PRINTING, PRINTING_SWITCHES, RunArgs},
    configuration::{command_line, flags_of, unknown_model},
    failure::Failure,
    info,
    progress::Caller,
    ranks::Launch,
    reads, run,
    sweep::Sweep,
};

/// What is called.
#[derive(Clone, Debug)]
pub enum Command {
    /// One run, or replications.
    Run,
    /// A run for every combination of these values, the last of which vary fastest.
    Sweep(Vec<(String, Vec<String>)>),
}

/// Flags that a call does not take: it prints nothing, and has arguments for the rest. With those
/// that are refused for another reason.
pub(crate) fn refused<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&PRINTING, &PRINTING_SWITCHES[..], &["vary"], more].concat()
}

impl Application {
    /// Runs a model with these settings. Returns the report as the command writes it with
    /// `--format json`; for a sweep, a list of rows.
    ///
    /// # Errors
    ///
    /// What the command would have ended with.
    pub fn call(
        &self,
        command: &Command,
        model: &str,
        settings: toml::Table,
        caller: Caller<'_>,
    ) -> Result<Value, CallError> {
        match command {
            Command::Run => self.call_run(model, settings, caller),
            Command::Sweep(vary) => self.call_sweep(model, settings, vary, caller),
        }
    }

    fn call_run(
        &self,
        model: &str,
        settings: toml::Table,
        caller: Caller<'_>,
    ) -> Result<Value, CallError> {
        let (params, args, words) = self.run_of(model, settings)?;
        report(&params, &args, &words, caller)
    }

    /// The run that these settings ask for, and its command line.
    pub(crate) fn run_of(
        &self,
        model: &str,
        settings: toml::Table,
    ) -> Result<(ModelParams, RunArgs, Vec<OsString>), CallError> {
        let words = command_line(self, ["run", model], settings, &refused(&[]))?;
        let matches = self.command().try_get_matches_from(&words).map_err(Failure::from)?;
        let request = self.request(&matches).map_err(Failure::from)?;
        let Request::Run(params, args, unread) = request else {
            unreachable!("the command line of a run is a run")
        };
        reads::refuse(unread)?;
        Ok((params, args, words))
    }

    /// Runs a model that no list has. The settings are those of [`call`](Self::call).
    ///
    /// # Errors
    ///
    /// What the command would have ended with.
    pub fn call_made(
        params: &ModelParams,
        settings: toml::Table,
        caller: Caller<'_>,
    ) -> Result<Value, CallError> {
        // No command line repeats it.
        report(params, &args_of_made(params.name(), settings)?, &[], caller)
    }

    fn call_sweep(
        &self,
        model: &str,
        settings: toml::Table,
        vary: &[(String, Vec<String>)],
        caller: Caller<'_>,
    ) -> Result<Value, CallError> {
        let mut words =
            command_line(self, ["sweep", model], settings, &refused(&["from", "resume"]))?;
        let flag = |(key, values): &(String, Vec<String>)| {
            format!("--vary={key}={}", values.join(",")).into()
        };
        words.extend(vary.iter().map(flag));
        let matches = self.command().try_get_matches_from(&words).map_err(Failure::from)?;
        let request = self.request(&matches).map_err(Failure::from)?;
        let Request::Sweep(_, args, _) = request else {
            unreachable!("the command line of a sweep is a sweep")
        };
        let mut rows = BTreeMap::new();
        let sweep = Sweep::new(self, &words, &args)?;
        let failures = sweep.run(caller, &BTreeSet::new(), |number, row| {
            rows.insert(number, Value::Object(row));
            Ok(())
        });
        let rows = Value::Array(rows.into_values().collect());
        match Failure::of_all(failures) {
            Ok(()) => Ok(rows),
            Err(failure) => Err(CallError { failure, report: Some(rows) }),
        }
    }

    /// What `warpline info` says of a model, or a list of what it says of all.
    ///
    /// # Errors
    ///
    /// There is no such model.
    pub fn describe(&self, model: Option<&str>) -> Result<Value, CallError> {
        let Some(name) = model else {
            return Ok(self.models.iter().map(|&model| info::to_json(model)).collect());
        };
        let model = self.entry(name).ok_or_else(|| unknown_model(self, name))?;
        Ok(info::to_json(model))
    }
}

/// The settings of a run of a model that no list has.
pub(crate) fn args_of_made(name: &str, settings: toml::Table) -> Result<RunArgs, Failure> {
    let command = RunArgs::augment_args(clap::Command::new(name.to_owned()));
    let words = flags_of(&command, settings, &refused(&[]))?;
    let matches = command.allow_negative_numbers(true).try_get_matches_from(words)?;
    let mut args = RunArgs::from_arg_matches(&matches)?;
    reads::refuse(reads::unread(&matches, &args.common))?;
    reads::note_policies(&matches, &mut args.common.timewarp.policies);
    Ok(args)
}

/// The report of a run, as JSON. A command with these words repeats it, if there are any.
fn report(
    params: &ModelParams,
    args: &RunArgs,
    words: &[OsString],
    caller: Caller<'_>,
) -> Result<Value, CallError> {
    let launch = Launch::Here(args.common.ranks.ranks);
    let files = params.files().and(args.files());
    files.check().map_err(Failure::from)?;
    let outcome = run::outcome(params, args, files, &launch, caller, true)?;
    let (report, failures) = outcome.ok_or(Failure::Silent)?;
    let report = report.json_for_page(words, &args.common);
    match Failure::of_all(failures) {
        Ok(()) => Ok(report),
        Err(failure) => Err(CallError { failure, report: Some(report) }),
    }
}

/// Why a call has failed.
#[derive(Debug)]
pub struct CallError {
    failure: Failure,
    report: Option<Value>,
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self { failure, report: None }
    }
}

impl CallError {
    /// The kind of error: `configuration`, `run`, `model`, `memory`, `rank`, `network` or
    /// `difference`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.failure.gravest() {
            Failure::Usage(_) | Failure::Configuration(_) => "configuration",
            Failure::Engine { error, .. } => match **error {
                RunError::Model(_) => "model",
                RunError::OutOfBuffers { .. } => "memory",
                RunError::Rank { .. } => "rank",
                RunError::Net(_) => "network",
                _ => "run",
            },
            Failure::Difference(_) => "difference",
            _ => "run",
        }
    }

    /// The report of the run, if it came to its end: then what failed is a file beside the report,
    /// or the comparison with another run. Of a sweep, the rows of the runs that did not fail.
    #[must_use]
    pub const fn report(&self) -> Option<&Value> {
        self.report.as_ref()
    }

    /// What happened, in words.
    #[must_use]
    pub fn message(&self) -> String {
        self.failure.message()
    }

    /// Where it happened, if it did in a run.
    #[must_use]
    pub fn place_in_run(&self) -> Option<&Place> {
        let Failure::Engine { error, .. } = self.failure.gravest() else { return None };
        match &**error {
            RunError::Model(error) => Some(&error.place),
            RunError::OutOfBuffers { place, .. } => Some(place),
            _ => None,
        }
    }

    /// Where it happened: an object with `lp`, `virtual_time`, `event`, `engine`, `worker` and
    /// `seed`; empty if it did not happen in a run.
    #[must_use]
    pub fn place(&self) -> Value {
        let Some(place) = self.place_in_run() else { return json!({}) };
        json!({
            "lp": place.lp.map(|lp| lp.get()),
            "virtual_time": place.event.map(|event| event.time_value()),
            "event": place.event.map(|event| format!("{event:?}")),
            "engine": place.engine,
            "worker": place.worker,
            "seed": place.seed,
        })
    }

    /// What to do about it, if the message says so.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let message = self.message();
        let (_, advice) = message.split_once("what to do: ")?;
        Some(advice.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    };

    use toml::toml;

    use super::*;
    use crate::Status;

    fn call(command: &Command, settings: toml::Table) -> Result<Value, CallError> {
        let caller = Caller { stop: &AtomicBool::new(false), show: &|_| () };
        Application::warpline().call(command, "phold", settings, caller)
    }

    /// A call does what the command line does, and takes keys as a configuration file has them.
    #[test]
    fn calls_are_commands() {
        let settings =
            || toml! { lps = 16 end = 10 engine = "timewarp" workers = 2 gvt_interval = 512 };
        let report = call(&Command::Run, settings()).unwrap();
        assert_eq!((&report["model"], &report["workers"]), (&json!("phold"), &json!(2)));
        let values = ["1", "2"].map(str::to_owned).to_vec();
        let vary = Command::Sweep(vec![("seed".to_owned(), values)]);
        let rows = call(&vary, settings()).unwrap();
        assert_eq!(rows[0]["digest"], report["digest"]);
        assert_eq!((&rows[1]["seed"], rows.as_array().map(Vec::len)), (&json!(2), Some(2)));
    }

    /// Nothing is printed, so the flags for it are unknown.
    #[test]
    fn mistakes_have_a_kind() {
        let unknown = |settings| {
            let error = call(&Command::Run, settings).unwrap_err();
            assert_eq!((error.kind(), error.place()), ("configuration", json!({})));
            error.message()
        };
        assert!(unknown(toml! { quiet = true }).contains("unknown key `quiet`"));
        assert!(unknown(toml! { lps = 0 }).contains("lps"));
        assert!(unknown(toml! { end = nan }).contains("end"));
        let wrong = unknown(toml! { lps = "ten" });
        assert_eq!(wrong, "`lps` is 'ten', but must be a whole number");
        let settings = toml! { engine = "timewarp" workers = 2 memory = "4KiB" seed = 7 };
        let error = call(&Command::Run, settings).unwrap_err();
        assert_eq!((error.kind(), &error.place()["seed"]), ("memory", &json!(7)));
        assert!(error.advice().is_some_and(|advice| advice.contains("--memory")));
    }

    /// Whoever calls sees how far it is, and ends it.
    #[test]
    fn a_call_can_be_ended() {
        let (stop, seen) = (AtomicBool::new(false), Mutex::new(None));
        let show = |status| {
            *seen.lock().unwrap() = Some(status);
            stop.store(true, Ordering::Relaxed);
        };
        let settings = toml! { end = 1e9 engine = "sequential" };
        let caller = Caller { stop: &stop, show: &show };
        let report = Application::warpline().call(&Command::Run, "phold", settings, caller);
        assert_eq!(report.unwrap()["interrupted"], json!(true));
        assert!(matches!(*seen.lock().unwrap(), Some(Status::Run(_))));
    }
}
