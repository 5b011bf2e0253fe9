//! Configuration files: the same keys as the flags, and checked by the same code.
//!
//! The entries of a file are put before the flags on the command line. So a later flag wins, and
//! the same code checks and explains every value.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    slice,
};

use clap::{ArgAction, ArgMatches};
use warpline::files;

use crate::{
    Application,
    failure::{Failure, what_is_wrong},
};

/// The longest file that is read (bytes).
const MOST: u64 = 1 << 20;

/// Parses a command line, and the configuration file that it names.
///
/// Returns the whole command line, with the entries of the file.
pub(crate) fn parse(
    application: &Application,
    words: Vec<OsString>,
) -> Result<(Vec<OsString>, ArgMatches), Failure> {
    let typed = application.command().try_get_matches_from(&words);
    let Some(file) = config_file(&words) else { return Ok((words, typed?)) };
    let (Some(command), Some(model)) = (words.get(1), words.get(2)) else {
        return Ok((words, typed?));
    };
    let Some(flags) = flags(application, command, model) else { return Ok((words, typed?)) };

    let entries = read(Path::new(&file), &flags, model)?;
    // The entries are parsed alone first, so that the message blames a bad value on the file.
    let mut alone: Vec<_> = words[..3].to_vec();
    alone.extend(entries.iter().cloned());
    if let Err(error) = application.command().try_get_matches_from(&alone)
        && !matches!(error.kind(), clap::error::ErrorKind::MissingRequiredArgument)
    {
        let what = what_is_wrong(&error);
        return Err(Failure::Configuration(format!("{}: {what}", Path::new(&file).display())));
    }
    // Two flags may exclude each other. Then the typed one wins over the entry of the file.
    let conflicts = |entry: &&OsString| {
        let pair = [&words[..3], &[(*entry).clone()], &words[3..]].concat();
        let outcome = application.command().try_get_matches_from(pair);
        outcome.is_err_and(|error| error.kind() == clap::error::ErrorKind::ArgumentConflict)
    };
    // What is typed of a list to vary takes the place of the list in the file.
    let is_typed = |entry: &&OsString| {
        let is_of = |key| words[3..].iter().any(|word| [varied(word), key_of(word)].contains(&key));
        let key = varied(entry);
        key.is_some() && is_of(key)
    };
    let kept = entries.iter().filter(|entry| typed.is_err() || !conflicts(entry));
    let kept = kept.filter(|entry| !is_typed(entry)).cloned();
    let all: Vec<_> =
        words[..3].iter().cloned().chain(kept).chain(words[3..].iter().cloned()).collect();
    let matches = application.command().try_get_matches_from(&all)?;
    Ok((all, matches))
}

/// The key that a word `--vary=KEY=VALUES` varies.
fn varied(word: &OsStr) -> Option<&str> {
    Some(word.to_str()?.strip_prefix("--vary=")?.split_once('=')?.0)
}

/// The key of a word `KEY=VALUES`, behind `--vary`.
fn key_of(word: &OsStr) -> Option<&str> {
    Some(word.to_str()?.split_once('=')?.0)
}

/// The value of `--config`, found before anything else is looked at.
fn config_file(words: &[OsString]) -> Option<OsString> {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    // The last one, as for every other flag.
    words.iter().enumerate().rev().find_map(|(i, word)| {
        match text(word)?.strip_prefix("--config") {
            Some("") => words.get(i + 1).cloned(),
            Some(value) => value.strip_prefix('=').map(OsString::from),
            None => None,
        }
    })
}

/// The long flags of a command for a model; `None` if there is no such command or model.
fn flags(
    application: &Application,
    command: &OsString,
    model: &OsString,
) -> Option<Vec<clap::Arg>> {
    let all = application.command();
    Some(long_flags(all.find_subcommand(command)?.find_subcommand(model)?))
}

pub(crate) fn long_flags(command: &clap::Command) -> Vec<clap::Arg> {
    let long = command.get_arguments().filter(|flag| flag.get_long().is_some_and(|f| f != "help"));
    long.cloned().collect()
}

/// The names of those flags; none if there is no such command or model.
pub(crate) fn flag_names(
    application: &Application,
    command: &OsString,
    model: &OsString,
) -> Vec<String> {
    names(&flags(application, command, model).unwrap_or_default())
}

fn names(flags: &[clap::Arg]) -> Vec<String> {
    flags.iter().filter_map(|flag| flag.get_long().map(str::to_owned)).collect()
}

/// The entries of a file, as flags.
fn read(file: &Path, flags: &[clap::Arg], model: &OsString) -> Result<Vec<OsString>, Failure> {
    let blame = |what: String| Failure::Configuration(format!("{}: {what}", file.display()));
    let text =
        files::read_text(file, MOST).map_err(|error| blame(format!("cannot be read: {error}")))?;
    read_text(&text, flags, model).map_err(blame)
}

/// The entries of the text of a file, as flags.
pub(crate) fn read_text(
    text: &str,
    flags: &[clap::Arg],
    model: &OsString,
) -> Result<Vec<OsString>, String> {
    let mut table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    if let Some(named) = table.remove("model")
        && named.as_str().map(OsString::from).as_ref() != Some(model)
    {
        let typed = model.to_string_lossy();
        return Err(format!("it is for model {named}, but the command says {typed}"));
    }
    entries(table, flags, &["config"])
}

/// Keys and values as flags, of which some are `refused`.
fn entries(
    table: toml::Table,
    flags: &[clap::Arg],
    refused: &[&str],
) -> Result<Vec<OsString>, String> {
    let allowed = |flag: &&clap::Arg| flag.get_long().is_some_and(|name| !refused.contains(&name));
    let mut words = Vec::new();
    for (key, value) in table {
        let key = key.replace('_', "-");
        let flag = flags.iter().find(|flag| flag.get_long() == Some(&key));
        let Some(flag) = flag.filter(allowed) else {
            let known: Vec<_> = flags.iter().filter(allowed).cloned().collect();
            return Err(unknown("key", &key, &names(&known)));
        };
        let is_switch = !flag.get_action().takes_values();
        match value {
            toml::Value::Boolean(on) if is_switch => {
                words.extend(on.then(|| format!("--{key}").into()));
            }
            toml::Value::Boolean(on) if is_on_or_off(flag) => {
                words.push(format!("--{key}={}", if on { "on" } else { "off" }).into());
            }
            // Of a flag whose value may be left out, true is the flag alone.
            toml::Value::Boolean(on) if may_be_alone(flag) => {
                words.extend(on.then(|| format!("--{key}").into()));
            }
            toml::Value::Array(values) if may_be_repeated(flag) => {
                let one = |value| Ok(format!("--{key}={}", scalar(&key, value)?).into());
                let all: Result<Vec<_>, String> = values.iter().map(one).collect();
                words.extend(all?);
            }
            toml::Value::Table(table) if key == "vary" => {
                for (key, values) in &table {
                    words.push(format!("--vary={key}={}", listed(key, values)?).into());
                }
            }
            toml::Value::String(text) => words.push(format!("--{key}={text}").into()),
            toml::Value::Integer(_) | toml::Value::Float(_) => {
                words.push(format!("--{key}={value}").into());
            }
            other => {
                let allowed = if is_switch { "true or false" } else { "a single value" };
                return Err(format!("`{key}` is {other}, but must be {allowed}"));
            }
        }
    }
    Ok(words)
}

/// The text of a value.
fn scalar(key: &str, value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(_) | toml::Value::Float(_) => Ok(value.to_string()),
        other => Err(format!("`{key}` has {other}, but each must be a text or a number")),
    }
}

/// The values of a list, or of a range in a text, with commas between.
fn listed(key: &str, values: &toml::Value) -> Result<String, String> {
    let values = values.as_array().map_or(slice::from_ref(values), Vec::as_slice);
    let all: Result<Vec<_>, String> = values.iter().map(|value| scalar(key, value)).collect();
    Ok(all?.join(","))
}

/// Whether the value of a flag may be left out.
pub(crate) fn may_be_alone(flag: &clap::Arg) -> bool {
    flag.get_num_args().is_some_and(|range| range.min_values() == 0)
        && flag.get_action().takes_values()
}

/// Whether a flag may be there more than once.
fn may_be_repeated(flag: &clap::Arg) -> bool {
    matches!(flag.get_action(), ArgAction::Append)
}

/// The command line for a command, a model, and keys and values, of which some are `refused`.
pub(crate) fn command_line(
    application: &Application,
    [command, model]: [&str; 2],
    settings: toml::Table,
    refused: &[&str],
) -> Result<Vec<OsString>, Failure> {
    let words: Vec<OsString> = ["warpline", command, model].map(OsString::from).into();
    let Some(flags) = flags(application, &words[1], &words[2]) else {
        return Err(unknown_model(application, model));
    };
    let entries = entries(settings, &flags, refused).map_err(Failure::Configuration)?;
    Ok([words, entries].concat())
}

/// The command line of a single command for keys and values, of which some are `refused`.
pub(crate) fn flags_of(
    command: &clap::Command,
    settings: toml::Table,
    refused: &[&str],
) -> Result<Vec<OsString>, Failure> {
    let entries = entries(settings, &long_flags(command), refused);
    let name = OsString::from(command.get_name());
    Ok([vec![name], entries.map_err(Failure::Configuration)?].concat())
}

/// The failure that there is no such model.
pub(crate) fn unknown_model(application: &Application, name: &str) -> Failure {
    let known: Vec<_> = application.models.iter().map(|model| model.name().to_owned()).collect();
    Failure::Configuration(unknown("model", name, &known))
}

/// Whether a flag takes `on` and `off`, which a file may write as true and false.
pub(crate) fn is_on_or_off(flag: &clap::Arg) -> bool {
    flag.get_possible_values().iter().any(|value| value.matches("off", false))
}

/// The message for an unknown name, with the most similar known one and a list of all.
pub(crate) fn unknown(what: &str, name: &str, known: &[String]) -> String {
    /// A longer name is cut: to compare it with all others could take minutes.
    const CHARACTERS_MAX: usize = 80;
    let name = match name.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => &format!("{}...", &name[..end]),
        None => name,
    };
    let similarity = |other: &String| strsim::jaro_winkler(name, other);
    let nearest = known.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    let hint = match nearest {
        Some(other) if similarity(other) > 0.7 => format!("; did you mean `{other}`?"),
        _ => String::new(),
    };
    format!("unknown {what} `{name}`{hint}\n  known: {}", known.join(", "))
}
