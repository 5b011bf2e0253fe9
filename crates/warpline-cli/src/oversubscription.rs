//! Refuses runs with so many workers that they mostly wait for cores, unless they were asked for.
//!
//! `run`, `sweep`, `bench` and `lab` call this before anything runs, as commands and from Python.
//! The library takes any number of workers: its users know what else they do with their cores.

use crate::{args::CommonArgs, failure::Failure, format::counted, reads::PARALLEL, system};

/// The most workers for each core, unless `--oversubscribe` asks for more.
const WORKERS_PER_CORE: usize = 4;

/// Refuses runs with more workers than that: on all ranks of this process, and of all runs that go
/// on at one time. Under `mpirun` it is about the workers of this process.
pub(crate) fn refuse(args: &CommonArgs, runs: usize) -> Result<(), Failure> {
    let jobs = args.jobs_of(args.threads(runs), runs);
    if !PARALLEL.contains(&args.kind()) {
        return refuse_jobs(jobs);
    }
    // All workers of a rank that take turns are one thread.
    let workers = if args.timewarp.in_turn { 1 } else { args.workers_beside(jobs) };
    if args.ranks.oversubscribe { Ok(()) } else { refuse_crowd(jobs, args.ranks.ranks, workers) }
}

/// Refuses so many runs at one time, each on so many ranks with so many workers, if they are too
/// many for the cores of this process.
pub(crate) fn refuse_crowd(jobs: usize, ranks: usize, workers: usize) -> Result<(), Failure> {
    let cores = system::cores();
    let all = jobs * ranks * workers;
    if all <= WORKERS_PER_CORE * cores {
        return Ok(());
    }
    let (of_jobs, count, fewer) = match jobs {
        1 => ("", String::new(), ""),
        _ => ("jobs x ", format!("{jobs} x "), "--jobs or "),
    };
    Err(Failure::Configuration(format!(
        "{of_jobs}ranks x workers is {count}{ranks} x {workers} = {all}, and this process has \
         {}: more than {WORKERS_PER_CORE} workers for each core mostly wait for each other\n  \
         what to do: choose fewer {fewer}--workers or --ranks, or run them all the same with \
         --oversubscribe",
        counted(cores, "core")
    )))
}

/// Refuses so many runs at one time that each is a single thread. More than there are cores gain
/// nothing, so no flag asks for them.
fn refuse_jobs(jobs: usize) -> Result<(), Failure> {
    let cores = system::cores();
    if jobs <= WORKERS_PER_CORE * cores {
        return Ok(());
    }
    Err(Failure::Configuration(format!(
        "{jobs} runs at one time are more than {WORKERS_PER_CORE} for each of {}, and mostly wait \
         for each other\n  what to do: choose fewer --jobs",
        counted(cores, "core")
    )))
}
