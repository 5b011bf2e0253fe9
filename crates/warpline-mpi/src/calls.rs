//! The calls of MPI that a transport needs, in terms of words: the same for all binary interfaces.
//!
//! Called by [`Library`](crate::Library), which keeps the invariants MPI-A to MPI-C.

#![allow(unsafe_code, reason = "MPI is a C library")]

use std::{
    ffi::{c_int, c_void},
    fmt, ptr,
};

use crate::{
    MpiError,
    functions::Functions,
    interface::{Constants, Handle, Status},
};

const SUCCESS: c_int = 0;

/// Room for the description of an error: the greatest in any interface is 512 bytes.
const ERROR_TEXT_MAX: usize = 1024;

/// A message that has begun to arrive.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) from: usize,
    pub(crate) tag: usize,
    pub(crate) len: usize,
    /// The handle with which it is received.
    pub(crate) message: u64,
}

/// MPI, behind one of its binary interfaces. Requests and messages are words.
///
/// # Safety
///
/// The methods that are unsafe say what they demand. All of them but
/// [`initialize`](Self::initialize) need MPI to be initialized and not finalized (MPI-A).
pub(crate) trait Calls: Send + fmt::Debug {
    /// Initializes MPI, so that errors are returned. The result is whether any thread may call it.
    fn initialize(&self) -> Result<bool, MpiError>;
    fn rank_and_ranks(&self) -> Result<(usize, usize), MpiError>;
    fn greatest(&self, mine: u64) -> Result<u64, MpiError>;
    fn request_null(&self) -> u64;
    /// Starts to send. Sets `request` if it succeeds.
    ///
    /// # Safety
    ///
    /// The bytes may not change or go before the request is found done (MPI-B).
    unsafe fn send(
        &self,
        bytes: *const u8,
        len: c_int,
        to_and_tag: [c_int; 2],
        request: &mut u64,
    ) -> Result<(), MpiError>;
    fn probe(&self) -> Result<Option<Found>, MpiError>;
    /// Starts to receive. Sets `request` if it succeeds.
    ///
    /// # Safety
    ///
    /// There is room for `len` bytes, which nobody else uses before the request is found done
    /// (MPI-B). The message comes from [`probe`](Self::probe), and is not received twice (MPI-C).
    unsafe fn receive(
        &self,
        bytes: *mut u8,
        len: c_int,
        message: u64,
        request: &mut u64,
    ) -> Result<(), MpiError>;
    fn barrier(&self, request: &mut u64) -> Result<(), MpiError>;
    /// Whether a request is done.
    ///
    /// # Safety
    ///
    /// A call that succeeded has started it, and it was not found done before (MPI-C).
    unsafe fn test(&self, request: &mut u64) -> Result<bool, MpiError>;
    fn abort(&self, status: c_int);
    fn finalize(&self);
}

/// A library with one of the binary interfaces.
#[derive(Debug)]
pub(crate) struct Interface<H> {
    pub(crate) functions: Functions<H>,
    pub(crate) constants: Constants,
}

// SAFETY: functions may be called from any thread; MPI-A lets no two calls overlap. Handles are
// words here.
unsafe impl<H> Send for Interface<H> {}

impl<H: Handle> Interface<H> {
    fn world(&self) -> H {
        H::from_word(self.constants.comm_world)
    }

    fn byte(&self) -> H {
        H::from_word(self.constants.byte)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        if code == SUCCESS { Ok(()) } else { Err(self.failed(call, code)) }
    }

    /// An error with MPI's own description.
    #[cold]
    fn failed(&self, call: &'static str, code: c_int) -> MpiError {
        let mut text = [0_u8; ERROR_TEXT_MAX];
        let mut len = 0;
        // SAFETY: MPI-D; the text has room for the description of any error.
        let said =
            unsafe { (self.functions.error_string)(code, text.as_mut_ptr().cast(), &raw mut len) };
        let what = match text.get(..len as usize) {
            Some(text) if said == SUCCESS => String::from_utf8_lossy(text).into_owned(),
            _ => format!("error {code}"),
        };
        MpiError::Failed { call, what }
    }
}

impl<H: Handle> Calls for Interface<H> {
    fn initialize(&self) -> Result<bool, MpiError> {
        let mut initialized = 0;
        // SAFETY: MPI-D; MPI allows this call at any time.
        let code = unsafe { (self.functions.initialized)(&raw mut initialized) };
        if code != SUCCESS || initialized != 0 {
            return Err(MpiError::Again);
        }
        let (wanted, mut provided) = (self.constants.thread_serialized, 0);
        let (argc, argv) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: MPI-A and MPI-D; nothing else initializes MPI, and the arguments may be null.
        let code = unsafe { (self.functions.init_thread)(argc, argv, wanted, &raw mut provided) };
        self.check("MPI_Init_thread", code)?;
        let handler = H::from_word(self.constants.errors_return);
        // SAFETY: MPI-C and MPI-D.
        let code = unsafe { (self.functions.comm_set_errhandler)(self.world(), handler) };
        self.check("MPI_Comm_set_errhandler", code)?;
        Ok(provided >= wanted)
    }

    fn rank_and_ranks(&self) -> Result<(usize, usize), MpiError> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI-C and MPI-D.
        let code = unsafe { (self.functions.comm_rank)(self.world(), &raw mut rank) };
        self.check("MPI_Comm_rank", code)?;
        // SAFETY: MPI-C and MPI-D.
        let code = unsafe { (self.functions.comm_size)(self.world(), &raw mut ranks) };
        self.check("MPI_Comm_size", code)?;
        Ok((rank as usize, ranks as usize))
    }

    fn greatest(&self, mine: u64) -> Result<u64, MpiError> {
        let (kind, operation) = (self.constants.uint64, self.constants.max);
        let (kind, operation) = (H::from_word(kind), H::from_word(operation));
        let mut all = 0_u64;
        let (from, to) = ((&raw const mine).cast(), (&raw mut all).cast());
        // SAFETY: MPI-C and MPI-D; both pointers are to one number of this kind, and MPI does not
        // use them after the call.
        let code =
            unsafe { (self.functions.allreduce)(from, to, 1, kind, operation, self.world()) };
        self.check("MPI_Allreduce", code)?;
        Ok(all)
    }

    fn request_null(&self) -> u64 {
        self.constants.request_null
    }

    unsafe fn send(
        &self,
        bytes: *const u8,
        len: c_int,
        [to, tag]: [c_int; 2],
        request: &mut u64,
    ) -> Result<(), MpiError> {
        let (bytes, kind, world) = (bytes.cast::<c_void>(), self.byte(), self.world());
        let mut started = H::from_word(*request);
        // SAFETY: MPI-C and MPI-D; the caller guarantees MPI-B.
        let code =
            unsafe { (self.functions.isend)(bytes, len, kind, to, tag, world, &raw mut started) };
        self.check("MPI_Isend", code)?;
        *request = started.word();
        Ok(())
    }

    fn probe(&self) -> Result<Option<Found>, MpiError> {
        let Constants { any_source, any_tag, message_null, source_at, tag_at, .. } = self.constants;
        let (mut is_found, mut message) = (0, H::from_word(message_null));
        let mut status = Status::default();
        let (found_at, message_at) = (&raw mut is_found, &raw mut message);
        let (world, status_at) = (self.world(), &raw mut status);
        // SAFETY: MPI-C and MPI-D; a status has room for that of any interface.
        let code = unsafe {
            (self.functions.improbe)(any_source, any_tag, world, found_at, message_at, status_at)
        };
        self.check("MPI_Improbe", code)?;
        if is_found == 0 {
            return Ok(None);
        }
        let mut len = 0;
        // SAFETY: MPI-C and MPI-D; the probe has found a message and filled the status.
        let code =
            unsafe { (self.functions.get_count)(&raw const status, self.byte(), &raw mut len) };
        self.check("MPI_Get_count", code)?;
        let [from, tag] = [source_at, tag_at].map(|at| status.0[at] as usize);
        Ok(Some(Found { from, tag, len: len as usize, message: message.word() }))
    }

    unsafe fn receive(
        &self,
        bytes: *mut u8,
        len: c_int,
        message: u64,
        request: &mut u64,
    ) -> Result<(), MpiError> {
        let (bytes, kind) = (bytes.cast::<c_void>(), self.byte());
        let (mut message, mut started) = (H::from_word(message), H::from_word(*request));
        let (message_at, started_at) = (&raw mut message, &raw mut started);
        // SAFETY: MPI-D; the caller guarantees MPI-B and MPI-C.
        let code = unsafe { (self.functions.imrecv)(bytes, len, kind, message_at, started_at) };
        self.check("MPI_Imrecv", code)?;
        *request = started.word();
        Ok(())
    }

    fn barrier(&self, request: &mut u64) -> Result<(), MpiError> {
        let mut started = H::from_word(*request);
        // SAFETY: MPI-C and MPI-D.
        let code = unsafe { (self.functions.ibarrier)(self.world(), &raw mut started) };
        self.check("MPI_Ibarrier", code)?;
        *request = started.word();
        Ok(())
    }

    #[inline]
    unsafe fn test(&self, request: &mut u64) -> Result<bool, MpiError> {
        let (mut is_done, mut started) = (0, H::from_word(*request));
        let no_status = ptr::without_provenance_mut(self.constants.status_ignore);
        // SAFETY: MPI-D; the caller guarantees MPI-C, and this address stands for no status.
        let code = unsafe { (self.functions.test)(&raw mut started, &raw mut is_done, no_status) };
        self.check("MPI_Test", code)?;
        *request = started.word();
        Ok(is_done != 0)
    }

    fn abort(&self, status: c_int) {
        // SAFETY: MPI-C and MPI-D.
        unsafe { (self.functions.abort)(self.world(), status) };
    }

    fn finalize(&self) {
        // SAFETY: MPI-A and MPI-D.
        unsafe { (self.functions.finalize)() };
    }
}
