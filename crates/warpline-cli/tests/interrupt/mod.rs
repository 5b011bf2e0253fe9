//! How tests send signals to the command, as Ctrl-C does. Several of them use it.

use std::{
    fs,
    io::Read,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The most that the command may take to end.
const LIMIT: Duration = Duration::from_secs(100);

#[allow(dead_code, reason = "not every test interrupts endless runs")]
/// What the command leaves behind when it is interrupted in its run, which must be endless.
pub(crate) fn interrupted(endless: &mut Command) -> Output {
    let mut child = started(endless);
    await_run(&mut child);
    send("INT", &child);
    ended(child, |_| ())
}

/// What the command leaves behind; it is asked `again` and again to end, as long as it does not.
pub(crate) fn ended(mut child: Child, again: impl Fn(&Child)) -> Output {
    let began = Instant::now();
    let mut output = child.stdout.take().map(read_all);
    let mut errors = child.stderr.take().map(read_all);
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if began.elapsed() > LIMIT {
            child.kill().expect("it can be killed");
            panic!("the command did not end");
        }
        again(&child);
        thread::yield_now();
    };
    let all = |reader: &mut Option<thread::JoinHandle<Vec<u8>>>| {
        reader.take().map(|reader| reader.join().expect("a pipe")).unwrap_or_default()
    };
    Output { status, stdout: all(&mut output), stderr: all(&mut errors) }
}

/// Reads what a child writes, on a thread: it would wait if a pipe were full.
fn read_all(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        pipe.read_to_end(&mut all).expect("a pipe");
        all
    })
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
