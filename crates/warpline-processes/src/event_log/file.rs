//! The file of an event log: CSV, or Parquet.

use std::{
    io::{self, Write},
    path::Path,
};

use warpline::files::PartialFile;

use super::Row;

/// A file that gets its rows, and its name when it is complete.
#[derive(Debug)]
pub(super) struct File {
    file: PartialFile,
    #[cfg(feature = "parquet")]
    rows: Option<Vec<Row>>,
}

impl File {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let format = path.extension().and_then(|extension| extension.to_str()).unwrap_or("csv");
        let is_parquet = format.eq_ignore_ascii_case("parquet");
        if !is_parquet && !format.eq_ignore_ascii_case("csv") {
            let why = format!("an event log is a .csv or a .parquet file, and this is a .{format}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        #[cfg(not(feature = "parquet"))]
        if is_parquet {
            let why = "this program is built without the feature `parquet`: name a .csv file";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let mut file = PartialFile::create(path)?;
        if !is_parquet {
            writeln!(file, "{}", Row::COLUMNS.join(","))?;
        }
        Ok(Self {
            file,
            #[cfg(feature = "parquet")]
            rows: is_parquet.then(Vec::new),
        })
    }

    pub(super) fn write(&mut self, row: Row) -> io::Result<()> {
        #[cfg(feature = "parquet")]
        if let Some(rows) = &mut self.rows {
            rows.push(row);
            return Ok(());
        }
        writeln!(self.file, "{row}")
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        #[cfg(feature = "parquet")]
        if let Some(rows) = &self.rows {
            let bytes = parquet(rows).map_err(io::Error::other)?;
            self.file.write_all(&bytes)?;
        }
        self.file.complete()
    }
}

/// The rows as a Parquet file.
#[cfg(feature = "parquet")]
fn parquet(rows: &[Row]) -> parquet::errors::Result<Vec<u8>> {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
    use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

    let text = |of: fn(&Row) -> &str| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
    };
    let columns: [ArrayRef; 7] = [
        Arc::new(rows.iter().map(|row| Some(row.entity_id)).collect::<UInt64Array>()),
        text(|row| row.event_type),
        text(|row| &row.event),
        Arc::new(rows.iter().map(|row| Some(row.time)).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.resource_id).collect::<UInt32Array>()),
        text(|row| &row.process),
        Arc::new(rows.iter().map(|row| Some(row.site)).collect::<UInt32Array>()),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        Row::COLUMNS
            .iter()
            .zip(columns)
            .map(|(&name, column)| (name, column, name == "resource_id")),
    )?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}
