//! MPI without a build against it: a program finds and loads an MPI library when it runs.
//!
//! A program that is linked with one MPI library runs with that one only, and whoever builds it
//! needs its headers. This crate needs none: [`Library::initialize`] looks for the library of the
//! launcher that has started the process, finds out which of three binary interfaces it has, and
//! offers the part of MPI that a transport of bytes needs, without unsafe code for the caller. All
//! unsafe code of Warpline's ranks is here.
//!
//! ```no_run
//! # fn main() -> Result<(), warpline_mpi::MpiError> {
//! if warpline_mpi::launched_by_mpi().is_some() {
//!     let mut mpi = warpline_mpi::Library::initialize()?;
//!     let (rank, ranks) = mpi.rank_and_ranks()?;
//!     let slowest = mpi.greatest(rank as u64)?;
//!     assert_eq!(slowest as usize, ranks - 1);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | `launch` | Whether a launcher has started this process, and how to start one. |
//! | `search` | Which files are tried, and in which order. No unsafe code. |
//! | `interface` | What differs between the binary interfaces: handles and constants. |
//! | `functions` | The table of MPI's functions, filled from a library that is loaded. |
//! | `loading` | Loads a library, and finds out which binary interface it has. |
//! | `calls` | The calls of MPI in terms of words, the same for all binary interfaces. |
//! | `unread` | What the launcher has not read yet of what this process has written. |
//! | `library` | The safe interface: buffers belong to transfers, and MPI begins and ends once. |
//!
//! # References
//!
//! *MPI: A Message-Passing Interface Standard*, version 5.0, 2025: chapter 20 is the standard
//! binary interface. Its values, those of the MPICH family (which MPICH, Intel MPI, Cray MPICH and
//! MVAPICH have agreed on) and those of Open MPI are in their headers, `mpi_abi.h` and `mpi.h`.

mod calls;
mod functions;
mod interface;
mod launch;
mod library;
mod loading;
mod search;
#[cfg(unix)]
mod unread;

use std::path::PathBuf;

pub use launch::{has_mpirun, launch_by, launched_by_mpi, mpirun};
pub use library::{Library, Message, Transfer};

/// The variable of the environment that names the file of the MPI library.
pub const LIBRARY_VARIABLE: &str = "WARPLINE_MPI";

/// Why MPI cannot be used, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// No launcher has started this process, so there are no ranks to talk to.
    #[error(
        "no MPI launcher has started this process\n  what to do: start it with `mpirun -n 2 …`, \
         `mpiexec` or `srun`"
    )]
    NotLaunched,
    /// There is no library that can be loaded.
    #[error("no MPI library could be loaded; tried:{}\n  what to do: {}", lines(.tried), ADVICE)]
    NoLibrary {
        /// The files that were tried, and what is wrong with each.
        tried: Vec<(PathBuf, String)>,
    },
    /// MPI was initialized before.
    #[error("a process can initialize MPI only once, and this one has done so before")]
    Again,
    /// The library can be called from one thread only.
    #[error(
        "{}: this MPI library can be called from one thread only (it lacks \
         MPI_THREAD_SERIALIZED)",
        .library.display()
    )]
    OneThread {
        /// The file of the library.
        library: PathBuf,
    },
    /// The library does not know the ranks that the launcher has started.
    #[error(
        "the launcher has started {launched} processes, but {library} finds {found}: it is not the \
         launcher's own\n  what to do: {ADVICE}",
        library = .library.display()
    )]
    OtherLauncher {
        /// The number of processes that the launcher has started.
        launched: usize,
        /// The number of ranks that the library finds.
        found: usize,
        /// The file of the library.
        library: PathBuf,
    },
    /// More bytes than MPI can send at once.
    #[error("a message has {len} bytes, but MPI can send only {} at once", i32::MAX)]
    TooLong {
        /// The length of the message in bytes.
        len: usize,
    },
    /// A call of MPI has failed.
    #[error("{call}: {what}")]
    Failed {
        /// The function of MPI.
        call: &'static str,
        /// MPI's own description of the error.
        what: String,
    },
}

const ADVICE: &str = "set WARPLINE_MPI to the file of the library that belongs to the launcher \
                      (libmpi_abi.so.1, libmpi.so.12 or libmpi.so.40), or put its folder into \
                      LD_LIBRARY_PATH";

/// A line for each file.
fn lines(tried: &[(PathBuf, String)]) -> String {
    tried.iter().map(|(path, why)| format!("\n  {}: {why}", path.display())).collect()
}
