//! Far more workers, or ranks, than cores: neighbors are merged, and nothing but the time depends
//! on it.

mod common;

use std::{num::NonZero, path::Path, thread};

use common::{command, refuses, stdout};
use serde_json::Value;
use tempfile::tempdir;

const MODEL: &str = "run phold --lps 4 --population 16 --lookahead 0.5 --end 20";

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

#[track_caller]
fn json(line: &str) -> Value {
    let report = stdout(Path::new("."), &format!("{line} --format json"));
    serde_json::from_str(&report).expect("the report is JSON")
}

/// Far more workers than any machine has cores are refused, unless they are asked for. Red if the
/// runs that go on at one time are not counted, or are not at most those that there are.
#[test]
fn crowds_of_workers_are_asked_for() {
    let at = Path::new(".");
    let crowd = "--engine timewarp --ranks 1024";
    for line in [
        format!("run phold {crowd} --workers 1024"),
        format!("sweep phold {crowd} --vary workers=1024,1"),
    ] {
        refuses(at, &line, 2, &["1024 x 1024", "--oversubscribe"]);
    }
    // So many runs at one time are a crowd, too; how many may go on is no matter.
    let jobs = 4 * cores() + 1;
    let line = format!("run phold --end 1 --lps 4 --population 8 --jobs {}", jobs.min(1024));
    json(&format!("{line} --replications 2 --workers 1"));
    json(&format!("{line} --replications 2 --engine sequential"));
    if jobs <= 1024 {
        for (engine, product) in [
            ("auto", format!("is {jobs} x 1 x 1 = ")),
            ("timewarp --workers 2", format!("is {jobs} x 1 x 2 = ")),
            ("conservative --ranks 2 --workers 3", format!("is {jobs} x 2 x 3 = ")),
        ] {
            let line = format!("{line} --replications {jobs} --engine {engine}");
            refuses(at, &line, 2, &["jobs x ranks x workers", &product, "--oversubscribe"]);
            let sweep = line.replacen("run", "sweep", 1);
            refuses(at, &format!("{sweep} --vary seed=1"), 2, &[&product, "--oversubscribe"]);
        }
        let one = format!("{line} --replications {jobs} --engine sequential");
        refuses(at, &one, 2, &["runs at one time", "choose fewer --jobs"]);
        json(&format!("{line} --replications {jobs} --workers 1 --oversubscribe"));
    }
    if 4 * cores() < 1024 {
        refuses(at, "bench W1 --workers 2,1024", 2, &["1 x 1024", "--oversubscribe"]);
        refuses(at, "bench W1 --ranks 1024", 2, &["1024 x 1", "--oversubscribe"]);
    }
    let few = json(&format!("{MODEL} --engine timewarp --workers 2"));
    let asked = format!("{MODEL} --engine timewarp --workers 2 --oversubscribe");
    assert_eq!(few["digest"], json(&asked)["digest"]);
}

/// A crowd commits what one worker does, on every engine and with tables of places, too; the report
/// says that few worked. Red if tables are not changed with the number of workers.
#[test]
fn crowds_are_merged() {
    let cores = cores();
    let (workers, last) = (16 * cores + 1, 16 * cores);
    if workers > 1024 {
        return;
    }
    let digest = &json(&format!("{MODEL} --engine sequential"))["digest"];
    let ranks = format!("--ranks 2 --placement {workers},0,{last},{}", workers + last);
    for engine in [
        "speculative --balance off",
        &format!("conservative --balance off --placement {last},0,1,0"),
        "conservative --synchronization null-messages",
        &format!("conservative {ranks}"),
        &format!("conservative --synchronization null-messages {ranks}"),
        &format!("timewarp {ranks}"),
        &format!("timewarp --placement {last},0,1,0"),
    ] {
        let line = format!("{MODEL} --workers {workers} --oversubscribe --engine {engine}");
        let report = json(&line);
        assert_eq!(&report["digest"], digest, "`{line}`");
        let remarks = report["remarks"].to_string();
        assert!(remarks.contains("would mostly wait"), "`{line}`: {remarks}");
    }
}

/// The same of ranks that are threads. (Red if tables are not changed with the number of ranks.)
#[test]
fn crowds_of_ranks_are_merged() {
    let cores = cores();
    let digest = &json(&format!("{MODEL} --engine sequential"))["digest"];
    let (ranks, most) = (4 * cores.max(2) + 1, 8 * cores.max(2));
    for engine in [
        "conservative",
        "timewarp",
        &format!("timewarp --workers 2 --placement {},0,{most},1", most + 1),
    ] {
        let line = format!("{MODEL} --ranks {ranks} --oversubscribe --engine {engine}");
        let report = json(&line);
        assert_eq!(&report["digest"], digest, "`{line}`");
        let remarks = report["remarks"].to_string();
        assert!(remarks.contains(&format!("{ranks} ranks on")), "`{line}`: {remarks}");
    }
}

/// A rank whose launcher goes with no MPI library that is there says which files it has tried, and
/// a library of another launcher is refused. Without a launcher nothing is loaded.
#[test]
#[cfg(target_os = "linux")]
fn a_rank_without_its_library_says_what_it_tried() {
    let at = tempdir().expect("a folder");
    let tried = |lines: &[&str], launcher: Option<&str>| {
        for line in lines {
            let mut command = command(at.path(), line);
            command.env("WARPLINE_MPI", "libc.so.6");
            let output = command.envs(launcher.map(|name| (name, "2"))).output().expect("it runs");
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(
                output.status.code(),
                Some(if launcher.is_some() { 2 } else { 0 }),
                "{stderr}"
            );
            let says = ["libc.so.6: ", "MPI_Initialized", "what to do: set WARPLINE_MPI"];
            assert!(
                launcher.is_none() || says.iter().all(|part| stderr.contains(part)),
                "{stderr}"
            );
        }
    };
    let lines =
        ["run phold --lps 4 --population 4 --end 1 --quiet", "sweep phold --end 1 --vary lps=4,8"];
    tried(&lines, Some("OMPI_COMM_WORLD_SIZE"));
    tried(&lines, Some("PMI_SIZE"));
    tried(&lines, None);
}
