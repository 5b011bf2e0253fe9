//! Random numbers for handlers in the interpreter, and the tables that all handlers draw from.

use pyo3::{exceptions::PyValueError, prelude::*};
use warpline::{Discrete, Empirical, Stream, TableError};
use warpline_foreign::{LAWS, Parameters};

/// Lets the stream with these words draw; returns what it has drawn, and the words after it.
fn drawn<T>(low: u64, high: u64, draw: impl FnOnce(&Stream) -> T) -> (T, u64, u64) {
    let stream = Stream::from_words([low, high]);
    let drawn = draw(&stream);
    let [low, high] = stream.words();
    (drawn, low, high)
}

/// Draws an exponential number with mean 1 from the stream with these words; returns it, and the
/// words after it.
#[pyfunction]
pub(crate) fn exponential(low: u64, high: u64) -> (f64, u64, u64) {
    drawn(low, high, |stream| stream.exponential(1.0))
}

/// The distributions that `draw` draws from, in their order: the name, the names of the parameters,
/// and whether a number is whole.
#[pyfunction]
pub(crate) fn laws() -> Vec<(&'static str, Vec<&'static str>, bool)> {
    LAWS.iter().map(|law| (law.name, law.parameters.to_vec(), law.is_whole)).collect()
}

/// Draws from a distribution, given by its place, with the stream with these words; returns the
/// bits of the number, and the words after it.
#[pyfunction]
pub(crate) fn draw(
    law: usize,
    parameters: Parameters,
    low: u64,
    high: u64,
) -> PyResult<(u64, u64, u64)> {
    let law =
        LAWS.get(law).ok_or_else(|| PyValueError::new_err("there is no such distribution"))?;
    Ok(drawn(low, high, |stream| law.draw(stream, parameters)))
}

/// The table of a distribution with these weights: the number of columns, negative, and of each
/// column the part that is its own, and the number that the rest belongs to.
#[pyfunction]
pub(crate) fn discrete(weights: Vec<f64>) -> PyResult<Vec<f64>> {
    let table = Discrete::new(&weights).map_err(wrong)?;
    let columns = table.columns().iter().flatten().copied();
    Ok([-(table.len() as f64)].into_iter().chain(columns).collect())
}

/// The table of the distribution of observations: their number and one half, negative, and the
/// observations, sorted.
#[pyfunction]
pub(crate) fn empirical(observations: Vec<f64>) -> PyResult<Vec<f64>> {
    let table = Empirical::new(&observations).map_err(wrong)?;
    let sorted = table.sorted().iter().copied();
    Ok([-0.5 - observations.len() as f64].into_iter().chain(sorted).collect())
}

fn wrong(error: TableError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
