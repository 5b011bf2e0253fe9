//! Programs over all workers: the guarantees they have, and how their runs end.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Mutex,
    thread,
};

use warpline_net::{
    Address, Aggregation, NetError, Parcel, Received, ThreadTransport, Transport, network,
};
use warpline_runtime::{
    Counter, Place, Refusal, Runtime, RuntimeError, Scheduler, Split, Thread, Worker,
};

const HERE: Address = Address { rank: 0, port: 0 };
const THERE: Address = Address { rank: 1, port: 0 };
const REGION: u32 = 7;
const THREAD: u32 = 3;

/// Runs a program at every worker of a network that delays parcels; the results are in the order of
/// workers.
fn on_all<R: Send>(
    ranks: usize,
    ports: usize,
    program: impl Fn(&mut Runtime<'_>) -> R + Sync,
) -> Vec<R> {
    on_each(&network(ranks, ports).into_iter().map(Late::new).collect::<Vec<_>>(), program)
}

/// Runs a program at every worker of these ranks.
fn on_each<R: Send>(
    ends: &[impl Transport],
    program: impl Fn(&mut Runtime<'_>) -> R + Sync,
) -> Vec<R> {
    let program = &program;
    thread::scope(|scope| {
        let start = |end, port| {
            scope.spawn(move || program(&mut Runtime::new(end, port, Aggregation::Adaptive)))
        };
        let places = ends.iter().flat_map(|end| (0..end.ports()).map(move |port| (end, port)));
        let workers: Vec<_> = places.map(|(end, port)| start(end, port)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// The parcels that a port holds back, by sending rank, and the state of a random sequence.
type Kept = Mutex<(u64, Vec<VecDeque<Received>>)>;

/// Delays parcels. It keeps the order of each sender's parcels, as NET-A says, but no other order.
#[derive(Debug)]
struct Late {
    end: ThreadTransport,
    ports: Vec<Kept>,
    /// The worker that cannot be reached.
    cut_off: Option<Address>,
}

impl Late {
    fn new(end: ThreadTransport) -> Self {
        let senders = || (0..end.ranks()).map(|_| VecDeque::new()).collect();
        let ports = (0..end.ports()).map(|_| Mutex::new((end.rank() as u64, senders()))).collect();
        Self { end, ports, cut_off: None }
    }
}

impl Transport for Late {
    fn rank(&self) -> usize {
        self.end.rank()
    }

    fn ranks(&self) -> usize {
        self.end.ranks()
    }

    fn ports(&self) -> usize {
        self.end.ports()
    }

    fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError> {
        if self.cut_off == Some(to) {
            return Err(NetError::Failed("cut off".to_owned()));
        }
        self.end.send(to, parcel)
    }

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        let mut kept = self.ports[port].lock().unwrap();
        while let Some(received) = self.end.receive(port)? {
            kept.1[received.from].push_back(received);
        }
        kept.0 = kept.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Most turns are no rank's, so a parcel can be late by more than the round trip of others.
        let turn = (kept.0 >> 60) as usize;
        Ok(kept.1.get_mut(turn).and_then(VecDeque::pop_front))
    }

    fn abandon(&self) {
        self.end.abandon();
    }
}

const fn place(worker: Address, offset: usize) -> Place {
    Place { worker, region: REGION, offset }
}

/// With one thread per operation, all operations are in transit at once, in few parcels.
///
/// COUNT-A: threads that wait for a counter are woken one by one, each at its value.
#[test]
fn threads_hide_latency() {
    const GETS: usize = 64;
    let parcels = |one_by_one: bool| {
        let program = |runtime: &mut Runtime<'_>| {
            runtime.register(REGION, (0..GETS as u64).collect());
            let (most, done) = (Rc::new(Cell::new(0)), Counter::new());
            for index in (0..GETS).filter(|_| runtime.here() == HERE) {
                let (worker, counter) = (Worker::clone(runtime), done.clone());
                let (most, before) = (Rc::clone(&most), done.clone());
                runtime.spawn_async(async move {
                    if one_by_one {
                        before.reaches(index as u64).await;
                    }
                    let get = worker.get::<u64>(place(THERE, index), 1).counted(&counter);
                    most.set(most.get().max(index + 1 - counter.value() as usize));
                    assert_eq!(get.await, Ok(vec![index as u64]));
                });
            }
            runtime.run().unwrap();
            (most.get(), runtime.traffic().parcels)
        };
        on_each(&network(2, 1), program)[0]
    };
    let (in_turn, at_once) = (parcels(true), parcels(false));
    assert_eq!((in_turn.0, at_once.0), (1, GETS));
    assert!(in_turn.1 >= GETS as u64 && at_once.1 < GETS as u64 / 2, "{in_turn:?} {at_once:?}");
}

/// A large block is sent at once, but after what was put before it.
#[test]
fn large_blocks_do_not_gather() {
    let ends = network(2, 1);
    let runtime = Runtime::new(&ends[0], 0, Aggregation::Bytes(1 << 20));
    let _small = runtime.put(&[1u8], place(THERE, 0));
    assert!(ends[1].receive(0).unwrap().is_none());
    let _large = runtime.put(&[2u8; 5000], place(THERE, 0));
    let lens = [(); 3].map(|()| {
        let received = ends[1].receive(0).unwrap();
        received.map(|received| Parcel::open(&received.bytes).unwrap().body.len() / 1000)
    });
    assert_eq!(lens, [Some(0), Some(5), None]);
    assert_eq!((runtime.traffic().messages, runtime.traffic().parcels), (2, 2));
}

/// Handlers run before the next thread, but a flood of messages does not starve it.
#[test]
fn handlers_go_first_and_threads_get_their_turn() {
    for (puts, handled) in [(100u64, 100), (1000, 256)] {
        let ends = network(1, 1);
        let mut runtime = Runtime::new(&ends[0], 0, Aggregation::Off);
        let block = runtime.register(REGION, vec![0u64]);
        for number in 1..=puts {
            drop(runtime.put(&[number], place(HERE, 0)));
        }
        let (seen, there) = (Rc::new(Cell::new(0)), block.clone());
        let place = Rc::clone(&seen);
        runtime.spawn(move |_| place.set(there.with(|block| block[0])));
        runtime.run().unwrap();
        assert_eq!((seen.get(), block.with(|block| block[0])), (handled, puts));
    }
}

/// REGION-A: an operation that its owner cannot do is an error for the caller, which can go on; the
/// owner's memory stays as it is.
#[test]
fn refusals_come_back() {
    on_all(2, 1, |runtime| {
        let block = runtime.register(REGION, vec![0u32; 4]);
        if runtime.here() == HERE {
            let worker = Worker::clone(runtime);
            let range = Err(Refusal::Range { region: REGION, bytes: 16 });
            let refused = |what: Result<(), _>| what.map_err(|what| refusal(THERE, what));
            let program = async move {
                assert_eq!(worker.put(&[1u32, 2], place(THERE, 3)).await, refused(range));
                assert_eq!(worker.put(&[1u64], place(THERE, usize::MAX)).await, refused(range));
                let get = worker.get::<u8>(place(THERE, 5), usize::MAX).await;
                assert_eq!(get.map(drop), refused(range));
                let nowhere = Place { worker: THERE, region: 9, offset: 0 };
                let get = worker.get::<u8>(nowhere, 0).await;
                assert_eq!(get.map(drop), refused(Err(Refusal::Region(9))));
                let invoke = worker.invoke(THERE, 5, b"x").await;
                assert_eq!(invoke.map(drop), refused(Err(Refusal::Thread(5))));
                let store = worker.store(&[9u32], place(THERE, 0), 5, &[], &Counter::new()).await;
                assert_eq!(store, refused(Err(Refusal::Thread(5))));
                let address = Address { rank: 1, port: 1 };
                let put = worker.put(&[1u8], place(address, 0)).await;
                assert_eq!(put, Err(RuntimeError::NoWorker { address }));
                assert_eq!(worker.put(&[1u32, 2], place(THERE, 2)).await, Ok(()));
            };
            runtime.run_until(program).unwrap();
        }
        runtime.run().unwrap();
        let expected = if runtime.here() == THERE { [0, 0, 1, 2] } else { [0; 4] };
        block.with(|block| assert_eq!(block, expected));
    });
}

fn refusal(by: Address, what: Refusal) -> RuntimeError {
    RuntimeError::Refused { by, what }
}

/// COUNT-C: the error of a dropped operation ends the run at all workers, whether it comes before
/// or after the drop.
#[test]
fn an_error_that_nobody_takes_ends_the_run() {
    for early in [true, false] {
        let ends = on_all(2, 2, |runtime| {
            if runtime.here() == THERE {
                let worker = Worker::clone(runtime);
                runtime.spawn_async(async move {
                    let (refused, done) = (worker.invoke(HERE, THREAD, &[]), Counter::new());
                    let refused = refused.counted(&done);
                    if !early {
                        done.reaches(1).await;
                    }
                    drop(refused);
                });
            }
            runtime.run()
        });
        let refused = refusal(HERE, Refusal::Thread(THREAD));
        let elsewhere = RuntimeError::Elsewhere { worker: THERE, what: refused.to_string() };
        let [elsewhere, refused] = [Err(elsewhere), Err(refused)];
        assert_eq!(ends, [elsewhere.clone(), elsewhere.clone(), refused, elsewhere]);
    }
}

/// Counters start continuations, a store starts a thread, and buffers can be used again.
#[test]
fn stores_and_continuations() {
    on_all(2, 1, |runtime| {
        let block = runtime.register(REGION, vec![0u16; 6000]);
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&seen);
        runtime.register_thread(THREAD, move |_, from, args| {
            log.borrow_mut().push((from, args, block.with(|block| block[5999])));
            async { Vec::new() }
        });
        let (reusable, stored) = (Counter::new(), Counter::new());
        if runtime.here() == HERE {
            let mut buffer = vec![8u16; 6000];
            let store = |b: &[u16], args| {
                runtime.store(b, place(THERE, 0), THREAD, args, &reusable).counted(&stored)
            };
            let _first = store(&buffer, b"first");
            assert_eq!((reusable.value(), stored.value()), (1, 0));
            buffer.fill(9);
            let _second = store(&buffer, b"second");
        }
        let order = Rc::new(RefCell::new(Vec::new()));
        for n in [2u64, 0, 1].into_iter().filter(|_| runtime.here() == HERE) {
            let (order, counter) = (Rc::clone(&order), stored.clone());
            runtime.when(&stored, n, move |_| order.borrow_mut().push((n, counter.value() >= n)));
        }
        runtime.run().unwrap();
        let (seen, order) = (seen.take(), order.take());
        if runtime.here() == HERE {
            // COUNT-A. Both answers may arrive before a thread runs. Each continuation ran once,
            // after its count.
            assert_eq!(order[0], (0, true));
            assert_eq!((order.len(), order.iter().all(|ran| ran.1)), (3, true));
        } else {
            let args: Vec<_> = seen.iter().map(|call| (call.0, &call.1[..])).collect();
            assert_eq!(args, [(HERE, &b"first"[..]), (HERE, b"second")]);
            assert!(seen.iter().all(|call| call.2 >= 8) && seen[1].2 == 9);
        }
    });
}

/// A run ends when all threads have ended, wherever they go. None is lost, and none runs twice.
#[test]
fn a_run_ends_when_nothing_is_left() {
    const HOPS: u32 = 300;
    for (ranks, ports) in [(1, 1), (1, 2), (2, 2), (3, 1)] {
        let hops = on_all(ranks, ports, |runtime| {
            let (hops, workers) = (Rc::new(Cell::new(0u32)), runtime.workers());
            let (counted, count) = (Rc::clone(&hops), workers.len());
            runtime.register_thread(THREAD, move |worker, _, args| {
                counted.set(counted.get() + 1);
                let left = u32::from_le_bytes(args.try_into().unwrap()) - 1;
                if left > 0 {
                    let to = workers[left as usize * 7 / 3 % count];
                    drop(worker.invoke(to, THREAD, &left.to_le_bytes()));
                }
                async { Vec::new() }
            });
            let next = runtime.workers()[(runtime.here().rank + 1) % ranks];
            drop(runtime.invoke(next, THREAD, &HOPS.to_le_bytes()));
            runtime.run().unwrap();
            hops.get()
        });
        assert_eq!(hops.iter().sum::<u32>(), HOPS * (ranks * ports) as u32);
    }
}

/// END-B: between two runs a worker sees all effects of the first and none of the second.
#[test]
fn runs_do_not_overlap() {
    on_all(2, 2, |runtime| {
        let block = runtime.register(REGION, vec![0u64; 4]);
        let own = runtime.here().rank * 2 + runtime.here().port;
        for round in 1..=300u64 {
            for worker in runtime.workers() {
                drop(runtime.put(&[round], place(worker, own)));
            }
            runtime.run().unwrap();
            block.with(|block| assert_eq!(block, [round; 4]));
        }
    });
}

/// No worker passes a barrier before all have reached it, barrier after barrier.
#[test]
fn barriers() {
    on_all(3, 1, |runtime| {
        let block = runtime.register(REGION, vec![0u64; 3]);
        let (worker, own) = (Worker::clone(runtime), runtime.here().rank);
        let program = async move {
            for round in 1..=50u64 {
                let puts = worker.workers().into_iter();
                let puts: Vec<_> = puts.map(|to| worker.put(&[round], place(to, own))).collect();
                for put in puts {
                    put.await.unwrap();
                }
                worker.barrier().await.unwrap();
                block.with(|block| assert!(block.iter().all(|&there| there >= round)));
            }
        };
        runtime.run_until(program).unwrap();
        runtime.run().unwrap();
    });
}

/// When threads wait for what cannot happen, all workers get an error, from `run` and `run_until`.
#[test]
fn a_stalled_program_ends() {
    let stalled = Err(RuntimeError::Stalled { threads: 2 });
    let ends = on_all(2, 2, |runtime| match (runtime.here().rank, runtime.here().port) {
        (1, 1) => runtime.run_until(Counter::new().reaches(1)),
        (0, 1) => {
            runtime.when(&Counter::new(), 1, |_| unreachable!());
            runtime.run()
        }
        _ => runtime.run(),
    });
    assert_eq!(ends, vec![stalled; 4]);
}

/// A worker that runs once more than the others gets an error that says that they have left.
#[test]
fn runs_are_collective() {
    for once_more in [HERE, THERE] {
        let ends = on_all(2, 1, |runtime| {
            runtime.run().unwrap();
            if runtime.here() == once_more { runtime.run() } else { Ok(()) }
        });
        let other = usize::from(once_more == HERE);
        let left = Err(RuntimeError::Left { worker: Address { rank: other, port: 0 } });
        assert_eq!((&ends[other], &ends[1 - other]), (&Ok(()), &left));
    }
}

/// When a thread panics and its worker leaves, the others do not wait for it.
#[test]
fn a_worker_that_panics_ends_the_run() {
    for panics in [HERE, THERE] {
        let ends = on_all(2, 1, |runtime| {
            let get: Split<Vec<u8>> = runtime.get(place(panics, 0), 1);
            if runtime.here() == panics {
                runtime.spawn(|_| std::panic::resume_unwind(Box::new("dies")));
                let run = AssertUnwindSafe(|| runtime.run());
                assert!(catch_unwind(run).is_err());
                return Ok(());
            }
            let ended = runtime.run();
            drop(get);
            ended
        });
        let other = usize::from(panics == HERE);
        assert_eq!(ends[other], Err(RuntimeError::Left { worker: panics }));
    }
}

#[test]
fn a_lost_rank_ends_the_run() {
    let mut ends = network(2, 1);
    let (there, here) = (ends.pop().unwrap(), ends.pop().unwrap());
    let dies = thread::spawn(move || {
        let _there = there;
        std::panic::resume_unwind(Box::new("dies"));
    });
    assert!(dies.join().is_err());
    let lost = RuntimeError::Net(NetError::Lost { rank: 1 });
    assert_eq!(Runtime::new(&here, 0, Aggregation::Off).run(), Err(lost));
}

/// A worker that cannot reach another one tells the rest. A worker that was told does not announce
/// that it leaves, because that could overtake the cause.
#[test]
fn a_network_that_fails_ends_the_run() {
    let mut ends: Vec<_> = network(3, 1).into_iter().map(Late::new).collect();
    ends[0].cut_off = Some(Address { rank: 2, port: 0 });
    let mut runtime = Runtime::new(&ends[0], 0, Aggregation::Adaptive);
    let failed = RuntimeError::Net(NetError::Failed("cut off".to_owned()));
    assert_eq!(runtime.run(), Err(failed.clone()));
    let elsewhere = RuntimeError::Elsewhere { worker: HERE, what: failed.to_string() };
    assert_eq!(Runtime::new(&ends[1], 0, Aggregation::Adaptive).run(), Err(elsewhere));
    assert!(ends[2].end.receive(0).unwrap().is_none());
}

/// A scheduler by simulation time.
struct ByTime<'t> {
    threads: BTreeMap<u64, Thread<'t>>,
}

impl<'t> Scheduler<'t> for ByTime<'t> {
    fn next_thread(&mut self) -> Option<Thread<'t>> {
        self.threads.pop_first().map(|(_, thread)| thread)
    }
}

/// An unfair scheduler, which can starve threads.
struct Priority<'t>([Rc<RefCell<ByTime<'t>>>; 2]);

impl<'t> Scheduler<'t> for Priority<'t> {
    fn next_thread(&mut self) -> Option<Thread<'t>> {
        self.0.iter().find_map(|scheduler| scheduler.borrow_mut().next_thread())
    }
}

type Log = Rc<RefCell<Vec<(char, u64)>>>;

fn by_time<'t>(name: char, times: &[u64], log: &Log) -> Rc<RefCell<ByTime<'t>>> {
    let thread = |&time: &u64| {
        let log = Rc::clone(log);
        let thread: Thread<'t> = Box::new(move |_| log.borrow_mut().push((name, time)));
        (time, thread)
    };
    Rc::new(RefCell::new(ByTime { threads: times.iter().map(thread).collect() }))
}

/// The most threads of others that ran while a thread of `name` was waiting.
fn longest_wait(log: &[(char, u64)], name: char) -> usize {
    log.split(|ran| ran.0 == name).map(<[_]>::len).rev().skip(1).max().unwrap_or(0)
}

/// SCHED-A and SCHED-B: schedulers run one thread each in turn, and the default one in order. An
/// unfair scheduler fails the same measure.
#[test]
fn schedulers_are_called_fairly() {
    let run = |fair: bool| {
        let (ends, log) = (network(1, 1), Log::default());
        let mut runtime = Runtime::new(&ends[0], 0, Aggregation::Adaptive);
        let greedy = by_time('g', &(0..100).rev().collect::<Vec<_>>(), &log);
        let modest = by_time('m', &[30, 10, 20], &log);
        if fair {
            runtime.add_scheduler(greedy);
            runtime.add_scheduler(modest);
        } else {
            runtime.add_scheduler(Rc::new(RefCell::new(Priority([greedy, modest]))));
        }
        for time in 0..5 {
            let log = Rc::clone(&log);
            runtime.spawn(move |_| log.borrow_mut().push(('d', time)));
        }
        runtime.run().unwrap();
        log.take()
    };
    let (fair, unfair) = (run(true), run(false));
    for log in [&fair, &unfair] {
        let times = |name| log.iter().filter(move |ran| ran.0 == name).map(|ran| ran.1);
        assert!(times('g').eq(0..100) && times('m').eq([10, 20, 30]) && times('d').eq(0..5));
    }
    assert_eq!((longest_wait(&fair, 'm'), longest_wait(&fair, 'd')), (2, 2));
    assert!(longest_wait(&unfair, 'm') >= 100, "{unfair:?}");
}
