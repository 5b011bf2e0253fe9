//! Whether an MPI launcher has started this process; commands ask, so that one that was built
//! without MPI says so instead of running as many times as there are ranks.

use std::env;

/// Where launchers say how many ranks they have started: Open MPI, and MPICH, Intel MPI and Slurm's
/// PMI.
const RANKS: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Slurm's PMIx says nothing of the kind: its processes have the one variable, and the other counts
/// them.
const PMIX: (&str, &str) = ("PMIX_RANK", "SLURM_STEP_NUM_TASKS");

/// How many ranks `mpirun`, `mpiexec` or `srun` has started, if one of them has started this
/// process.
#[must_use]
pub fn launched_by_mpi() -> Option<usize> {
    ranks_said_by(|name| env::var(name).ok())
}

fn ranks_said_by(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let number = |name| variable(name)?.trim().parse().ok();
    let slurm = || variable(PMIX.0).and_then(|_| number(PMIX.1));
    RANKS.into_iter().find_map(number).or_else(slurm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_told_by_their_variables() {
        let said = |variables: &[(&str, &str)]| {
            let value = |&(_, value): &(&str, &str)| value.to_owned();
            ranks_said_by(|name| variables.iter().find(|variable| variable.0 == name).map(value))
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[("OMPI_COMM_WORLD_SIZE", "3"), ("OMPI_COMM_WORLD_RANK", "0")]), Some(3));
        assert_eq!(said(&[("PMI_SIZE", "2")]), Some(2));
        assert_eq!(said(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "8")]), Some(8));
        // What a batch job's script sees, and what nobody should say.
        assert_eq!(said(&[("SLURM_STEP_NUM_TASKS", "8")]), None);
        assert_eq!(said(&[("PMI_SIZE", "many")]), None);
    }
}
