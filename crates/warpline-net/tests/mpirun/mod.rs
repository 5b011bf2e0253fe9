//! How tests start ranks: with `mpirun`, or the program that `$MPIRUN` names, and a time limit.
//! Tests of several crates use it.

use std::{env, ffi::OsStr, process::Command};

use warpline_net::launch_by;

/// The command that starts `program` at this number of ranks. Its arguments are the program's.
pub(crate) fn mpirun(ranks: usize, program: impl AsRef<OsStr>) -> Command {
    let launcher = env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let mut command = launch_by(launcher, ranks, program);
    // For Open MPI: there may be fewer cores than ranks.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1");
    // In seconds, for Open MPI and MPICH, so that what hangs fails.
    command.env("MPIEXEC_TIMEOUT", "120");
    command
}
