//! Models written in Python: their handlers are compiled functions (or callbacks of the
//! interpreter), their states and messages words.

#![expect(unsafe_code, reason = "handlers come as addresses")]

use std::{
    collections::BTreeMap,
    mem::transmute,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use warpline::{Figure, FigureKind, Link, LpId};
use warpline_cli::{Application, CallError, Caller, ModelParams};
use warpline_foreign::{
    BASE, CONSTANTS, Description, Failure, Failures, Field, Finish, ForeignModel, ForeignWorld,
    HANDLER_CONSTANTS, Handler, LAYOUT, Number, Role, States, Statistic, StatisticKind,
};

use crate::calls::{Setting, exception, looked_after};

/// Where the fields of a handler's context are, in bytes.
#[pyfunction]
pub(crate) fn layout() -> BTreeMap<&'static str, usize> {
    BASE.iter().chain(LAYOUT).copied().collect()
}

/// Where the fields are of what is the same in all calls, in bytes.
#[pyfunction]
pub(crate) fn constants_layout() -> BTreeMap<&'static str, usize> {
    CONSTANTS.iter().chain(HANDLER_CONSTANTS).copied().collect()
}

/// What Python says of a model.
#[derive(FromPyObject)]
pub(crate) struct Written {
    name: String,
    /// The addresses of the handlers, which Python keeps alive.
    start: usize,
    handle: usize,
    reverse: Option<usize>,
    lps: usize,
    state_words: usize,
    message_words: usize,
    /// Name, kind, unit, meaning and offset of each statistic in a state.
    statistics: Vec<(String, String, String, String, usize)>,
    /// Name, kind of number, offset and length of each field of a state.
    fields: Vec<(String, String, usize, Option<usize>)>,
    initial: Vec<u8>,
    parameters: Vec<u8>,
    /// The parameters as JSON, for the report.
    shown: String,
    identity: String,
    lookahead: Option<f64>,
    /// Sender, receiver and lookahead of each link.
    links: Option<Vec<(u32, u32, f64)>>,
    /// From the states at the end of a run, and its end, to the names and values of results.
    finish: Option<Py<PyAny>>,
}

/// The results of a model's runs, which a function of Python computes.
pub(crate) struct Finishing {
    finish: Py<PyAny>,
    /// The names of the results, which are those of the first run that is over.
    names: OnceLock<Vec<String>>,
    /// The first exception of the function.
    raised: Mutex<Option<PyErr>>,
}

impl Finishing {
    pub(crate) fn new(finish: Py<PyAny>) -> Arc<Self> {
        Arc::new(Self { finish, names: OnceLock::new(), raised: Mutex::default() })
    }

    /// What computes the results.
    pub(crate) fn of(this: &Arc<Self>) -> Finish {
        let this = Arc::clone(this);
        Finish::new(move |states, end| this.results(states, end))
    }

    fn results(&self, states: &[u64], end: f64) -> Vec<Figure> {
        let returned = Python::attach(|py| -> PyResult<Vec<(String, f64, bool)>> {
            self.finish.call1(py, (bytes(py, states), end))?.extract(py)
        });
        let has_raised = returned.is_err();
        let returned = returned.unwrap_or_else(|error| {
            self.fail(error);
            Vec::new()
        });
        let names = || returned.iter().map(|(name, ..)| name.clone()).collect::<Vec<_>>();
        if has_raised && self.names.get().is_none() {
            return Vec::new();
        }
        let known = self.names.get_or_init(names);
        if *known != names() {
            let (first, other) = (known.join(", "), names().join(", "));
            let what = format!("`finish` returned {first} for a run, and {other} for another one");
            self.fail(PyValueError::new_err(what));
        }
        // The same figures in the same order, whatever was raised.
        let of_name = |name: &str| returned.iter().find(|(other, ..)| other == name);
        let figure = |name: &String| {
            let (value, is_whole) =
                of_name(name).map_or((f64::NAN, false), |&(_, value, is_whole)| (value, is_whole));
            let kind = if is_whole { FigureKind::Count } else { FigureKind::Number };
            Figure::new(name.clone(), value, "", "a result of the model").of_kind(kind)
        };
        known.iter().map(figure).collect()
    }

    fn fail(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What runs.
pub(crate) enum Foreign {
    /// Handlers of events.
    Model(ForeignModel),
    /// Processes at sites.
    World(ForeignWorld),
}

impl Foreign {
    fn failures(&self) -> Option<&Failures> {
        match self {
            Self::Model(model) => model.failures(),
            Self::World(world) => Some(world.failures()),
        }
    }

    fn take_states(&self) -> States {
        match self {
            Self::Model(model) => model.take_states(),
            Self::World(world) => world.take_states(),
        }
    }
}

/// A model that Python has written, and what its runs need of Python.
pub(crate) struct Made {
    pub(crate) foreign: Foreign,
    pub(crate) params: ModelParams,
    pub(crate) finishing: Option<Arc<Finishing>>,
}

impl Made {
    pub(crate) fn of(mut model: Written) -> PyResult<Self> {
        let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let shown = serde_json::from_str(&model.shown).map_err(|error| wrong(&error))?;
        let name = model.name.clone();
        let finishing = model.finish.take().map(Finishing::new);
        let foreign = foreign(model, finishing.clone()).map_err(|error| wrong(&error))?;
        let made = foreign.clone();
        let params = ModelParams::made(name, shown, move || made.clone().into_any());
        Ok(Self { foreign: Foreign::Model(foreign), params, finishing })
    }

    /// The outcome of something that may have called the model: or an exception of `finish`, or the
    /// error, with what repeats the call that failed.
    pub(crate) fn settled<T>(&self, py: Python<'_>, outcome: Result<T, CallError>) -> PyResult<T> {
        if let Some(raised) = self.finishing.as_ref().and_then(|finishing| finishing.take_raised())
        {
            return Err(raised);
        }
        let error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let raised = exception(py, &error)?;
        let place = error.place_in_run();
        if let Some(failure) = place.and_then(|place| self.foreign.failures()?.at(place)) {
            raised.value(py).setattr("_failure", failed_call(py, &failure))?;
        }
        Err(raised)
    }
}

/// Runs a model, and returns its report as JSON, and the states at its end.
#[pyfunction]
pub(crate) fn run_model<'py>(
    py: Python<'py>,
    model: Written,
    settings: Vec<(String, Setting)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    run_made(py, &Made::of(model)?, settings, progress)
}

pub(crate) fn run_made<'py>(
    py: Python<'py>,
    made: &Made,
    settings: Vec<(String, Setting)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let settings = settings.into_iter().map(|(key, value)| (key, value.into())).collect();
    let work = |caller: Caller<'_>| Application::call_made(&made.params, settings, caller);
    let outcome = looked_after(py, progress, work)?;
    let report = made.settled(py, outcome)?;
    Ok((report.to_string(), bytes(py, &made.foreign.take_states())))
}

/// What Python needs to repeat a call that failed.
type FailedCall<'py> =
    (&'static str, (f64, u32), [u64; 2], u64, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

fn failed_call<'py>(py: Python<'py>, failure: &Failure) -> FailedCall<'py> {
    let role = match failure.role {
        Role::Start => "start",
        Role::Handle => "handle",
        Role::Reverse => "reverse",
        Role::Resume => "resume",
    };
    let message = failure.message.as_ref().map(|words| bytes(py, words));
    let state = bytes(py, &failure.state);
    (role, (failure.now, failure.lp), failure.stream, failure.note, state, message)
}

/// These words, as Python has them.
pub(crate) fn bytes<'py>(py: Python<'py>, words: &[u64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// The words that these bytes are.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

fn foreign(
    model: Written,
    finishing: Option<Arc<Finishing>>,
) -> Result<ForeignModel, warpline::ConfigError> {
    let handler = |address: usize| {
        // SAFETY: Numba, or ctypes, has made a function with this signature at the address.
        unsafe { transmute::<*const (), Handler>(std::ptr::with_exposed_provenance(address)) }
    };
    let description = Description {
        start: handler(model.start),
        handle: handler(model.handle),
        reverse: model.reverse.map(handler),
        lps: model.lps,
        state_words: model.state_words,
        message_words: model.message_words,
        fields: model.fields.into_iter().map(field).collect::<Result<_, _>>()?,
        initial: words(&model.initial),
        parameters: words(&model.parameters),
        identity: model.identity,
        lookahead: model.lookahead,
        links: model.links.map(|links| links.into_iter().map(link).collect()),
        name: model.name,
        statistics: model.statistics.into_iter().map(statistic).collect::<Result<_, _>>()?,
        finish: finishing.as_ref().map(Finishing::of),
        is_repeatable: true,
    };
    // SAFETY: the handlers are compiled with checks of bounds, hold no state of their own, and
    // return every exception as a status; Python keeps them and their data until the run is over.
    unsafe { ForeignModel::new(description) }
}

fn field(
    (name, kind, offset, length): (String, String, usize, Option<usize>),
) -> Result<Field, warpline::ConfigError> {
    let kind = match &*kind {
        "i1" => Number::I8,
        "i2" => Number::I16,
        "i4" => Number::I32,
        "i8" => Number::I64,
        "u1" => Number::U8,
        "u2" => Number::U16,
        "u4" => Number::U32,
        "u8" => Number::U64,
        "f4" => Number::F32,
        "f8" => Number::F64,
        _ => return Err(warpline::ConfigError::new(&name, kind, "a kind of numbers")),
    };
    Ok(Field { name, kind, offset, length })
}

pub(crate) fn statistic(
    (name, kind, unit, meaning, offset): (String, String, String, String, usize),
) -> Result<Statistic, warpline::ConfigError> {
    let kind = match &*kind {
        "counter" => StatisticKind::Counter,
        "tally" => StatisticKind::Tally,
        "level" => StatisticKind::Level,
        _ => return Err(warpline::ConfigError::new(&name, kind, "a kind of statistics")),
    };
    Ok(Statistic { name, unit, meaning, kind, word: offset / 8 })
}

pub(crate) fn link((from, to, lookahead): (u32, u32, f64)) -> (LpId, Link) {
    (LpId::new(from), Link { to: LpId::new(to), lookahead })
}
