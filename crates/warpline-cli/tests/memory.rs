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

/// Whether a run in this much address space ended for lack of memory; it must not have aborted.
fn runs_out(kibibytes: u32, line: &str) -> bool {
    let (status, said) = in_little_memory(kibibytes, line);
    match status {
        Some(0) => false,
        // What does not fit for sure is refused.
        Some(2) if said.contains("bytes of memory") => true,
        _ => {
            assert_eq!(status, Some(1), "`{line}` in {kibibytes} KiB: {said}");
            assert!(said.starts_with("error: there is no memory left"), "`{line}`: {said}");
            assert!(said.contains("--memory") && said.contains("ulimit -v"), "`{line}`: {said}");
            true
        }
    }
}

/// What is not known before ends with advice, too, where it used to abort.
#[test]
fn memory_that_runs_out_is_an_error() {
    for engine in ["sequential", "timewarp --workers 2", "speculative --workers 2", "auto"] {
        let line = format!("run phold --population 200000 --payload 4000 --engine {engine}");
        assert!(runs_out(400_000, &line), "{engine} has found enough memory");
    }
}

/// So do tables of an engine: with many LPs, they are what does not fit.
///
/// Red if `served`, in the allocator, says nothing of blocks above 1 MiB.
#[test]
fn tables_that_do_not_fit_are_an_error() {
    let many = "--lps 400000 --population 400000 --end 0.01";
    let mut short = 0;
    for engine in ["auto", "timewarp --workers 2", "speculative --workers 2"] {
        let line = format!("run phold {many} --engine {engine}");
        let limits = (80_000..=240_000).step_by(20_000);
        short += limits.filter(|&kibibytes| runs_out(kibibytes, &line)).count();
    }
    assert!(short > 3, "only {short} runs had too little memory");
}

/// Where there is room for the program and hardly for a thread, it says so.
///
/// Red if a bar that nobody sees has a thread.
#[test]
fn threads_that_cannot_start_are_an_error() {
    let mut refused = 0;
    for engine in ["sequential", "timewarp --workers 2", "speculative --workers 2"] {
        let line = format!("run phold --lps 64 --population 64 --end 1 --engine {engine}");
        for kibibytes in (16_000..=64_000).step_by(1000) {
            let (status, said) = in_little_memory(kibibytes, &line);
            // Below that, the system does not load it.
            if status == Some(127) || status.is_none() {
                continue;
            }
            assert!(matches!(status, Some(0..=2)), "{engine} in {kibibytes} KiB: {said}");
            refused += usize::from(status == Some(2) && said.contains("thread"));
        }
    }
    assert!(refused > 0, "every thread could start");
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
