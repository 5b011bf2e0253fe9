//! `warpline info`: what a model's parameters, results and workloads are.

use serde_json::{Value, json};
use warpline_models::catalog::Entry;

use crate::{
    Application,
    args::{InfoArgs, InfoFormat},
    failure::Failure,
    format::table,
    output::Output,
};

/// Describes a model, or names all.
pub(crate) fn execute(application: &Application, args: &InfoArgs) -> Result<(), Failure> {
    let chosen = args.model.as_deref().and_then(|name| application.entry(name));
    let text = match (chosen, args.format) {
        (Some(model), InfoFormat::Text) => describe(model),
        (Some(model), InfoFormat::Json) => format!("{:#}\n", to_json(model)),
        (None, InfoFormat::Text) => names(&application.models),
        (None, InfoFormat::Json) => {
            let all: Vec<_> = application.models.iter().map(|&model| to_json(model)).collect();
            format!("{:#}\n", Value::Array(all))
        }
    };
    Output::open(None)?.write(text)
}

fn names(models: &[&'static dyn Entry]) -> String {
    let width = models.iter().map(|model| model.name().len()).max().unwrap_or_default();
    models.iter().map(|model| format!("{:<width$}  {}\n", model.name(), model.about())).collect()
}

fn describe(model: &dyn Entry) -> String {
    let mut parameters = table();
    parameters.set_header(["parameter", "type", "default", "range", "unit", "meaning"]);
    for parameter in model.parameters() {
        let default = parameter.default.unwrap_or_default();
        let name = format!("--{}", parameter.name);
        let row =
            [name, parameter.kind, default, parameter.range, parameter.unit, parameter.meaning];
        parameters.add_row(row);
    }
    let mut results = table();
    results.set_header(["result", "unit", "meaning"]);
    for figure in model.results() {
        results.add_row([figure.name, figure.unit, figure.meaning]);
    }
    let (name, about, end) = (model.name(), model.about(), model.end());
    let (end, unit) = match model.time_unit() {
        Some(unit) => {
            (format!("{end} {unit}"), format!(" A time may have a unit, as in 90{unit}."))
        }
        None => (end.to_string(), String::new()),
    };
    let mut text =
        format!("{name}: {about}\nRuns to virtual time {end} unless --end is given.{unit}\n\n");
    text += &format!("{parameters}\n\n{results}\n");
    let workloads = model.workloads();
    if !workloads.is_empty() {
        text += "\nStandard workloads (`warpline bench`)\n";
        for workload in workloads {
            text += &format!("  {}  {}, to {}\n", workload.name, workload.title, workload.end);
        }
    }
    text
}

pub(crate) fn to_json(model: &dyn Entry) -> Value {
    let results = model.results().into_iter().map(
        |figure| json!({ "name": figure.name, "unit": figure.unit, "meaning": figure.meaning }),
    );
    let workloads = model.workloads().into_iter().map(|workload| {
        json!({
            "name": workload.name,
            "title": workload.title,
            "end": workload.end,
            "parameters": workload.params.to_json(),
        })
    });
    json!({
        "model": model.name(),
        "about": model.about(),
        "end": model.end(),
        "time_unit": model.time_unit().map(|unit| unit.to_string()),
        "parameters": model.parameters(),
        "results": results.collect::<Vec<_>>(),
        "workloads": workloads.collect::<Vec<_>>(),
    })
}
