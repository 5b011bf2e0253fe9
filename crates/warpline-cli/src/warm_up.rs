//! What a run in intervals (`--find-warmup`) tells: where its beginning ends that is not typical.
//!
//! Used by the reports of runs and of replications; what leaves nothing to tell is refused here.

use serde_json::{Map, Value, json};
use warpline::{
    Figure, Report, Results,
    settings::EngineKind,
    warm_up::{self, OBSERVATIONS_MIN, WarmUp},
};

use crate::{
    args::CommonArgs,
    failure::Failure,
    format::{align_right, counted, significant, table},
};

/// Refuses a run of which nothing would be left but its warm-up, and intervals in which none can be
/// found.
pub(crate) fn check(common: &CommonArgs, end: f64) -> Result<(), Failure> {
    let warm_up = common.warmup;
    if warm_up > 0.0 && warm_up >= end {
        return Err(Failure::Configuration(format!(
            "`warmup` is {warm_up}, but must be less than `end`, {end}: nothing of the run would \
             be left for the results"
        )));
    }
    match common.find_warmup {
        // Who names the engine wants the results of the intervals.
        Some(count) if count < OBSERVATIONS_MIN && common.engine != EngineKind::Intervals => {
            Err(Failure::Configuration(format!(
                "`find-warmup` is {count}, but must be at least {OBSERVATIONS_MIN}: a warm-up is \
                 not found in fewer intervals"
            )))
        }
        _ => Ok(()),
    }
}

/// The results of the intervals of a run, or their means over several runs.
#[derive(Clone, Debug)]
pub(crate) struct IntervalResults {
    /// How long an interval is, in virtual time.
    length: f64,
    results: Vec<IntervalResult>,
}

/// What a result was in each interval.
#[derive(Clone, Debug)]
struct IntervalResult {
    name: String,
    values: Vec<f64>,
    /// No extreme does: a longer run changes it without end.
    settles: bool,
}

impl IntervalResults {
    /// Those of a run that is complete and was cut into intervals.
    pub(crate) fn of<O: Results>(report: &Report<O>) -> Option<Self> {
        let all: Vec<Vec<Figure>> = report.intervals.iter().map(Results::figures).collect();
        let first = all.first().filter(|_| !report.interrupted)?;
        let of_one = |(at, figure): (usize, &Figure)| IntervalResult {
            name: figure.name.to_string(),
            values: all.iter().map(|figures| figures[at].value).collect(),
            settles: !figure.is_extreme(),
        };
        Some(Self {
            length: report.end_time.get() / all.len() as f64,
            results: first.iter().enumerate().map(of_one).collect(),
        })
    }

    /// The means over runs of the same length, which are smoother than any of them (Welch).
    pub(crate) fn mean<'a>(runs: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let runs: Vec<&Self> = runs.collect();
        let mut mean = (*runs.first()?).clone();
        for (at, result) in mean.results.iter_mut().enumerate() {
            for (interval, value) in result.values.iter_mut().enumerate() {
                let of_run = |run: &&Self| run.results[at].values[interval];
                let all: Vec<f64> = runs.iter().map(of_run).collect();
                *value = warm_up::mean(&all);
            }
        }
        Some(mean)
    }

    /// The warm-up of each result that settles, where there is one to be found.
    fn warm_ups(&self) -> Vec<(&str, Option<WarmUp>)> {
        let settling = self.results.iter().filter(|result| result.settles);
        settling.map(|result| (&*result.name, WarmUp::of(&result.values))).collect()
    }

    /// The results that have none, because they never settle.
    fn left_out(&self) -> Vec<&str> {
        let extremes = self.results.iter().filter(|result| !result.settles);
        extremes.map(|result| &*result.name).collect()
    }

    fn time(&self, warm_up: WarmUp) -> f64 {
        warm_up.left_out as f64 * self.length
    }

    /// The longest warm-up of a result, in virtual time; nothing if the run is too short to find
    /// that of any.
    pub(crate) fn longest(&self) -> Option<f64> {
        self.longest_of(&self.warm_ups())
    }

    fn longest_of(&self, warm_ups: &[(&str, Option<WarmUp>)]) -> Option<f64> {
        warm_ups.iter().filter_map(|(_, found)| Some(self.time((*found)?))).reduce(f64::max)
    }

    /// Adds the entries `warm_up` and `intervals` to a report.
    pub(crate) fn add_to(&self, report: &mut Map<String, Value>) {
        let found = self.warm_ups();
        let time = |warm_up: Option<WarmUp>| json!(warm_up.map(|found| self.time(found)));
        let times: Map<_, _> =
            found.iter().map(|&(name, warm_up)| (name.to_owned(), time(warm_up))).collect();
        let values: Map<_, _> =
            self.results.iter().map(|one| (one.name.clone(), json!(one.values))).collect();
        let longest = self.longest_of(&found);
        let left_out = self.left_out();
        let warm_up = json!({ "longest": longest, "results": times, "left_out": left_out });
        report.insert("warm_up".into(), warm_up);
        let intervals = json!({ "length": self.length, "results": values });
        report.insert("intervals".into(), intervals);
    }

    /// The same for people. `has_warm_up` says whether the model can leave it out.
    pub(crate) fn to_text(&self, has_warm_up: bool) -> String {
        let mut table = table();
        table.set_header(["figure", "warm-up", "mean after it"]);
        let warm_ups = self.warm_ups();
        for &(name, found) in &warm_ups {
            let [time, mean] = match found {
                Some(found) => [self.time(found), found.mean].map(significant),
                None => ["longer run needed".to_owned(), String::new()],
            };
            table.add_row([name.to_owned(), time, mean]);
        }
        align_right(&mut table, 1..3);
        let count = self.results.first().map_or(0, |result| result.values.len());
        let count = counted(count, "interval");
        let length = significant(self.length);
        let mut text = format!("warm-up by MSER-5, from {count} of {length}\n{table}\n");
        let left_out = self.left_out();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            text += &format!("  not looked at, because an extreme never settles: {names}\n");
        }
        let longest = self.longest_of(&warm_ups);
        if warm_ups.iter().any(|(_, found)| found.is_none()) {
            text += "  more than half of the run would have to be left out: run longer\n";
        } else if let Some(longest) = longest.filter(|&time| has_warm_up && time > 0.0) {
            let longest = significant(longest).replace(' ', "");
            text += &format!("  leave it out with --warmup {longest}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{IntervalResult, IntervalResults};

    /// What one run did not yield comes from the others.
    #[test]
    fn means_are_of_what_there_is() {
        let run = |values: &[f64]| {
            let (name, values) = ("calls".to_owned(), values.to_vec());
            IntervalResults {
                length: 1.0,
                results: vec![IntervalResult { name, values, settles: true }],
            }
        };
        let nan = f64::NAN;
        let runs = [run(&[1.0, nan, nan]), run(&[3.0, 4.0, nan])];
        let mean = IntervalResults::mean(runs.iter()).expect("there are two runs");
        let values = &mean.results[0].values;
        assert!(values[..2] == [2.0, 4.0] && values[2].is_nan(), "{values:?}");
        assert!(IntervalResults::mean([].iter()).is_none());
    }
}
