//! Calls: a run, a sweep, a description of models, and the `warpline` command.

use std::{
    ffi::OsString,
    panic::resume_unwind,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
};
use serde_json::Value;
use warpline_cli::{Application, CallError, Caller, Command, Status};

/// How often signals and progress are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The value of a keyword.
#[derive(Debug, FromPyObject)]
pub(crate) enum Setting {
    Switch(bool),
    Whole(i64),
    /// A number that TOML has no room for; the parser of the flag reads it from text.
    Large(u64),
    Number(f64),
    Text(String),
}

impl From<Setting> for toml::Value {
    fn from(setting: Setting) -> Self {
        match setting {
            Setting::Switch(on) => on.into(),
            Setting::Whole(number) => number.into(),
            Setting::Large(number) => number.to_string().into(),
            Setting::Number(number) => number.into(),
            Setting::Text(text) => text.into(),
        }
    }
}

/// Runs a model, and returns its report as JSON.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    model: &str,
    settings: Vec<(String, Setting)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    call(py, &Command::Run, model, settings, progress)
}

/// Runs a model for every combination of the values of `vary`, and returns the rows as JSON.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    model: &str,
    vary: Vec<(String, Vec<String>)>,
    settings: Vec<(String, Setting)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    call(py, &Command::Sweep(vary), model, settings, progress)
}

/// Measures a figure of the laboratory, and returns the paths of its files; none if it was
/// interrupted.
#[pyfunction]
pub(crate) fn lab(
    py: Python<'_>,
    figure: &str,
    settings: Vec<(String, Setting)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<PathBuf>> {
    let settings = settings.into_iter().map(|(key, value)| (key, value.into())).collect();
    let work = |caller: Caller<'_>| Application::call_lab(figure, settings, caller);
    match looked_after(py, progress, work)? {
        Ok(files) => Ok(files),
        Err(error) => Err(exception(py, &error)?),
    }
}

/// The figures of the laboratory, as JSON.
#[pyfunction]
pub(crate) fn figures() -> String {
    Application::figures().to_string()
}

/// What `warpline info` says of a model, or of all, as JSON.
#[pyfunction]
#[pyo3(signature = (model=None))]
pub(crate) fn describe(py: Python<'_>, model: Option<&str>) -> PyResult<String> {
    json_or_exception(py, Application::warpline().describe(model))
}

/// The keywords of all calls, as JSON.
#[pyfunction]
pub(crate) fn keywords(py: Python<'_>) -> String {
    py.detach(|| Application::warpline().keywords().to_string())
}

/// The page of a report, which is JSON as `run` returns it.
#[pyfunction]
pub(crate) fn page(py: Python<'_>, report: &str) -> PyResult<String> {
    let report = serde_json::from_str(report);
    let report: Value = report.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(py.detach(|| Application::warpline().page(&report)))
}

/// Carries out a command line of `warpline`, and returns its exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| Application::warpline().main_with(words))
}

fn call(
    py: Python<'_>,
    command: &Command,
    model: &str,
    settings: Vec<(String, Setting)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let settings = settings.into_iter().map(|(key, value)| (key, value.into())).collect();
    let work = |caller: Caller<'_>| Application::warpline().call(command, model, settings, caller);
    let outcome = looked_after(py, progress, work)?;
    json_or_exception(py, outcome)
}

/// Works in a thread of its own. An interrupt (Ctrl-C) ends the work, and what it returns then is
/// the result; an exception of `progress` ends it, too, and is the caller's.
pub(crate) fn looked_after<T: Send>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(Caller<'_>) -> T + Send,
) -> PyResult<T> {
    let (stop, latest) = (AtomicBool::new(false), Mutex::new(None));
    let mut raised = None;
    let outcome = thread::scope(|scope| {
        let me = thread::current();
        let (stop, latest) = (&stop, &latest);
        let worker = scope.spawn(move || {
            let show = |status| *lock(latest) = Some(status);
            let outcome = work(Caller { stop, show: &show });
            me.unpark();
            outcome
        });
        while !worker.is_finished() {
            py.detach(|| thread::park_timeout(LOOK_EVERY));
            if raised.is_some() {
                continue;
            }
            let status = lock(latest).take();
            let looked = py.check_signals().and_then(|()| show(progress.as_ref(), status));
            if let Err(error) = looked {
                // Ordering: Relaxed; the flag publishes nothing but itself.
                stop.store(true, Ordering::Relaxed);
                raised = Some(error);
            }
        }
        worker.join()
    });
    let outcome = outcome.unwrap_or_else(|panic| resume_unwind(panic));
    match raised {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok(outcome),
    }
}

fn lock(latest: &Mutex<Option<Status>>) -> std::sync::MutexGuard<'_, Option<Status>> {
    // Nothing panics while it is held.
    latest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells a callback of Python how far the work has come: the part that is done, and a text.
fn show(progress: Option<&Bound<'_, PyAny>>, status: Option<Status>) -> PyResult<()> {
    let (Some(progress), Some(status)) = (progress, status) else { return Ok(()) };
    let (part, text) = match status {
        Status::Run(run) => {
            let rate = 1e-6 * run.committed_events as f64 / run.wall.as_secs_f64();
            let part = run.virtual_time.get() / run.end.get();
            (part, format!("virtual time {:.6}, {rate:.2} M events/s", run.virtual_time.get()))
        }
        Status::Runs { done, all } => (done as f64 / all as f64, format!("{done} of {all} runs")),
    };
    progress.call1((part.min(1.0), text)).map(|_| ())
}

/// JSON, or the exception for the error.
fn json_or_exception(py: Python<'_>, outcome: Result<Value, CallError>) -> PyResult<String> {
    match outcome {
        Ok(value) => Ok(value.to_string()),
        Err(error) => Err(exception(py, &error)?),
    }
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &CallError) -> PyResult<PyErr> {
    let make = py.import("warpline_sim._errors")?.getattr("make")?;
    let place = error.place().to_string();
    let report = error.report().map(Value::to_string);
    let exception = make.call1((error.kind(), error.message(), place, error.advice(), report))?;
    Ok(PyErr::from_value(exception))
}
