//! The speculative engine copies states that own memory once in a few windows, and coasts forward
//! from there. The oracle is the sequential engine.
//!
//! # Mutations of the engine, each seen red
//!
//! - `SpeculativeWorker::coast_over` leaves an event out: another digest.
//! - `SparseCopies::restore` takes the other copy: another digest.
//! - `SparseCopies::commit` empties the windows that it keeps: another digest.

use std::{
    array,
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
};

use warpline::{
    Context, Engine, HeapMemory, LogicalProcess, LpId, Model, ModelError, Only, RunError, Saving,
    Sequential, Simulation, Speculative, State, TimeWarp, TrackedVec, VirtualTime, Width,
    error::Fault,
};

const LPS: usize = 16;

/// What an LP sends depends on all that it has received lately.
#[derive(Clone, Debug, Default)]
struct Queue {
    seen: u64,
    last: VecDeque<u64>,
}

#[derive(Debug, Default)]
struct Queues {
    /// How many events each LP has handled at the most, if handlers are to differ when they go far
    /// back.
    seen: Option<[AtomicU64; LPS]>,
}

impl Model for Queues {
    type Lp = Queue;
    type Output = Vec<Vec<u64>>;

    fn name(&self) -> &'static str {
        "queues"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Queue {
        Queue::default()
    }

    fn reduce(&self, queues: impl Iterator<Item = Vec<u64>>) -> Vec<Vec<u64>> {
        queues.collect()
    }
}

impl LogicalProcess for Queue {
    type Model = Queues;
    type Message = u64;
    type Summary = Vec<u64>;

    fn start(&mut self, _: &Queues, cx: &mut impl Context<u64>) {
        for value in 0..4 {
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, value);
        }
    }

    fn handle(&mut self, model: &Queues, value: &u64, cx: &mut impl Context<u64>) {
        self.seen += 1;
        self.last.push_back(*value);
        if self.last.len() > 6 {
            self.last.pop_front();
        }
        if let Some(seen) = &model.seen {
            // Ordering: Relaxed; one worker only.
            let most = seen[cx.me().index()].fetch_max(self.seen, Ordering::Relaxed);
            if self.seen + 6 < most {
                cx.rng().bits();
            }
        }
        let sum = self.last.iter().fold(self.seen, |sum, value| sum.rotate_left(7) ^ value);
        let delay = cx.rng().exponential(1.0) + (sum % 8) as f64 / 64.0;
        let to = if sum.is_multiple_of(3) { cx.me() } else { cx.rng().lp(LPS) };
        cx.send(to, delay, sum);
    }

    fn finish(self, _: &Queues, _: VirtualTime) -> Vec<u64> {
        self.last.into()
    }
}

type Run = Simulation<'static, Only<(Sequential, Speculative), Queues>>;

/// How sparse copies are follows from what copies and coasting take by the clock, and a reading
/// that is off makes them dense for a while. The run is longer than that.
fn run_of(model: Queues) -> Run {
    Simulation::new(Only::new(model)).end(1_000.0)
}

fn speculative(model: Queues, workers: usize, width: Width) -> Run {
    run_of(model).engine(Speculative { workers, width, ..Speculative::default() })
}

#[test]
fn late_events_go_back_to_sparse_copies() {
    let expected = run_of(Queues::default()).run().expect("a sound model");
    for workers in [1, 2, 4] {
        for width in [0.02, 0.1, 0.5, 4.0] {
            let mut run = speculative(Queues::default(), workers, Width::Fixed(width));
            let report = run.run().expect("a sound model");
            assert_eq!(report.digest, expected.digest, "{workers} workers, {width}");
            assert_eq!(report.output, expected.output, "{workers} workers, {width}");
            let coasted =
                report.details.counters.iter().find(|(name, _)| *name == "coasted_events");
            let coasted = coasted.map_or(0, |(_, events)| *events);
            assert!(workers > 1 || width > 0.5 || coasted > 0, "no copy was sparse: {width}");
        }
    }
}

/// Red if `coast_forward` does not compare where the LP has come.
#[test]
fn a_handler_that_differs_when_it_is_coasted_over() {
    let model = Queues { seen: Some(array::from_fn(|_| AtomicU64::new(0))) };
    let error = speculative(model, 1, Width::Fixed(0.1)).run().expect_err("handlers differ");
    let RunError::Model(ModelError { fault, place }) = error else {
        panic!("not a mistake of the model: {error}")
    };
    assert_eq!(fault, Fault::RanDifferently);
    assert!(place.lp.is_some() && place.event.is_some(), "{place:?}");
}

/// A list that no event changes, in a state that is saved by field.
#[derive(Debug, State)]
struct Idle {
    list: TrackedVec<u64>,
}

struct Idlers;

impl Model for Idlers {
    type Lp = Idle;
    type Output = usize;

    fn name(&self) -> &'static str {
        "idlers"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Idle {
        Idle { list: TrackedVec::new(vec![0; 8]) }
    }

    fn reduce(&self, lengths: impl Iterator<Item = usize>) -> usize {
        lengths.sum()
    }
}

impl LogicalProcess for Idle {
    type Model = Idlers;
    type Message = ();
    type Summary = usize;
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, _: &Idlers, cx: &mut impl Context<()>) {
        cx.send(cx.me(), 1.0, ());
    }

    fn handle(&mut self, _: &Idlers, _: &(), cx: &mut impl Context<()>) {
        cx.send(cx.rng().lp(LPS), 1.0, ());
    }

    fn finish(self, _: &Idlers, _: VirtualTime) -> usize {
        self.list.len()
    }
}

/// No report asks the author of a model with [`Saving::BY_FIELD`] what its states own. Red if
/// `HeapMemory::counted` does not look at `SAVING`.
#[test]
fn fields_say_what_they_own() {
    let engines: [Engine; 3] = [
        Sequential::default().into(),
        TimeWarp { workers: 2, ..TimeWarp::default() }.into(),
        Speculative { workers: 2, ..Speculative::default() }.into(),
    ];
    for engine in engines {
        let context = format!("{engine:?}");
        let model = Only::<(Sequential, (TimeWarp, Speculative)), _>::new(Idlers);
        let run = Simulation::new(model).engine(engine).end(50.0).memory(64 << 20).run();
        let heap = run.expect("sound").details.heap_memory;
        assert!(matches!(heap, HeapMemory::None | HeapMemory::Counted(_)), "{context}: {heap:?}");
    }
}
