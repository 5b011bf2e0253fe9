//! The plots of how a run went on, over wall time and over virtual time.

use maud::{Markup, html};
use serde_json::Value;

use super::{
    Report,
    plot::{COLORS, Curve, Plot, color},
};

const WALL: &str = "wall time in s";

/// A series of the report: a number at each point, or none.
type Column = Vec<Option<f64>>;

/// The plots, if the report has a series.
pub(super) fn plots(report: Report<'_>) -> Markup {
    let Some(series) = report.0.get("series").and_then(Value::as_object) else {
        return html! {};
    };
    let series = Report(series);
    let column = |key: &str| column(series.items(key));
    let wall = column("wall_seconds");
    let [committed, processed] = ["committed_events", "processed_events"].map(column);
    let places = |column: &Column| column.iter().map(|place| place.unwrap_or(0.0)).collect();
    let [rate, handled] = [&committed, &processed].map(|events| rates(events, 1e6, &wall));
    let is_optimistic = report.number("rolled_back_events") > Some(0.0);
    let curve = |name: &str, numbers: Column| Curve { name: name.into(), numbers };
    let over_wall = |title, note, y, curves| {
        Plot { title, note, x: WALL, y, places: places(&wall), curves, band: Vec::new() }.draw()
    };
    let mut rates = vec![curve("committed", rate.clone())];
    if is_optimistic {
        rates.push(curve("handled", handled));
    }
    let efficiency = committed.iter().zip(&processed);
    let efficiency = efficiency.map(|(&committed, &processed)| {
        let (committed, processed) = (committed?, processed.filter(|&events| events > 0.0)?);
        Some(committed / processed)
    });
    let memory = column("resident_bytes").into_iter().map(|bytes| Some(bytes? / 1048576.0));
    let virtual_time = column("virtual_time");
    html! {
        h2 { "How it went on" }
        div.plots {
            (over_wall("Rate", "Events since the point before.", "million events/s", rates))
            (over_wall("Virtual time", "Nothing below it can change any more (GVT).",
                "virtual time", vec![curve("virtual time", virtual_time.clone())]))
            @if is_optimistic {
                (over_wall("Efficiency", "Events committed by events handled, since the start.",
                    "efficiency", vec![curve("efficiency", efficiency.collect())]))
            }
            (over_wall("Memory", "What the process has in memory.", "MiB",
                vec![curve("memory", memory.collect())]))
            (Plot {
                title: "Rate by virtual time", note: "Where the model is busy.",
                x: "virtual time", y: "million events/s", places: places(&virtual_time),
                curves: vec![curve("committed", rate)], band: Vec::new(),
            }.draw())
            @let each = workers(series, "worker_events", 1e6, &wall);
            @if each.len() > 1 {
                (over_wall("Workers", "Events handled by each, those undone later included.",
                    "million events/s", each))
            }
            @if is_optimistic {
                (over_wall("Rollbacks", "Of the LPs of each worker, since the point before.",
                    "thousand rollbacks/s", workers(series, "worker_rollbacks", 1e3, &wall)))
            }
        }
        (activities(report))
    }
}

fn column(items: &[Value]) -> Column {
    items.iter().map(Value::as_f64).collect()
}

/// What the workers were seen doing.
fn activities(report: Report<'_>) -> Markup {
    let workers: Vec<_> =
        report.items("worker_activities").iter().filter_map(Value::as_object).collect();
    let mut names: Vec<&String> = Vec::new();
    for name in workers.iter().flat_map(|shares| shares.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    html! {
        @if !workers.is_empty() {
            h2 { "What the workers did" }
            p.dim { "Shares of the moments at which each was seen, about twenty a second." }
            div { @for (n, name) in names.iter().enumerate() {
                span.key style=(color(n)) { (name) }
            } }
            table.shares { tbody { @for (worker, shares) in workers.iter().enumerate() { tr {
                th scope="row" { "worker " (worker) }
                td.share { div.stack { @for (n, name) in names.iter().enumerate() {
                    @let percent = 100.0 * shares.get(*name).and_then(Value::as_f64).unwrap_or(0.0);
                    div.bar style={ (color(n)) ";width:" (format!("{percent:.1}")) "%" }
                        title={ (name) ": " (format!("{percent:.1}")) " %" } {}
                } } }
            } } } }
        }
    }
}

/// Events per second, in a unit, since the point before. The last point is left out where there
/// are enough others: LPs have finished by then, too, and that takes time without events. So is a
/// point soon after the one before it: a rate over a few microseconds says nothing.
fn rates(events: &Column, unit: f64, wall: &Column) -> Column {
    let is_enough = events.len() > 3;
    let mut gaps: Vec<f64> = wall.windows(2).filter_map(|pair| Some(pair[1]? - pair[0]?)).collect();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0.0);
    let shortest = if is_enough { usual / 2.0 } else { 0.0 };
    let rate = |n: usize| {
        let (events, seconds) =
            (events[n]? - events[n - 1]?, wall.get(n)?.as_ref()? - wall[n - 1]?);
        let is_long = seconds > 0.0 && seconds >= shortest;
        is_long.then_some((events / seconds / unit).max(0.0))
    };
    let last = if is_enough { wall.len() - 1 } else { usize::MAX };
    (0..events.len()).map(|n| if n == 0 || n == last { None } else { rate(n) }).collect()
}

/// What each worker counts, per second; of many, the least, the mean and the greatest.
fn workers(series: Report<'_>, key: &str, unit: f64, wall: &Column) -> Vec<Curve> {
    let columns = series.items(key).iter().filter_map(Value::as_array);
    let all: Vec<Column> = columns.map(|events| rates(&column(events), unit, wall)).collect();
    if all.len() <= COLORS {
        let named = all.into_iter().enumerate();
        return named.map(|(n, numbers)| Curve { name: format!("{n}"), numbers }).collect();
    }
    let at = |n: usize| all.iter().filter_map(move |column| column.get(n).copied().flatten());
    let over = |name: &str, of: &dyn Fn(Vec<f64>) -> f64| {
        let number = |n: usize| Some(at(n).collect::<Vec<_>>()).filter(|all| !all.is_empty());
        let numbers = (0..all[0].len()).map(|n| number(n).map(of)).collect();
        Curve { name: name.into(), numbers }
    };
    vec![
        over("least", &|rates| rates.into_iter().fold(f64::INFINITY, f64::min)),
        over("mean", &|rates| rates.iter().sum::<f64>() / rates.len() as f64),
        over("greatest", &|rates| rates.into_iter().fold(0.0, f64::max)),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The last look at a run comes soon after the one before.
    #[test]
    fn a_short_interval_has_no_rate() {
        let some = |numbers: &[f64]| numbers.iter().copied().map(Some).collect::<Column>();
        let events = some(&[0.0, 10.0, 30.0, 40.0, 41.0, 41.0]);
        let wall = some(&[0.0, 1.0, 2.0, 3.0, 3.01, 3.1]);
        let expected = [None, Some(10.0), Some(20.0), Some(10.0), None, None];
        assert_eq!(rates(&events, 1.0, &wall), expected);
        assert_eq!(rates(&some(&[0.0, 8.0]), 1.0, &some(&[0.0, 2.0])), [None, Some(4.0)]);
    }

    /// Each worker has a curve of its rollbacks, and a bar of what it did.
    #[test]
    fn workers_are_told_apart() {
        let report = json!({
            "rolled_back_events": 7,
            "series": {
                "wall_seconds": [0.0, 1.0, 2.0, 3.0, 4.0],
                "virtual_time": [0.0, 1.0, 2.0, 3.0, 4.0],
                "committed_events": [0, 10, 20, 30, 40],
                "processed_events": [0, 20, 30, 40, 50],
                "resident_bytes": [null, null, null, null, null],
                "worker_events": [[0, 10, 20, 30], [0, 10, 10, 20]],
                "worker_rollbacks": [[0, 2000, 2000, 5000], [0, 0, 1000, 1000]],
            },
            "worker_activities": [{ "handles <events>": 0.75, "waits": 0.25 }, { "waits": 1.0 }],
        });
        let page = plots(Report(report.as_object().expect("an object"))).into_string();
        let says = |part: &str| assert!(page.contains(part), "`{part}` is not in {page}");
        says("Rollbacks: thousand rollbacks/s over wall time");
        says("wall time in s: 1\n0: 2\n1: 0</title>");
        says("wall time in s: 2\n0: 0\n1: 1</title>");
        says("--color: var(--c0);width:75.0%\" title=\"handles &lt;events&gt;: 75.0 %\"");
        says("--color: var(--c1);width:100.0%\" title=\"waits: 100.0 %\"");
    }
}
