//! What help shows of the flags: `-h` the usual ones on one screen, `--help` those that several
//! engines read, and `--help-engine NAME` those of one engine.
//!
//! The command calls this before it parses ([`asked`]) and when it makes its parser ([`arrange`]).

use std::ffi::OsString;

use clap::{Args, Command};
use warpline::settings::EngineKind;
use warpline_models::catalog::Entry;

use crate::{args::RunArgs, failure::Failure, reads};

/// The flags that `-h` shows of a run: what is typed, what it does, and the commands that have it.
const USUAL: [(&str, &str, &[&str]); 15] = [
    ("engine NAME", "auto, sequential, conservative, timewarp or speculative [auto]", ALL),
    ("workers N", "threads of a parallel engine [the number of cores]", ALL),
    ("end T", "virtual time at which a run ends [the model's]", ALL),
    ("seed N", "seed of all random streams [1]", ALL),
    ("memory BYTES", "most memory for pending events, as 64MiB [no limit]", ALL),
    ("replications R", "independent runs, and confidence intervals of their results", ALL),
    ("vary KEY=V1,V2", "a flag and the values that it takes in turn", &["sweep", "branch"]),
    ("at T", "virtual time at which the futures begin", &["branch"]),
    ("precision P%", "replications until results are known that well", &["analyze"]),
    ("find-warmup", "how long the beginning lasts that is not typical", &["analyze"]),
    ("critical-path", "how fast the model could run on many workers", &["analyze"]),
    ("verify", "run on the sequential engine, too, and compare", &["run"]),
    ("checkpoint FILE", "where the run can be continued from; --resume FILE does", &["run"]),
    ("config FILE.toml", "a file with flags as keys", ALL),
    ("output FILE", "where the report goes; --format text, json, csv or parquet", ALL),
];
const ALL: &[&str] = &["run", "sweep", "branch", "analyze"];

/// Flags that `analyze` has for what it finds; `run` and `sweep` take them, too, and do not show
/// them.
const ANALYSES: [&str; 4] = ["precision", "find-warmup", "critical-path", "message-latency"];

/// Flags of `bench` that `-h` leaves out, to fit on a screen.
const RARE: [&str; 5] = ["aggregation", "all-pending", "busy", "memory-placement", "pin"];

/// Most characters of a line.
const WIDTH: usize = 100;

/// The text that a command line asks for, if it asks for a help that the parser does not have.
pub(crate) fn asked(
    program: &str,
    models: &[&'static dyn Entry],
    words: &[OsString],
) -> Result<Option<String>, Failure> {
    let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
    if let Some(place) = words.iter().position(|word| word.starts_with("--help-engine")) {
        let name = match words[place].split_once('=') {
            Some((_, name)) => name,
            None => words.get(place + 1).copied().unwrap_or_default(),
        };
        let engine: EngineKind = name.parse().map_err(|_| {
            let names: Vec<_> = EngineKind::ALL.iter().map(|engine| engine.name()).collect();
            let names = names.join(", ");
            Failure::Configuration(format!("--help-engine takes one of {names}, not `{name}`"))
        })?;
        return Ok(Some(of_engine(engine)));
    }
    let [_, call, model, rest @ ..] = &words[..] else { return Ok(None) };
    let is_short = rest.contains(&"-h") && !rest.contains(&"--help");
    if !is_short || !ALL.contains(call) {
        return Ok(None);
    }
    let entry = models.iter().find(|entry| entry.name() == *model);
    Ok(entry.map(|entry| short(program, call, *entry)))
}

/// The flags of one engine, with what each does; also those that other engines read, too.
fn of_engine(engine: EngineKind) -> String {
    let flags = reads::read_by(engine);
    let command = RunArgs::augment_args(Command::new("run")).mut_args(|flag| {
        let is_read = flag.get_long().is_some_and(|long| flags.contains(&long));
        let is_hidden = flag.is_hide_set() || !is_read;
        flag.hide(is_hidden)
    });
    let mut command = command
        .about(format!("What --engine {engine} reads, beside what every engine does"))
        .override_usage(format!("warpline run MODEL --engine {engine} [OPTIONS]"))
        .disable_help_flag(true)
        .max_term_width(WIDTH);
    command.render_long_help().to_string()
}

/// The flags that are usual, on one screen.
fn short(program: &str, call: &str, entry: &dyn Entry) -> String {
    let model = entry.name();
    let line = format!("{program} {call} {model}");
    let mut text = wrapped(&format!("{model}: {}", entry.about()), "");
    text += &format!("\nUsage: {line} [OPTIONS]\n\n");
    for (flag, does, calls) in USUAL {
        if calls.contains(&call) {
            text += &format!("  --{flag:<18} {does}\n");
        }
    }
    let own: Vec<_> = entry.parameters().into_iter().map(|one| format!("--{}", one.name)).collect();
    text += &wrapped(&format!("\nOf the model: {}", own.join(" ")), "  ");
    text += "\nExamples:\n";
    text += &examples(call, &line);
    text += &format!(
        "\nAll flags: {line} --help. Those of an engine: --help-engine timewarp.\nWhat the model \
         takes and what it reports: {program} info {model}\n"
    );
    text
}

/// Command lines to try; `line` names the model.
fn examples(call: &str, line: &str) -> String {
    match call {
        "sweep" => format!("  {line} --vary seed=1,2,3 --output rows.csv\n"),
        "branch" => format!("  {line} --at 100 --vary KEY=V1,V2 --replications 20\n"),
        "analyze" => format!(
            "  {line} --critical-path\n  {line} --precision 5%\n  {line} --find-warmup \
             --replications 8\n"
        ),
        _ => format!(
            "  {line} --workers 4 --report run.html\n  {line} --replications 10 --format json\n  \
             {line} --engine timewarp --verify\n"
        ),
    }
}

/// What the help of a command without a model says at its end.
pub(crate) fn epilogue(program: &str, call: &str) -> String {
    let examples = examples(call, &format!("{program} {call} MODEL"));
    format!("Examples:\n{examples}\nThe flags: {program} {call} MODEL -h, and --help for all.")
}

/// Words in lines that are not too long; `indent` begins each but the first.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split(' ') {
        if length + 1 + word.chars().count() > WIDTH {
            lines += &format!("\n{indent}");
            length = indent.len();
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines += word;
        length += word.chars().count();
    }
    lines + "\n"
}

/// Hides from `--help` what only one engine reads, and from all calls but `analyze` what that
/// finds.
pub(crate) fn arrange(command: Command, call: &str) -> Command {
    let command = command.mut_args(|flag| {
        let long = flag.get_long().unwrap_or_default();
        let is_analysis = ANALYSES.contains(&long);
        let is_hidden = match call {
            "analyze" => !is_analysis && reads::is_of_one_engine(long),
            // A benchmark has flags of its own.
            "bench" if long == "all-pending" => false,
            _ => is_analysis || reads::is_of_one_engine(long),
        };
        let is_hidden = is_hidden || flag.is_hide_set();
        let is_rare = call == "bench" && RARE.contains(&long);
        flag.hide(is_hidden).hide_short_help(is_rare)
    });
    command.after_long_help("What one engine reads: --help-engine timewarp, or another one.")
}
