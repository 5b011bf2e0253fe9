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
};
use warpline_cli::{Application, CallError, Caller, OpenSession};

use crate::calls::{Setting, exception, looked_after};

/// The sessions that are open.
static OPEN: Mutex<BTreeMap<u64, Arc<Mutex<OpenSession>>>> = Mutex::new(BTreeMap::new());
/// The number of the next one.
static NEXT: AtomicU64 = AtomicU64::new(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A step that panics leaves a session without a state, which says so.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The session, unless it runs a step: then whoever asks would wait for its end, perhaps in the
/// very function that the step calls.
fn idle(session: &Mutex<OpenSession>) -> PyResult<MutexGuard<'_, OpenSession>> {
    match session.try_lock() {
        Ok(session) => Ok(session),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            Err(PyRuntimeError::new_err("the session is in the middle of a step"))
        }
    }
}

fn keep(session: OpenSession) -> u64 {
    // Ordering: Relaxed; a number that is given once.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&OPEN).insert(number, Arc::new(Mutex::new(session)));
    number
}

fn find(number: u64) -> PyResult<Arc<Mutex<OpenSession>>> {
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
    Ok(keep(settled(py, session)?))
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
    drop(idle(&session)?);
    let work = |caller: Caller<'_>| lock(&session).run_until(until, caller);
    let outcome = looked_after(py, progress, work)?;
    settled(py, outcome)
}

/// The virtual time of a session, and that of its next event.
#[pyfunction]
pub(crate) fn session_times(py: Python<'_>, session: u64) -> PyResult<(f64, Option<f64>)> {
    let session = find(session)?;
    let times = idle(&session)?.times();
    settled(py, times)
}

/// The report of the run up to now, as JSON.
#[pyfunction]
pub(crate) fn session_report(py: Python<'_>, session: u64) -> PyResult<String> {
    let session = find(session)?;
    let report = idle(&session)?.report().map(|report| report.to_string());
    settled(py, report)
}

/// The text of an LP's state.
#[pyfunction]
pub(crate) fn session_state(py: Python<'_>, session: u64, lp: usize) -> PyResult<String> {
    let session = find(session)?;
    let text = idle(&session)?.state_text(lp);
    settled(py, text)
}

/// Writes a checkpoint.
#[pyfunction]
pub(crate) fn session_save(py: Python<'_>, session: u64, checkpoint: PathBuf) -> PyResult<()> {
    let session = find(session)?;
    let saved = idle(&session)?.save(&checkpoint);
    settled(py, saved)
}

/// Another session that goes on from here, with these settings changed; returns its number.
#[pyfunction]
pub(crate) fn session_branch(
    py: Python<'_>,
    session: u64,
    changes: Vec<(String, Setting)>,
) -> PyResult<u64> {
    let (session, changes) = (find(session)?, table(changes));
    let branch = idle(&session)?.branch(&Application::warpline(), changes);
    Ok(keep(settled(py, branch)?))
}

/// Closes a session; one that is closed stays so.
#[pyfunction]
pub(crate) fn session_close(py: Python<'_>, session: u64) {
    let closed = lock(&OPEN).remove(&session);
    py.detach(|| drop(closed));
}
