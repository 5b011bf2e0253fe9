//! Laws that hold for every machine and every trace, and the comparison with the reference model.

use proptest::{collection::vec, option, prelude::*};
use warpline_lab::machine::{
    Access, AccessKind, CopyState, Counts, Geometry, Machine, MachineParams, Protocol, Replacement,
    SubCacheParams,
};

use crate::reference::Reference;

/// Not a multiple of a page, so that the last page is cut off.
const MEMORY_BYTES: u64 = 600;

fn protocol() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Invalidate), Just(Protocol::Update)]
}

fn geometry() -> impl Strategy<Value = Geometry> {
    (1..4_u32, 1..5_u32).prop_map(|(sets, ways)| Geometry { sets, ways })
}

prop_compose! {
    /// Machines with small caches and small page maps, of which either may be the smaller one.
    fn machines(replacement: Replacement, most_workers: u32)(
        workers in 1..=most_workers,
        ring_workers in 1..=most_workers,
        has_sub_cache: bool,
        blocks in geometry(),
        line_shift in 3..6_u32,
        page_shift in 0..4_u32,
        cache in option::of(geometry()),
        pages in geometry(),
        unmapping_evicts: bool,
        protocol in protocol(),
    ) -> MachineParams {
        MachineParams {
            workers,
            ring_workers,
            sub_cache: has_sub_cache.then_some(SubCacheParams {
                blocks,
                block_bytes: 1 << (line_shift + page_shift),
                part_bytes: 1 << (line_shift - 1),
            }),
            line_bytes: 1 << line_shift,
            cache,
            page_bytes: 1 << (line_shift + page_shift),
            pages,
            unmapping_evicts,
            replacement,
            protocol,
            ..MachineParams::ksr2()
        }
    }
}

/// Accesses of a few workers to a few lines, so that much is shared and much is evicted.
fn traces(workers: u32) -> impl Strategy<Value = Vec<Access>> {
    let access = (0..workers, any::<bool>(), 0..MEMORY_BYTES, 0..40_u32);
    let access = access.prop_map(|(worker, writes, address, bytes)| Access {
        worker,
        kind: if writes { AccessKind::Write } else { AccessKind::Read },
        address,
        bytes: bytes.min((MEMORY_BYTES - address) as u32),
    });
    vec(access, 0..300)
}

/// A machine and a trace for it.
fn runs(replacement: Replacement) -> impl Strategy<Value = (MachineParams, Vec<Access>)> {
    machines(replacement, 6)
        .prop_flat_map(|params| traces(params.workers).prop_map(move |trace| (params, trace)))
}

fn replayed(params: MachineParams, trace: &[Access]) -> Machine {
    let mut machine = Machine::new(params, MEMORY_BYTES).expect("the parameters are fine");
    machine.replay(trace.iter().copied()).expect("the trace is fine");
    machine
}

proptest! {
    /// The machine agrees with the reference model on every count of every worker and on every
    /// state, also after a reset of the counts. The model evicts lines with their page, so the
    /// agreement checks MACHINE-C.
    #[test]
    fn agrees_with_the_reference(
        (params, trace) in runs(Replacement::Lru),
        warm_up in 0.0..1.0,
    ) {
        let warm_up = (trace.len() as f64 * warm_up) as usize;
        let mut machine = replayed(params, &trace[..warm_up]);
        let mut reference = Reference::new(params);
        trace[..warm_up].iter().for_each(|&access| reference.access(access));
        machine.reset_counts();
        reference.reset_counts();
        for &access in &trace[warm_up..] {
            machine.access(access).expect("the trace is fine");
            reference.access(access);
        }
        for worker in 0..params.workers {
            prop_assert_eq!(*machine.counts(worker), reference.counts(worker), "worker {}", worker);
            for address in 0..MEMORY_BYTES {
                prop_assert_eq!(
                    machine.copy_state(worker, address),
                    reference.copy_state(worker, address),
                    "worker {}, address {}", worker, address
                );
            }
        }
    }

    /// COUNTS-A, COUNTS-B and COUNTS-C, with either replacement, also after a reset. Line accesses
    /// are hits and misses: as many as the trace touches.
    #[test]
    fn counts_add_up(
        (params, trace) in prop_oneof![runs(Replacement::Lru), runs(Replacement::Random(1))],
    ) {
        let mut machine = replayed(params, &trace[..trace.len() / 2]);
        machine.reset_counts();
        let counted = &trace[trace.len() / 2..];
        machine.replay(counted.iter().copied()).expect("the trace is fine");
        let line = u64::from(params.line_bytes);
        for worker in 0..params.workers {
            let counts = machine.counts(worker);
            let own = counted.iter().filter(|access| access.worker == worker);
            let touched: u64 = own
                .filter(|access| access.bytes > 0)
                .map(|access| {
                    let last = access.address + u64::from(access.bytes) - 1;
                    last / line - access.address / line + 1
                })
                .sum();
            prop_assert_eq!(counts.line_accesses(), touched);
            prop_assert!(counts.remote_misses <= counts.misses());
            prop_assert!(counts.far_misses <= counts.remote_misses);
            prop_assert!(counts.far_announcements <= counts.announcements);
            prop_assert!(params.sub_cache.is_some() || counts.sub_misses == counts.hits);
            prop_assert!(counts.sub_hits + counts.sub_misses >= counts.hits);
            prop_assert!(counts.cold_page_misses <= counts.page_misses);
            prop_assert!(counts.needless_updates <= counts.updates_received);
        }
        let total = machine.total();
        prop_assert_eq!(total.invalidations_sent, total.invalidations_received);
        prop_assert_eq!(total.updates_sent, total.updates_received);
    }

    /// One worker shares lines with no other.
    #[test]
    fn one_worker_has_no_coherence_traffic(
        params in machines(Replacement::Lru, 1),
        trace in traces(1),
    ) {
        let counts = replayed(params, &trace).total();
        let traffic = [
            counts.coherence_misses,
            counts.remote_misses,
            counts.announcements,
            counts.invalidations_sent,
            counts.updates_sent,
            counts.needless_updates,
        ];
        prop_assert_eq!(traffic, [0; 6]);
    }

    /// Invalidate (MACHINE-B): after every access, a modified line is in one cache and in no other.
    /// Update: nothing is ever invalidated, so there are no coherence misses.
    #[test]
    fn protocols_keep_their_promises((params, trace) in runs(Replacement::Lru)) {
        let mut machine = replayed(params, &[]);
        for access in trace {
            machine.access(access).expect("the trace is fine");
            if params.protocol == Protocol::Update {
                continue;
            }
            for address in (0..MEMORY_BYTES).step_by(params.line_bytes as usize) {
                let count = |state| {
                    let of = |&worker: &u32| machine.copy_state(worker, address) == state;
                    (0..params.workers).filter(of).count()
                };
                let (modified, absent) = (count(CopyState::Modified), count(CopyState::Absent));
                prop_assert!(
                    modified == 0 || modified == 1 && absent + 1 == params.workers as usize,
                    "address {}: modified in {} caches, absent in {}", address, modified, absent
                );
            }
        }
        let Counts { coherence_misses, invalidations_sent, updates_sent, .. } = machine.total();
        match params.protocol {
            Protocol::Invalidate => prop_assert_eq!(updates_sent, 0),
            Protocol::Update => prop_assert_eq!((coherence_misses, invalidations_sent), (0, 0)),
        }
    }

    /// LRU inclusion: a bigger fully associative cache never misses more, and neither does a bigger
    /// page map. This holds with invalidations, too, because they free the same place in both.
    #[test]
    fn a_bigger_lru_cache_never_misses_more(
        (params, trace) in runs(Replacement::Lru),
        places in 1..12_u32,
        more in 1..12_u32,
    ) {
        let with = |places| {
            let geometry = Geometry::fully_associative(places);
            let cache = Some(geometry);
            MachineParams { cache, pages: geometry, unmapping_evicts: false, ..params }
        };
        let small = replayed(with(places), &trace);
        let big = replayed(with(places + more), &trace);
        for worker in 0..params.workers {
            let (small, big) = (small.counts(worker), big.counts(worker));
            prop_assert!(big.misses() <= small.misses());
            prop_assert!(big.page_misses <= small.page_misses);
        }
    }

    /// A cache that holds the lines of all mapped pages never evicts, as if there were none, and
    /// the seed of a replacement that never replaces does not matter.
    #[test]
    fn a_cache_for_everything_is_no_limit(
        (params, trace) in runs(Replacement::Lru),
        seed: u64,
    ) {
        let lines = MEMORY_BYTES.div_ceil(params.line_bytes.into()) as u32;
        let everything = Some(Geometry::fully_associative(lines));
        let without = replayed(MachineParams { cache: None, ..params }, &trace);
        let with = replayed(MachineParams { cache: everything, ..params }, &trace);
        prop_assert_eq!(with.total(), without.total());

        let pages = Geometry::fully_associative(lines);
        let roomy = MachineParams { cache: everything, pages, sub_cache: None, ..params };
        let random = MachineParams { replacement: Replacement::Random(seed), ..roomy };
        prop_assert_eq!(replayed(random, &trace).total(), replayed(roomy, &trace).total());
    }
}

/// Random replacement evicts any line, not always the least recently used one. In a cycle of one
/// line more than the cache holds, LRU always misses, and random replacement sometimes hits.
#[test]
fn random_replacement_is_not_lru() {
    let rounds = |replacement| {
        let params = MachineParams {
            workers: 1,
            cache: Some(Geometry::fully_associative(4)),
            sub_cache: None,
            line_bytes: 8,
            replacement,
            ..MachineParams::ksr2()
        };
        let read =
            |n: u64| Access { worker: 0, kind: AccessKind::Read, address: n % 5 * 8, bytes: 8 };
        replayed(params, &(0..500).map(read).collect::<Vec<_>>()).total().hits
    };
    assert_eq!(rounds(Replacement::Lru), 0);
    let hits = rounds(Replacement::Random(7));
    assert!((100..450).contains(&hits), "{hits} hits of 500");
    assert_eq!(hits, rounds(Replacement::Random(7)), "the same seed replays the same choices");
    assert_ne!(hits, rounds(Replacement::Random(8)), "another seed makes others");
}

/// Workers 0 and 63 have the first and the last bit of a mask.
#[test]
fn sixty_four_workers_share_a_line() {
    for protocol in [Protocol::Invalidate, Protocol::Update] {
        let params = MachineParams { workers: 64, protocol, ..MachineParams::ksr2() };
        let access = |worker, kind| Access { worker, kind, address: 0, bytes: 1 };
        let mut trace: Vec<_> = (0..64).map(|worker| access(worker, AccessKind::Read)).collect();
        trace.push(access(63, AccessKind::Write));
        trace.push(access(0, AccessKind::Write));
        let counts = replayed(params, &trace).total();
        match protocol {
            Protocol::Invalidate => assert_eq!(counts.invalidations_sent, 63 + 1),
            Protocol::Update => {
                assert_eq!((counts.updates_sent, counts.needless_updates), (126, 62))
            }
        }
    }
}
