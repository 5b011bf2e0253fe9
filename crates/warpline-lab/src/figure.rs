//! What a figure is, and what it finds: the frame that all figures share.
//!
//! Files in `figures/` implement [`Figure`]; [`run()`](crate::run()) calls them and writes their
//! [`Findings`].

use std::fmt;

use crate::{
    Axis, Claim, Constant, Curve, Dot, LabError, Plot, Point, Sample, Settings, Watch,
    counters::NAMES, sampling,
};

/// A figure of a paper, or an experiment that a paper describes in words.
pub trait Figure: fmt::Debug + Sync {
    /// Its name on the command line, and the name of its files.
    fn name(&self) -> &'static str;

    /// A line that says what it shows.
    fn title(&self) -> &'static str;

    /// Runs the experiment, and tests the claims.
    ///
    /// # Errors
    ///
    /// When a run fails, or commits other events than it should.
    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError>;
}

/// The results of a figure.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The picture.
    pub plot: Plot,
    /// All numbers.
    pub table: Table,
    /// What the paper did and found, in a paragraph.
    pub paper: &'static str,
    /// What was run here, in a paragraph.
    pub setup: String,
    /// Where the numbers are from.
    pub source: Source,
    /// The paper's claims and our own, tested.
    pub claims: Vec<Claim>,
    /// The constants that went in, each with where it is from.
    pub constants: Vec<Constant>,
    /// Other things that a reader has to know.
    pub remarks: Vec<String>,
}

/// Where a figure's numbers are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Runs on this machine, sampled in rounds.
    Samples,
    /// A computation that has the same result on every machine.
    Computed,
}

/// Rows of numbers under a header.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The names of the columns, with units.
    pub header: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The table as comma-separated values.
    pub(crate) fn to_csv(&self) -> Result<Vec<u8>, LabError> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let written =
            [&self.header].into_iter().chain(&self.rows).try_for_each(|row| csv.write_record(row));
        let failed = |source| LabError::Write { path: "a table".into(), source };
        written.map_err(|error| failed(error.into()))?;
        csv.into_inner().map_err(|error| failed(error.into_error()))
    }
}

/// The means of a figure while it is measured.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    figure: &'a str,
    /// The user's settings.
    pub settings: &'a Settings,
    watch: &'a dyn Watch,
}

impl<'a> Lab<'a> {
    pub(crate) const fn new(figure: &'a str, settings: &'a Settings, watch: &'a dyn Watch) -> Self {
        Self { figure, settings, watch }
    }

    /// Samples every point in every round.
    ///
    /// # Errors
    ///
    /// When a run fails, commits other events than it should, or is interrupted.
    pub fn sample(&self, points: Vec<Point>) -> Result<Vec<Point>, LabError> {
        sampling::sample(self.figure, points, self.settings.samples, self.settings, self.watch)
    }

    /// Runs every point once: for workers in turn, whose counts are the same in every run.
    ///
    /// # Errors
    ///
    /// As [`sample`](Self::sample).
    pub fn count(&self, points: Vec<Point>) -> Result<Vec<Point>, LabError> {
        sampling::sample(self.figure, points, 1, self.settings, self.watch)
    }
}

impl fmt::Debug for Lab<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").field("figure", &self.figure).finish_non_exhaustive()
    }
}

impl Findings {
    /// Findings with the plot and the table of all points' rates over `x`; the figure fills in the
    /// rest.
    #[must_use]
    pub fn of_rates(title: impl Into<String>, x: Axis, points: &[Point]) -> Self {
        let table = rates_table(&x.label, points);
        let y = Axis::new("committed events per second, in millions");
        Self::of_samples([title.into(), y.label], x, points, table, |sample| sample.rate / 1e6)
    }

    /// The same with the counts of runs in turn, which are the same in every run: events by turns.
    #[must_use]
    pub fn of_counts(title: impl Into<String>, x: Axis, points: &[Point]) -> Self {
        let table = counts_table(&x.label, points);
        let titles = [title.into(), "committed events by turns of the workers".to_owned()];
        let findings = Self::of_samples(titles, x, points, table, |sample| sample.events_per_turn);
        Self { source: Source::Computed, ..findings }
    }

    /// Findings with a plot of one number of each sample.
    fn of_samples(
        [title, y]: [String; 2],
        x: Axis,
        points: &[Point],
        table: Table,
        number: fn(&Sample) -> f64,
    ) -> Self {
        let mut curves: Vec<Curve> = Vec::new();
        for point in points.iter().filter(|point| !point.samples.is_empty()) {
            let numbers = || point.samples.iter().map(number);
            let dot = Dot {
                x: point.x,
                y: point.median(number),
                low: numbers().fold(f64::INFINITY, f64::min),
                high: numbers().fold(0.0, f64::max),
                hollow: point.oversubscribed(),
            };
            match curves.iter_mut().find(|curve| curve.name == point.curve) {
                Some(curve) => curve.dots.push(dot),
                None => curves.push(Curve::new(&point.curve, vec![dot])),
            }
        }
        let plot = Plot { title, x, y: Axis::new(y), curves };
        let short = points.iter().filter(|point| point.samples.is_empty());
        let remarks = short
            .map(|point| format!("{} at {}: too little memory for the run.", point.curve, point.x))
            .collect();
        let (claims, constants) = (Vec::new(), Vec::new());
        let (paper, setup, source) = ("", String::new(), Source::Samples);
        Self { plot, table, paper, setup, source, claims, constants, remarks }
    }
}

/// Every point with its counts.
fn counts_table(x: &str, points: &[Point]) -> Table {
    let columns =
        ["curve", x, "workers", "events by turns", "events by rounds of GVT", "efficiency"];
    let row = |point: &Point| {
        let number = |of: fn(&Sample) -> f64| format!("{:.4}", point.median(of));
        vec![
            point.curve.clone(),
            point.x.to_string(),
            point.setup.executor.workers().to_string(),
            number(|sample| sample.events_per_turn),
            number(|sample| sample.events_per_gvt),
            number(|sample| sample.efficiency),
            point.committed.to_string(),
        ]
    };
    let header = columns.into_iter().chain(["committed events"]).map(str::to_owned).collect();
    let counted = points.iter().filter(|point| !point.samples.is_empty());
    Table { header, rows: counted.map(row).collect() }
}

/// The columns of a table of rates, between the place and the counters.
const COLUMNS: [&str; 11] = [
    "workers",
    "more workers than cores",
    "median events/s",
    "min events/s",
    "max events/s",
    "samples",
    "efficiency",
    "events by rounds of GVT",
    "local events",
    "committed events",
    "digest",
];

/// Every point with the spread of its samples.
fn rates_table(x: &str, points: &[Point]) -> Table {
    let mut header = vec!["curve".to_owned(), x.to_owned()];
    header.extend(COLUMNS.map(str::to_owned));
    header.extend(NAMES.map(|name| format!("{name} per event")));
    let row = |point: &Point| {
        let rates = point.rates();
        let rate = |rate: f64| if rate.is_finite() { format!("{rate:.0}") } else { String::new() };
        let local = point.median(|sample| sample.local_share.unwrap_or(f64::NAN));
        let mut row = vec![
            point.curve.clone(),
            point.x.to_string(),
            point.setup.executor.workers().to_string(),
            if point.oversubscribed() { "yes" } else { "no" }.to_owned(),
            rate(point.median(|sample| sample.rate)),
            rate(rates.iter().copied().fold(f64::INFINITY, f64::min)),
            rate(rates.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            rates.len().to_string(),
            format!("{:.4}", point.median(|sample| sample.efficiency)),
            rate(point.median(|sample| sample.events_per_gvt)),
            if local.is_finite() { format!("{local:.4}") } else { String::new() },
            point.committed.to_string(),
            point.digest.map_or_else(String::new, |digest| digest.to_string()),
        ];
        row.extend((0..NAMES.len()).map(|counter| {
            point.per_event(counter).map_or_else(String::new, |count| format!("{count:.4}"))
        }));
        row
    };
    Table { header, rows: points.iter().map(row).collect() }
}
