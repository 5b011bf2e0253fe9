//! How a run went on: its progress, recorded now and then; `run` records it, `page` plots it.
//!
//! # Invariants
//!
//! - **SERIES-A.** There are never more than [`MOST`] points, however long the run is, and they
//!   are about equally far apart: when there is no room, every other one goes. All numbers are
//!   sums since the start, so what lies between two points is never lost.

use std::fs;

use serde_json::{Value, json};
use warpline::{Progress, Report, monitor::Monitor};

/// The most points that are kept while the run goes on.
const MOST: usize = 256;

/// The progress of a run over its wall time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    points: Vec<Point>,
    /// Of this number of observations one is kept, and this many are to be left out first.
    stride: usize,
    skipped: usize,
    workers: Workers,
}

/// A moment of the run, with sums since its start.
#[derive(Clone, Debug, Default)]
struct Point {
    wall: f64,
    virtual_time: f64,
    committed: u64,
    processed: u64,
    /// What the process has in memory now.
    resident: Option<u64>,
    /// The events that each worker has handled.
    workers: Vec<u64>,
}

/// The events that each worker has handled. In a run that changes engines, workers count anew.
#[derive(Clone, Debug, Default)]
struct Workers {
    counted: Vec<u64>,
    sums: Vec<u64>,
}

impl Series {
    /// Notes how far the run has come.
    pub(crate) fn observe(&mut self, progress: &Progress, monitor: &Monitor) {
        let shown = monitor.workers();
        self.workers.note(shown.iter().map(|worker| worker.processed_events));
        if self.skipped + 1 < self.stride {
            self.skipped += 1;
            return;
        }
        self.push(Point {
            wall: progress.wall.as_secs_f64(),
            virtual_time: progress.virtual_time.get(),
            committed: progress.committed_events,
            processed: progress.processed_events,
            resident: resident_bytes(),
            workers: self.workers.sums.clone(),
        });
    }

    fn push(&mut self, point: Point) {
        self.skipped = 0;
        self.points.push(point);
        if self.points.len() == MOST {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.stride = 2 * self.stride.max(1);
        }
        debug_assert!(self.points.len() < MOST, "SERIES-A");
    }

    /// The whole series, from the start to where the report says that the run has come.
    pub(crate) fn to_json<O>(&self, report: &Report<O>) -> Value {
        let end = Point {
            wall: report.wall.as_secs_f64(),
            virtual_time: report.end_time.get(),
            committed: report.committed_events,
            processed: report.processed_events,
            // The model is gone by now, and most of the memory with it.
            resident: None,
            workers: Vec::new(),
        };
        // On several ranks the first one knows how far all have come a little late.
        let before_end = self.points.iter().filter(|point| point.wall < end.wall);
        let start = Point::default();
        let points: Vec<&Point> = [&start].into_iter().chain(before_end).chain([&end]).collect();
        let column = |of: fn(&Point) -> Value| points.iter().map(|point| of(point)).collect();
        let columns: [(&str, Value); 5] = [
            ("wall_seconds", column(|point| json!(point.wall))),
            ("virtual_time", column(|point| json!(point.virtual_time))),
            ("committed_events", column(|point| json!(point.committed))),
            ("processed_events", column(|point| json!(point.processed))),
            ("resident_bytes", column(|point| json!(point.resident))),
        ];
        let mut object: serde_json::Map<_, _> =
            columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
        // What a worker has handled by the end is not shown: its column ends one point before.
        let known = &points[..points.len() - 1];
        let events = (0..self.workers.sums.len()).map(|worker| {
            known.iter().map(|p| p.workers.get(worker).copied().unwrap_or(0)).collect()
        });
        let events: Vec<Vec<u64>> = events.collect();
        object.insert("worker_events".into(), json!(events));
        Value::Object(object)
    }
}

impl Workers {
    fn note(&mut self, counts: impl Iterator<Item = u64>) {
        for (worker, count) in counts.enumerate() {
            if worker == self.sums.len() {
                self.sums.push(0);
                self.counted.push(0);
            }
            let before = std::mem::replace(&mut self.counted[worker], count);
            self.sums[worker] += count.checked_sub(before).unwrap_or(count);
        }
    }
}

/// What this process has in memory, in bytes, where the system reports it.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SERIES-A: a long run has as many points as a short one, equally far apart.
    #[test]
    fn long_runs_are_thinned() {
        let mut series = Series::default();
        for number in 1..=100_000_u32 {
            if series.skipped + 1 < series.stride {
                series.skipped += 1;
            } else {
                series.push(Point { wall: f64::from(number), ..Point::default() });
            }
        }
        let walls: Vec<_> = series.points.iter().map(|point| point.wall).collect();
        assert!((MOST / 2 - 1..MOST).contains(&walls.len()), "{} points", walls.len());
        assert!(walls[0] > 0.0 && walls.last().is_some_and(|last| *last > 99_000.0));
        let gap = walls[1] - walls[0];
        assert!(walls.windows(2).all(|pair| pair[1] - pair[0] == gap), "{walls:?}");
    }

    /// A worker that counts from 0 again, with another engine, goes on in the sums.
    #[test]
    fn workers_count_on_when_engines_change() {
        let mut workers = Workers::default();
        workers.note([10].into_iter());
        workers.note([30, 5].into_iter());
        workers.note([4, 9].into_iter());
        assert_eq!(workers.sums, [34, 9]);
    }
}
