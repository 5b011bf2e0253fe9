//! What the replications of each point of a sweep come to, for people: the mean of each result with
//! its 95 % confidence interval, behind the rows of the runs.

use std::collections::BTreeMap;

use serde_json::Value;
use warpline::{Figure, replication::Estimate};

use super::Sweep;
use crate::{
    format::{align_right, estimate, table},
    table::Row,
};

/// The results of the runs that have ended.
#[derive(Debug)]
pub(super) struct Means<'a> {
    sweep: &'a Sweep<'a>,
    figures: Vec<Figure>,
    /// By run, in the order of the figures; NaN where a run has no such result.
    results: BTreeMap<usize, Vec<f64>>,
}

impl<'a> Means<'a> {
    pub(super) const fn new(sweep: &'a Sweep<'a>, figures: Vec<Figure>) -> Self {
        Self { sweep, figures, results: BTreeMap::new() }
    }

    /// The figures of each row.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.figures.iter().map(|figure| &*figure.name)
    }

    /// Notes the results of a run.
    pub(super) fn note(&mut self, number: usize, row: &Row) {
        let value = |figure: &Figure| row.get(&*figure.name).and_then(Value::as_f64);
        let values = self.figures.iter().map(|figure| value(figure).unwrap_or(f64::NAN)).collect();
        self.results.insert(number, values);
    }

    /// The table: for each result, a row for each point. Nothing without replications.
    pub(super) fn text(&self) -> String {
        let Sweep { points, common } = self.sweep;
        if common.replications < 2 || self.results.is_empty() {
            return String::new();
        }
        let keys = points.first().map_or(&[][..], |point| &point.values);
        let mut table = table();
        let header = ["figure"].into_iter().chain(keys.iter().map(|(key, _)| &**key));
        table.set_header(header.chain(["mean ± half width", "unit"]));
        for (nth, figure) in self.figures.iter().enumerate() {
            for (number, point) in points.iter().enumerate() {
                let name = if number == 0 { &*figure.name } else { "" };
                let mean = estimate(&self.estimate(number, nth), false);
                let values = point.values.iter().map(|(_, value)| &**value);
                let cells = [name].into_iter().chain(values);
                table.add_row(cells.chain([&*mean, &*figure.unit]).collect::<Vec<_>>());
            }
        }
        align_right(&mut table, 1..keys.len() + 2);
        format!("\nmeans of the replications, with 95 % confidence intervals\n{table}\n")
    }

    /// What the runs of a point say of a figure.
    fn estimate(&self, point: usize, figure: usize) -> Estimate {
        let replications = self.sweep.common.replications;
        let runs = self.results.range(point * replications..(point + 1) * replications);
        Estimate::of(runs.map(|(_, values)| values[figure]))
    }
}
