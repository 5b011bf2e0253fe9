//! A safe interface to the part of an MPI library that the transport needs. It has all unsafe code
//! of this crate.
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

use std::{
    mem::{self, ManuallyDrop},
    process, ptr,
    sync::atomic::{AtomicBool, Ordering},
};

use mpi_sys as ffi;

use crate::NetError;

/// A constant of MPI, which Rust sees as a variable.
macro_rules! constant {
    ($name:ident) => {{
        // SAFETY: MPI-C; the variable has its value before `main`, and nothing writes it.
        unsafe { ffi::$name }
    }};
}

/// Whether this process has or had a [`Library`], because MPI can be initialized only once.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// An initialized MPI library.
#[derive(Debug)]
pub(super) struct Library {
    /// All ranks of the job.
    world: ffi::MPI_Comm,
    /// The data type of everything that is sent.
    byte: ffi::MPI_Datatype,
    /// Whether a call has failed. Others may wait for ever then, and so would `MPI_Finalize`.
    broken: bool,
}

/// A send or a receive in progress, or a barrier.
#[derive(Debug)]
pub(super) struct Transfer {
    request: ffi::MPI_Request,
    buffer: ManuallyDrop<Vec<u8>>,
    /// The number of bytes that the buffer has when the transfer is done.
    len: usize,
}

/// A message that has begun to arrive.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) from: usize,
    pub(super) tag: usize,
    len: usize,
    handle: ffi::MPI_Message,
}

// SAFETY: MPI-A; handles may be used from any thread, as long as calls do not overlap.
unsafe impl Send for Library {}

// SAFETY: as for the library, because every use of a transfer needs exclusive access to it; the
// buffer is an owned vector.
unsafe impl Send for Transfer {}

impl Library {
    /// Initializes MPI.
    pub(super) fn initialize() -> Result<Self, NetError> {
        let mut initialized = 0;
        // SAFETY: MPI allows this call at any time.
        let code = unsafe { ffi::MPI_Initialized(&mut initialized) };
        // Ordering: Relaxed; the flag publishes nothing but itself.
        if code != SUCCESS || initialized != 0 || TAKEN.swap(true, Ordering::Relaxed) {
            let what = "a process can initialize MPI only once, and this one has done so before";
            return Err(NetError::Failed(what.to_owned()));
        }
        let (wanted, mut provided) = (constant!(RSMPI_THREAD_SERIALIZED), 0);
        let (argc, argv) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: MPI-A; nothing else initializes MPI, and the arguments may be null.
        let code = unsafe { ffi::MPI_Init_thread(argc, argv, wanted, &mut provided) };
        if code != SUCCESS {
            return Err(failed("MPI_Init_thread", code));
        }
        let (world, byte) = (constant!(RSMPI_COMM_WORLD), constant!(RSMPI_UINT8_T));
        let mut library = Self { world, byte, broken: false };
        let handler = constant!(RSMPI_ERRORS_RETURN);
        // SAFETY: MPI-C.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(world, handler) };
        library.check("MPI_Comm_set_errhandler", code)?;
        if provided < wanted {
            let what = "this MPI library can be called from one thread only (it lacks \
                        MPI_THREAD_SERIALIZED)";
            return Err(NetError::Failed(what.to_owned()));
        }
        Ok(library)
    }

    /// Whether a call has failed.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// This rank, and the number of ranks.
    pub(super) fn rank_and_ranks(&mut self) -> Result<(usize, usize), NetError> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI-C.
        let code = unsafe { ffi::MPI_Comm_rank(self.world, &mut rank) };
        self.check("MPI_Comm_rank", code)?;
        // SAFETY: MPI-C.
        let code = unsafe { ffi::MPI_Comm_size(self.world, &mut ranks) };
        self.check("MPI_Comm_size", code)?;
        Ok((rank as usize, ranks as usize))
    }

    /// The greatest number that a rank passes (an all-reduce); every rank calls it.
    pub(super) fn greatest(&mut self, mine: u64) -> Result<u64, NetError> {
        let (kind, operation, mut all) = (constant!(RSMPI_UINT64_T), constant!(RSMPI_MAX), 0u64);
        let (from, to) = ((&raw const mine).cast(), (&raw mut all).cast());
        // SAFETY: MPI-C; both pointers are to one number of this kind, and MPI does not use them
        // after the call.
        let code = unsafe { ffi::MPI_Allreduce(from, to, 1, kind, operation, self.world) };
        self.check("MPI_Allreduce", code)?;
        Ok(all)
    }

    /// Starts to send these bytes.
    pub(super) fn send(
        &mut self,
        to: usize,
        tag: usize,
        bytes: Vec<u8>,
    ) -> Result<Transfer, NetError> {
        let len = bytes.len();
        let (Ok(count), Ok(to), Ok(tag)) = (len.try_into(), to.try_into(), tag.try_into()) else {
            let most = i32::MAX;
            let what = format!("a parcel has {len} bytes, but MPI can send only {most} at once");
            return Err(NetError::Failed(what));
        };
        let mut transfer = Transfer::new(bytes, len);
        let (from, request) = (transfer.buffer.as_ptr().cast(), &mut transfer.request);
        // SAFETY: MPI-B and MPI-C; `from` has `count` bytes.
        let code = unsafe { ffi::MPI_Isend(from, count, self.byte, to, tag, self.world, request) };
        self.check("MPI_Isend", code)?;
        Ok(transfer)
    }

    /// Looks for a message from any rank. Only the caller can receive the one that it finds.
    pub(super) fn probe(&mut self) -> Result<Option<Message>, NetError> {
        let (any_source, any_tag) = (constant!(RSMPI_ANY_SOURCE), constant!(RSMPI_ANY_TAG));
        let (mut found, mut handle) = (0, constant!(RSMPI_MESSAGE_NULL));
        // SAFETY: all fields are numbers, for which zero is valid.
        let mut status = unsafe { mem::zeroed::<ffi::MPI_Status>() };
        let (world, status_at) = (self.world, &raw mut status);
        // SAFETY: MPI-C.
        let code = unsafe {
            ffi::MPI_Improbe(any_source, any_tag, world, &mut found, &mut handle, status_at)
        };
        self.check("MPI_Improbe", code)?;
        if found == 0 {
            return Ok(None);
        }
        let mut len = 0;
        // SAFETY: MPI-C; the probe has found a message and filled the status.
        let code = unsafe { ffi::MPI_Get_count(&status, self.byte, &mut len) };
        self.check("MPI_Get_count", code)?;
        let (from, tag, len) = (status.MPI_SOURCE as usize, status.MPI_TAG as usize, len as usize);
        Ok(Some(Message { from, tag, len, handle }))
    }

    /// Starts to receive a message that was found.
    pub(super) fn receive(
        &mut self,
        mut message: Message,
        mut buffer: Vec<u8>,
    ) -> Result<Transfer, NetError> {
        buffer.clear();
        buffer.reserve(message.len);
        let mut transfer = Transfer::new(buffer, message.len);
        let (to, count) = (transfer.buffer.as_mut_ptr().cast(), message.len as i32);
        let (handle, request) = (&raw mut message.handle, &mut transfer.request);
        // SAFETY: MPI-B and MPI-C; `to` has room for the `count` bytes of the message.
        let code = unsafe { ffi::MPI_Imrecv(to, count, self.byte, handle, request) };
        self.check("MPI_Imrecv", code)?;
        Ok(transfer)
    }

    /// Starts a barrier, which is done when all ranks have started it.
    pub(super) fn barrier(&mut self) -> Result<Transfer, NetError> {
        let mut transfer = Transfer::new(Vec::new(), 0);
        // SAFETY: MPI-C.
        let code = unsafe { ffi::MPI_Ibarrier(self.world, &mut transfer.request) };
        self.check("MPI_Ibarrier", code)?;
        Ok(transfer)
    }

    /// Returns the buffer of a transfer if it is done, and else the transfer.
    #[inline]
    pub(super) fn test(
        &mut self,
        mut transfer: Transfer,
    ) -> Result<Result<Vec<u8>, Transfer>, NetError> {
        let (mut done, no_status) = (0, constant!(RSMPI_STATUS_IGNORE));
        // SAFETY: MPI-C; a successful call has started the request, and it was not found done
        // before.
        let code = unsafe { ffi::MPI_Test(&mut transfer.request, &mut done, no_status) };
        self.check("MPI_Test", code)?;
        if done == 0 {
            return Ok(Err(transfer));
        }
        let mut buffer = ManuallyDrop::into_inner(transfer.buffer);
        // SAFETY: MPI-B; MPI has read or written this number of bytes.
        unsafe { buffer.set_len(transfer.len) };
        Ok(Ok(buffer))
    }

    /// Ends all ranks at once.
    pub(super) fn abort(&mut self, code: i32) -> ! {
        // SAFETY: MPI-C; MPI allows this call at any time.
        unsafe { ffi::MPI_Abort(self.world, code) };
        // Reached only if MPI failed to abort. The launcher ends all ranks when one ends like this.
        process::exit(code)
    }

    fn check(&mut self, call: &str, code: i32) -> Result<(), NetError> {
        if code == SUCCESS {
            return Ok(());
        }
        self.broken = true;
        Err(failed(call, code))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.broken {
            // SAFETY: MPI-A; MPI is initialized, and is not used after the drop.
            unsafe { ffi::MPI_Finalize() };
        }
    }
}

impl Transfer {
    fn new(buffer: Vec<u8>, len: usize) -> Self {
        let request = constant!(RSMPI_REQUEST_NULL);
        Self { request, buffer: ManuallyDrop::new(buffer), len }
    }
}

const SUCCESS: i32 = ffi::MPI_SUCCESS as i32;

/// An error with MPI's own description.
#[cold]
fn failed(call: &str, code: i32) -> NetError {
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut len = 0;
    // SAFETY: the text has room for the description of any error.
    let said = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut len) };
    match text.get(..len as usize) {
        Some(text) if said == SUCCESS => {
            NetError::Failed(format!("{call}: {}", String::from_utf8_lossy(text)))
        }
        _ => NetError::Failed(format!("{call}: error {code}")),
    }
}
