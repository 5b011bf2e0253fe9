//! Ctrl-C: the first one ends the run with a report, a later one ends the program.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A signal that follows the first one sooner than this is the same request: a terminal sends it to
/// a process and to its group.
const AGAIN: Duration = Duration::from_secs(1);

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Starts to listen for interrupts.
pub(crate) fn watch() {
    let listening = ctrlc::set_handler(|| {
        static FIRST: OnceLock<Instant> = OnceLock::new();
        // Ordering: Relaxed; the flag publishes nothing but itself.
        REQUESTED.store(true, Ordering::Relaxed);
        if FIRST.get_or_init(Instant::now).elapsed() >= AGAIN {
            std::process::exit(130);
        }
    });
    if let Err(error) = listening {
        eprintln!("warning: an interrupt will end the program without a report: {error}");
    }
}

/// The flag that an interrupt sets.
pub(crate) fn flag() -> &'static AtomicBool {
    &REQUESTED
}

/// Whether an interrupt has come.
pub(crate) fn requested() -> bool {
    // Ordering: Relaxed; the flag publishes nothing but itself.
    REQUESTED.load(Ordering::Relaxed)
}
