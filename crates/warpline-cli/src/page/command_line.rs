//! The command that repeats a run, as a shell takes it; `page` prints it.

use std::{ffi::OsString, path::Path};

use crate::args::{PRINTING, PRINTING_SWITCHES, TRACING};

/// The command that repeats the run of this command line. The entries of a configuration file are
/// flags of the command line by now.
pub(crate) fn repeating(words: &[OsString]) -> String {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let name = Path::new(&program).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut kept = vec![quoted(&name.unwrap_or(program))];
    while let Some(word) = words.next() {
        let (flag, value) = word.split_once('=').map_or((&*word, None), |(f, v)| (f, Some(v)));
        let name = flag.strip_prefix("--").unwrap_or_default();
        if PRINTING.contains(&name) || TRACING.contains(&name) {
            if value.is_none() {
                words.next();
            }
        } else if !PRINTING_SWITCHES.contains(&name) {
            kept.push(quoted(&word));
        }
    }
    kept.join(" ")
}

/// A word, in quotes if a shell would read it otherwise.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> String {
        repeating(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn says_what_was_run_and_not_where_it_was_printed() {
        let line = ["/usr/bin/warpline", "run", "pcs", "--report", "a b.html", "--end=300"];
        assert_eq!(of(&line), "warpline run pcs --end=300");
        let line = ["warpline", "run", "pcs", "--output=x", "--quiet", "--format", "json", "--end"];
        assert_eq!(of(&line), "warpline run pcs --end");
    }

    /// A shell reads back every word, whatever is in it.
    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_words_back() {
        let words = ["", "a b", "it's", "$HOME", "`id`", "x\ny", "*", "~", "a;b", "ü", "--n=1e-3"];
        let line = of(&[&["printf"], &words[..]].concat());
        let line = line.replacen("printf", r"printf '%s\0'", 1);
        let output = std::process::Command::new("sh").args(["-c", &line]).output().expect("sh");
        let read = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), words);
    }
}
