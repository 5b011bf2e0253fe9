//! Tables for the Arrow C stream interface: rows of JSON become columns of Arrow.
//!
//! A column has whole numbers if all its cells are, or else numbers, truth values or text; a cell
//! that is missing is null.

use std::{ffi::CStr, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringArray, UInt64Array, ffi_stream::FFI_ArrowArrayStream,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyCapsule};
use serde_json::Value;

/// The name that the interface gives its capsules.
const NAME: &CStr = c"arrow_array_stream";

/// A capsule with a stream of one batch: these columns, in order, each with its cells as JSON.
#[pyfunction]
pub(crate) fn arrow_stream(py: Python<'_>, columns: &str) -> PyResult<Py<PyCapsule>> {
    let columns: Vec<(String, Vec<Value>)> =
        serde_json::from_str(columns).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let batch = batch(columns).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    Ok(PyCapsule::new_with_value(py, stream, NAME)?.unbind())
}

fn batch(columns: Vec<(String, Vec<Value>)>) -> Result<RecordBatch, ArrowError> {
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(name, cells)| {
            let array = array(&cells);
            (Field::new(name, array.data_type().clone(), true), array)
        })
        .unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}

fn array(cells: &[Value]) -> ArrayRef {
    let all = |is: fn(&Value) -> bool| cells.iter().all(|cell| cell.is_null() || is(cell));
    if all(Value::is_i64) {
        return Arc::new(cells.iter().map(Value::as_i64).collect::<Int64Array>());
    }
    if all(Value::is_u64) {
        return Arc::new(cells.iter().map(Value::as_u64).collect::<UInt64Array>());
    }
    if all(Value::is_number) {
        return Arc::new(cells.iter().map(Value::as_f64).collect::<Float64Array>());
    }
    if all(Value::is_boolean) {
        return Arc::new(cells.iter().map(Value::as_bool).collect::<BooleanArray>());
    }
    let text = |cell: &Value| match cell {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    Arc::new(cells.iter().map(text).collect::<StringArray>())
}
