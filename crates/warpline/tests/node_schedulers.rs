//! Which ready LP has the next turn changes how fast the null-message engine is, and not what it
//! commits. Users can write schedulers of their own.
//!
//! With one worker a run repeats itself, so its counts of turns and null messages do not depend on
//! the machine.
//!
//! # Mutations of the engine, each seen red here
//!
//! - The table of `ReadyNodes` is left out: runs with `Nobody` do not end.
//! - The chosen schedule is ignored: the bad scheduler takes as many turns as the good one.

mod random_graph;
mod watchdog;

use std::{cmp::Reverse, collections::BinaryHeap};

use proptest::{collection::vec, prelude::*, sample::select};
use random_graph::{Mistake, RandomGraph};
use warpline::{
    Conservative, Only, Report, RunError, Sequential, Simulation,
    settings::{NodeScheduler, ReadyNode, Schedule, Synchronization, SynchronizationKind},
};

/// The LP with the least number has the next turn: in [`pipeline`], the one that is nearest to the
/// first.
#[derive(Debug, Default)]
struct Upstream(BinaryHeap<Reverse<u32>>);

impl NodeScheduler for Upstream {
    fn push(&mut self, node: ReadyNode) {
        self.0.push(Reverse(node.index));
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.pop().map(|Reverse(index)| index)
    }
}

/// One that names nobody: the engine then takes the first LP of its own list.
#[derive(Debug)]
struct Nobody;

impl NodeScheduler for Nobody {
    fn push(&mut self, _: ReadyNode) {}

    fn pop(&mut self) -> Option<u32> {
        None
    }
}

const UPSTREAM: Schedule = Schedule::new("upstream", || Box::<Upstream>::default());
const NOBODY: Schedule = Schedule::new("nobody", || Box::new(Nobody));

type Compiled = Only<(Sequential, Conservative), RandomGraph>;

/// Every policy of the crate, and those of this file.
fn every() -> impl Iterator<Item = Schedule> {
    Schedule::ALL.iter().copied().chain([UPSTREAM, NOBODY])
}

fn outcome(
    model: &RandomGraph,
    mode: SynchronizationKind,
    [workers, capacity]: [usize; 2],
    schedule: Schedule,
) -> watchdog::Outcome<Compiled> {
    let synchronization = Synchronization::scheduled(mode, capacity, schedule);
    let engine = Conservative { workers, synchronization, pin: false, ..Conservative::default() };
    watchdog::run(Simulation::new(Compiled::new(model.apart())).engine(engine))
}

type RunReport = Report<Vec<(u64, u64)>>;

fn run(
    model: &RandomGraph,
    mode: SynchronizationKind,
    shape: [usize; 2],
    by: Schedule,
) -> RunReport {
    outcome(model, mode, shape, by).expect("a sound model")
}

fn oracle(model: &RandomGraph) -> RunReport {
    Simulation::new(Compiled::new(model.apart())).run().expect("a sound model")
}

fn count(run: &RunReport, name: &str) -> u64 {
    let counter = run.details.counters.iter().find(|(counter, _)| *counter == name);
    counter.unwrap_or_else(|| panic!("the counter {name}")).1
}

/// 40 LPs, each of which sends to the next four.
fn pipeline() -> RandomGraph {
    let links = |me: u32| (me + 1..(me + 5).min(40)).map(|to| (to, 16.0)).collect();
    RandomGraph { first: 8, budget: 200, ..RandomGraph::new((0..40).map(links).collect()) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// READY-A, in the engine: cycles, islands and full edges, with good and bad schedulers.
    #[test]
    fn no_scheduler_changes_what_is_committed(
        links in (1..=7_u32).prop_flat_map(|lps| {
            let link = (0..lps, select(&[0.0, 0.25, 1.0][..]));
            vec(vec(link, 0..4), lps as usize)
        }),
        mode in select(&[
            SynchronizationKind::NullMessages,
            SynchronizationKind::NullMessagesOnDemand,
            SynchronizationKind::DeadlockRecovery,
        ][..]),
        workers in 1..=2_usize,
    ) {
        let model = RandomGraph::new(links);
        let expected = oracle(&model);
        for schedule in every() {
            let run = run(&model, mode, [workers, 4], schedule);
            prop_assert_eq!(run.digest, expected.digest, "{}", schedule);
            prop_assert_eq!(&run.output, &expected.output, "{}", schedule);
        }
    }
}

/// In a graph without cycles, a node that runs before the nodes that it hears from have gone as far
/// as they can runs again and again, and sends null messages each time. Its model knows the order
/// of nodes, so a scheduler of the user's own takes the least (39 against 355 by simulation time);
/// the node that became ready last is a bad choice (411).
#[test]
fn a_bad_scheduler_is_slower_and_not_wrong() {
    let expected = oracle(&pipeline());
    let [good, bad] = [UPSTREAM, "lifo".parse().expect("a policy")].map(|schedule| {
        let run = run(&pipeline(), SynchronizationKind::NullMessages, [1, 4096], schedule);
        assert_eq!(run.digest, expected.digest, "{schedule}");
        ["turns", "null_messages"].map(|name| count(&run, name))
    });
    assert!(bad[0] > good[0] && bad[1] > 5 * good[1], "{good:?} and {bad:?}");
}

/// What has failed, and where.
fn failure(run: watchdog::Outcome<Compiled>) -> String {
    match run {
        Err(RunError::Model(error)) => {
            format!("{} at {:?}, {:?}", error.fault, error.place.lp, error.place.event)
        }
        other => panic!("no failure of the model: {other:?}"),
    }
}

/// The first failure in the order of events is reported, whichever LP has its turn first.
#[test]
fn no_scheduler_changes_which_failure_is_reported() {
    let mode = SynchronizationKind::NullMessages;
    for mistake in [Mistake::Fail, Mistake::Panic, Mistake::SendTo(0), Mistake::TooSoon] {
        let wrong = Some((2, 5, mistake));
        let model = RandomGraph { wrong, ..RandomGraph::ring(5, 0.5) };
        let expected = failure(outcome(&model, mode, [1, 4], Schedule::default()));
        for schedule in every() {
            let run = outcome(&model, mode, [2, 4], schedule);
            assert_eq!(failure(run), expected, "{schedule}");
        }
    }
}
