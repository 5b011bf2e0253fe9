//! The flags and the exit statuses that the documents name are those of the command.

use std::{collections::BTreeSet, fs, path::Path};

use clap::Command;

use super::{Application, STATUSES};

/// Flags of other programs, and those that no parser has.
const OTHERS: [&str; 22] = [
    "check",
    "dry-run",
    "example",
    "features",
    "help",
    "help-engine",
    "lib",
    "locked",
    "manifest-path",
    "no-build-isolation",
    "no-deps",
    "no-install-recommends",
    "open",
    "out",
    "path",
    "release",
    "target",
    "test",
    "timings",
    "tool",
    "version",
    "workspace",
];

/// The flags of a command and of all below it, also those that help hides.
fn flags(command: &Command, all: &mut BTreeSet<String>) {
    all.extend(command.get_arguments().filter_map(|flag| flag.get_long()).map(str::to_owned));
    command.get_subcommands().for_each(|below| flags(below, all));
}

/// The flags in a text.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices("--").filter_map(move |(at, _)| {
        let is_start = !text[..at].ends_with(|c| is_part(c) || c == '#');
        let rest = &text[at + 2..];
        let flag = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        (is_start && flag.starts_with(|c: char| c.is_ascii_lowercase())).then_some(flag)
    })
}

/// A page without what was typed long ago: the commands behind results, and names that have gone.
fn of_today(page: &str) -> String {
    let mut pieces = page.split("<!-- results: ");
    let first = pieces.next().unwrap_or_default().to_owned();
    let text = pieces.fold(first, |text, piece| {
        text + piece.split_once("<!-- end -->").map_or("", |(_, after)| after)
    });
    text.split("\n### Changed\n").next().unwrap_or_default().to_owned()
}

/// Red if a page names a flag that the command does not know.
#[test]
fn documents_name_flags_that_there_are() {
    let mut known: BTreeSet<_> = OTHERS.iter().map(|&flag| flag.to_owned()).collect();
    flags(&Application::warpline().command(), &mut known);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["", "docs", "docs/decisions"].map(|folder| fs::read_dir(root.join(folder)));
    let files = folders.into_iter().flat_map(|files| files.expect("it is there"));
    let files = files.map(|file| file.expect("it is there").path());
    let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut unknown = BTreeSet::new();
    for page in pages {
        let text = of_today(&fs::read_to_string(&page).expect("a page"));
        let gone = named(&text).filter(|flag| !known.contains(*flag));
        unknown.extend(gone.map(|flag| format!("{}: --{flag}", page.display())));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The numbers in a text.
fn numbers(text: &str) -> BTreeSet<u8> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Red if the help or a page leaves out a status that the others have.
#[test]
fn documents_name_all_exit_statuses() {
    let page = |name: &str, after: &str, until: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        let text = fs::read_to_string(path).expect("a page");
        let (_, rest) = text.split_once(after).expect("it is there");
        numbers(rest.split_once(until).map_or(rest, |(part, _)| part))
    };
    let statuses = numbers(STATUSES);
    assert!(statuses.contains(&4) && statuses.len() == 8, "{statuses:?}");
    let table = page("docs/settings.md", "**Exit status.**", "**");
    assert_eq!(table, statuses);
    let map = page("ARCHITECTURE.md", "adds exit statuses: ", "after a signal");
    // Zero says that there is no error.
    assert_eq!(map, statuses.into_iter().filter(|&status| status > 0).collect());
}
