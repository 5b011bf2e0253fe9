//! The table of MPI's functions, filled from a library that is loaded.
//!
//! Made by `loading`, used by `calls`.
//!
//! # Invariants
//!
//! - **MPI-D.** A file that is loaded is an MPI library: that is what its name, or the user, says.
//!   It has one of three binary interfaces, which `loading` tells apart. Its functions have the
//!   types that the standard gives them, with that interface's handles.

#![allow(unsafe_code, reason = "MPI is a C library")]

use std::ffi::{c_char, c_int, c_void};

use libloading::Library;

use crate::interface::{Handle, Status};

/// Makes the table: for each function its name and its type.
macro_rules! functions {
    ($($field:ident: $name:literal ($($argument:ty),*);)*) => {
        /// The functions of MPI that are used, in an interface with handles `H`.
        #[derive(Debug)]
        pub(crate) struct Functions<H> {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl<H: Handle> Functions<H> {
            /// Finds all functions.
            pub(crate) fn of(library: &Library) -> Result<Self, String> {
                Ok(Self {
                    $($field: {
                        // SAFETY: MPI-D.
                        let found = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) -> c_int>($name)
                        };
                        *found.map_err(|error| said(&error))?
                    },)*
                })
            }
        }
    };
}

functions! {
    initialized: b"MPI_Initialized"(*mut c_int);
    init_thread: b"MPI_Init_thread"(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    comm_set_errhandler: b"MPI_Comm_set_errhandler"(H, H);
    comm_rank: b"MPI_Comm_rank"(H, *mut c_int);
    comm_size: b"MPI_Comm_size"(H, *mut c_int);
    allreduce: b"MPI_Allreduce"(*const c_void, *mut c_void, c_int, H, H, H);
    isend: b"MPI_Isend"(*const c_void, c_int, H, c_int, c_int, H, *mut H);
    improbe: b"MPI_Improbe"(c_int, c_int, H, *mut c_int, *mut H, *mut Status);
    get_count: b"MPI_Get_count"(*const Status, H, *mut c_int);
    imrecv: b"MPI_Imrecv"(*mut c_void, c_int, H, *mut H, *mut H);
    ibarrier: b"MPI_Ibarrier"(H, *mut H);
    test: b"MPI_Test"(*mut H, *mut c_int, *mut Status);
    error_string: b"MPI_Error_string"(c_int, *mut c_char, *mut c_int);
    abort: b"MPI_Abort"(H, c_int);
    finalize: b"MPI_Finalize"();
}

/// What the dynamic linker says.
pub(crate) fn said(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
