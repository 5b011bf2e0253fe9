//! The page of a run (`--report`): one HTML file that needs no other file, no network and no
//! scripts.
//!
//! It is made from the report as JSON, by `run` and by a call from another language. What a report
//! does not have is left out of the page.
//!
//! # Invariants
//!
//! - **PAGE-A.** Texts of the report and of the model are never read as HTML: `maud` escapes them.
//! - **PAGE-B.** The page refers to nothing outside itself.

mod command_line;
mod lanes;
mod picture;
mod plot;
mod replications;
mod series;
mod warm_up;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value};
use warpline::Figure;
use warpline_models::catalog::Entry;

use crate::{
    Application,
    format::{bytes, grouped, significant},
};

pub(crate) use command_line::repeating;

const STYLE: &str = include_str!("style.css");
/// Longer words of a table may be broken; a column has room for the others, in any window.
const WORD_MAX: usize = 24;

impl Application {
    /// The page of a report that [`call`](Application::call) has returned: HTML that needs no other
    /// file.
    #[must_use]
    pub fn page(&self, report: &Value) -> String {
        let empty = Map::new();
        let report = Report(report.as_object().unwrap_or(&empty));
        page(report, self.entry(report.text("model"))).into_string()
    }
}

/// A report as JSON, of which anything may be missing.
#[derive(Clone, Copy)]
struct Report<'a>(&'a Map<String, Value>);

impl<'a> Report<'a> {
    fn text(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64()
    }

    fn count(self, key: &str) -> Option<String> {
        self.0.get(key)?.as_u64().map(grouped)
    }

    fn is(self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The entries of an object; none if there is no such object.
    fn entries(self, key: &str) -> Vec<(&'a String, &'a Value)> {
        self.0.get(key).and_then(Value::as_object).into_iter().flatten().collect()
    }

    fn items(self, key: &str) -> &'a [Value] {
        self.0.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

fn page(report: Report<'_>, model: Option<&dyn Entry>) -> Markup {
    let name = report.text("model");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (name) " – Warpline" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (name) }
                @if let Some(model) = model { p.dim { (model.about()) } }
                @if report.is("interrupted") {
                    p { b { "The run was interrupted: this is the report so far." } }
                }
                (facts(report))
                (command(report))
                (results(report, model))
                (picture::pictures(report))
                (remarks(report))
                (series::plots(report))
                (warm_up::plots(report))
                (replications::plots(report))
                (costs(report))
                (critical_path(report))
                (parameters(report, model))
                (counters(report))
                (digests(report))
            }
        }
    }
}

/// What was run, and how it went, in short.
fn facts(report: Report<'_>) -> Markup {
    let million = |key| report.number(key).map(|n| format!("{:.2} million/s", n / 1e6));
    let whole = |key: &str| report.count(key);
    let facts = [
        ("engine", Some(report.text("engine").to_owned())),
        ("ranks", whole("ranks")),
        ("workers", whole("workers")),
        ("replications", whole("replications")),
        ("seed", whole("seed")),
        ("end, virtual time", report.number("end_time").map(significant)),
        ("wall time", report.number("wall_seconds").map(|s| format!("{s:.2} s"))),
        ("events committed", whole("committed_events")),
        ("events committed per second", million("events_per_second")),
        ("efficiency", report.number("efficiency").map(|e| format!("{e:.3}"))),
        ("rollbacks", whole("rollbacks")),
        ("events undone", whole("rolled_back_events")),
        ("GVT rounds", whole("gvt_rounds")),
        ("event buffers, most", size(report, "peak_buffer_bytes")),
        ("process in memory, most", size(report, "peak_resident_bytes")),
    ];
    html! {
        dl.facts {
            @for (name, fact) in &facts {
                @if let Some(fact) = fact { div { dt { (name) } dd { (fact) } } }
            }
        }
    }
}

/// Whether a text has a word that may be broken.
fn is_long(text: &str) -> bool {
    text.split_whitespace().any(|word| word.chars().count() > WORD_MAX)
}

fn size(report: Report<'_>, key: &str) -> Option<String> {
    report.0.get(key)?.as_u64().map(bytes)
}

fn command(report: Report<'_>) -> Markup {
    let (command, machine) = (report.text("command"), report.text("machine"));
    html! {
        @if !command.is_empty() {
            h2 { "The same once more" }
            pre { code {
                // A browser breaks a line behind each of the dashes of a flag.
                @for (n, word) in command.split(' ').enumerate() {
                    @if n > 0 { " " }
                    @if is_long(word) { (word) } @else { span.word { (word) } }
                }
            } }
        }
        @if !machine.is_empty() { p.dim { "Warpline " (env!("CARGO_PKG_VERSION")) ", " (machine) } }
    }
}

/// The results, with their units and meanings where the model is known.
fn results(report: Report<'_>, model: Option<&dyn Entry>) -> Markup {
    let known = model.map(|model| model.results()).unwrap_or_default();
    let widths = Report(report.0).entries("half_width_95");
    let width = |name: &String| widths.iter().find(|(other, _)| *other == name)?.1.as_f64();
    let number = |name: &String, value: &Value| {
        let value = significant(value.as_f64().unwrap_or(f64::NAN));
        match width(name) {
            Some(width) => format!("{value} ± {}", significant(width)),
            None => value,
        }
    };
    html! {
        h2 { "Results" }
        @if !widths.is_empty() {
            p.dim { "Means over the replications, with 95 % confidence intervals." }
        }
        table.results {
            thead { tr { th { "result" } th.number { "value" } th { "unit" } th { "meaning" } } }
            tbody {
                @for (name, value) in report.entries("results") {
                    @let figure = known.iter().find(|figure| figure.name == **name);
                    @let said = |of: fn(&Figure) -> &str| figure.map(of).unwrap_or_default();
                    tr {
                        th class=[is_long(name).then_some("long")] scope="row" { code { (name) } }
                        td.number { (number(name, value)) }
                        @let (unit, meaning) = (said(|of| &of.unit), said(|of| &of.meaning));
                        td.unit.long[is_long(unit)] { (unit) }
                        td.meaning.long[is_long(meaning)] { (meaning) }
                    }
                }
                @for (name, value) in report.entries("measures") {
                    tr {
                        th class=[is_long(name).then_some("long")] scope="row" { code { (name) } }
                        td.number { (number(name, value)) }
                        td {}
                        td.meaning { "measured" }
                    }
                }
            }
        }
        @if !report.items("files").is_empty() {
            p { "Written: " @for file in report.items("files") {
                code { (file.as_str().unwrap_or_default()) } " "
            } }
        }
    }
}

fn remarks(report: Report<'_>) -> Markup {
    let remarks = report.items("remarks");
    let is_auto = report.text("engine") == "auto";
    html! {
        @if !remarks.is_empty() {
            h2 { (if is_auto { "How it was run" } else { "Why it was slow, and what to try" }) }
            ul { @for remark in remarks { li { (remark.as_str().unwrap_or_default()) } } }
        }
    }
}

/// Where the time of a committed event went, if it was measured.
fn costs(report: Report<'_>) -> Markup {
    let costs = report.entries("costs_ns_per_event");
    let ns = |value: &Value| value.as_f64().unwrap_or(0.0);
    let sum: f64 = costs.iter().map(|(_, value)| ns(value)).sum();
    html! {
        @if sum > 0.0 {
            h2 { "Where the time went" }
            p.dim { "Nanoseconds per committed event, summed over the workers." }
            table {
                thead { tr { th { "part of the engine" } th.number { "ns" } th.share {} } }
                tbody { @for (part, value) in &costs { tr {
                    @let percent = 100.0 * ns(value) / sum;
                    th scope="row" {
                        (part.replace('_', " "))
                        @if part.as_str() == "other" { ", waiting included" }
                    }
                    td.number { (format!("{:.1}", ns(value))) }
                    td.share {
                        div.bar style={ "width:" (format!("{percent:.1}")) "%" }
                            title={ (format!("{percent:.1}")) " %" } {}
                    }
                } } }
            }
        }
    }
}

fn critical_path(report: Report<'_>) -> Markup {
    let Some(path) = report.0.get("critical_path").and_then(Value::as_object) else {
        return html! {};
    };
    let path = Report(path);
    let of = |row: &Value, key: &str| row.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
    html! {
        h2 { "How fast it could run in parallel" }
        p {
            "The longest chain of events that follow each other allows a speed-up of "
            b { (significant(path.number("parallelism").unwrap_or(f64::NAN))) }
            " with any number of workers."
        }
        table {
            thead { tr {
                th.number { "workers" } th.number { "speed-up" } th.number { "with LPs placed" }
            } }
            tbody { @for row in path.items("speedups") { tr {
                @for key in ["workers", "speedup", "placed"] {
                    td.number { (significant(of(row, key))) }
                }
            } } }
        }
    }
}

fn parameters(report: Report<'_>, model: Option<&dyn Entry>) -> Markup {
    let known = model.map(|model| model.parameters()).unwrap_or_default();
    let find = |name: &str| {
        // A flag has dashes where the key of a report may have underscores.
        known.iter().find(|known| known.name.replace('-', "_") == name.replace('-', "_"))
    };
    html! {
        h2 { "Parameters" }
        table.results {
            thead { tr { th { "parameter" } th.number { "value" } th { "unit" } th { "meaning" } } }
            tbody { @for (name, value) in report.entries("parameters") {
                @let known = find(name);
                tr {
                    th class=[is_long(name).then_some("long")] scope="row" { code { (name) } }
                    @let value = plain(value);
                    td.number.long[value.chars().count() > WORD_MAX] { (value) }
                    @let (unit, meaning) =
                        known.map(|known| (&*known.unit, &*known.meaning)).unwrap_or_default();
                    td.unit.long[is_long(unit)] { (unit) }
                    td.meaning.long[is_long(meaning)] { (meaning) }
                }
            } }
        }
    }
}

/// A value as one types it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn counters(report: Report<'_>) -> Markup {
    let counters = report.entries("counters");
    html! {
        @if !counters.is_empty() {
            h2 { "Counters of the engine" }
            details {
                summary { (counters.len()) " counters" }
                table { tbody { @for (name, value) in counters { tr {
                    th class=[is_long(name).then_some("long")] scope="row" { code { (name) } }
                    td.number { (value.as_u64().map(grouped).unwrap_or_default()) }
                } } } }
            }
        }
    }
}

fn digests(report: Report<'_>) -> Markup {
    let digests = report.items("digests");
    let verified = match report.0.get("verified").and_then(Value::as_bool) {
        Some(true) => ", and another run found the same",
        Some(false) => ", but ANOTHER RUN found another one",
        None => "",
    };
    html! {
        h2 { "Digest" }
        p { "It stands for all committed events, in order, of every LP, and is the same with every "
            "engine: " code { (report.text("digest")) } (verified) "." }
        @if digests.len() > 1 {
            details {
                summary { "of each of " (digests.len()) " replications" }
                ol { @for digest in digests { li { code {
                    (digest.as_str().unwrap_or_default())
                } } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// PAGE-A: whatever a report says is text.
    #[test]
    fn texts_are_escaped() {
        let bad = "<script>alert('&')</script>";
        let report = json!({
            "model": bad, "engine": bad, "command": bad, "machine": bad, "digest": bad,
            "remarks": [bad], "files": [bad], "digests": [bad, bad],
            "results": { bad: 1.0 }, "half_width_95": { bad: 0.5 }, "measures": { bad: null },
            "parameters": { bad: bad }, "counters": { bad: 3 },
            "costs_ns_per_event": { bad: 1.0 },
        });
        let page = Application::warpline().page(&report);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert("), "{page}");
    }

    /// No flag of the command is cut behind its dashes; a long word may be cut anywhere.
    #[test]
    fn flags_stay_whole() {
        let long = "/a/long/way/to/a/configuration";
        let report = json!({ "command": format!("warpline run pcs --config {long}") });
        let page = Application::warpline().page(&report);
        let flag = format!(r#"<span class="word">--config</span> {long}</code>"#);
        assert!(page.contains(&flag) && page.contains(".word { white-space: pre; }"), "{page}");
    }

    /// A report may lack anything.
    #[test]
    fn what_is_missing_is_left_out() {
        for report in [json!(null), json!({}), json!({ "series": {}, "critical_path": {} })] {
            let page = Application::warpline().page(&report);
            assert!(page.contains("<h2>Results</h2>") && !page.contains("<svg"), "{page}");
        }
    }
}
