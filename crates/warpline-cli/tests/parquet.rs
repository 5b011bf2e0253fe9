//! Tables as Parquet files: what the reader of the `parquet` crate finds is what the CSV says.
//!
//! A mutation that turns this red: the cells of a column are in reverse order.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use arrow_array::{
    Array, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array, cast::AsArray,
};
use parquet::{
    arrow::arrow_reader::ParquetRecordBatchReaderBuilder, basic::Compression,
    file::reader::FileReader, file::serialized_reader::SerializedFileReader,
};

#[track_caller]
fn stdout(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warpline"))
        .args(line.split_whitespace())
        .output()
        .expect("the command starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {stderr}");
    String::from_utf8(output.stdout).expect("a table is UTF-8")
}

fn read(path: &Path) -> RecordBatch {
    let file = File::open(path).expect("the file is there");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let mut batches = reader.build().expect("a reader");
    let batch = batches.next().expect("rows").expect("a batch");
    assert!(batches.next().is_none(), "all rows in one batch");
    batch
}

/// The text of a cell, which CSV has, too; empty for null.
fn text(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    let any = column.as_any();
    let text = any.downcast_ref::<StringArray>().map(|column| column.value(row).to_owned());
    let signed = any.downcast_ref::<Int64Array>().map(|column| column.value(row).to_string());
    let large = any.downcast_ref::<UInt64Array>().map(|column| column.value(row).to_string());
    let number = any.downcast_ref::<Float64Array>().map(|column| column.value(row).to_string());
    text.or(signed).or(large).or(number).expect("a type of a table's column")
}

/// Whether two cells are equal, as numbers if both are.
fn same(one: &str, other: &str) -> bool {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Cells that measure time, which differ from run to run.
const TIMES: [&str; 2] = ["wall_seconds", "events_per_second"];

#[track_caller]
fn has_the_values_of_the_csv(line: &str, rows: usize) -> RecordBatch {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("table.parquet");
    stdout(&format!("{line} --format parquet --output {}", path.display()));
    let batch = read(&path);
    let table = stdout(&format!("{line} --format csv"));
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(reader.headers().expect("a header").iter().collect::<Vec<_>>(), names);
    let records: Vec<_> = reader.records().map(|record| record.expect("a row")).collect();
    assert_eq!((batch.num_rows(), records.len()), (rows, rows));
    for (row, record) in records.iter().enumerate() {
        for (column, name) in names.iter().enumerate().filter(|(_, name)| !TIMES.contains(name)) {
            let cell = text(batch.column(column), row);
            assert!(same(&cell, &record[column]), "row {row}, {name}: {cell}, {}", &record[column]);
        }
    }
    let file = SerializedFileReader::new(File::open(&path).expect("the file is there"));
    let group = file.expect("a Parquet file").metadata().row_group(0).clone();
    assert_eq!(group.column(0).compression(), Compression::SNAPPY);
    batch
}

/// Cells that are numbers have numbers; a column with other text has text.
#[test]
fn a_sweep_has_the_values_of_its_csv() {
    let line = "sweep phold --lps 16 --end 20 --engine sequential --vary remote=0.5,1 \
                --vary memory=1MiB,2000000 --vary seed=7,18446744073709551615 --jobs 1";
    let batch = has_the_values_of_the_csv(line, 8);
    let column = |name: &str| batch.column_by_name(name).expect("a column").clone();
    assert_eq!(column("remote").as_primitive::<arrow_array::types::Float64Type>().value(0), 0.5);
    assert_eq!(column("memory").as_string::<i32>().value(2), "2000000");
    let seeds = column("seed");
    assert_eq!(seeds.as_primitive::<arrow_array::types::UInt64Type>().value(1), u64::MAX);
}

/// Replications are rows, and so is a single run.
#[test]
fn replications_are_rows() {
    let line = "run pcs --cells 4x4 --portables 100 --end 20 --engine sequential";
    let batch = has_the_values_of_the_csv(&format!("{line} --replications 3"), 3);
    let numbers = batch.column_by_name("replication").expect("a column").clone();
    let numbers = numbers.as_primitive::<arrow_array::types::Int64Type>();
    assert_eq!(numbers.values(), &[0, 1, 2]);
    has_the_values_of_the_csv(line, 1);
}

/// A sweep that is killed leaves its rows beside the file, and goes on after them; a file that is
/// whole is not gone on with.
#[test]
fn a_killed_sweep_keeps_its_rows_and_goes_on() {
    const LIMIT: Duration = Duration::from_secs(120);
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("table.parquet");
    let rows = folder.path().join("table.parquet.rows");
    let line = |ends: &str| {
        format!(
            "sweep phold --lps 4 --population 8 --jobs 1 --vary end={ends} --format parquet \
             --output {}",
            path.display()
        )
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let mut child = command.args(line("1,2,1e300").split_whitespace()).spawn().expect("it starts");
    let kept = || fs::read_to_string(&rows).unwrap_or_default();
    let started = Instant::now();
    while kept().lines().count() < 2 && started.elapsed() < LIMIT {
        thread::yield_now();
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert_eq!(kept().lines().count(), 2);

    stdout(&format!("{} --resume", line("3,2,1")));
    let batch = read(&path);
    let ends = batch.column_by_name("end").expect("a column").clone();
    assert_eq!(ends.as_primitive::<arrow_array::types::Int64Type>().values(), &[3, 2, 1]);
    assert!(!rows.exists());
    let whole = fs::read(&path).expect("it is there");
    let mut again = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let again = again.args(line("3,2,1").split_whitespace()).arg("--resume").output();
    assert_eq!(again.expect("it starts").status.code(), Some(2));
    assert_eq!(fs::read(&path).expect("it is there"), whole);
}
