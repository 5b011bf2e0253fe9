//! How tests start ranks: with `mpirun`, or the program that `$MPIRUN` names, and a time limit.
//! Tests of several crates use it.

use std::{env, ffi::OsStr, process::Command};

/// The command that starts `program` at this number of ranks. Its arguments are the program's.
pub(crate) fn mpirun(ranks: usize, program: impl AsRef<OsStr>) -> Command {
    let launcher = env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let mut command = Command::new(launcher);
    command.args(["-n", &ranks.to_string()]).arg(program);
    // For Open MPI: there may be fewer cores than ranks, and the user of a container is often root.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
    // The same for version 5.
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    // In seconds, for Open MPI and MPICH, so that what hangs fails.
    command.env("MPIEXEC_TIMEOUT", "120");
    command
}
