//! The safe interface to MPI: it begins and ends once, and buffers belong to transfers.
//!
//! # Invariants
//!
//! - **MPI-A.** A process has at most one [`Library`], and MPI is initialized as long as it lives.
//!   Its methods take `&mut self`, so calls of MPI never overlap, as `MPI_THREAD_SERIALIZED`
//!   demands.
//! - **MPI-B.** A buffer that MPI reads or writes belongs to its [`Transfer`]. Its bytes are not
//!   read, written, moved or freed before MPI is done with them. A transfer that is dropped before
//!   leaks its buffer.
//! - **MPI-C.** Handles are constants of MPI, or come from a call of MPI that did not fail.
//!
//! # References
//!
//! *MPI: A Message-Passing Interface Standard*, version 3.1, 2015: 3.5 (messages do not overtake),
//! 3.7 (non-blocking communication), 3.8 (matching probe), 5.9 (reductions), 8.3 (errors), 12.4
//! (threads).

#![allow(unsafe_code, reason = "MPI is a C library")]

use std::{
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    LIBRARY_VARIABLE, MpiError,
    calls::{Calls, Found},
    launched_by_mpi, loading,
};

/// Whether this process has or had a [`Library`], because MPI can be initialized only once.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// An initialized MPI library. Its drop finalizes MPI, unless a call has failed.
#[derive(Debug)]
pub struct Library {
    calls: Box<dyn Calls>,
    path: PathBuf,
    /// Whether a call has failed. Others may wait for ever then, and so would `MPI_Finalize`.
    broken: bool,
}

/// A send or a receive in progress, or a barrier. One that is dropped leaks its buffer, because MPI
/// may still use it.
#[derive(Debug)]
pub struct Transfer {
    request: u64,
    buffer: ManuallyDrop<Vec<u8>>,
    /// The number of bytes that the buffer has when the transfer is done.
    len: usize,
}

/// A message that has begun to arrive, and that [`Library::receive`] takes.
#[derive(Debug)]
pub struct Message(Found);

impl Message {
    /// The rank that has sent it.
    #[must_use]
    pub const fn from(&self) -> usize {
        self.0.from
    }

    /// Its tag.
    #[must_use]
    pub const fn tag(&self) -> usize {
        self.0.tag
    }
}

impl Library {
    /// Finds, loads and initializes the MPI library of the launcher that has started this process,
    /// or the one that the variable `WARPLINE_MPI` names.
    ///
    /// # Errors
    ///
    /// When no launcher has started this process and no library is named; when no library can be
    /// loaded, with all that were tried; when it belongs to another launcher, may be called from
    /// one thread only, or was initialized before.
    pub fn initialize() -> Result<Self, MpiError> {
        let launched = launched_by_mpi();
        if launched.is_none() && std::env::var_os(LIBRARY_VARIABLE).is_none() {
            return Err(MpiError::NotLaunched);
        }
        // Ordering: Relaxed; the flag publishes nothing but itself.
        if TAKEN.swap(true, Ordering::Relaxed) {
            return Err(MpiError::Again);
        }
        let (path, calls) = loading::load()?;
        let serves_threads = calls.initialize()?;
        let mut library = Self { calls, path, broken: false };
        if !serves_threads {
            return Err(MpiError::OneThread { library: library.path.clone() });
        }
        let (_, found) = library.rank_and_ranks()?;
        match launched {
            Some(launched) if launched != found => {
                let library = library.path.clone();
                Err(MpiError::OtherLauncher { launched, found, library })
            }
            _ => Ok(library),
        }
    }

    /// The file of the library; a name without a folder is where the dynamic linker has found it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a call has failed.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// This rank, and the number of ranks.
    ///
    /// # Errors
    ///
    /// When MPI fails; so do all other methods.
    pub fn rank_and_ranks(&mut self) -> Result<(usize, usize), MpiError> {
        let said = self.calls.rank_and_ranks();
        self.check(said)
    }

    /// The greatest number that a rank passes (an all-reduce); every rank calls it.
    ///
    /// # Errors
    ///
    /// When MPI fails.
    pub fn greatest(&mut self, mine: u64) -> Result<u64, MpiError> {
        let said = self.calls.greatest(mine);
        self.check(said)
    }

    /// Starts to send these bytes.
    ///
    /// # Errors
    ///
    /// When MPI fails, or there are too many bytes for one message.
    pub fn send(&mut self, to: usize, tag: usize, bytes: Vec<u8>) -> Result<Transfer, MpiError> {
        let len = bytes.len();
        let (Ok(count), Ok(to), Ok(tag)) = (len.try_into(), to.try_into(), tag.try_into()) else {
            return Err(MpiError::TooLong { len });
        };
        let mut transfer = self.transfer(bytes, len);
        let (from, request) = (transfer.buffer.as_ptr(), &mut transfer.request);
        // SAFETY: MPI-B; `from` has `count` bytes.
        let said = unsafe { self.calls.send(from, count, [to, tag], request) };
        self.check(said)?;
        Ok(transfer)
    }

    /// Looks for a message from any rank. Only the caller can receive the one that it finds.
    ///
    /// # Errors
    ///
    /// When MPI fails.
    pub fn probe(&mut self) -> Result<Option<Message>, MpiError> {
        let said = self.calls.probe();
        Ok(self.check(said)?.map(Message))
    }

    /// Starts to receive a message that was found.
    ///
    /// # Errors
    ///
    /// When MPI fails.
    pub fn receive(&mut self, message: Message, mut buffer: Vec<u8>) -> Result<Transfer, MpiError> {
        let Message(Found { len, message, .. }) = message;
        buffer.clear();
        buffer.reserve(len);
        let mut transfer = self.transfer(buffer, len);
        let (to, request) = (transfer.buffer.as_mut_ptr(), &mut transfer.request);
        // SAFETY: MPI-B and MPI-C; `to` has room for the bytes of the message, which MPI has
        // counted in an `int`.
        let said = unsafe { self.calls.receive(to, len as i32, message, request) };
        self.check(said)?;
        Ok(transfer)
    }

    /// Starts a barrier, which is done when all ranks have started it.
    ///
    /// # Errors
    ///
    /// When MPI fails.
    pub fn barrier(&mut self) -> Result<Transfer, MpiError> {
        let mut transfer = self.transfer(Vec::new(), 0);
        let said = self.calls.barrier(&mut transfer.request);
        self.check(said)?;
        Ok(transfer)
    }

    /// Returns the buffer of a transfer if it is done, and else the transfer.
    ///
    /// # Errors
    ///
    /// When MPI fails.
    #[inline]
    pub fn test(&mut self, mut transfer: Transfer) -> Result<Result<Vec<u8>, Transfer>, MpiError> {
        // SAFETY: MPI-C; a successful call has started the request, and it was not found done
        // before, because then there would be no transfer.
        let said = unsafe { self.calls.test(&mut transfer.request) };
        if !self.check(said)? {
            return Ok(Err(transfer));
        }
        let mut buffer = ManuallyDrop::into_inner(transfer.buffer);
        // SAFETY: MPI-B; MPI has read or written this number of bytes.
        unsafe { buffer.set_len(transfer.len) };
        Ok(Ok(buffer))
    }

    /// Ends all ranks at once with this exit status. What this process has written before is not
    /// lost: the launcher has read it.
    pub fn abort(&mut self, status: i32) -> ! {
        #[cfg(unix)]
        crate::unread::wait();
        self.calls.abort(status);
        // Reached only if MPI failed to abort. The launcher ends all ranks when one ends like this.
        process::exit(status)
    }

    fn transfer(&self, buffer: Vec<u8>, len: usize) -> Transfer {
        let request = self.calls.request_null();
        Transfer { request, buffer: ManuallyDrop::new(buffer), len }
    }

    fn check<T>(&mut self, said: Result<T, MpiError>) -> Result<T, MpiError> {
        self.broken |= said.is_err();
        said
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.broken {
            self.calls.finalize();
        }
    }
}
