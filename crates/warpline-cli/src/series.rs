//! How a run went on: its progress, recorded now and then; `run` records it, `page` plots it.
//!
//! # Invariants
//!
//! - **SERIES-A.** There are never more than [`MOST`] points, however long the run is, and they
//!   are about equally far apart: when there is no room, every other one goes. All numbers are
//!   sums since the start, so what lies between two points is never lost.

use std::fs;

use serde_json::{Map, Value, json};
use warpline::{
    Progress, Report,
    monitor::{Activity, Monitor},
};

/// The most points that are kept while the run goes on.
const MOST: usize = 256;
/// What a worker does while the engine runs with fewer.
const ABSENT: &str = "takes no part: the engine runs with fewer workers";

/// The progress of a run over its wall time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    points: Vec<Point>,
    /// Of this number of observations one is kept, and this many are to be left out first.
    stride: usize,
    skipped: usize,
    events: Workers,
    rollbacks: Workers,
    /// By worker: how often it was seen doing something.
    activities: Vec<Vec<(Activity, u64)>>,
    /// How often the workers were looked at.
    looks: u64,
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
    /// The events that each worker has handled, and how often it has rolled back some LP.
    events: Vec<u64>,
    rollbacks: Vec<u64>,
}

/// What each worker has counted. In a run that changes engines, workers count anew.
#[derive(Clone, Debug, Default)]
struct Workers {
    counted: Vec<u64>,
    sums: Vec<u64>,
}

impl Series {
    /// Notes how far the run has come.
    pub(crate) fn observe(&mut self, progress: &Progress, monitor: &Monitor) {
        let shown = monitor.workers();
        self.events.note(shown.iter().map(|worker| worker.processed_events));
        self.rollbacks.note(shown.iter().map(|worker| worker.rollbacks));
        self.see(shown.iter().map(|worker| worker.activity));
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
            events: self.events.sums.clone(),
            rollbacks: self.rollbacks.sums.clone(),
        });
    }

    /// Counts what the workers do at this moment.
    fn see(&mut self, activities: impl Iterator<Item = Activity>) {
        self.looks += 1;
        for (worker, activity) in activities.enumerate() {
            if worker == self.activities.len() {
                self.activities.push(Vec::new());
            }
            let seen = &mut self.activities[worker];
            match seen.iter_mut().find(|(known, _)| *known == activity) {
                Some((_, count)) => *count += 1,
                None => seen.push((activity, 1)),
            }
        }
    }

    /// What each worker was seen doing: activities, in words, with their shares. A run that changes
    /// engines has not always as many workers.
    pub(crate) fn activities(&self) -> Value {
        let share = |seen: &Vec<(Activity, u64)>| -> Map<String, Value> {
            let part = |count: u64| json!(count as f64 / self.looks as f64);
            let absent = self.looks - seen.iter().map(|(_, count)| count).sum::<u64>();
            let absent = (absent > 0).then(|| (ABSENT.to_owned(), part(absent)));
            let seen = seen.iter().map(|&(activity, count)| (activity.to_string(), part(count)));
            seen.chain(absent).collect()
        };
        json!(self.activities.iter().map(share).collect::<Vec<_>>())
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
            events: Vec::new(),
            rollbacks: Vec::new(),
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
        let mut object: Map<_, _> =
            columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
        // What a worker has handled by the end is not shown: its column ends one point before.
        let known = &points[..points.len() - 1];
        let columns = |of: fn(&Point) -> &[u64]| -> Vec<Vec<u64>> {
            let column = |worker| {
                known.iter().map(|point| of(point).get(worker).copied().unwrap_or(0)).collect()
            };
            (0..self.events.sums.len()).map(column).collect()
        };
        object.insert("worker_events".into(), json!(columns(|point| &point.events)));
        object.insert("worker_rollbacks".into(), json!(columns(|point| &point.rollbacks)));
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

    /// A worker that was not there at a look takes no part then.
    #[test]
    fn shares_are_of_all_looks() {
        let mut series = Series::default();
        series.see([Activity::Working].into_iter());
        series.see([Activity::AtWindowEnd, Activity::Working].into_iter());
        series.see([Activity::Working].into_iter());
        series.see([Activity::Working].into_iter());
        let shares = [
            json!({ "handles events": 0.75, "waits for the others at the end of a window": 0.25 }),
            json!({ "handles events": 0.25, ABSENT: 0.75 }),
        ];
        assert_eq!(series.activities(), json!(shares));
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
