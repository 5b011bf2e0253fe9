//! The page of a run (`--report`): what it says, and when it is refused.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn warpline(line: &str, page: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(line.split_whitespace()).arg("--report").arg(page);
    command.output().expect("the command starts")
}

/// The page of this run.
fn page(line: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.html");
    let output = warpline(line, &path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.stdout.is_empty(), "the report is printed beside the page");
    fs::read_to_string(path).expect("a page")
}

#[track_caller]
fn says(page: &str, all: &[&str]) {
    for part in all {
        assert!(page.contains(part), "the page does not say `{part}`:\n{page}");
    }
}

/// PAGE-B: nothing outside the page is referred to, and no script is needed.
#[test]
fn a_page_needs_nothing_else() {
    let line = "run pcs --cells 4x4 --portables 100 --end 50 --engine timewarp --workers 2";
    let page = page(line);
    says(&page, &["<!DOCTYPE html>", "Results", "Parameters", "Digest", "<svg", "</html>"]);
    for part in ["<script", "<link", "<img", "src=", "href=", "url(", "@import", "http"] {
        assert!(!page.contains(part), "the page has `{part}`:\n{page}");
    }
    // The command without what is about the page, and results with unit and meaning.
    let words = format!("warpline {line}").replace(' ', r#"</span> <span class="word">"#);
    let command = format!(r#"<code><span class="word">{words}</span></code>"#);
    says(&page, &[&command, "Erlang", "busy channels per cell"]);
    // The numbers are not told apart from the report's: the text has the same.
    says(&page, &["blocking_probability", "GVT rounds", "virtual time: 50</title>"]);
}

#[test]
fn replications_have_intervals() {
    let page = page("run pcs --cells 4x4 --portables 200 --end 20 --replications 3");
    says(&page, &["replications</dt><dd>3</dd>", "95 % confidence intervals", " ± "]);
    // How the mean of each of six results settles, and how precise all are; but no series.
    says(&page, &["How the means settle", "Precision: % of the mean over replications"]);
    assert_eq!(page.matches("class=\"band\"").count(), 6, "intervals are bands");
    assert_eq!(page.matches("<svg").count(), 7, "{page}");
}

/// Workers are seen at the end of a run, however short it is.
#[test]
fn workers_have_shares() {
    let line = "run phold --lps 64 --population 512 --end 300 --engine timewarp --workers 2";
    says(&page(&format!("{line} --in-turn")), &["What the workers did", "worker 1</th>"]);
}

#[test]
fn costs_have_shares() {
    let line = "run phold --lps 16 --population 64 --end 200 --engine timewarp --workers 2 --costs";
    says(&page(line), &["Where the time went", "other, waiting included", "class=\"bar\""]);
}

/// Models show where it happened: a square for each cell, a bar for each dimension, a line for each
/// part of a road.
#[test]
fn models_have_pictures() {
    for (line, title, shape, count) in [
        (
            "pcs --cells 5x4 --portables 200 --end 20",
            "Blocking by cell",
            "<rect class=\"value\"",
            20,
        ),
        ("queues --stations 5 --end 20", "Utilization by station", "<rect class=\"value\"", 5),
        (
            "epidemic --people 5000 --regions 5 --end 5",
            "Infections by day",
            "<rect class=\"value\"",
            5,
        ),
        ("hypercube --dimension 3 --end 20", "Load by dimension", "<rect class=\"value\"", 3),
        ("traffic --lps 150 --end 2000", "Cars by road", "<line class=\"value\"", 150),
        (
            "network --topology grid:3x2 --end 20us",
            "Utilization by link",
            "<line class=\"value\"",
            7,
        ),
    ] {
        let page = page(&format!("run {line}"));
        says(&page, &["Where it happened", title]);
        assert_eq!(page.matches(&shape).count(), count, "{line}: {page}");
        assert!(!page.contains("NaN"), "{page}");
    }
}

/// The waveforms of a circuit: a lane for each net, and what is under the pointer in each. What the
/// run commits does not depend on the page; on several ranks, rank 0 has the waveforms of all.
#[test]
fn circuits_have_waveforms() {
    let line = "run circuit --generate adder:3 --vectors 3";
    let page = page(line);
    says(&page, &["When it happened", "inputs that change and of outputs: all ", "time in ns"]);
    says(&page, &[">s0</span>", ">cout</span>", "Each lane is from 0 V to 3.3 V."]);
    assert_eq!(lanes(&page).len(), page.matches("class=\"name\"").count());
    assert!(lanes(&page).len() > 6, "{page}");
    assert!(page.contains("\ns0: 0 V\n") && page.contains("\ns0: 3.3 V\n"), "{page}");
    assert!(!page.contains("NaN") && page.len() < 200_000, "{}", page.len());
    let folder = tempfile::tempdir().expect("a folder");
    let digest = |line: &str| {
        let output = warpline(&format!("{line} --format json"), &folder.path().join("page.html"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|line| line.contains("\"digest\"")).map(str::to_owned)
    };
    let plain = Command::new(env!("CARGO_BIN_EXE_warpline")).args(line.split(' ')).output();
    let plain = String::from_utf8_lossy(&plain.expect("it starts").stdout).into_owned();
    let expected = digest(line).expect("a digest");
    let expected = expected.trim().trim_start_matches("\"digest\": \"").trim_end_matches("\",");
    assert!(plain.contains(expected), "{plain} has not {expected}");
    let ranks = self::page(&format!("{line} --ranks 2 --engine conservative --workers 1"));
    assert_eq!(lanes(&ranks), lanes(&page));
}

/// The curves of the lanes of a page.
fn lanes(page: &str) -> Vec<&str> {
    let lanes = page.split("class=\"lanes\"").nth(1).and_then(|rest| rest.split("</svg>").next());
    let lanes = lanes.unwrap_or_default();
    lanes.match_indices("<path").filter_map(|(at, _)| lanes[at..].split('>').next()).collect()
}

/// A warm-up is seen where the running means settle, of several replications, too.
#[test]
fn a_warm_up_has_plots() {
    let line = "run pcs --cells 5x4 --portables 200 --end 200 --replications 2 --find-warmup";
    let page = page(line);
    says(&page, &["How the results settle", "MSER-5", "Warm-up: ", "from the start", "after it"]);
    assert_eq!(page.matches("mean up to here over virtual time").count(), 6);
}

/// A page that cannot be written is known before the run, and leaves nothing.
#[test]
fn a_bad_path_is_refused_before_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let same = folder.path().join("same");
    let line = format!("run phold --end 1e12 --output {}", same.display());
    for (line, path) in [("run phold --end 1e12", folder.path().join("no/page")), (&line, same)] {
        let output = warpline(line, &path);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("--report"), "{stderr}");
        assert!(!path.exists() && output.stdout.is_empty());
    }
}

/// A run that fails leaves the page of an earlier one as it was.
#[test]
fn a_failed_run_leaves_an_old_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.html");
    let line = "run phold --end 1e12 --engine timewarp --workers 1 --memory 4KiB";
    assert_eq!(warpline(line, &path).status.code(), Some(1));
    assert!(!path.exists());
    fs::write(&path, "old").expect("written");
    assert_eq!(warpline(line, &path).status.code(), Some(1));
    assert_eq!(fs::read_to_string(&path).expect("still there"), "old");
}
