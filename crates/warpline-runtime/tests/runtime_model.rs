//! Random programs at every worker, against a model that has no network and no concurrency.
//!
//! Each worker accesses only its own part of every region. So every value follows from the order of
//! its own operations, which WORK-A guarantees, and not from waits or from how messages gather.

use std::thread;

use proptest::prelude::*;
use warpline_net::{Address, Aggregation, network};
use warpline_runtime::{Counter, Place, Refusal, Region, Runtime, RuntimeError, Split, Worker};

const PUTS: u32 = 0;
const SUMS: u32 = 1;
const MIX: u32 = 0;
const STORED: u32 = 1;
/// Elements of a worker's part of a region. The longest blocks exceed 4 KiB, so they get parcels of
/// their own.
const PART: usize = 1024;

#[derive(Clone, Debug)]
enum Step {
    Put {
        to: usize,
        at: usize,
        len: usize,
        value: u64,
    },
    Get {
        from: usize,
        at: usize,
        len: usize,
    },
    Mix {
        to: usize,
        value: u64,
    },
    Store {
        to: usize,
        at: usize,
        len: usize,
        value: u64,
    },
    /// Beyond the end of the region.
    Astray {
        to: usize,
        by: usize,
        put: bool,
    },
    /// Waits for all operations started so far.
    Wait,
}

/// The answer to an operation.
#[derive(Debug, PartialEq)]
enum Answer {
    Done(Result<(), RuntimeError>),
    Got(Result<Vec<u64>, RuntimeError>),
    Mixed(Result<Vec<u8>, RuntimeError>),
}

enum Started {
    Done(Split<()>),
    Got(Split<Vec<u64>>),
    Mixed(Split<Vec<u8>>),
}

/// The two regions of a worker at the end.
type Memory = (Vec<u64>, Vec<u64>);

fn step() -> impl Strategy<Value = Step> {
    let len = || prop_oneof![4 => 0usize..5, 1 => 500usize..600];
    let block = move || (0usize..6, 0usize..424, len());
    prop_oneof![
        4 => (block(), any::<u64>())
            .prop_map(|((to, at, len), value)| Step::Put { to, at, len, value }),
        4 => block().prop_map(|(from, at, len)| Step::Get { from, at, len }),
        4 => (0usize..6, any::<u64>()).prop_map(|(to, value)| Step::Mix { to, value }),
        2 => (block(), any::<u64>())
            .prop_map(|((to, at, len), value)| Step::Store { to, at, len, value }),
        1 => (0usize..6, 1usize..9, any::<bool>())
            .prop_map(|(to, by, put)| Step::Astray { to, by, put }),
        2 => Just(Step::Wait),
    ]
}

fn aggregation() -> impl Strategy<Value = Aggregation> {
    prop_oneof![
        Just(Aggregation::Off),
        (1usize..5000).prop_map(Aggregation::Bytes),
        Just(Aggregation::Adaptive),
    ]
}

fn block(len: usize, value: u64) -> Vec<u64> {
    (0..len as u64).map(|index| value.wrapping_add(index)).collect()
}

/// A sum that depends on the order of the values.
fn mix(sum: u64, value: u64) -> u64 {
    sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) ^ value
}

const fn address(worker: usize, ports: usize) -> Address {
    Address { rank: worker / ports, port: worker % ports }
}

/// The model: computes the answers to one worker's program, and applies it to all memories.
fn model(own: usize, program: &[Step], ports: usize, memories: &mut [Memory]) -> Vec<Answer> {
    let (count, mut answers) = (memories.len(), Vec::new());
    let range = |at: usize, len: usize| own * PART + at..own * PART + at + len;
    for step in program {
        match *step {
            Step::Put { to, at, len, value } | Step::Store { to, at, len, value } => {
                let memory = &mut memories[to % count];
                memory.0[range(at, len)].copy_from_slice(&block(len, value));
                if matches!(step, Step::Store { .. }) {
                    memory.1[own] = mix(memory.1[own], value);
                }
                answers.push(Answer::Done(Ok(())));
            }
            Step::Get { from, at, len } => {
                answers.push(Answer::Got(Ok(memories[from % count].0[range(at, len)].to_vec())));
            }
            Step::Mix { to, value } => {
                let sum = &mut memories[to % count].1[own];
                *sum = mix(*sum, value);
                answers.push(Answer::Mixed(Ok(sum.to_le_bytes().to_vec())));
            }
            Step::Astray { to, put, .. } => {
                let bytes = (count * PART * 8) as u64;
                let what = Refusal::Range { region: PUTS, bytes };
                let refused = RuntimeError::Refused { by: address(to % count, ports), what };
                answers.push(match put {
                    true => Answer::Done(Err(refused)),
                    false => Answer::Got(Err(refused)),
                });
            }
            Step::Wait => {}
        }
    }
    answers
}

fn start(worker: &Worker<'_>, own: usize, step: &Step, reusable: &Counter) -> Option<Started> {
    let workers = worker.workers();
    let count = workers.len();
    let place = |to: usize, at: usize| Place {
        worker: workers[to % count],
        region: PUTS,
        offset: own * PART + at,
    };
    Some(match *step {
        Step::Put { to, at, len, value } => {
            Started::Done(worker.put(&block(len, value), place(to, at)))
        }
        Step::Get { from, at, len } => Started::Got(worker.get(place(from, at), len)),
        Step::Mix { to, value } => {
            Started::Mixed(worker.invoke(workers[to % count], MIX, &value.to_le_bytes()))
        }
        Step::Store { to, at, len, value } => {
            let (block, args) = (block(len, value), value.to_le_bytes());
            Started::Done(worker.store(&block, place(to, at), STORED, &args, reusable))
        }
        Step::Astray { to, by, put } => {
            let place = Place { offset: count * PART - 1, ..place(to, 0) };
            match put {
                true => Started::Done(worker.put(&block(1 + by, 0), place)),
                false => Started::Got(worker.get(place, 1 + by)),
            }
        }
        Step::Wait => return None,
    })
}

async fn finish(started: Started) -> Answer {
    match started {
        Started::Done(split) => Answer::Done(split.await),
        Started::Got(split) => Answer::Got(split.await),
        Started::Mixed(split) => Answer::Mixed(split.await),
    }
}

fn serve(runtime: &Runtime<'_>, sums: &Region<u64>) {
    for thread in [MIX, STORED] {
        let (sums, workers) = (sums.clone(), runtime.workers());
        runtime.register_thread(thread, move |_, from, args| {
            let who = workers.iter().position(|&worker| worker == from).unwrap();
            let value = u64::from_le_bytes(args.try_into().unwrap());
            let sum = sums.with(|sums| {
                sums[who] = mix(sums[who], value);
                sums[who]
            });
            async move { sum.to_le_bytes().to_vec() }
        });
    }
}

fn run(runtime: &mut Runtime<'_>, own: usize, program: &[Step]) -> (Vec<Answer>, Memory) {
    let count = runtime.workers().len();
    let puts = runtime.register(PUTS, vec![0u64; count * PART]);
    let sums = runtime.register(SUMS, vec![0u64; count]);
    serve(runtime, &sums);
    let (worker, steps) = (Worker::clone(runtime), program.to_vec());
    let answers = runtime.run_until(async move {
        let (done, reusable) = (Counter::new(), Counter::new());
        let (mut started, mut answers) = (Vec::new(), Vec::new());
        let mut count = 0;
        for step in &steps {
            match start(&worker, own, step, &reusable) {
                Some(operation) => {
                    count += 1;
                    started.push(match operation {
                        Started::Done(split) => Started::Done(split.counted(&done)),
                        Started::Got(split) => Started::Got(split.counted(&done)),
                        Started::Mixed(split) => Started::Mixed(split.counted(&done)),
                    });
                }
                None => done.reaches(count).await,
            }
        }
        for operation in started {
            answers.push(finish(operation).await);
        }
        assert_eq!(done.value(), count);
        let stores = steps.iter().filter(|step| matches!(step, Step::Store { .. })).count();
        assert_eq!(reusable.value(), stores as u64);
        answers
    });
    runtime.run().unwrap();
    (answers.unwrap(), (puts.with(|puts| puts.to_vec()), sums.with(|sums| sums.to_vec())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// WORK-A, COUNT-B and HAND-B: all answers, counters and memories are those of the model.
    #[test]
    fn programs_do_what_the_model_does(
        shape in prop_oneof![Just((1, 1)), Just((1, 2)), Just((2, 1)), Just((2, 2)), Just((3, 2))],
        aggregation in aggregation(),
        programs in proptest::collection::vec(proptest::collection::vec(step(), 0..40), 6),
    ) {
        let (ranks, ports) = shape;
        let ends = network(ranks, ports);
        let (ends, programs) = (&ends, &programs);
        let workers = ranks * ports;
        let results: Vec<_> = thread::scope(|scope| {
            let start = |own: usize| scope.spawn(move || {
                let mut runtime = Runtime::new(&ends[own / ports], own % ports, aggregation);
                run(&mut runtime, own, &programs[own])
            });
            let started: Vec<_> = (0..workers).map(start).collect();
            started.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let mut memories = vec![(vec![0; workers * PART], vec![0; workers]); workers];
        for (own, (answers, _)) in results.iter().enumerate() {
            prop_assert_eq!(answers, &model(own, &programs[own], ports, &mut memories));
        }
        for ((_, memory), expected) in results.iter().zip(&memories) {
            prop_assert!(memory == expected);
        }
    }
}
