//! The table of MPI's functions, filled from a library that is loaded when the program runs.
//!
//! Called by [`Library`](crate::Library), once for each process.
//!
//! # Invariants
//!
//! - **MPI-D.** A file that is loaded is an MPI library: that is what its name, or the user, says.
//!   It has one of three binary interfaces, which [`load`] tells apart by what the library exports
//!   and says of itself. Its functions have the types that the standard gives them, with that
//!   interface's handles.
//! - **MPI-E.** A library that was loaded stays loaded to the end of the process.

#![allow(unsafe_code, reason = "MPI is a C library")]

use std::{
    ffi::{c_char, c_int, c_void},
    mem,
    path::{Path, PathBuf},
};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::{
    MpiError,
    calls::{Calls, Interface},
    interface::{self, Handle, Status},
    search,
};

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
            fn of(library: &Library) -> Result<Self, String> {
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

/// Loads the first library that can be loaded. Returns its file, too.
pub(crate) fn load() -> Result<(PathBuf, Box<dyn Calls>), MpiError> {
    let mut tried = Vec::new();
    for path in search::candidates() {
        match open(&path) {
            Ok(calls) => return Ok((path, calls)),
            Err(why) => tried.push((path, why)),
        }
    }
    Err(MpiError::NoLibrary { tried })
}

/// Loads the library in this file.
fn open(path: &Path) -> Result<Box<dyn Calls>, String> {
    // Open MPI loads parts of itself, which look for its functions among those of the program.
    // SAFETY: MPI-D; an MPI library may be loaded at any time.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    // MPI-E: its threads and handlers at exit may outlive every owner of it.
    let library = mem::ManuallyDrop::new(library.map_err(|error| said(&error))?);
    if has(&library, interface::OPEN_MPI_WORLD) {
        let constants = interface::open_mpi(|name| address(&library, name))?;
        Ok(Box::new(Interface { functions: Functions::<*mut c_void>::of(&library)?, constants }))
    } else if has_standard_interface(&library) {
        let constants = interface::STANDARD;
        Ok(Box::new(Interface { functions: Functions::<*mut c_void>::of(&library)?, constants }))
    } else {
        let constants = interface::MPICH;
        Ok(Box::new(Interface { functions: Functions::<c_int>::of(&library)?, constants }))
    }
}

/// Whether the library has the standard interface. One that knows of it and has another one says
/// that it has version -1 (MPI 5.0, 20.2).
fn has_standard_interface(library: &Library) -> bool {
    type AbiGetVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: MPI-D.
    let Ok(function) = (unsafe { library.get::<AbiGetVersion>(b"MPI_Abi_get_version") }) else {
        return false;
    };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: MPI-D; MPI allows this call before it is initialized.
    let code = unsafe { function(&raw mut major, &raw mut minor) };
    code == 0 && major >= 1
}

fn has(library: &Library, name: &str) -> bool {
    address(library, name).is_ok()
}

/// The address of a variable of the library.
fn address(library: &Library, name: &str) -> Result<u64, String> {
    // SAFETY: the symbol's own address is asked for, whatever it is.
    let symbol = unsafe { library.get::<*mut c_void>(name.as_bytes()) };
    Ok((*symbol.map_err(|error| said(&error))?).word())
}

/// What the dynamic linker says.
fn said(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
