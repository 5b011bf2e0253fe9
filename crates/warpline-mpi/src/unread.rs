//! What the launcher has not read yet of what this process has written.
//!
//! A launcher reads the output of its ranks through pipes. Told to end them, it may do so before it
//! has read the error message that says why. Called by [`Library::abort`](crate::Library::abort).

use std::time::Duration;
#[cfg(unix)]
use std::{
    fs::File,
    os::{fd::BorrowedFd, unix::fs::FileTypeExt},
};

/// A launcher that takes longer than this reads nothing more.
const LONGEST: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(1);

/// Waits until the pipes of standard output and standard error are empty, but not for ever.
pub(crate) fn wait() {
    #[cfg(unix)]
    {
        use std::{
            io::{self, Write},
            os::fd::AsFd,
        };
        // Nobody can be told that standard output is closed.
        let _ = io::stdout().flush();
        for pipe in [io::stdout().as_fd(), io::stderr().as_fd()] {
            if is_pipe(pipe) {
                wait_for(pipe);
            }
        }
    }
}

/// Whether somebody else reads what is written there.
#[cfg(unix)]
fn is_pipe(file: BorrowedFd<'_>) -> bool {
    let metadata = file.try_clone_to_owned().and_then(|file| File::from(file).metadata());
    metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Waits until a pipe is empty.
#[cfg(unix)]
fn wait_for(pipe: BorrowedFd<'_>) {
    for _ in 0..LONGEST.as_millis() / STEP.as_millis() {
        if !rustix::io::ioctl_fionread(pipe).is_ok_and(|bytes| bytes > 0) {
            return;
        }
        std::thread::sleep(STEP);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        io::{self, Read, Write},
        os::fd::AsFd,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    /// It comes back when the reader has all, and not before. (Red without the look at the pipe.)
    #[test]
    fn waits_until_all_is_read() {
        let (mut reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"why").expect("room in the pipe");
        let is_read = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::yield_now();
                // Ordering: SeqCst, here and below; before the pipe is empty, the other side sees
                // it.
                is_read.store(true, Ordering::SeqCst);
                reader.read_exact(&mut [0; 3]).expect("three bytes");
            });
            wait_for(writer.as_fd());
            assert!(is_read.load(Ordering::SeqCst), "the text was not read yet");
        });
    }

    /// A file has nobody who reads it: its bytes stay.
    #[test]
    fn a_file_is_no_pipe() {
        let (reader, _writer) = io::pipe().expect("a pipe");
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/src/unread.rs");
        let file = File::open(this).expect("this file");
        assert!(is_pipe(reader.as_fd()) && !is_pipe(file.as_fd()));
    }
}
