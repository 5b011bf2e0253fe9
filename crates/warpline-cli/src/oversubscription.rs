//! Refuses runs with so many workers that they mostly wait for cores, unless they were asked for.
//!
//! `run`, `sweep`, `bench` and `lab` call this before anything runs, as commands and from Python.
//! The library takes any number of workers: its users know what else they do with their cores.

use crate::{args::CommonArgs, failure::Failure, reads::PARALLEL, system};

/// The most workers for each core, unless `--oversubscribe` asks for more.
const WORKERS_PER_CORE: usize = 4;

/// Refuses a run with more workers, on all ranks of this process together, than that. Under
/// `mpirun` it is about the workers of this process.
pub(crate) fn refuse(args: &CommonArgs) -> Result<(), Failure> {
    // All workers of a rank that take turns are one thread.
    let workers = if args.timewarp.in_turn { 1 } else { args.timewarp.workers() };
    let is_free = args.ranks.oversubscribe || !PARALLEL.contains(&args.kind());
    if is_free { Ok(()) } else { refuse_crowd(args.ranks.ranks, workers) }
}

/// Refuses so many ranks with so many workers, if they are too many for the cores of this process.
pub(crate) fn refuse_crowd(ranks: usize, workers: usize) -> Result<(), Failure> {
    let cores = system::cores();
    if ranks * workers <= WORKERS_PER_CORE * cores {
        return Ok(());
    }
    Err(Failure::Configuration(format!(
        "ranks x workers is {ranks} x {workers} = {}, and this process has {cores} core(s): more \
         than {WORKERS_PER_CORE} workers for each core mostly wait for each other\n  what to do: \
         choose fewer --workers or --ranks, or run them all the same with --oversubscribe",
        ranks * workers
    )))
}
