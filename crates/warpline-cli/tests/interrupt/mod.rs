//! How tests interrupt a run, as Ctrl-C does. Several of them use it.

use std::{
    fs,
    process::{Command, Output, Stdio},
    thread,
};

/// What the command leaves behind when it is interrupted in its run, which must be endless.
///
/// Method: wait until the process has a handler for the signal, which Linux tells.
pub(crate) fn interrupted(endless: &mut Command) -> Output {
    let child = endless.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the command starts");
    let handles_interrupts = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|m| m & 2 != 0))
    };
    while !handles_interrupts() {
        thread::yield_now();
    }
    let kill = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status();
    assert!(kill.expect("sh runs").success());
    child.wait_with_output().expect("the command ends")
}
