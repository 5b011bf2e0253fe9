//! What the launcher has not read yet of what this process has written.
//!
//! A launcher reads the output of its ranks through pipes. Told to end them, it may do so before it
//! has read the error message that says why. Called by [`Library::abort`](crate::Library::abort).

use std::{
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::FileTypeExt,
    },
    thread,
    time::Duration,
};

/// A launcher that takes longer than this reads nothing more.
const LONGEST: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(1);

/// Waits until the pipes of standard output and standard error are empty, but not for ever.
pub(crate) fn wait() {
    // Nobody can be told that standard output is closed.
    let _ = io::stdout().flush();
    for pipe in [io::stdout().as_fd(), io::stderr().as_fd()] {
        if is_pipe(pipe) {
            // A launcher that does not read is not waited for any longer.
            let _ = becomes_empty(pipe, LONGEST);
        }
    }
}

/// Whether somebody else reads what is written there.
fn is_pipe(file: BorrowedFd<'_>) -> bool {
    let metadata = file.try_clone_to_owned().and_then(|file| File::from(file).metadata());
    metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Waits until a pipe is empty, but no longer than this. Returns whether it is.
fn becomes_empty(pipe: BorrowedFd<'_>, longest: Duration) -> bool {
    let is_empty = || !rustix::io::ioctl_fionread(pipe).is_ok_and(|bytes| bytes > 0);
    for _ in 0..longest.as_millis() / STEP.as_millis() {
        if is_empty() {
            return true;
        }
        thread::sleep(STEP);
    }
    is_empty()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Red if the pipe is not looked at, and if a pipe that nobody reads is waited for.
    #[test]
    fn what_is_not_read_is_seen() {
        let (mut reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"why").expect("room in the pipe");
        assert!(!becomes_empty(writer.as_fd(), 2 * STEP), "nobody has read it");
        reader.read_exact(&mut [0; 3]).expect("three bytes");
        assert!(becomes_empty(writer.as_fd(), 2 * STEP), "all was read");
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
