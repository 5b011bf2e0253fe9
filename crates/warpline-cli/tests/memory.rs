//! Memory that runs out: an error with advice, and not an abort.

#![cfg(target_os = "linux")]

use std::process::Command;

/// The status and the message of a run in this much address space (KiB).
fn in_little_memory(kibibytes: u32, line: &str) -> (Option<i32>, String) {
    let command = env!("CARGO_BIN_EXE_warpline");
    let shell = format!("ulimit -v {kibibytes}; exec {command} {line}");
    let output = Command::new("sh").arg("-c").arg(shell).output().expect("sh runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What a model needs at its start, and cannot have, is found before the run.
#[test]
fn a_start_that_does_not_fit_is_refused() {
    let line = "run phold --lps 1000 --population 100000000";
    let (status, said) = in_little_memory(1_500_000, line);
    assert_eq!(status, Some(2), "{said}");
    for part in ["100 000 000 events", "ulimit -v", "1 464 MiB", "what to do"] {
        assert!(said.contains(part), "no `{part}`: {said}");
    }
    let (status, said) = in_little_memory(1_500_000, &format!("{line} --end 0 --lps 0"));
    assert_eq!(status, Some(2), "{said}");
}

/// What is not known before ends with advice, too, where it used to abort.
#[test]
fn memory_that_runs_out_is_an_error() {
    for engine in ["sequential", "timewarp --workers 2"] {
        let line = format!("run phold --population 200000 --payload 4000 --engine {engine}");
        let (status, said) = in_little_memory(400_000, &line);
        assert_eq!(status, Some(1), "{engine}: {said}");
        assert!(said.starts_with("error: there is no memory left"), "{engine}: {said}");
        assert!(said.contains("--memory") && said.contains("ulimit -v"), "{engine}: {said}");
    }
}

/// A file without an end is an error that names it and the limit, whichever flag reads it.
#[test]
fn files_without_an_end_are_refused() {
    let timewarp = "run phold --lps 2 --engine timewarp --workers 2 --end 1";
    std::fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let at = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let link = |name: &str| {
        let path = at.path().join(name);
        std::os::unix::fs::symlink("/dev/zero", &path).expect("linked");
        path.display().to_string()
    };
    for (line, file) in [
        ("run phold --config".to_owned(), "/dev/zero".to_owned()),
        (format!("{timewarp} --placement"), "/dev/zero".into()),
        (format!("{timewarp} --placement blocks --placement-weights"), "/dev/zero".into()),
        (format!("{timewarp} --memory 1MiB --pool"), "partitioned:sizes=/dev/zero".into()),
        ("run circuit --netlist".into(), link("a.cir")),
        ("run circuit --netlist".into(), link("a.bench")),
        ("run traffic --network".into(), link("a.csv")),
        ("run traffic --network".into(), link("a.json")),
    ] {
        let (status, said) = in_little_memory(2_000_000, &format!("{line} {file}"));
        assert_eq!(status, Some(2), "`{line} {file}`: {said}");
        let file = file.rsplit('=').next().unwrap_or(&file);
        assert!(said.contains(file) && said.contains("MiB, the most that is read"), "{said}");
    }
}
