//! The plots of replications: how the mean of each result, and its confidence interval, settle.

use maud::{Markup, html};
use serde_json::Value;
use warpline::replication::Estimate;

use super::{
    Report,
    plot::{COLORS, Curve, Plot},
};

/// More replications than this have a point for several of them.
const POINTS_MAX: usize = 100;

/// The plots, if the report has the results of each replication.
pub(super) fn plots(report: Report<'_>) -> Markup {
    let runs = report.items("runs");
    if runs.len() < 3 {
        return html! {};
    }
    // The first replication alone has no interval.
    let numbers: Vec<usize> = (2..=runs.len()).step_by(runs.len().div_ceil(POINTS_MAX)).collect();
    let of_result = |name: &str| -> Vec<Estimate> {
        let of_run = |run: &Value| run.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let values: Vec<f64> = runs.iter().map(of_run).collect();
        numbers.iter().map(|&number| Estimate::of(values[..number].iter().copied())).collect()
    };
    let results = report.entries("results");
    let estimates: Vec<(&str, Vec<Estimate>)> =
        results.iter().map(|(name, _)| (name.as_str(), of_result(name))).collect();
    let places: Vec<f64> = numbers.iter().map(|&number| number as f64).collect();
    let mean = |estimate: &Estimate| Some(estimate.mean).filter(|mean| mean.is_finite());
    let precision = |(name, estimates): &(&str, Vec<Estimate>)| Curve {
        name: (*name).to_owned(),
        numbers: estimates.iter().map(relative).collect(),
    };
    html! {
        h2 { "How the means settle" }
        p.dim { "Of the first replications, up to each number of them." }
        div.plots {
            (Plot {
                title: "Precision", note: "Half the 95 % confidence interval, by the mean.",
                x: "replications", y: "% of the mean", places: places.clone(),
                curves: estimates.iter().take(COLORS).map(precision).collect(),
                band: Vec::new(),
            }.draw())
            @for (name, estimates) in &estimates {
                (Plot {
                    title: name, note: "The mean, and as a band its 95 % confidence interval.",
                    x: "replications", y: "mean up to here", places: places.clone(),
                    curves: vec![Curve {
                        name: "mean".to_owned(),
                        numbers: estimates.iter().map(mean).collect(),
                    }],
                    band: estimates.iter().map(interval).collect(),
                }.draw())
            }
        }
    }
}

/// The half width in percent of the mean.
fn relative(estimate: &Estimate) -> Option<f64> {
    Some(100.0 * estimate.half_width / estimate.mean.abs()).filter(|percent| percent.is_finite())
}

/// The ends of the interval, if there is one.
fn interval(estimate: &Estimate) -> Option<[f64; 2]> {
    let (mean, width) = (estimate.mean, estimate.half_width);
    Some([mean - width, mean + width]).filter(|ends| ends.iter().all(|end| end.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_an_interval() {
        let estimate = |mean, half_width| Estimate { mean, half_width, samples: 2 };
        assert_eq!(interval(&estimate(4.0, 1.0)), Some([3.0, 5.0]));
        assert_eq!(interval(&estimate(4.0, 5.0)), Some([-1.0, 9.0]));
        assert_eq!(interval(&estimate(f64::NAN, 0.0)), None);
        assert_eq!(relative(&estimate(-4.0, 1.0)), Some(25.0));
        assert_eq!(relative(&estimate(0.0, 0.0)), None);
    }
}
