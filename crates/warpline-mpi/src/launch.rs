//! Whether an MPI launcher has started this process, and how to start one. A program asks before a
//! run, and loads MPI only then.

use std::{env, ffi::OsStr, process::Command};

/// The variables with the number of ranks: Open MPI's, and that of MPICH, Intel MPI and Slurm's
/// PMI.
const RANKS: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Slurm's PMIx has no such variable. Its processes have the first of these, and the second counts
/// them.
const PMIX: (&str, &str) = ("PMIX_RANK", "SLURM_STEP_NUM_TASKS");

/// The number of ranks that `mpirun`, `mpiexec` or `srun` has started, if one of them has started
/// this process.
#[must_use]
pub fn launched_by_mpi() -> Option<usize> {
    ranks_by(|name| env::var(name).ok())
}

/// Whether there is a program `mpirun`, where the system looks for programs.
#[must_use]
pub fn has_mpirun() -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join("mpirun").is_file())
}

/// The command that starts `program` at this number of ranks on this machine. Its arguments are
/// those of the program.
#[must_use]
pub fn mpirun(ranks: usize, program: impl AsRef<OsStr>) -> Command {
    launch_by("mpirun", ranks, program)
}

/// The same by another launcher, which is known by its name or its path.
#[must_use]
pub fn launch_by(launcher: impl AsRef<OsStr>, ranks: usize, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(launcher);
    command.args(["-n", &ranks.to_string()]).arg(program);
    // For Open MPI: a container's user is often root, and has few cores.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command
}

fn ranks_by(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let number = |name| variable(name)?.trim().parse().ok();
    let slurm = || variable(PMIX.0).and_then(|_| number(PMIX.1));
    RANKS.into_iter().find_map(number).or_else(slurm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_recognized_by_their_variables() {
        let ranks = |variables: &[(&str, &str)]| {
            let value = |&(_, value): &(&str, &str)| value.to_owned();
            ranks_by(|name| variables.iter().find(|variable| variable.0 == name).map(value))
        };
        assert_eq!(ranks(&[]), None);
        assert_eq!(ranks(&[("OMPI_COMM_WORLD_SIZE", "3"), ("OMPI_COMM_WORLD_RANK", "0")]), Some(3));
        assert_eq!(ranks(&[("PMI_SIZE", "2")]), Some(2));
        assert_eq!(ranks(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "8")]), Some(8));
        // The script of a batch job sees the first; the second is not a number.
        assert_eq!(ranks(&[("SLURM_STEP_NUM_TASKS", "8")]), None);
        assert_eq!(ranks(&[("PMI_SIZE", "many")]), None);
    }
}
