//! Tables as Arrow has them: cells of JSON become columns with types.
//!
//! Parquet files and the Python package are made of them. A column has whole numbers if all its
//! cells are, or else numbers, truth values or text; a cell that is missing is null.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use serde_json::Value;

/// These columns, in order, each with its cells as JSON.
///
/// # Errors
///
/// When columns differ in their number of cells.
pub fn record_batch(columns: Vec<(String, Vec<Value>)>) -> Result<RecordBatch, ArrowError> {
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

/// These columns as a Parquet file.
#[cfg(feature = "parquet")]
pub(crate) fn parquet(columns: Vec<(String, Vec<Value>)>) -> parquet::errors::Result<Vec<u8>> {
    use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

    let batch = record_batch(columns)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.into_inner()
}
