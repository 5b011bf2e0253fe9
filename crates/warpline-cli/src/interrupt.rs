//! Signals that ask for the end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! Until [`keep_report`] is called, the first signal ends the program at once: it parses its
//! command line or reads its input, and there is nothing to report. From then on the first one sets
//! a `flag`, for a run that ends with a report, and a later one ends the program. That happens in
//! the handler of the signal, so neither a read that waits nor a thousand busy threads put it off.
//! The exit status is 128 and the number of the signal, as a shell has it.
//!
//! SIGXFSZ ends nothing: a write to a file that would become longer than the process may make it
//! (`ulimit -f`) is an error of that file.
//!
//! Called by the command only; whoever calls from Python has handlers of its own.

use std::{
    fs,
    io::{self, Read},
    os::unix::net::UnixStream,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
    flag,
    low_level::pipe,
};

/// A signal that follows the first one sooner than this is the same request: a terminal, `timeout`
/// and `mpirun` send it to a process and to its group.
const AGAIN: Duration = Duration::from_millis(300);

/// The thread that waits for the first signal. It is there once there is a report to keep.
const WATCHER: &str = "interrupts";

static SIGNALS: LazyLock<Signals> = LazyLock::new(Signals::default);

/// What the handlers of signals read and write. Ordering: Relaxed everywhere; no flag publishes
/// anything but itself.
struct Signals {
    is_requested: Arc<AtomicBool>,
    /// The exit status for the last signal.
    status: Arc<AtomicUsize>,
    /// Whether the next signal ends the program.
    ends_at_once: Arc<AtomicBool>,
    is_watching: AtomicBool,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            is_requested: Arc::default(),
            status: Arc::default(),
            ends_at_once: Arc::new(AtomicBool::new(true)),
            is_watching: AtomicBool::new(false),
        }
    }
}

/// Starts to listen for signals.
pub(crate) fn watch() {
    if SIGNALS.is_watching.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_left_alone(signal));
    warn_if_deaf(heard.try_for_each(listen));
    // Without a handler the signal ends the process, with one the write fails. If there can be
    // none, all else is as it was.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Lets the handler of a signal end the program or note the request.
fn listen(signal: i32) -> io::Result<()> {
    let Signals { is_requested, status, ends_at_once, .. } = &*SIGNALS;
    let code = 128 + signal;
    // In this order: the first signal does not end what it only asks to end.
    flag::register_conditional_shutdown(signal, code, Arc::clone(ends_at_once))?;
    flag::register_usize(signal, Arc::clone(status), code.unsigned_abs() as usize)?;
    flag::register(signal, Arc::clone(is_requested)).map(drop)
}

fn warn_if_deaf(listening: io::Result<()>) {
    if let Err(error) = listening {
        eprintln!("warning: a signal will end the program without a report: {error}");
    }
}

/// Whether a signal stays ignored: `nohup` asks for that. (Shells let what they start in the
/// background ignore SIGINT, too, but only for the terminal's sake.)
fn is_left_alone(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    signal == SIGHUP && ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// There is something to report from here on: the first signal only sets the flag.
pub(crate) fn keep_report() {
    let Signals { ends_at_once, is_watching, .. } = &*SIGNALS;
    if is_watching.load(Ordering::Relaxed) && ends_at_once.load(Ordering::Relaxed) && !requested() {
        warn_if_deaf(await_first());
    }
}

/// Lets a thread wait for the first signal. After that, and a while, a signal ends the program.
fn await_first() -> io::Result<()> {
    let (mut woken, wakes) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if !is_left_alone(signal) {
            pipe::register(signal, wakes.try_clone()?)?;
        }
    }
    SIGNALS.ends_at_once.store(false, Ordering::Relaxed);
    let wait = move || {
        // If that fails, no signal may be lost.
        let _ = woken.read_exact(&mut [0]);
        thread::sleep(AGAIN);
        SIGNALS.ends_at_once.store(true, Ordering::Relaxed);
    };
    let started = thread::Builder::new().name(WATCHER.to_owned()).spawn(wait);
    if started.is_err() {
        SIGNALS.ends_at_once.store(true, Ordering::Relaxed);
    }
    started.map(drop)
}

/// The flag that a signal sets.
pub(crate) fn flag() -> &'static AtomicBool {
    &SIGNALS.is_requested
}

/// Whether a signal has come.
pub(crate) fn requested() -> bool {
    SIGNALS.is_requested.load(Ordering::Relaxed)
}

/// The exit status, if a signal has come.
pub(crate) fn status() -> Option<u8> {
    let status = SIGNALS.status.load(Ordering::Relaxed);
    u8::try_from(status).ok().filter(|&status| status > 0)
}
