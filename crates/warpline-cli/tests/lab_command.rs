//! `warpline lab` as its users meet it: what it lists, refuses and leaves.

use std::{
    fs,
    process::{Command, Output},
};

fn lab(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.arg("lab").args(words).output().expect("the command starts")
}

#[track_caller]
fn stdout(words: &[&str]) -> String {
    let output = lab(words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`lab {words:?}` failed: {stderr}");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// The command must fail with status 2 and say all of this.
#[track_caller]
fn refuses(words: &[&str], says: &[&str]) {
    let output = lab(words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "`lab {words:?}`: {stderr}");
    for part in says {
        assert!(stderr.contains(part), "`lab {words:?}` does not say `{part}`:\n{stderr}");
    }
    assert!(output.stdout.is_empty(), "`lab {words:?}` printed something");
}

const FIGURES: [&str; 28] = [
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "knee",
    "fig7",
    "fig8",
    "pool-memory",
    "pool-parameters",
    "gtw-fig1",
    "gtw-thrashing",
    "gtw-parameters",
    "runtime-fig5",
    "runtime-fig5-path",
    "runtime-feedback",
    "runtime-fig6a",
    "runtime-fig6a-network",
    "runtime-fig6b",
    "numa-fig6",
    "numa-fig6-nodes",
    "numa-fig7",
    "numa-fig8",
    "numa-fig9",
    "architectures",
    "flooding",
    "hogging",
];

/// The list has a line for every figure, and no other; the help has the same names.
#[test]
fn the_list_names_every_figure() {
    let list = stdout(&["list"]);
    let names: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, FIGURES);
    assert!(list.lines().all(|line| line.split_whitespace().count() > 4), "{list}");
    let help = stdout(&["--help"]);
    for name in FIGURES.iter().chain(&["all", "list"]) {
        assert!(help.contains(&format!("- {name}:")), "{help}");
    }
}

#[test]
fn wrong_names_and_numbers_are_refused() {
    refuses(&["fig33"], &["fig33", "fig3", "--help"]);
    refuses(&["fig9"], &["fig9", "possible values"]);
    refuses(&[], &["<FIGURE>"]);
    refuses(&["fig3", "--workers", "0"], &["--workers", "must be 1 or more"]);
    if std::thread::available_parallelism().is_ok_and(|cores| 4 * cores.get() < 1024) {
        refuses(&["fig3", "--quick", "--workers", "1,1024"], &["1 x 1024", "--oversubscribe"]);
    }
    refuses(&["fig3", "--samples", "none"], &["--samples"]);
    refuses(&["fig3", "--payload", "1025"], &["--payload", "at most 1024"]);
}

/// Before anything runs: `all` without `--quick` would take minutes.
#[test]
fn an_unusable_directory_is_found_first() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let below = file.path().join("results");
    let below = below.to_str().expect("a path in UTF-8");
    let words = ["all", "--quick", "--samples", "1000", "--output", below];
    refuses(&words, &[below, "cannot be written", "--output"]);
}

/// A figure leaves its files, names them, and takes what was chosen.
#[test]
fn a_figure_leaves_its_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let results = directory.path().join("made/on the way");
    let path = results.to_str().expect("a path in UTF-8");
    let words =
        ["--quick", "--workers", "3,1,3", "--samples", "1", "--payload", "8", "--output", path];
    let printed = stdout(&[&["fig3"][..], &words].concat());
    let extensions: &[_] =
        if cfg!(feature = "plots") { &["csv", "svg", "png", "md"] } else { &["csv", "md"] };
    let file = |extension| results.join(format!("fig3.{extension}")).display().to_string();
    let files: Vec<_> = extensions.iter().map(file).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), files);
    assert_eq!(fs::read_dir(&results).expect("there are results").count(), files.len());
    let table = fs::read_to_string(results.join("fig3.csv")).expect("there is a table");
    // A header, and four pools with one and three workers and four amounts of memory.
    assert_eq!(table.lines().count(), 1 + 4 * 2 * 4, "{table}");
    let text = fs::read_to_string(results.join("fig3.md")).expect("there is a text");
    assert!(text.contains("1024 events of 8 bytes") && text.contains("Machine: "), "{text}");
    let again = "`warpline lab fig3 --quick --workers 1,3 --samples 1 --payload 8 --seed 1`";
    assert!(text.contains(again), "{text}");
}

/// `--results` leaves the figure's table with where it comes from, and keeps what a file says about
/// itself; a file of something else is refused before anything runs.
#[test]
fn a_figure_leaves_its_results() {
    let directory = tempfile::tempdir().expect("a directory");
    let [file, folder] = ["fig1.json", "files"].map(|name| directory.path().join(name));
    let [path, output] = [&file, &folder].map(|path| path.to_str().expect("a path in UTF-8"));
    let words = ["fig1", "--quick", "--output", output, "--results", path];
    let read = || {
        let text = fs::read_to_string(&file).expect("there are results");
        serde_json::from_str::<serde_json::Value>(&text).expect("they are JSON")
    };
    stdout(&words);
    let mut results = read();
    assert_eq!(results["command"], format!("warpline lab fig1 --quick --output {output}"));
    assert!(results["rows"][0][1].is_number(), "{results}");
    for key in ["title", "date", "machine", "how", "settings", "sources", "columns"] {
        assert!(!results[key].is_null(), "no {key}: {results}");
    }

    results["title"] = "Sends".into();
    fs::write(&file, results.to_string()).expect("it can be written");
    stdout(&words);
    assert_eq!(read()["title"], "Sends");

    let verdicts = directory.path().join("verdicts.json");
    let claims = verdicts.to_str().expect("a path in UTF-8");
    for figure in ["fig2", "fig1", "fig2"] {
        stdout(&[figure, "--quick", "--output", output, "--claims", claims]);
    }
    let text = fs::read_to_string(&verdicts).expect("there are verdicts");
    let read_back: serde_json::Value = serde_json::from_str(&text).expect("they are JSON");
    let rows = read_back["rows"].as_array().expect("there are rows");
    let figures = rows.iter().map(|row| row[0].as_str().expect("a name")).collect::<Vec<_>>();
    let count = |name| figures.iter().filter(|&&figure| figure == name).count();
    assert_eq!(["fig1", "fig2"].map(count), [3, 3], "{text}");
    assert!(figures.is_sorted(), "in the order of the papers: {figures:?}");
    assert_eq!(rows[0][6], read_back["date"]);
    refuses(&["fig1", "--quick", "--claims", path], &["fig1.json", "no verdicts"]);
    let elsewhere = text.replace("core(s)", "cores of another machine");
    fs::write(&verdicts, elsewhere).expect("it can be written");
    refuses(&["fig1", "--quick", "--claims", claims], &["verdicts.json", "another machine"]);

    refuses(&["all", "--quick", "--results", path], &["one figure"]);
    fs::write(&file, "{\"model\": \"pcs\"}").expect("it can be written");
    refuses(&words, &["fig1.json", "model"]);
}
