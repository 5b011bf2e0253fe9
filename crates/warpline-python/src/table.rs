//! Tables for the Arrow C stream interface.

use std::ffi::CStr;

use arrow_array::{RecordBatchIterator, ffi_stream::FFI_ArrowArrayStream};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyCapsule};

/// The name that the interface gives its capsules.
const NAME: &CStr = c"arrow_array_stream";

/// A capsule with a stream of one batch: these columns, in order, each with its cells as JSON.
#[pyfunction]
#[pyo3(signature = (columns) -> "object")]
pub(crate) fn arrow_stream(py: Python<'_>, columns: &str) -> PyResult<Py<PyCapsule>> {
    let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let columns = serde_json::from_str(columns).map_err(|error| wrong(&error))?;
    let batch = warpline_cli::record_batch(columns).map_err(|error| wrong(&error))?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    Ok(PyCapsule::new_with_value(py, stream, NAME)?.unbind())
}
