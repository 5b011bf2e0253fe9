//! A figure's text: what the paper found, what was found here, where and how, in Markdown.

use std::fmt::Write;

#[cfg(not(feature = "plots"))]
use crate::run::Piece;
use crate::{
    CHANCE, Claim, Figure, Findings, Host, LEVEL, Outcome, PLOTS_HINT, Plot, Settings, Source,
    Test, counters,
};

/// A figure's text, without its heading and plot: the page of all figures has its own.
#[derive(Debug)]
pub(crate) struct Text {
    /// How the claims came out, in a line.
    pub(crate) summary: String,
    /// Everything below it.
    body: String,
}

impl Text {
    /// The whole, as Markdown.
    pub(crate) fn markdown(&self) -> String {
        format!("**{}**\n\n{}", self.summary, self.body)
    }
}

/// The text of a figure.
pub(crate) fn of(
    figure: &dyn Figure,
    findings: &Findings,
    settings: &Settings,
    host: &Host,
) -> Text {
    let Findings { plot, paper, setup, source, claims, remarks, .. } = findings;
    let mut text = format!("## The paper\n\n{paper}\n\n## Here\n\n");
    for claim in claims {
        // Writing to a string does not fail.
        let _ = write!(text, "- {}: **{}**", claim.text, claim.verdict());
        let found: Vec<_> = claim.tests.iter().map(told).collect();
        let _ = match found.as_slice() {
            [] => writeln!(text, "."),
            found => writeln!(text, ". {}.", found.join("; ")),
        };
    }
    for remark in remarks {
        let _ = writeln!(text, "- {remark}");
    }
    let _ = write!(text, "\n{}\n## How\n\n{setup}\n\n", medians(plot));
    let Host { processor, cores, system, date } = host;
    let machine = format!("Machine: {processor}, {cores} core(s), {system}. Date: {date}.");
    let _ = match source {
        Source::Samples => writeln!(text, "{}\n\n{machine}{}", rule_of_samples(), reservations()),
        Source::Computed => writeln!(
            text,
            "The rule of the verdicts: two curves are compared at each place by their values, which are \
             computed and have no noise. A claim holds if it does at every place named.\n\n\
             {machine} The numbers do not depend on it."
        ),
    };
    let _ = writeln!(text, "\nAgain: `warpline lab {}{}`", figure.name(), settings.flags());
    Text { summary: Claim::summary(claims), body: text }
}

fn rule_of_samples() -> String {
    format!(
        "The rule of the verdicts: two curves are compared at each place by the ratio of their values \
         within a round. The number told is the median over the rounds. One is above the other where that \
         ratio is more than {} % above 1 in so many rounds that chance would do it with a probability of at \
         most {CHANCE} (sign test); so fewer than five rounds tell nothing. Where a \
         claim names another threshold, that one counts. A claim holds if it does at every place named.",
        LEVEL * 100.0
    )
}

/// What a reader has to know about this machine and this program.
fn reservations() -> String {
    let mut text = String::new();
    if cfg!(debug_assertions) {
        text += " **This is a debug build: its speed tells nothing.**";
    }
    for (name, reason) in counters::unavailable() {
        let _ = write!(text, "\nNo {name}: the machine does not offer this counter ({reason}).");
    }
    text
}

fn told(test: &Test) -> String {
    let outcome = match test.outcome {
        Outcome::Holds => "",
        Outcome::Fails => " (not as claimed)",
        Outcome::Open => " (open)",
    };
    format!("{}: {:.2}{outcome}", test.place, test.found)
}

/// The text as a file of its own: beside its plot, or with the hint how to get one.
pub(crate) fn file(figure: &dyn Figure, text: &Text) -> String {
    let (name, title) = (figure.name(), figure.title());
    let plot = PLOTS_HINT.map_or_else(|| format!("![{title}]({name}.svg)"), str::to_owned);
    format!("# {name}: {title}\n\n{plot}\n\n{}", text.markdown())
}

/// The index of all figures: a line for each, with the way to its text.
#[cfg(not(feature = "plots"))]
pub(crate) fn index(pieces: &[Piece]) -> String {
    let mut index = "# The papers' figures, measured again\n\n".to_owned();
    for Piece { name, title, text } in pieces {
        let _ = writeln!(index, "- [{name}]({name}.md): {title}. {}", text.summary);
    }
    if let Some(hint) = PLOTS_HINT {
        let _ = writeln!(index, "\n{hint}");
    }
    index
}

/// A table of what is plotted: a row for each place on the x axis, a column for each curve.
fn medians(plot: &Plot) -> String {
    let mut places: Vec<f64> =
        plot.curves.iter().flat_map(|curve| &curve.dots).map(|dot| dot.x).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    let names: Vec<_> = plot.curves.iter().map(|curve| curve.name.as_str()).collect();
    let mut table = format!(
        "Plotted: {}.\n\n| {} | {} |\n|---{}|\n",
        plot.y.label,
        plot.x.label,
        names.join(" | "),
        "|---:".repeat(names.len())
    );
    for x in places {
        let cell = |curve: &crate::Curve| {
            let dot = curve.dots.iter().find(|dot| dot.x == x);
            dot.map_or_else(String::new, |dot| format!("{:.3}", dot.y))
        };
        let cells: Vec<_> = plot.curves.iter().map(cell).collect();
        let _ = writeln!(table, "| {x} | {} |", cells.join(" | "));
    }
    table
}
