//! Files of results from their writing to the list of those whose sources have changed.

use std::{fs, path::Path, time::SystemTime};

use serde_json::json;

use super::{
    Destination, FOLDER, Results, changed, command_line, differences, list, sources, update,
};

/// A repository with one source, one document and one file of results, which this process wrote.
fn repository() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    };
    write("src/a/engine.rs", "fn run() {}\n");
    write("src/b.rs", "fn other() {}\n");
    write("crates/warpline-python/README.md", "# Python\n");
    write("docs/page.md", "# Page\n\n<!-- results: rates -->\n<!-- end -->\n");
    write(&format!("{FOLDER}/README.md"), "");
    // The program that measures was built after its sources were written.
    for path in ["src/a/engine.rs", "src/b.rs"] {
        age(&root.path().join(path), SystemTime::UNIX_EPOCH);
    }
    root
}

fn age(path: &Path, time: SystemTime) {
    let file = fs::OpenOptions::new().write(true).open(path).expect("the file is there");
    file.set_modified(time).expect("its time can be set");
}

fn measured(root: &Path) {
    let columns = ["workload", "rate"].map(str::to_owned).to_vec();
    let mut results = Results::new("Rates", serde_json::Map::new(), columns);
    results.rows = vec![vec![json!("W1"), json!(2.5)], vec![json!("W2"), json!("1.0")]];
    results.rounds = Some(7);
    let path = root.join(FOLDER).join("rates.json");
    Destination::open(&path).expect("it can be written").write(results).expect("it is written");
}

fn names_source(root: &Path) {
    let path = root.join(FOLDER).join("rates.json");
    let mut results = Results::read(&path).expect("it is one of results");
    results.title = "The rates of all".to_owned();
    results.sources = ["src/a", "src/b.rs"].map(|path| (path.to_owned(), None)).into();
    fs::write(&path, results.to_json()).expect("it can be written");
}

/// From a measurement to a document, to sources that change, and to the next measurement.
#[test]
fn results_become_tables_and_their_sources_are_watched() {
    let folder = repository();
    let root = folder.path();
    measured(root);
    names_source(root);
    measured(root);
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("it is there");
    let file = read("docs/results/rates.json");
    assert!(file.contains("The rates of all") && file.contains("\n    [\"W1\",2.5],\n"), "{file}");

    assert!(!differences(root).expect("they are read").is_empty());
    assert_eq!(update(root).expect("they are made"), ["docs/page.md", "docs/results/README.md"]);
    assert!(differences(root).expect("they are read").is_empty());
    assert!(update(root).expect("they are made").is_empty());
    assert!(read("docs/page.md").contains("| W1 | 2.50 |\n| W2 | 1.0 |\n"));
    let row =
        |text: &str| text.lines().find(|line| line.contains("(rates.json)")).map(str::to_owned);
    let line = row(&read("docs/results/README.md")).expect("a row");
    assert!(line.contains("[page.md](../page.md)") && line.ends_with("| as they were |"), "{line}");
    assert!(changed(root).expect("they are read").is_empty());

    // A change of the sources is reported, and makes nothing fail until somebody updates the list.
    fs::write(root.join("src/a/engine.rs"), "fn run() { }\n").expect("it can be written");
    let changes = changed(root).expect("they are read");
    assert!(changes.len() == 1 && changes[0].ends_with("changed since: src/a"), "{changes:?}");
    assert!(differences(root).expect("they are read").is_empty());
    assert_eq!(update(root).expect("they are made"), ["docs/results/README.md"]);
    assert!(row(&read("docs/results/README.md")).expect("a row").ends_with("| changed since |"));

    // RES-B: this program was built before that change.
    age(&root.join("src/a/engine.rs"), SystemTime::now() + std::time::Duration::from_secs(3600));
    measured(root);
    let sources = Results::read(&root.join("docs/results/rates.json")).expect("results").sources;
    assert!(sources["src/a"].is_none() && sources["src/b.rs"].is_some(), "{sources:?}");
}

/// RES-B: a program that measures for a file is older than no source of it. Red if `measured` takes
/// digests whatever the program is.
#[test]
fn what_another_program_has_measured_is_noted() {
    let folder = repository();
    let root = folder.path();
    measured(root);
    names_source(root);
    let program = root.join("program");
    fs::write(&program, "").expect("it can be written");
    age(&root.join("src/b.rs"), SystemTime::now() + std::time::Duration::from_secs(3600));
    let noted = super::measured(root, &program, ["rates".to_owned()].into_iter());
    assert_eq!(noted.expect("it is there"), ["rates"]);
    let sources = Results::read(&root.join("docs/results/rates.json")).expect("results").sources;
    assert!(sources["src/a"].is_some() && sources["src/b.rs"].is_none(), "{sources:?}");
    let noted = super::measured(root, &program, ["other".to_owned()].into_iter());
    assert!(noted.is_err(), "there is no such file");
}

/// What is changed by hand, lost or stale is seen.
#[test]
fn differences_are_seen() {
    let folder = repository();
    let root = folder.path();
    measured(root);
    names_source(root);
    update(root).expect("they are made");
    let seen = |what: &str| {
        let problems = differences(root).expect("they are read");
        assert!(problems.iter().any(|problem| problem.contains(what)), "{what}: {problems:?}");
    };
    let page = root.join("docs/page.md");
    let text = fs::read_to_string(&page).expect("it is there");
    fs::write(&page, text.replace("2.50", "2.60")).expect("it can be written");
    seen("docs/page.md: a table differs");
    fs::write(&page, text + "\n| a | b |\n|---|---|\n| c | 1 |\n").expect("it can be written");
    seen("docs/page.md:12: numbers");
    let file = root.join("docs/results/rates.json");
    let text = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, text.replace("src/b.rs", "src/gone.rs")).expect("it can be written");
    seen("rates.json: there is no src/gone.rs");
    let stale = text.replace("\"sources\"", "\"stale\": \"another program\", \"sources\"");
    fs::write(&file, &stale).expect("it can be written");
    seen("docs/results/README.md: not the list");
    seen("docs/page.md: a table differs");
    assert!(changed(root).expect("they are read")[0].ends_with("stale: another program"));
    let past = text.replace("\"sources\"", "\"past\": \"two programs\", \"sources\"");
    fs::write(&file, past.replace("src/b.rs", "src")).expect("it can be written");
    assert!(changed(root).expect("they are read").is_empty(), "the past is not measured again");
    fs::write(&file, stale).expect("it can be written");
    update(root).expect("they are made");
    let list = fs::read_to_string(root.join("docs/results/README.md")).expect("it is there");
    assert_eq!(list::states_in(&list)["rates"], "**stale**: another program");
}

/// A file of something else is refused before anything is measured, and so is a folder that is not
/// there.
#[test]
fn a_file_of_something_else_is_refused() {
    let folder = repository();
    let path = folder.path().join("other.json");
    fs::write(&path, "{\"model\": \"pcs\"}").expect("it can be written");
    let error = Destination::open(&path).expect_err("it is none of results").to_string();
    assert!(error.contains("other.json: unknown field `model`"), "{error}");
    let error = Destination::open(&folder.path().join("no/a.json")).expect_err("no folder");
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

/// FNV-1a of `a.rs`, a zero, `x`, a line feed and a zero, by hand; a carriage return is no change.
#[test]
fn a_digest_is_over_paths_and_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |text: &str| fs::write(folder.path().join("a.rs"), text).expect("it is written");
    let digest = || sources::digest(folder.path()).expect("it is there");
    write("x\n");
    let by_hand = b"a.rs\0x\n\0".iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    assert_eq!(digest(), format!("{by_hand:016x}"));
    write("x\r\n");
    assert_eq!(digest(), format!("{by_hand:016x}"));
    write("y\n");
    assert_ne!(digest(), format!("{by_hand:016x}"));
}

/// Comments, empty lines and tests make no other program.
#[test]
fn a_digest_of_rust_is_over_code() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it is written");
        sources::digest(folder.path()).expect("it is there")
    };
    let code = write("a.rs", "fn a() {\n    b();\n}\nfn c() {}\n");
    let test = "#[cfg(test)]\npub(super) mod tests {\n    fn t() {}\n}\n";
    let all = format!("//! All.\n\nfn a() {{\n    // Why.\n    b();\n}}\n{test}fn c() {{}}\n");
    assert_eq!(write("a.rs", &all), code);
    assert_eq!(write("tests.rs", "fn t() {}\n"), code);
    assert_ne!(write("b.rs", ""), code);
    assert_ne!(write("b.rs", "#[cfg(test)]\nfn d() {}\n"), write("b.rs", "#[cfg(test)]\n"));
}

#[test]
fn a_command_line_is_told_without_where_results_go() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>().into_iter();
    let line = command_line(words("bench W1 --results=a.json --only sequential --results b.json"));
    assert_eq!(line, "warpline bench W1 --only sequential");
    let line = command_line(words("lab fig1 --claims a.json --quick --claims=b.json"));
    assert_eq!(line, "warpline lab fig1 --quick");
    assert_eq!(
        command_line(["--end".to_owned(), "a b".to_owned()].into_iter()),
        "warpline --end 'a b'"
    );
}
