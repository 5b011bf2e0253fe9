//! Loading a library, and finding out which binary interface it has.
//!
//! Called by [`Library`](crate::Library), once for each process.
//!
//! # Invariants
//!
//! - **MPI-E.** A library that was loaded stays loaded to the end of the process.

#![allow(unsafe_code, reason = "MPI is a C library")]

use std::{
    ffi::{c_int, c_void},
    mem,
    path::{Path, PathBuf},
};

use libloading::Library;

use crate::{
    MpiError,
    calls::{Calls, Interface},
    functions::{Functions, said},
    interface::{self, Handle},
    search,
};

/// Loads the first library that can be loaded. Returns its file, too.
pub(crate) fn load() -> Result<(PathBuf, Box<dyn Calls>), MpiError> {
    let mut tried = Vec::new();
    for path in search::candidates() {
        match open(&path) {
            Ok(calls) => return Ok((path, calls)),
            Err(why) => {
                // The dynamic linker begins with the file, and so does the line that this becomes.
                let why = why.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&why);
                tried.push((path, why.to_owned()));
            }
        }
    }
    Err(MpiError::NoLibrary { tried })
}

/// Loads the library in this file.
fn open(path: &Path) -> Result<Box<dyn Calls>, String> {
    // MPI-E: its threads and handlers at exit may outlive every owner of it.
    let library = mem::ManuallyDrop::new(library(path).map_err(|error| said(&error))?);
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

/// Open MPI loads parts of itself, which look for its functions among those of the program.
#[cfg(unix)]
fn library(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: MPI-D; an MPI library may be loaded at any time.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map(Into::into)
}

/// No library has a name that `search` knows there, but one can be named.
#[cfg(not(unix))]
fn library(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: MPI-D; an MPI library may be loaded at any time.
    unsafe { Library::new(path) }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// MPI-D: a file that is no library, or no MPI library, is refused with what is wrong with it.
    /// Red when a function that is missing is left out of the table.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_no_mpi_library_is_refused() {
        let none = open(Path::new("/dev/null")).expect_err("nothing to load");
        assert!(none.contains("/dev/null"), "{none}");
        // Every program is linked with it, so that it is loaded already.
        let other = open(Path::new("libc.so.6")).expect_err("no MPI");
        assert!(other.contains("MPI_Initialized"), "{other}");
    }

    /// MPI-E: what was loaded is still there when its table is gone.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_stays() {
        let refused = open(Path::new("libc.so.6")).err();
        assert!(refused.is_some());
        let library = library(Path::new("libc.so.6")).expect("it is loaded");
        assert!(address(&library, "malloc").is_ok());
    }
}
