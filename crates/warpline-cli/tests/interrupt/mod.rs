//! How tests send signals to the command, as Ctrl-C does. Several of them use it.

use std::{
    fs,
    process::{Child, Command, Output, Stdio},
    thread,
};

/// What the command leaves behind when it is interrupted in its run, which must be endless.
pub(crate) fn interrupted(endless: &mut Command) -> Output {
    let mut child = started(endless);
    await_run(&mut child);
    send("INT", &child);
    child.wait_with_output().expect("the command ends")
}

/// Starts the command.
pub(crate) fn started(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Waits until a signal would end the command with a report: it has a thread for that then.
pub(crate) fn await_run(child: &mut Child) {
    let tasks = format!("/proc/{}/task", child.id());
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm"));
    while !fs::read_dir(&tasks).is_ok_and(|all| {
        all.flatten().any(|task| name(task).is_ok_and(|name| name.trim() == "interrupts"))
    }) {
        let ended = child.try_wait().expect("a child");
        assert!(ended.is_none(), "the command ended before its run: {ended:?}");
        thread::yield_now();
    }
}

/// Sends a signal to the command.
pub(crate) fn send(signal: &str, child: &Child) {
    let line = format!("kill -{signal} {}", child.id());
    let kill = Command::new("sh").arg("-c").arg(line).stderr(Stdio::null()).status();
    kill.expect("sh runs");
}
