//! Whether standard output was open when the process began. The command asks.
//!
//! The standard library opens `/dev/null` in the place of a standard stream that is closed, before
//! `main`: from then on nobody can tell that all that is printed is lost. So this looks earlier, in
//! a function that the loader calls.

#![cfg_attr(
    all(target_os = "linux", not(miri)),
    expect(unsafe_code, reason = "the loader is told of a function, which calls the system")
)]

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the process began, as by `>&-` in a shell. Elsewhere
/// than on Linux it is taken for open.
#[must_use]
pub fn standard_output_was_closed() -> bool {
    // Ordering: Relaxed; it was stored before there was a second thread.
    WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(all(target_os = "linux", not(miri)))]
mod early {
    use super::{Ordering, WAS_CLOSED};

    /// Called by the loader, with arguments that it needs not.
    #[used]
    // SAFETY: the section has addresses of functions, of which this is one; it may be called before
    // `main`, because it uses nothing that the standard library sets up.
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: the call only asks for the flags of a file, and may be given any number.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        // Ordering: Relaxed; there is one thread.
        WAS_CLOSED.store(flags < 0, Ordering::Relaxed);
    }
}
