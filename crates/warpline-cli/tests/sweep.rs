//! `warpline sweep` that is killed, and goes on: no run that is done is lost, and none is made
//! twice.

mod common;

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tempfile::tempdir;

use common::{command, refuses, stdout, warpline};

/// Longer than anything here takes; the red test ends then.
const LIMIT: Duration = Duration::from_secs(120);

/// Ends without a chance to write anything.
fn kill(mut child: Child) {
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

/// A sweep whose third run is endless; two rows are done soon.
const ENDLESS: &str = "sweep phold --lps 4 --population 8 --jobs 1 --vary end=1,2,1e300";
/// The same with an end.
const ENDING: &str = "sweep phold --lps 4 --population 8 --jobs 1 --vary end=1,2,3";

/// ROWS-B: a pipe has each row when its run is done: with an endless run before or behind them, two
/// rows come; and so they do to people.
#[test]
fn a_pipe_has_each_row_at_once() {
    let slower = "sweep phold --lps 4 --population 8 --jobs 2 --vary end=1e300,1,2";
    for line in [ENDLESS, slower] {
        let rows = first_three_lines(line);
        assert!(rows[0].starts_with("end,replication,run,"), "{rows:?}");
        assert!(rows[1].starts_with("1,0,phold end=1 ") && rows[2].starts_with("2,0,"), "{rows:?}");
        assert!(rows[1].contains(",phold end=1 lps=4 population=8 replication=0,"), "{rows:?}");
    }
    let rows = first_three_lines(&format!("{slower} --format text"));
    let first = |row: &String| row.split_whitespace().next().map(str::to_owned);
    let first: Vec<_> = rows.iter().filter_map(first).collect();
    assert_eq!(first, ["end", "1", "2"], "{rows:?}");
}

/// The first lines that a command prints, which goes on after them.
fn first_three_lines(line: &str) -> Vec<String> {
    let at = tempdir().expect("a folder");
    let mut child = command(at.path(), line).stdout(Stdio::piped()).spawn().expect("it starts");
    let pipe = child.stdout.take().expect("a pipe");
    let (sender, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let rows: Vec<_> = (0..3).map(|_| lines.recv_timeout(LIMIT)).collect();
    kill(child);
    reader.join().expect("the pipe ends");
    rows.into_iter().map(|row| row.expect("a row in time")).collect()
}

/// A sweep that is killed leaves its rows in the file, and goes on after them.
#[test]
fn a_killed_sweep_keeps_its_rows_and_goes_on() {
    let at = tempdir().expect("a folder");
    let at = at.path();
    for (format, header) in [("csv", 1), ("json", 0)] {
        let name = format!("rows.{format}");
        let to = format!("--format {format} --output {name}");
        let text = || fs::read_to_string(at.join(&name)).unwrap_or_default();
        let child = command(at, &format!("{ENDLESS} {to}")).spawn().expect("it starts");
        let started = Instant::now();
        while text().lines().count() < header + 2 && started.elapsed() < LIMIT {
            thread::yield_now();
        }
        kill(child);
        let killed = text();
        assert_eq!(killed.lines().count(), header + 2, "{killed}");

        stdout(at, &format!("{ENDING} {to} --resume"));
        let whole = text();
        assert!(whole.starts_with(&killed), "{killed}\n{whole}");
        assert_eq!(whole.lines().count(), header + 3, "{whole}");
        // What is done is not made again, and more may be added.
        stdout(at, &format!("{ENDING} {to} --resume"));
        assert_eq!(text(), whole);
        let more = "sweep phold --lps 4 --population 8 --jobs 1 --vary end=0.5,1,2,3,4";
        stdout(at, &format!("{more} {to} --resume"));
        let ends: Vec<_> = text()
            .lines()
            .skip(header)
            .map(|row| {
                row.find("end=")
                    .map(|at| row[at..].split(' ').next().unwrap_or_default().to_owned())
            })
            .collect();
        let expected =
            ["end=0.5", "end=1", "end=2", "end=3", "end=4"].map(|end| Some(end.to_owned()));
        assert_eq!(ends, expected);
    }
    // Without a file, it begins.
    stdout(at, &format!("{ENDING} --output new.csv --resume"));
    assert_eq!(fs::read_to_string(at.join("new.csv")).expect("there").lines().count(), 4);
}

/// What does not fit is refused, and not touched.
#[test]
fn other_rows_are_not_gone_on_with() {
    let at = tempdir().expect("a folder");
    let at = at.path();
    stdout(at, &format!("{ENDING} --output rows.csv"));
    let rows = fs::read_to_string(at.join("rows.csv")).expect("there");
    let line = |what: &str, more: &str| {
        let sweep = ENDING.replace("--lps 4", what);
        format!("{sweep} --output rows.csv --resume {more}")
    };
    refuses(at, &line("--lps 5", ""), 2, &["rows.csv", "lps=4", "lps=5", "no run of this sweep"]);
    refuses(at, &line("--lps 4 --seed 2", ""), 2, &["no run of this sweep", "seed=2"]);
    refuses(at, &line("--lps 4", "--format json"), 2, &["no table of a sweep"]);
    refuses(at, &line("--lps 4", "--format parquet"), 2, &["arquet"]);
    refuses(at, &format!("{ENDING} --resume"), 2, &["--output"]);
    let pcs = "sweep pcs --end 1 --vary channels=8 --output rows.csv --resume";
    refuses(at, pcs, 2, &["phold", "pcs channels=8 end=1 replication=0"]);
    if cfg!(unix) {
        refuses(at, &format!("{ENDING} --output /dev/null --resume"), 2, &["no regular file"]);
    }
    assert_eq!(fs::read_to_string(at.join("rows.csv")).expect("there"), rows);
}

/// A run that fails costs no other run its row, and is made again by `--resume`.
#[test]
fn runs_that_fail_are_made_again() {
    let at = tempdir().expect("a folder");
    let at = at.path();
    let line = "sweep phold --end 1 --jobs 1 --vary memory=100,1MiB --output rows.csv";
    for line in [line.to_owned(), format!("{line} --resume")] {
        let output = warpline(at, &line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("memory=100, replication 0:"), "{stderr}");
        let rows = fs::read_to_string(at.join("rows.csv")).expect("there");
        assert_eq!((rows.lines().count(), rows.matches("\n1MiB,").count()), (2, 1), "{rows}");
    }
}

/// The replications of a point come to the means that `run --replications` tells; rows are rows.
#[test]
fn people_are_told_the_means_of_replications() {
    let at = tempdir().expect("a folder");
    let at = at.path();
    let model = "phold --lps 8 --population 16 --end 20 --replications 5";
    let text = stdout(at, &format!("sweep {model} --vary remote=0.1,0.5 --format text"));
    let (rows, means) = text.split_once("95 % confidence intervals\n").expect("the means");
    assert_eq!(rows.lines().filter(|line| line.starts_with(" 0.100000 ")).count(), 5, "{text}");
    for remote in ["0.1", "0.5"] {
        let run = stdout(at, &format!("run {model} --remote {remote}"));
        // The first result is `handled`, in events.
        let mean = |text: &str, behind: &str| {
            let line = text.lines().find(|line| line.contains(behind)).expect("a line");
            let (_, rest) = line.split_once(behind).expect("what is behind it");
            rest.split(" events").next().expect("a unit").trim().to_owned()
        };
        let of_sweep = mean(means, &format!(" {remote} "));
        assert!(of_sweep.contains(" ± "), "{text}");
        assert_eq!(of_sweep, mean(&run, " handled "), "{text}\n{run}");
    }
    let once = stdout(at, "sweep phold --lps 8 --end 2 --vary remote=0.1,0.5 --format text");
    assert!(!once.contains("confidence"), "{once}");
    let csv = stdout(at, &format!("sweep {model} --vary remote=0.1,0.5 --format csv"));
    assert_eq!(csv.lines().count(), 11, "{csv}");
}
