//! The plots of a run in intervals: how the mean of each result settles.

use maud::{Markup, html};
use serde_json::Value;

use super::{
    Report,
    plot::{Curve, Plot},
};
use crate::format::significant;

/// The plots, if the report has intervals.
pub(super) fn plots(report: Report<'_>) -> Markup {
    let object = |key: &str| report.0.get(key).and_then(Value::as_object).map(Report);
    let (Some(intervals), Some(warm_up)) = (object("intervals"), object("warm_up")) else {
        return html! {};
    };
    let length = intervals.number("length").unwrap_or(f64::NAN);
    let found = Report(warm_up.0).entries("results");
    html! {
        h2 { "How the results settle" }
        p.dim {
            "The run begins in a state that is not typical. MSER-5 leaves out as much of the "
            "beginning as makes the mean of the rest most precise."
        }
        div.plots {
            @for (name, values) in intervals.entries("results") {
                @if let Some((_, end)) = found.iter().find(|(other, _)| *other == name) {
                    (plot(name, values, length, end.as_f64()))
                }
            }
        }
    }
}

/// The running means of a result, with and without its warm-up.
fn plot(name: &str, values: &Value, length: f64, warm_up: Option<f64>) -> Markup {
    let values: Vec<Option<f64>> =
        values.as_array().into_iter().flatten().map(Value::as_f64).collect();
    let places: Vec<f64> = (1..=values.len()).map(|number| number as f64 * length).collect();
    let mut curves = vec![Curve { name: "from the start".into(), numbers: means(&values, 0) }];
    let note = match warm_up {
        None => "A longer run is needed to find the warm-up.".to_owned(),
        Some(end) => {
            let first = (end / length).round() as usize;
            curves.push(Curve { name: "after it".into(), numbers: means(&values, first) });
            format!("Warm-up: {}.", significant(end))
        }
    };
    let (x, y) = ("virtual time", "mean up to here");
    Plot { title: name, note: &note, x, y, places, curves, band: Vec::new() }.draw()
}

/// The mean of the numbers from `first` up to each place.
fn means(values: &[Option<f64>], first: usize) -> Vec<Option<f64>> {
    let (mut sum, mut count) = (0.0, 0.0);
    let mean = |(number, value): (usize, &Option<f64>)| {
        if let Some(value) = value.filter(|_| number >= first) {
            sum += value;
            count += 1.0;
        }
        (count > 0.0).then(|| sum / count)
    };
    values.iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::means;

    #[test]
    fn means_by_hand() {
        let values = [Some(4.0), None, Some(1.0), Some(3.0)];
        assert_eq!(means(&values, 0), [Some(4.0), Some(4.0), Some(2.5), Some(8.0 / 3.0)]);
        assert_eq!(means(&values, 1), [None, None, Some(1.0), Some(2.0)]);
    }
}
