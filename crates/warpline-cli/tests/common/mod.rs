//! The command in tests: it runs in a folder, and its arguments are the words of a line, which have
//! no blanks.

use std::{
    path::Path,
    process::{Command, Output},
};

/// The command with this line.
pub(crate) fn command(at: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.current_dir(at).args(line.split_whitespace());
    command
}

/// What it ends with.
pub(crate) fn warpline(at: &Path, line: &str) -> Output {
    command(at, line).output().expect("the command starts")
}

/// What it prints; it must succeed.
#[track_caller]
pub(crate) fn stdout(at: &Path, line: &str) -> String {
    let output = warpline(at, line);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {stderr}");
    String::from_utf8(output.stdout).expect("what it prints is UTF-8")
}

/// The command must fail with this status and say all of this.
#[track_caller]
pub(crate) fn refuses(at: &Path, line: &str, status: i32, says: &[&str]) {
    let output = warpline(at, line);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "`{line}`: {stderr}");
    for part in says {
        assert!(stderr.contains(part), "`{line}` does not say `{part}`:\n{stderr}");
    }
}
