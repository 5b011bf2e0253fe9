#!/bin/bash
# For sbatch: a run of Warpline over four nodes, a rank for each, with a worker for each core.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=01:00:00
set -e
# Or mpich, with pmi2 in place of pmix; or no module, where the linker finds a library.
module load openmpi
srun --mpi=pmix --cpu-bind=none \
    warpline run pcs --end 100000 --engine timewarp --format json --output report.json
