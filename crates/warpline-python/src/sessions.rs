//! Sessions: models that were opened, by number. The Python part has an object for each, which
//! closes it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
};

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyBytes,
};
use warpline_cli::{Application, CallError, Caller, OpenSession};

use crate::{
    calls::{Setting, exception, looked_after},
    models::{Foreign, Made, Written, bytes},
    worlds::WrittenWorld,
};

/// The sessions that are open.
static OPEN: Mutex<BTreeMap<u64, Arc<Opened>>> = Mutex::new(BTreeMap::new());
/// The number of the next one.
static NEXT: AtomicU64 = AtomicU64::new(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A step that panics leaves a session without a state, which says so.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session, and its model if Python has written it.
struct Opened {
    session: Mutex<OpenSession>,
    made: Option<Made>,
}

impl Opened {
    /// The session, unless it runs a step: then whoever asks would wait for its end, perhaps in the
    /// very function that the step calls.
    fn idle(&self) -> PyResult<MutexGuard<'_, OpenSession>> {
        match self.session.try_lock() {
            Ok(session) => Ok(session),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("the session is in the middle of a step"))
            }
        }
    }

    /// The model, if Python has written it.
    fn made(&self) -> PyResult<&Made> {
        let listed = || PyRuntimeError::new_err("the model of the session is not one of Python");
        self.made.as_ref().ok_or_else(listed)
    }

    fn settled<T>(&self, py: Python<'_>, outcome: Result<T, CallError>) -> PyResult<T> {
        match &self.made {
            Some(made) => made.settled(py, outcome),
            None => settled(py, outcome),
        }
    }
}

fn keep(session: OpenSession, made: Option<Made>) -> u64 {
    // Ordering: Relaxed; a number that is given once.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&OPEN).insert(number, Arc::new(Opened { session: Mutex::new(session), made }));
    number
}

fn find(number: u64) -> PyResult<Arc<Opened>> {
    let found = lock(&OPEN).get(&number).cloned();
    found.ok_or_else(|| PyValueError::new_err("the session is closed"))
}

fn settled<T>(py: Python<'_>, outcome: Result<T, CallError>) -> PyResult<T> {
    match outcome {
        Ok(value) => Ok(value),
        Err(error) => Err(exception(py, &error)?),
    }
}

fn table(settings: Vec<(String, Setting)>) -> toml::Table {
    settings.into_iter().map(|(key, value)| (key, value.into())).collect()
}

/// Opens a model, or goes on with a checkpoint of it; returns the number of the session.
#[pyfunction]
pub(crate) fn session_open(
    py: Python<'_>,
    model: &str,
    settings: Vec<(String, Setting)>,
) -> PyResult<u64> {
    let settings = table(settings);
    let session = py.detach(|| Application::warpline().open(model, settings));
    Ok(keep(settled(py, session)?, None))
}

/// Opens a model that Python has written.
#[pyfunction]
pub(crate) fn session_open_model(
    py: Python<'_>,
    model: Written,
    settings: Vec<(String, Setting)>,
) -> PyResult<u64> {
    open_made(py, Made::of(model)?, settings)
}

/// Opens a world that Python has written.
#[pyfunction]
pub(crate) fn session_open_world(
    py: Python<'_>,
    world: WrittenWorld,
    settings: Vec<(String, Setting)>,
) -> PyResult<u64> {
    open_made(py, world.made()?, settings)
}

fn open_made(py: Python<'_>, made: Made, settings: Vec<(String, Setting)>) -> PyResult<u64> {
    let settings = table(settings);
    let params = made.params.clone();
    // Handlers in the interpreter run while the LPs are made.
    let session = py.detach(|| OpenSession::open_made(params, settings));
    Ok(keep(made.settled(py, session)?, Some(made)))
}

/// Goes on to a virtual time, or to the end of the run.
#[pyfunction]
pub(crate) fn session_run(
    py: Python<'_>,
    session: u64,
    until: Option<f64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<()> {
    let session = find(session)?;
    drop(session.idle()?);
    let work = |caller: Caller<'_>| lock(&session.session).run_until(until, caller);
    let outcome = looked_after(py, progress, work)?;
    session.settled(py, outcome)
}

/// The virtual time of a session, and that of its next event.
#[pyfunction]
pub(crate) fn session_times(py: Python<'_>, session: u64) -> PyResult<(f64, Option<f64>)> {
    let session = find(session)?;
    let times = session.idle()?.times();
    session.settled(py, times)
}

/// The report of the run up to now, as JSON.
#[pyfunction]
pub(crate) fn session_report(py: Python<'_>, session: u64) -> PyResult<String> {
    let session = find(session)?;
    let report = session.idle()?.report().map(|report| report.to_string());
    session.settled(py, report)
}

/// The text of an LP's state.
#[pyfunction]
pub(crate) fn session_state(py: Python<'_>, session: u64, lp: usize) -> PyResult<String> {
    let session = find(session)?;
    let text = session.idle()?.state_text(lp);
    session.settled(py, text)
}

/// Writes a checkpoint.
#[pyfunction]
pub(crate) fn session_save(py: Python<'_>, session: u64, checkpoint: PathBuf) -> PyResult<()> {
    let session = find(session)?;
    let saved = session.idle()?.save(&checkpoint);
    session.settled(py, saved)
}

/// The states of all LPs of a model that Python has written, one after the other.
#[pyfunction]
pub(crate) fn session_states(py: Python<'_>, session: u64) -> PyResult<Bound<'_, PyBytes>> {
    let session = find(session)?;
    let made = session.made()?;
    let Foreign::World(world) = &made.foreign else {
        let states = session.idle()?.state_bytes();
        return Ok(words(py, &session.settled(py, states)?));
    };
    // A site has more than its record: a report leaves the records alone.
    let idle = session.idle()?;
    let report = idle.report();
    // Nobody has asked for the results.
    if let Some(finishing) = &made.finishing {
        drop(finishing.take_raised());
    }
    session.settled(py, report)?;
    Ok(bytes(py, &world.take_states()))
}

/// Lets a process of this kind begin at a site of a world, from outside, with these words.
#[pyfunction]
pub(crate) fn session_spawn(
    py: Python<'_>,
    session: u64,
    to: u32,
    time: f64,
    kind: u32,
    process: Vec<u64>,
) -> PyResult<()> {
    let session = find(session)?;
    let Foreign::World(world) = &session.made()?.foreign else {
        return Err(PyRuntimeError::new_err("the session is not one of a world"));
    };
    let sent = session.idle()?.inject(to, time, &world.arrival(kind, &process));
    session.settled(py, sent)
}

/// Sends an event from outside to an LP of such a model, with the words of a message.
#[pyfunction]
pub(crate) fn session_inject(
    py: Python<'_>,
    session: u64,
    to: u32,
    time: f64,
    message: Vec<u8>,
) -> PyResult<()> {
    let session = find(session)?;
    session.made()?;
    let message: Vec<u8> = message.as_chunks().0.iter().flat_map(to_little_endian).collect();
    let sent = session.idle()?.inject(to, time, &message);
    session.settled(py, sent)
}

/// A word of this machine as it travels.
fn to_little_endian(word: &[u8; 8]) -> [u8; 8] {
    u64::from_ne_bytes(*word).to_le_bytes()
}

/// Words that have traveled as those of this machine.
fn words<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyBytes> {
    if cfg!(target_endian = "little") {
        return PyBytes::new(py, bytes);
    }
    let here: Vec<u8> = bytes.as_chunks().0.iter().flat_map(to_little_endian).collect();
    PyBytes::new(py, &here)
}

/// Another session that goes on from here, with these settings changed; returns its number.
#[pyfunction]
pub(crate) fn session_branch(
    py: Python<'_>,
    session: u64,
    changes: Vec<(String, Setting)>,
) -> PyResult<u64> {
    let (session, changes) = (find(session)?, table(changes));
    let branch = session.idle()?.branch(&Application::warpline(), changes);
    Ok(keep(session.settled(py, branch)?, None))
}

/// The same for a session of a model that Python has written; the branch goes on as this one.
#[pyfunction]
pub(crate) fn session_branch_model(
    py: Python<'_>,
    session: u64,
    model: Written,
    changes: Vec<(String, Setting)>,
) -> PyResult<u64> {
    branch_made(py, session, Made::of(model)?, changes)
}

/// The same for a session of a world.
#[pyfunction]
pub(crate) fn session_branch_world(
    py: Python<'_>,
    session: u64,
    world: WrittenWorld,
    changes: Vec<(String, Setting)>,
) -> PyResult<u64> {
    branch_made(py, session, world.made()?, changes)
}

fn branch_made(
    py: Python<'_>,
    session: u64,
    made: Made,
    changes: Vec<(String, Setting)>,
) -> PyResult<u64> {
    let (session, changes) = (find(session)?, table(changes));
    let branch = session.idle()?.branch_made(made.params.clone(), changes);
    Ok(keep(made.settled(py, branch)?, Some(made)))
}

/// Closes a session; one that is closed stays so.
#[pyfunction]
pub(crate) fn session_close(py: Python<'_>, session: u64) {
    let closed = lock(&OPEN).remove(&session);
    py.detach(|| drop(closed));
}
