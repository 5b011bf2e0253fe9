//! The buffer paper's claims about pools and caches, found again with synthetic traffic.

use warpline_lab::machine::{Counts, Geometry, Machine, MachineParams, Protocol};

use crate::traffic::{Pools, Traffic, Workload};

const WORKERS: u32 = 8;
const MIB: f64 = (1 << 20) as f64;
const BUFFER_BYTES: u32 = 512;
/// A buffer in lines of the KSR-2.
const BUFFER_LINES: f64 = 4.0;

/// Page experiments are smaller than the machine by this factor, in pages per cache and in memory,
/// so that they take a fraction of a second. Sizes in the tests are those of the whole machine: its
/// cache holds 32 MiB, all for buffers, where the paper found 25 MB left for them.
const SCALE: f64 = 8.0;
const CACHE: f64 = 32.0;

/// A KSR-2 with an eighth of the frames.
fn small_ksr2() -> MachineParams {
    let whole = MachineParams::ksr2();
    let pages = Geometry { sets: whole.pages.sets / SCALE as u32, ..whole.pages };
    MachineParams { pages, ..whole }
}

/// Counts per message, after every buffer has been used `warm_up` times.
fn per_message(
    params: MachineParams,
    load: Workload,
    warm_up: u64,
) -> impl Fn(fn(&Counts) -> u64) -> f64 {
    let mut machine = Machine::new(params, load.memory_bytes).expect("the parameters are fine");
    let mut traffic = Traffic::new(load);
    let round = load.memory_bytes / u64::from(load.buffer_bytes);
    traffic.run(&mut machine, warm_up * round);
    machine.reset_counts();
    traffic.run(&mut machine, 2 * round);
    let total = machine.total();
    move |count| count(&total) as f64 / (2 * round) as f64
}

/// Traffic among 8 workers, with buffer memory for the whole machine, scaled.
fn load(pools: Pools, mebibytes: f64) -> Workload {
    Workload {
        pools,
        workers: WORKERS,
        memory_bytes: (mebibytes * MIB / SCALE) as u64,
        buffer_bytes: BUFFER_BYTES,
        receiver_writes: BUFFER_BYTES,
        neighbors: None,
    }
}

/// Page misses per message, the first ones of each worker and page left out. A message causes two
/// uses of a buffer: one by its sender, one by its receiver.
fn page_misses(load: Workload) -> f64 {
    per_message(small_ksr2(), load, 3)(|counts| counts.page_misses - counts.cold_page_misses)
}

/// 3.1 and 3.2: with receiver pools a buffer moves to its sender and back, which takes two rounds
/// of misses and of invalidations. With sender pools the sender's accesses hit, and one round is
/// left. Only a buffer that has come through the global pool, about every seventh, is in another
/// cache than its sender's.
#[test]
fn receiver_pools_miss_twice_where_sender_pools_miss_once() {
    let table =
        [(Pools::Receiver, 2.0, 0.0), (Pools::Sender, 1.0, 0.2), (Pools::Partitioned, 1.0, 0.0)];
    for (pools, expected, more) in table {
        let count = per_message(small_ksr2(), load(pools, 20.0), 3);
        let misses = count(Counts::misses) / BUFFER_LINES;
        let invalidations = count(|counts| counts.invalidations_sent) / BUFFER_LINES;
        for rounds in [misses, invalidations] {
            let allowed = expected - 0.02..=expected + more + 0.02;
            assert!(allowed.contains(&rounds), "{pools:?}: {misses}, {invalidations} rounds");
        }
        assert!(count(|counts| counts.capacity_misses) == 0.0, "{pools:?}: all memory is in cache");
    }
}

/// 4: sender and receiver pools have no page misses while all memory fits into every cache, and
/// many beyond; sender pools more than receiver pools, because their buffers are scattered.
/// 5: a worker that uses partitioned pools needs a quarter of the memory in its cache, so for it
/// nothing changes.
#[test]
fn page_misses_begin_at_the_knee() {
    let misses = |pools| [0.8, 0.96, 1.2, 1.6].map(|part| page_misses(load(pools, part * CACHE)));
    let [sender, receiver, partitioned] =
        [Pools::Sender, Pools::Receiver, Pools::Partitioned].map(misses);
    for (pools, curve) in [("sender", sender), ("receiver", receiver)] {
        assert_eq!(curve[..2], [0.0; 2], "{pools} pools before the knee: {curve:?}");
        assert!(curve[2] > 0.1 && curve[3] > curve[2], "{pools} pools beyond the knee: {curve:?}");
    }
    assert!(sender[3] > 1.5 * receiver[3], "beyond the knee: {sender:?}, {receiver:?}");
    assert_eq!(partitioned, [0.0; 4], "partitioned pools stay flat");
}

/// 4: on other machines the TLB runs out of pages. A server's TLB reaches 8 MiB, which is half of
/// the memory here, so one of a message's two uses of a scattered buffer misses.
#[test]
fn pools_differ_in_tlb_misses_on_a_server() {
    let page_misses = |pools| {
        let load = Workload { memory_bytes: 16 << 20, ..load(pools, 0.0) };
        let misses = per_message(MachineParams::server(), load, 2);
        misses(|counts| counts.page_misses - counts.cold_page_misses)
    };
    let [sender, receiver, partitioned] =
        [Pools::Sender, Pools::Receiver, Pools::Partitioned].map(page_misses);
    assert!(partitioned < 0.01, "{partitioned}");
    assert!((sender - 1.0).abs() < 0.1, "{sender}");
    assert!(receiver > 0.5 && receiver < 0.8 * sender, "{sender}, {receiver}");
}

/// 4: with receiver pools, a worker needs its own pool and those of its k neighbors: k + 1 of 8
/// pools in its cache. So the knees lie at 8 / (k + 1) caches. The smaller the neighborhood, the
/// more buffers of a page a worker uses at a time, and the fewer misses there can be beyond the
/// knee: with k = 1, two for the 32 buffers of a page.
#[test]
fn smaller_neighborhoods_move_the_knee() {
    for neighbors in [1, 2, 4] {
        let knee = f64::from(WORKERS) / f64::from(neighbors + 1) * CACHE;
        let misses = |mebibytes| {
            let neighbors = Some(neighbors);
            page_misses(Workload { neighbors, ..load(Pools::Receiver, mebibytes) })
        };
        let (before, beyond) = (misses(0.95 * knee), misses(1.1 * knee));
        assert!(before < 0.001, "{neighbors} neighbors, before {knee} MiB: {before}");
        assert!(beyond > 0.03, "{neighbors} neighbors, beyond {knee} MiB: {beyond}");
    }
}

/// 3.3 and 5: with an update protocol, all workers that ever used a buffer keep a copy. The buffers
/// of a receiver pool are used by the senders of one receiver, those of sender pools by all
/// workers, and those of partitioned pools by a pair. A pair has needless updates only of the line
/// of the receiver's flags, which the same worker writes next if the buffer carries an answer.
/// Copies spread slowly, so the warm-up is long.
#[test]
fn needless_updates_are_fewest_with_partitioned_pools() {
    let params = MachineParams { protocol: Protocol::Update, ..small_ksr2() };
    let needless = |pools, neighbors| {
        let line_of_flags = params.line_bytes;
        let load = Workload { neighbors, receiver_writes: line_of_flags, ..load(pools, CACHE) };
        per_message(params, load, 40)(|counts| counts.needless_updates)
    };
    for neighbors in [Some(3), None] {
        let [partitioned, receiver, sender] = [Pools::Partitioned, Pools::Receiver, Pools::Sender]
            .map(|pools| needless(pools, neighbors));
        assert!(partitioned <= 1.0, "{neighbors:?}: {partitioned}");
        assert!(receiver > partitioned + BUFFER_LINES, "{neighbors:?}: {receiver}, {partitioned}");
        assert!(sender > receiver + 1.0, "{neighbors:?}: {sender}, {receiver}");
    }
}
