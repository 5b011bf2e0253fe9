//! What differs between MPI's binary interfaces: the type of handles, and the values of constants.
//!
//! `loading` finds out which one a library has. `calls` is compiled once for each type of handle.

use std::{
    ffi::{c_int, c_void},
    fmt, ptr,
};

/// A handle of MPI: an `int` in the MPICH family, a pointer in the others. Outside of calls it is a
/// word.
pub(crate) trait Handle: Copy + fmt::Debug + 'static {
    fn from_word(word: u64) -> Self;
    fn word(self) -> u64;
}

impl Handle for c_int {
    fn from_word(word: u64) -> Self {
        word as Self
    }

    fn word(self) -> u64 {
        u64::from(self.cast_unsigned())
    }
}

impl Handle for *mut c_void {
    fn from_word(word: u64) -> Self {
        // Only MPI uses what it points to.
        ptr::with_exposed_provenance_mut(word as usize)
    }

    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

/// Room for the status of a message in each interface: 5 to 8 `int`, or 4 and a `size_t`.
#[derive(Debug, Default)]
#[repr(C, align(8))]
pub(crate) struct Status(pub(crate) [c_int; 8]);

/// The constants of an interface. Handles are words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    pub(crate) comm_world: u64,
    pub(crate) byte: u64,
    pub(crate) uint64: u64,
    pub(crate) max: u64,
    pub(crate) errors_return: u64,
    pub(crate) request_null: u64,
    pub(crate) message_null: u64,
    pub(crate) any_source: c_int,
    pub(crate) any_tag: c_int,
    pub(crate) thread_serialized: c_int,
    /// The address that stands for a status that nobody wants.
    pub(crate) status_ignore: usize,
    /// Which number of a status is the sender, and which the tag.
    pub(crate) source_at: usize,
    pub(crate) tag_at: usize,
}

/// The standard interface of MPI 5.0 (`mpi_abi.h`).
pub(crate) const STANDARD: Constants = Constants {
    comm_world: 0x101,
    byte: 0x247,
    uint64: 0x259,
    max: 0x23,
    errors_return: 0x143,
    request_null: 0x180,
    message_null: 0x128,
    any_source: -1,
    any_tag: -2,
    thread_serialized: 2048,
    status_ignore: 0,
    source_at: 0,
    tag_at: 1,
};

/// The MPICH family (`mpi.h` of MPICH 4.0 and 5.0).
pub(crate) const MPICH: Constants = Constants {
    comm_world: 0x4400_0000,
    byte: 0x4c00_010d,
    uint64: 0x4c00_083e,
    max: 0x5800_0001,
    errors_return: 0x5400_0001,
    request_null: 0x2c00_0000,
    message_null: 0x2c00_0000,
    any_source: -2,
    any_tag: -1,
    thread_serialized: 2,
    status_ignore: 1,
    source_at: 2,
    tag_at: 3,
};

/// Open MPI (`mpi.h` of versions 4.1 and 5.0): a handle is the address of a variable of the
/// library, which `address` returns.
pub(crate) fn open_mpi<E>(
    address: impl Fn(&'static str) -> Result<u64, E>,
) -> Result<Constants, E> {
    Ok(Constants {
        comm_world: address(OPEN_MPI_WORLD)?,
        byte: address("ompi_mpi_byte")?,
        uint64: address("ompi_mpi_uint64_t")?,
        max: address("ompi_mpi_op_max")?,
        errors_return: address("ompi_mpi_errors_return")?,
        request_null: address("ompi_request_null")?,
        message_null: address("ompi_message_null")?,
        any_source: -1,
        any_tag: -1,
        thread_serialized: 2,
        status_ignore: 0,
        source_at: 0,
        tag_at: 1,
    })
}

/// What only Open MPI has.
pub(crate) const OPEN_MPI_WORLD: &str = "ompi_mpi_comm_world";

#[cfg(test)]
mod tests {
    use super::*;

    /// A handle survives as a word.
    #[test]
    fn handles_are_words() {
        for word in [MPICH.comm_world, MPICH.message_null, 0xffff_ffff] {
            assert_eq!(<c_int as Handle>::from_word(word).word(), word);
        }
        let variable = 7_u8;
        let handle = (&raw const variable).cast_mut().cast::<c_void>();
        assert_eq!(<*mut c_void as Handle>::from_word(handle.word()), handle);
    }

    /// The greatest status, MPI 5's, is 8 numbers; Open MPI's has a `size_t`.
    #[test]
    fn a_status_has_room() {
        assert_eq!(size_of::<Status>(), 32);
        assert!(align_of::<Status>() >= align_of::<usize>());
    }
}
