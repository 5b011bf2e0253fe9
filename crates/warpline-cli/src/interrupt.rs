//! Ctrl-C: the first one ends the run with a report, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Starts to listen for interrupts.
pub(crate) fn watch() {
    let listening = ctrlc::set_handler(|| {
        // Ordering: Relaxed; the flag publishes nothing but itself.
        if REQUESTED.swap(true, Ordering::Relaxed) {
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
