//! Crowds: far more workers or ranks than cores. A worker that waits for a core holds up all
//! others, and one that takes turns with many others has to be passed by for each of their events,
//! so most of the run would be spent in changes from one worker to the next, however well they
//! wait.
//!
//! Engines run a crowd as if there were as many workers as cores: neighbors are one worker then,
//! and nothing but the time depends on it. What a crowd is depends on whether workers share
//! threads. Called by [`stages`](crate::stages), the conservative engine and Time Warp for workers,
//! and by [`Simulation`](crate::Simulation) for ranks that are threads.

use crate::{counted::counted, settings::Placement};

/// More workers than this for each core are a crowd, where each has a thread of its own.
pub(crate) const THREADS_PER_CORE: usize = 4;

/// The same where there are no more threads than cores, and workers take turns. (With 16 workers on
/// each of 2 cores, PHOLD takes about 5 times as long as with one each; with 64, 40 times, because
/// most of what so many workers handle in turn is undone.)
pub(crate) const WORKERS_PER_THREAD: usize = 16;

/// How many of these workers work at the most.
pub(crate) const fn uncrowded(workers: usize, cores: usize, per_core: usize) -> usize {
    if workers > per_core * cores { cores } else { workers }
}

/// The placement of LPs where `fewer` workers do what it has for `workers`. Neighbors stay
/// together, also those of one rank where each of several ranks has fewer.
pub(crate) fn among_fewer(placement: &Placement, workers: usize, fewer: usize) -> Placement {
    debug_assert!(fewer <= workers, "{fewer} workers are not fewer than {workers}");
    let Placement::Table(table) = placement else { return placement.clone() };
    let worker = |&worker: &u32| match worker as usize {
        known if known < workers => (known * fewer / workers) as u32,
        // Who reads the table refuses it.
        _ => worker,
    };
    Placement::Table(table.iter().map(worker).collect())
}

/// What the report says where only `fewer` of the workers, or ranks, worked.
pub(crate) fn remark(what: &str, count: usize, fewer: usize) -> Option<String> {
    (fewer < count).then(|| {
        format!(
            "{} on {} would mostly wait for each other, so at most {fewer} worked",
            counted(count, what),
            counted(fewer, "core")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neighbors stay together, and workers of one rank stay on it.
    #[test]
    fn fewer_workers_have_neighbors() {
        let among = |table: &[u32], workers, fewer| match among_fewer(
            &Placement::Table(table.into()),
            workers,
            fewer,
        ) {
            Placement::Table(table) => table.to_vec(),
            other => panic!("{other:?}"),
        };
        assert_eq!(among(&[0, 1, 2, 3, 4], 5, 2), [0, 0, 0, 1, 1]);
        // Two ranks with 5 workers each, which become 2 each.
        let table: Vec<u32> = (0..10).collect();
        assert_eq!(among(&table, 10, 4), [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]);
        // A worker that there is not is none of the fewer, either.
        assert_eq!(among(&[4, 5], 5, 2), [1, 5]);
        assert_eq!(among_fewer(&Placement::RoundRobin, 5, 2), Placement::RoundRobin);
    }

    #[test]
    fn only_crowds_are_told_of() {
        let uncrowded = |workers| uncrowded(workers, 2, THREADS_PER_CORE);
        assert_eq!((uncrowded(8), uncrowded(9)), (8, 2));
        let remark = |workers| remark("worker", workers, uncrowded(workers));
        assert_eq!(remark(8), None);
        assert!(super::remark("rank", 9, 1).is_some_and(|text| text.contains("on 1 core ")));
        assert!(remark(9).is_some_and(|text| text.contains("9 workers on 2 cores ")));
    }
}
