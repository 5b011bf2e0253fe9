//! A figure's text in Markdown: what the paper found, the claims with their verdicts, the numbers,
//! and how they were measured. [`run()`](crate::run()) writes it to a file; the HTML page contains
//! it.

use std::fmt::Write;

use crate::{
    Basis, CHANCE, Claim, Figure, Findings, Host, LEVEL, Origin, Outcome, Plot, Settings, Source,
    Test, counters,
};

/// How to get plots, if this build draws none.
pub const PLOTS_HINT: Option<&str> = if cfg!(feature = "plots") {
    None
} else {
    Some("This build draws no plots. To get them, build Warpline with `--features plots`.")
};

/// A figure's text, without its heading and plot: the page of all figures has its own.
#[derive(Debug)]
pub(crate) struct Text {
    /// A line about how the claims came out.
    pub(crate) summary: String,
    /// Everything below that line.
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
    let Findings { plot, paper, setup, source, claims, constants, remarks, .. } = findings;
    let mut text = format!("## The paper\n\n{paper}\n\n");
    for (origin, heading) in [
        (Origin::Paper, "Here: the paper's claims"),
        (Origin::Own, "Here: our own claims, which no paper makes"),
    ] {
        let mut lines = claims.iter().filter(|claim| claim.origin == origin).map(line).peekable();
        if lines.peek().is_some() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "## {heading}\n\n{}", lines.collect::<String>());
        }
    }
    text += "## Here: the numbers\n\n";
    for remark in remarks {
        let _ = writeln!(text, "- {remark}");
    }
    if !remarks.is_empty() {
        text += "\n";
    }
    let _ = write!(text, "{}\n## How\n\n{setup}\n\n", medians(plot));
    if !constants.is_empty() {
        let lines: String = constants.iter().map(|constant| format!("- {constant}.\n")).collect();
        let _ = writeln!(text, "Constants:\n\n{lines}");
    }
    let Host { processor, cores, system, date } = host;
    let machine = format!("Machine: {processor}, {cores} core(s), {system}. Date: {date}.");
    let _ = match source {
        Source::Samples => writeln!(text, "{}\n\n{machine}{}", rule_of_samples(), reservations()),
        Source::Computed => writeln!(
            text,
            "The rule of the verdicts stands beside each claim. The numbers are computed and have \
             no noise. A claim holds if every number is as wanted.\n\n{machine} The numbers do not \
             depend on it."
        ),
    };
    let _ = writeln!(text, "\nAgain: `warpline lab {}{}`", figure.name(), settings.flags());
    Text { summary: Claim::summary(claims), body: text }
}

fn rule_of_samples() -> String {
    format!(
        "The rule of the verdicts stands beside each claim. The number told is the median over the \
         rounds; rates are compared by their ratio within a round, and are level up to {} %. A \
         number is as wanted if it is so in more rounds than chance would explain with a \
         probability above {CHANCE} (sign test, for each end of a range), so fewer than five \
         rounds tell nothing. A claim holds if every number is as wanted.",
        LEVEL * 100.0
    )
}

/// A claim with its verdict, its rule and what was found.
fn line(claim: &Claim) -> String {
    let Claim { text, basis, tests, .. } = claim;
    let mut line = format!("- {text}: **{}**", claim.verdict());
    let _ = match basis {
        Basis::Found => Ok(()),
        Basis::Independent(why) => write!(line, ". Estimates do not decide it: {why}"),
        Basis::Fitted(why) | Basis::Input(why) | Basis::Estimated(why) | Basis::Bound(why) => {
            write!(line, ". It confirms nothing: {why}")
        }
    };
    if !tests.is_empty() {
        let rule = claim.rule();
        if let Some(rule) = rule {
            let _ = write!(line, ". Wanted {rule}");
        }
        let found: Vec<_> = tests.iter().map(|test| text_of_test(test, rule.is_none())).collect();
        let _ = write!(line, ". {}", found.join("; "));
    }
    line + ".\n"
}

/// What limits the numbers: a debug build, and counters that this machine does not offer.
fn reservations() -> String {
    let mut text = String::new();
    if cfg!(debug_assertions) {
        text += " **This is a debug build: its speed means nothing.**";
    }
    for (name, reason) in counters::unavailable() {
        let _ = write!(text, "\nNo {name}: this machine does not offer the counter ({reason}).");
    }
    text
}

/// What was found at one place, with its rule where places differ in it.
fn text_of_test(test: &Test, with_rule: bool) -> String {
    let Test { place, found, wanted, outcome } = test;
    let rule = if with_rule { format!(", wanted {wanted}") } else { String::new() };
    let outcome = match outcome {
        Outcome::Holds => "",
        Outcome::Fails => " (not as wanted)",
        Outcome::Open => " (open)",
    };
    format!("{place}: {found:.2}{rule}{outcome}")
}

/// The text as a file of its own: beside its plot, or with the hint how to get one.
pub(crate) fn file(figure: &dyn Figure, text: &Text) -> String {
    let (name, title) = (figure.name(), figure.title());
    let plot = PLOTS_HINT.map_or_else(|| format!("![{title}]({name}.svg)"), str::to_owned);
    format!("# {name}: {title}\n\n{plot}\n\n{}", text.markdown())
}

/// A table of the plotted numbers: a row for each place on the x axis, a column for each curve.
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
