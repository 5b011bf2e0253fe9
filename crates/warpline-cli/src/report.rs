//! The report of a run: text for people, JSON for programs.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use warpline::{
    Figure, HeapMemory, Report, Results,
    picture::Picture,
    replication::Estimate,
    report::CriticalPath,
    settings::{Cost, EngineKind},
};
use warpline_models::catalog::{Measured, ModelParams, Recorded};

use crate::{
    format::{align_right, bytes, counted, grouped, interval, significant, table},
    system,
    trace::Written,
    warm_up::IntervalResults,
};

/// A report whose result has become figures.
#[derive(Clone, Debug)]
pub(crate) struct RunReport {
    pub(crate) report: Report<()>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) parameters: Value,
    /// Where its statistics begin; `None` for a model that has none that could begin anew.
    pub(crate) warm_up: Option<f64>,
    /// Whether a second run committed the same; `None` if there was none to compare with.
    pub(crate) verified: Option<bool>,
    /// What the model says of itself.
    pub(crate) notes: Vec<String>,
    /// What was written beside the report.
    pub(crate) recorded: Recorded,
    /// The trace, if one was written.
    pub(crate) trace: Option<Written>,
    /// How it went on, if that was recorded.
    pub(crate) series: Option<Value>,
    /// What the workers were seen doing, for a page.
    pub(crate) activities: Value,
    /// What the model shows of its result, for a page.
    pub(crate) pictures: Vec<Picture>,
    /// The results of intervals, if it was cut into some.
    pub(crate) intervals: Option<IntervalResults>,
}

impl RunReport {
    pub(crate) fn new<O: Results>(report: Report<O>, params: &ModelParams) -> Self {
        let figures = report.output.figures();
        let parameters = params.to_json();
        let recorded = Recorded::default();
        let intervals = IntervalResults::of(&report);
        let pictures = Vec::new();
        let report = report.map(|_| ());
        Self {
            report,
            figures,
            parameters,
            warm_up: None,
            verified: None,
            notes: Vec::new(),
            recorded,
            trace: None,
            series: None,
            activities: Value::Null,
            pictures,
            intervals,
        }
    }

    /// What `--verify` compares this run with.
    pub(crate) fn compared_with(&self) -> &'static str {
        match self.report.engine {
            EngineKind::Sequential => "with another pending set",
            _ => "on the sequential engine",
        }
    }

    /// Whether it has come to the end of its warm-up, so that its results are of what is after it.
    fn is_warm(&self) -> bool {
        self.warm_up.is_none_or(|warm_up| self.report.end_time.get() >= warm_up)
    }

    /// The object of the JSON report.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let Self {
            report, figures, parameters, verified, recorded, trace, series, intervals, ..
        } = self;
        let results: Map<_, _> =
            figures.iter().map(|figure| (figure.name.to_string(), number(figure))).collect();
        let details = &report.details;
        let counters: Map<_, _> =
            details.counters.iter().map(|&(name, n)| (name.to_owned(), json!(n))).collect();
        let costs: Map<_, _> =
            costs(report).map(|(part, ns)| (part.replace(' ', "_"), json!(ns))).collect();
        let object = json!({
            "model": report.model,
            "engine": report.engine.name(),
            "ranks": report.ranks,
            "workers": report.workers,
            "seed": report.seed,
            "end_time": report.end_time.get(),
            "interrupted": report.interrupted,
            "committed_events": report.committed_events,
            "processed_events": report.processed_events,
            "rolled_back_events": report.rolled_back_events,
            "rollbacks": report.rollbacks,
            "efficiency": report.efficiency(),
            "wall_seconds": report.wall.as_secs_f64(),
            "events_per_second": report.events_per_second(),
            "local_share": details.local_share,
            "gvt_rounds": report.gvt_rounds,
            "peak_buffer_bytes": report.peak_buffer_bytes,
            "peak_heap_bytes": heap_bytes(details.heap_memory),
            "peak_resident_bytes": system::peak_resident_bytes(),
            "digest": report.digest.to_string(),
            "verified": verified,
            "counters": counters,
            "remarks": details.remarks,
            "costs_ns_per_event": costs,
            "parameters": parameters,
            "results": results,
        });
        let Value::Object(mut object) = object else { unreachable!("json! was given an object") };
        if let Some(warm_up) = self.warm_up.filter(|_| self.is_warm()) {
            object.insert("warmup".into(), json!(warm_up));
        }
        if let Some(path) = &details.critical_path {
            object.insert("critical_path".into(), critical_path_json(path));
        }
        if !recorded.measures.is_empty() {
            let measures = recorded.measures.iter();
            let measures = measures.map(|one| (one.name.clone(), json!(one.value.as_ref().ok())));
            object.insert("measures".into(), Value::Object(measures.collect()));
        }
        if !self.notes.is_empty() {
            object.insert("notes".into(), json!(self.notes));
        }
        if let Some(trace) = trace {
            object.insert("trace".into(), trace.to_json());
        }
        if !recorded.files.is_empty() {
            object.insert("files".into(), json!(recorded.files));
        }
        if let Some(series) = series {
            object.insert("series".into(), series.clone());
        }
        if let Some(intervals) = intervals {
            intervals.add_to(&mut object);
        }
        // A number that is new in reports need not be listed above.
        for (name, number) in report.totals.numbers() {
            object.entry(name).or_insert(json!(number));
        }
        object
    }

    /// The report for people.
    pub(crate) fn to_text(&self) -> String {
        let Self { report, figures, .. } = self;
        let mut text = heading(&report.model, report.interrupted);
        let line = |name: &str, value: String| format!("  {name:<17}{value}\n");
        let rate = report.events_per_second();
        let local = report.details.local_share;
        text += &line(
            "events",
            format!(
                "{} committed, efficiency {:.3}, {}{}",
                grouped(report.committed_events),
                report.efficiency(),
                counted(report.rollbacks, "rollback"),
                local.map_or(String::new(), |share| format!(", {:.1} % local", 100.0 * share))
            ),
        );
        text += &line(
            "speed",
            format!("{:.2} million events/s, {:.2} s", rate / 1e6, report.wall.as_secs_f64()),
        );
        let since = match self.warm_up.filter(|warm_up| *warm_up > 0.0).map(significant) {
            None => String::new(),
            Some(time) if self.is_warm() => format!(", statistics from {time} on"),
            Some(time) => format!(", before the end of the warm-up, {time}"),
        };
        let end = significant(report.end_time.get());
        text += &line("end of run", format!("virtual time {end}{since}"));
        text += &line(
            "memory",
            format!(
                "{} of event buffers at the peak{}",
                bytes(report.peak_buffer_bytes),
                heap_memory(report.details.heap_memory)
            ),
        );
        let workers = counted(report.workers, "worker");
        text += &line("engine", format!("{}, {workers}, seed {}", report.engine, report.seed));
        let with = self.compared_with();
        let verified = match self.verified {
            None => String::new(),
            Some(true) => format!(", the same {with}"),
            Some(false) => format!(", but ANOTHER ONE {with}"),
        };
        text += &line("digest", format!("{}{verified}", report.digest));
        text += &notes_text(&self.notes);
        if !report.details.remarks.is_empty() {
            let is_how = report.engine == EngineKind::Auto || report.workers == 1;
            text += if is_how { "how it was run\n" } else { "why it was slow\n" };
            text.extend(report.details.remarks.iter().map(|remark| wrapped(remark)));
        }
        if !report.details.costs.is_empty() {
            text += &cost_table(report);
        }
        if let Some(path) = &report.details.critical_path {
            text += &critical_path_text(path);
        }
        let rows = figures.iter().map(|figure| (figure, significant(figure.value)));
        text += "results\n";
        text += &figure_table(rows, &["value"]);
        if let Some(intervals) = &self.intervals {
            text += &intervals.to_text(self.warm_up.is_some());
        }
        if !self.recorded.measures.is_empty() {
            text += "measures\n";
        }
        for Measured { name, value, unit } in &self.recorded.measures {
            text += &match value {
                Ok(value) => line(name, format!("{} {unit}", significant(*value))),
                Err(why) => line(name, format!("none: {why}")),
            };
        }
        for file in &self.recorded.files {
            text += &line("written", file.display().to_string());
        }
        if let Some(trace) = &self.trace {
            text += &line("trace", trace.to_text());
        }
        text
    }
}

/// The report of independent replications.
#[derive(Debug)]
pub(crate) struct ReplicationsReport {
    pub(crate) runs: Vec<RunReport>,
    pub(crate) estimates: Vec<(Figure, Estimate)>,
    pub(crate) requested: usize,
    pub(crate) interrupted: bool,
    /// Whether the estimates are as precise as they are to be, if that was said.
    pub(crate) reached: Option<bool>,
    /// What the model says of itself.
    pub(crate) notes: Vec<String>,
    pub(crate) wall_seconds: f64,
}

impl ReplicationsReport {
    /// The mean results of intervals, if the runs were cut into some.
    fn intervals(&self) -> Option<IntervalResults> {
        IntervalResults::mean(self.runs.iter().filter_map(|run| run.intervals.as_ref()))
    }

    /// One object: the first replication's, with estimates in place of its results, and totals in
    /// place of its counts.
    pub(crate) fn to_json(&self) -> Value {
        let mut object = self.runs.first().map(RunReport::to_json).unwrap_or_default();
        let total = |count: fn(&Report<()>) -> u64| -> u64 {
            self.runs.iter().map(|r| count(&r.report)).sum()
        };
        let committed = total(|report| report.committed_events);
        let of = |number: fn(&Estimate) -> f64| -> Map<String, Value> {
            let entry = |(figure, estimate): &(Figure, Estimate)| {
                (figure.name.to_string(), json!(number(estimate)))
            };
            self.estimates.iter().map(entry).collect()
        };
        object.insert("replications".into(), json!(self.runs.len()));
        object.insert("interrupted".into(), json!(self.interrupted));
        let processed = total(|report| report.processed_events);
        object.insert("committed_events".into(), json!(committed));
        object.insert("processed_events".into(), json!(processed));
        object.insert("rolled_back_events".into(), json!(total(|r| r.rolled_back_events)));
        object.insert("rollbacks".into(), json!(total(|report| report.rollbacks)));
        object.insert("gvt_rounds".into(), json!(total(|report| report.gvt_rounds)));
        // As for one run: it is 1 where nothing was handled.
        object
            .insert("efficiency".into(), json!(committed.max(1) as f64 / processed.max(1) as f64));
        // These are one run's, and say nothing about all of them.
        for key in ["counters", "remarks", "costs_ns_per_event", "critical_path", "series"] {
            object.shift_remove(key);
        }
        object.insert("wall_seconds".into(), json!(self.wall_seconds));
        object.insert("events_per_second".into(), json!(committed as f64 / self.wall_seconds));
        object.insert("results".into(), Value::Object(of(|estimate| estimate.mean)));
        object.insert("half_width_95".into(), Value::Object(of(|estimate| estimate.half_width)));
        if let Some(intervals) = self.intervals() {
            intervals.add_to(&mut object);
        }
        if let Some(reached) = self.reached {
            object.insert("precision_reached".into(), json!(reached));
        }
        if !self.notes.is_empty() {
            object.insert("notes".into(), json!(self.notes));
        }
        let digests: Vec<_> = self.runs.iter().map(|run| run.report.digest.to_string()).collect();
        object.insert("digests".into(), json!(digests));
        Value::Object(object)
    }

    pub(crate) fn to_text(&self) -> String {
        let Some(first) = self.runs.first() else { return "no replication was complete\n".into() };
        let mut text = heading(&first.report.model, self.interrupted);
        let events: u64 = self.runs.iter().map(|run| run.report.committed_events).sum();
        let n = self.runs.len();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  replications     {n} of {}{}, {}, {:.2} million events/s over all",
            self.requested,
            match self.reached {
                None => "",
                Some(true) => " at most, and precise enough",
                Some(false) => " at most, and not precise enough",
            },
            counted(events, "event"),
            events as f64 / self.wall_seconds / 1e6
        );
        let _ = writeln!(text, "  first seed       {}", first.report.seed);
        text += &notes_text(&self.notes);
        text += "results, with 95 % confidence intervals\n";
        let rows = self.estimates.iter().map(|(figure, estimate)| {
            let Estimate { mean, half_width, .. } = *estimate;
            (figure, interval(mean, half_width))
        });
        text += &figure_table(rows, &["mean ± half width"]);
        if let Some(intervals) = self.intervals() {
            text += &intervals.to_text(first.warm_up.is_some());
        }
        text
    }
}

/// The value of a figure for programs: a count is a whole number.
fn number(figure: &Figure) -> Value {
    figure.count().map_or_else(|| json!(figure.value), Value::from)
}

/// What a model says of itself, for people.
fn notes_text(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    notes.iter().fold("notes\n".to_owned(), |text, note| text + &wrapped(note))
}

fn heading(model: &str, interrupted: bool) -> String {
    let mark = if interrupted { " (interrupted: the report so far)" } else { "" };
    format!("{model}{mark}\n")
}

/// The cost of an event by part, if it was measured, and the rest of what all workers had of time.
fn costs(report: &Report<()>) -> impl Iterator<Item = (&'static str, f64)> {
    let costs = &report.details.costs;
    let known: f64 = costs.iter().map(|(_, cost)| cost).sum();
    let spent = report.wall.as_secs_f64() * 1e9 * report.workers as f64;
    // The measured parts are scaled up from a sample, so their sum may exceed the whole.
    let other = (spent / report.committed_events.max(1) as f64 - known).max(0.0);
    costs.iter().copied().chain((!costs.is_empty()).then_some(("other", other)))
}

/// The heap memory that `peak_buffer_bytes` includes; `None` if there may be some, and it is not
/// included.
const fn heap_bytes(heap: HeapMemory) -> Option<u64> {
    match heap {
        HeapMemory::None => Some(0),
        HeapMemory::Counted(peak) => Some(peak),
        HeapMemory::NotSaid | HeapMemory::NotCounted => None,
    }
}

/// What the memory of events includes of the heap.
fn heap_memory(heap: HeapMemory) -> String {
    match heap {
        HeapMemory::None => String::new(),
        HeapMemory::Counted(peak) => {
            format!(", with up to {} that messages and saved states own on the heap", bytes(peak))
        }
        HeapMemory::NotSaid => {
            ", without what messages and saved states own on the heap: the model does not say"
                .into()
        }
        HeapMemory::NotCounted => {
            ", without what messages and saved states own on the heap: it is counted with --memory"
                .into()
        }
    }
}

fn cost_table(report: &Report<()>) -> String {
    let mut table = table();
    table.set_header(["part of the engine", "ns"]);
    for (part, cost) in costs(report) {
        let part = if part == "other" { "other, waiting included" } else { part };
        table.add_row([part, &format!("{cost:.1}")]);
    }
    align_right(&mut table, 1..2);
    format!("cost of a committed event, summed over the workers\n{table}\n")
}

/// The critical path as an object of the JSON report.
fn critical_path_json(path: &CriticalPath) -> Value {
    let speedups = path.speedups.iter();
    let speedups = speedups
        .map(|at| json!({ "workers": at.workers, "speedup": at.speedup, "placed": at.placed }));
    json!({
        "cost": path.settings.cost.name(),
        "latency": path.settings.latency,
        "events": path.events,
        "work": path.work,
        "length": path.length,
        "parallelism": path.parallelism(),
        "speedups": speedups.collect::<Vec<_>>(),
    })
}

/// The critical path for people.
fn critical_path_text(path: &CriticalPath) -> String {
    let with_unit = |cost: u64| match path.settings.cost {
        Cost::Events => counted(cost, "event"),
        Cost::Time => format!("{} ms", significant(cost as f64 / 1e6)),
    };
    let mut table = table();
    table.set_header(["workers", "speed-up", "LPs placed"]);
    for at in &path.speedups {
        let [any, placed] = [at.speedup, at.placed].map(|speedup| format!("{speedup:.2}"));
        table.add_row([grouped(at.workers as u64), any, placed]);
    }
    table.add_row(["any number".to_owned(), format!("{:.2}", path.parallelism()), String::new()]);
    align_right(&mut table, 0..3);
    let latency = match path.settings.latency {
        0 => "no time".to_owned(),
        latency => with_unit(latency),
    };
    format!(
        "critical path\n  work             {}\n  longest chain    {}\n  \
         messages take    {latency}\n{table}\n",
        with_unit(path.work),
        with_unit(path.length),
    )
}

/// The columns that a line of text may fill.
const COLUMNS: usize = 100;

/// An item of a list, broken where words end.
fn wrapped(item: &str) -> String {
    let mut lines = vec!["  -".to_owned()];
    for word in item.split_whitespace() {
        let line = lines.len() - 1;
        let length = lines[line].chars().count() + 1 + word.chars().count();
        if length > COLUMNS {
            lines.push(format!("    {word}"));
        } else {
            lines[line] += " ";
            lines[line] += word;
        }
    }
    lines.join("\n") + "\n"
}

fn figure_table<'f>(rows: impl Iterator<Item = (&'f Figure, String)>, columns: &[&str]) -> String {
    let mut table = table();
    let header = ["figure"].iter().chain(columns).chain(&["unit", "meaning"]).copied();
    table.set_header(header);
    for (figure, value) in rows {
        table.add_row([&*figure.name, &value, &figure.unit, &figure.meaning]);
    }
    align_right(&mut table, 1..2);
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    /// No line is too long, no word is lost, and what follows the first line is indented.
    #[test]
    fn remarks_are_wrapped() {
        let remark = "sixteen letters, ".repeat(20);
        let text = wrapped(&remark);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with("    sixteen") || line.starts_with("    letters"))
        );
        assert!(text.lines().next().is_some_and(|line| line.len() > 90));
        let words: Vec<_> = text.split_whitespace().skip(1).collect();
        assert_eq!(words, remark.split_whitespace().collect::<Vec<_>>());
        assert_eq!(wrapped("short"), "  - short\n");
    }
}
