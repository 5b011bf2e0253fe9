//! Small cases that were computed by hand: the state of a line in every cache after every access.

use warpline_lab::machine::{
    Access,
    AccessKind::{self, Read, Write},
    CopyState, Costs, Counts, Geometry, LockCosts, Machine, MachineParams, Protocol, Replacement,
    SubCacheParams,
};

const LINE: u32 = 16;

/// A machine that holds everything; its costs are powers of ten, so that a sum shows its terms.
fn roomy(workers: u32, protocol: Protocol) -> MachineParams {
    MachineParams {
        workers,
        ring_workers: 64,
        sub_cache: None,
        line_bytes: LINE,
        cache: None,
        page_bytes: 4 * LINE,
        pages: Geometry::fully_associative(16),
        unmapping_evicts: true,
        replacement: Replacement::Lru,
        protocol,
        costs: Costs {
            sub_hit_ns: 0.25,
            hit_ns: 1.0,
            remote_miss_ns: 10.0,
            far_miss_ns: 40.0,
            memory_miss_ns: 100.0,
            announcement_ns: 1_000.0,
            page_miss_ns: 10_000.0,
            lock: LockCosts { alone_ns: 0.0, near_ns: 0.0, far_ns: 0.0 },
        },
        sources: MachineParams::ksr2().sources,
    }
}

fn machine(params: MachineParams) -> Machine {
    Machine::new(params, 1024).expect("the parameters are fine")
}

/// An access to some of the bytes of one line.
fn on_line(worker: u32, kind: AccessKind, line: u32) -> Access {
    Access { worker, kind, address: u64::from(line * LINE + 4), bytes: 8 }
}

/// The state of a line in each cache, by initials.
fn states(machine: &Machine, line: u32) -> String {
    let state = |worker| match machine.copy_state(worker, u64::from(line * LINE)) {
        CopyState::Absent => 'A',
        CopyState::Shared => 'S',
        CopyState::Exclusive => 'E',
        CopyState::Modified => 'M',
    };
    (0..machine.params().workers).map(state).collect()
}

/// The outcome of one access: what the worker found, and what it did to others.
fn outcome(before: &Counts, after: &Counts) -> String {
    let changes = [
        ("hit", after.hits - before.hits),
        ("cold", after.cold_misses - before.cold_misses),
        ("capacity", after.capacity_misses - before.capacity_misses),
        ("coherence", after.coherence_misses - before.coherence_misses),
        ("remote", after.remote_misses - before.remote_misses),
        ("announced", after.announcements - before.announcements),
        ("invalidates", after.invalidations_received - before.invalidations_received),
        ("updates", after.updates_received - before.updates_received),
        ("needless", after.needless_updates - before.needless_updates),
        ("back", after.write_backs - before.write_backs),
        ("page", after.page_misses - before.page_misses),
        ("cold-page", after.cold_page_misses - before.cold_page_misses),
    ];
    let words: Vec<_> = changes
        .into_iter()
        .filter(|&(_, change)| change > 0)
        .map(|(name, change)| if change == 1 { name.into() } else { format!("{name}*{change}") })
        .collect();
    words.join(" ")
}

/// Replays a table of accesses to line 0: the worker, the kind, the states afterwards and the
/// counts.
fn replay_table(mut machine: Machine, table: &[(u32, AccessKind, &str, &str)]) -> Machine {
    for worker in 0..machine.params().workers {
        machine.access(on_line(worker, Read, 3)).expect("line 3 is on the same page");
    }
    for (row, &(worker, kind, expected_states, expected_outcome)) in table.iter().enumerate() {
        let before = machine.total();
        machine.access(on_line(worker, kind, 0)).expect("the access is in order");
        assert_eq!(states(&machine, 0), expected_states, "row {row}: worker {worker}, {kind:?}");
        assert_eq!(outcome(&before, &machine.total()), expected_outcome, "row {row}");
    }
    machine
}

/// The transitions of MESI, each at least once.
#[test]
fn invalidate_protocol_follows_mesi() {
    let machine = replay_table(
        machine(roomy(3, Protocol::Invalidate)),
        &[
            (0, Read, "EAA", "cold"),
            (0, Read, "EAA", "hit"),
            (1, Read, "SSA", "cold remote"),
            (0, Write, "MAA", "hit announced invalidates"),
            (0, Write, "MAA", "hit"),
            (1, Read, "SSA", "coherence remote back"),
            (2, Read, "SSS", "cold remote"),
            (2, Read, "SSS", "hit"),
            (1, Write, "AMA", "hit announced invalidates*2"),
            (2, Write, "AAM", "coherence remote invalidates"),
            (0, Write, "MAA", "coherence remote invalidates"),
            (1, Read, "SSA", "coherence remote back"),
            (2, Write, "AAM", "coherence remote invalidates*2"),
        ],
    );
    let sent = |worker| machine.counts(worker).invalidations_sent;
    assert_eq!([sent(0), sent(1), sent(2)], [2, 2, 3]);
    let received = |worker| machine.counts(worker).invalidations_received;
    assert_eq!([received(0), received(1), received(2)], [2, 3, 2]);
    // The worker that had modified the line writes it back when another one reads it.
    assert_eq!(machine.counts(0).write_backs, 2);
}

/// An exclusive line becomes modified without an announcement.
#[test]
fn a_line_that_is_not_shared_is_written_in_silence() {
    for (protocol, shared) in [(Protocol::Invalidate, "SS"), (Protocol::Update, "MM")] {
        let back =
            if protocol == Protocol::Invalidate { "cold remote back" } else { "cold remote" };
        replay_table(
            machine(roomy(2, protocol)),
            &[
                (0, Read, "EA", "cold"),
                (0, Write, "MA", "hit"),
                (0, Write, "MA", "hit"),
                (1, Read, shared, back),
            ],
        );
    }
}

/// An update is needless when the next event of the copy is another update, by any worker. Reads
/// and writes of the holder both use the update.
#[test]
fn update_protocol_counts_needless_updates() {
    let machine = replay_table(
        machine(roomy(3, Protocol::Update)),
        &[
            (0, Write, "MAA", "cold"),
            (1, Read, "MMA", "cold remote"),
            // Worker 1 gets an update, and reads it.
            (0, Write, "MMA", "hit announced updates"),
            (1, Read, "MMA", "hit"),
            (0, Write, "MMA", "hit announced updates"),
            // The second of two updates in a row makes the first one needless.
            (0, Write, "MMA", "hit announced updates needless"),
            // A write uses the update that it finds, too, and sends an update itself.
            (1, Write, "MMA", "hit announced updates"),
            // A miss updates the other two. Worker 0 had not touched the update from worker 1.
            (2, Write, "MMM", "cold remote updates*2 needless"),
            (2, Write, "MMM", "hit announced updates*2 needless*2"),
            (0, Read, "MMM", "hit"),
            (1, Write, "MMM", "hit announced updates*2"),
        ],
    );
    let needless = |worker| machine.counts(worker).needless_updates;
    assert_eq!([needless(0), needless(1), needless(2)], [2, 2, 0]);
    let sent = |worker| machine.counts(worker).updates_sent;
    assert_eq!([sent(0), sent(1), sent(2)], [3, 3, 4]);
}

/// An update is needless, too, when its copy is evicted untouched. The line is written back only
/// when the last copy is evicted (MACHINE-D).
#[test]
fn an_update_is_needless_when_its_copy_is_evicted() {
    let mut machine = machine(MachineParams {
        cache: Some(Geometry::fully_associative(1)),
        ..roomy(2, Protocol::Update)
    });
    // The worker, the kind and the line of an access; the states of line 0, and the counts.
    let table = [
        (0, Write, 0, "MA", "cold page cold-page"),
        (1, Read, 0, "MM", "cold remote page cold-page"),
        (0, Write, 0, "MM", "hit announced updates"),
        (1, Read, 1, "MA", "cold needless"),
        (1, Read, 0, "MM", "capacity remote"),
        (0, Write, 0, "MM", "hit announced updates"),
        (1, Read, 0, "MM", "hit"),
        (1, Read, 1, "MA", "capacity"),
        (0, Read, 1, "AA", "cold remote back"),
        (0, Read, 0, "EA", "capacity"),
    ];
    for (row, (worker, kind, line, expected_states, expected_outcome)) in
        table.into_iter().enumerate()
    {
        let before = machine.total();
        machine.access(on_line(worker, kind, line)).expect("the access is in order");
        assert_eq!(states(&machine, 0), expected_states, "row {row}");
        assert_eq!(outcome(&before, &machine.total()), expected_outcome, "row {row}");
    }
}

/// One worker with two page frames and pages of four lines: what is mapped, and what is evicted
/// with a page (MACHINE-C).
#[test]
fn pages_are_mapped_and_take_their_lines_with_them() {
    // The kind and the line of an access; the counts if lines are evicted with their page, and the
    // counts if they stay.
    let table = [
        (Read, 0, "cold page cold-page", "cold page cold-page"),
        (Write, 1, "cold", "cold"),
        (Read, 4, "cold page cold-page", "cold page cold-page"),
        (Read, 0, "hit", "hit"),
        // Page 2 takes the frame of page 1, not that of page 0, which was used last.
        (Read, 8, "cold page cold-page", "cold page cold-page"),
        (Read, 1, "hit", "hit"),
        (Read, 4, "capacity page", "hit page"),
        // Now page 2 is unmapped. Page 0 is next, and its modified line is written back.
        (Read, 9, "cold back page", "cold page"),
        (Read, 10, "cold", "cold"),
        (Read, 1, "capacity page", "hit page"),
        (Read, 2, "cold", "cold"),
    ];
    for unmapping_evicts in [true, false] {
        let mut machine = machine(MachineParams {
            pages: Geometry::fully_associative(2),
            unmapping_evicts,
            ..roomy(1, Protocol::Invalidate)
        });
        for (row, (kind, line, leaving, staying)) in table.into_iter().enumerate() {
            let before = machine.total();
            machine.access(on_line(0, kind, line)).expect("the access is in order");
            let expected = if unmapping_evicts { leaving } else { staying };
            let outcome = outcome(&before, &machine.total());
            assert_eq!(outcome, expected, "row {row}, unmapping evicts: {unmapping_evicts}");
        }
    }
}

/// In a cache of two sets with one way, even lines do not evict odd ones.
#[test]
fn a_line_has_its_set() {
    let mut machine = machine(MachineParams {
        cache: Some(Geometry { sets: 2, ways: 1 }),
        ..roomy(1, Protocol::Invalidate)
    });
    let hits = [0, 1, 0, 1, 2, 1, 0, 1].map(|line| {
        let before = machine.total().hits;
        machine.access(on_line(0, Read, line)).expect("the access is in order");
        machine.total().hits > before
    });
    assert_eq!(hits, [false, false, true, true, false, true, false, true]);
}

/// A copy that was invalidated leaves its place to the next line, so that none is evicted for it.
#[test]
fn an_invalidated_copy_frees_its_place() {
    let mut machine = machine(MachineParams {
        cache: Some(Geometry::fully_associative(2)),
        ..roomy(2, Protocol::Invalidate)
    });
    let trace = [(0, Read, 0), (0, Read, 1), (1, Write, 1), (0, Read, 2)];
    machine
        .replay(trace.map(|(worker, kind, line)| on_line(worker, kind, line)))
        .expect("in order");
    assert_eq!([0, 1, 2].map(|line| states(&machine, line)), ["EA", "AM", "EA"]);
}

/// An access counts once, and so does each line that has one of its bytes.
#[test]
fn an_access_counts_each_line_that_it_touches() {
    // First byte, number of bytes, lines touched.
    let cases = [(0, 16, 1), (0, 17, 2), (15, 2, 2), (15, 1, 1), (8, 64, 5), (63, 2, 2), (5, 0, 0)];
    for (address, bytes, lines) in cases {
        let mut machine = machine(roomy(1, Protocol::Invalidate));
        machine.access(Access { worker: 0, kind: Read, address, bytes }).expect("in order");
        let counts = machine.counts(0);
        assert_eq!((counts.accesses, counts.line_accesses()), (1, lines), "{address}, {bytes}");
    }
}

/// A reset clears the counts and nothing else; earlier updates are counted nowhere.
#[test]
fn a_reset_keeps_the_caches() {
    let mut machine = machine(roomy(2, Protocol::Update));
    let trace = [(0, Write, 0), (1, Read, 0), (0, Write, 0)];
    machine
        .replay(trace.map(|(worker, kind, line)| on_line(worker, kind, line)))
        .expect("in order");
    machine.reset_counts();
    assert_eq!(machine.total(), Counts::default());
    machine.access(on_line(0, Write, 0)).expect("in order");
    assert_eq!(outcome(&Counts::default(), &machine.total()), "hit announced updates");
}

/// The time is the sum of the counts times their costs.
#[test]
fn time_adds_up() {
    let mut machine = machine(roomy(2, Protocol::Invalidate));
    // Two page misses, a miss from memory, two from the other cache, an announcement, two hits.
    let trace = [(0, Read, 0), (1, Read, 0), (0, Write, 0), (0, Read, 0), (1, Read, 0)];
    machine
        .replay(trace.map(|(worker, kind, line)| on_line(worker, kind, line)))
        .expect("in order");
    let time = |counts: Counts| counts.time_ns(&machine.params().costs);
    assert_eq!(time(machine.total()), 21_122.0);
    assert_eq!(time(*machine.counts(1)), 10_020.0);
}

/// A sub-cache, by hand: one set of two blocks of 64 bytes, loaded by 8. A line of 16 bytes has two
/// parts; a block has four lines.
#[test]
fn a_sub_cache_holds_parts_of_lines() {
    let sub_cache = SubCacheParams {
        blocks: Geometry::fully_associative(2),
        block_bytes: 4 * LINE,
        part_bytes: 8,
    };
    let params = roomy(2, Protocol::Invalidate);
    let mut machine = machine(MachineParams { sub_cache: Some(sub_cache), ..params });
    // The worker, the kind, the first byte and the bytes; then hits and misses of the sub-cache
    // and hits of the cache so far.
    let table = [
        // Both parts come with the line that misses.
        (0, Write, 0, 16, [0, 0, 0]),
        (0, Read, 0, 16, [2, 0, 1]),
        // The second part of line 1 is loaded from the cache, the first one was there.
        (0, Read, 16, 8, [2, 0, 1]),
        (0, Read, 16, 16, [3, 1, 2]),
        // A third block evicts the first one; the cache still has its lines.
        (0, Read, 64, 8, [3, 1, 2]),
        (0, Read, 128, 8, [3, 1, 2]),
        (0, Read, 0, 16, [3, 3, 3]),
        // What another worker's write invalidates is in neither.
        (1, Write, 0, 4, [3, 3, 3]),
        (0, Read, 0, 16, [3, 3, 3]),
        (0, Read, 0, 16, [5, 3, 4]),
    ];
    for (row, (worker, kind, address, bytes, expected)) in table.into_iter().enumerate() {
        machine.access(Access { worker, kind, address, bytes }).expect("the access is in order");
        let Counts { sub_hits, sub_misses, hits, .. } = machine.total();
        assert_eq!([sub_hits, sub_misses, hits], expected, "row {row}");
    }
    // 5 hits and 3 misses of the sub-cache; lines that missed: 0, 1, 4 and 8, line 0 by the other
    // worker and again; 3 pages and the same page by the other worker.
    let time = machine.total().time_ns(&machine.params().costs);
    assert_eq!(time, 5.0 * 0.25 + 3.0 + 4.0 * 100.0 + 2.0 * 10.0 + 4.0 * 10_000.0);
}

/// Two rings of two workers. A miss is far if no cache of the worker's ring can serve it; a write
/// is announced far if a cache of another ring has a copy.
#[test]
fn another_ring_is_far() {
    let params = roomy(4, Protocol::Invalidate);
    let mut machine = machine(MachineParams { ring_workers: 2, ..params });
    let table = [
        (0, Read, [0, 0, 0, 0]),
        (1, Read, [1, 0, 0, 0]),
        (2, Read, [2, 1, 0, 0]),
        // Worker 2 is on the ring of worker 3.
        (3, Read, [3, 1, 0, 0]),
        (3, Write, [3, 1, 1, 1]),
        (2, Read, [4, 1, 1, 1]),
        (2, Write, [4, 1, 2, 1]),
        (0, Write, [5, 2, 2, 1]),
    ];
    for (row, (worker, kind, expected)) in table.into_iter().enumerate() {
        machine.access(on_line(worker, kind, 0)).expect("the access is in order");
        let Counts { remote_misses, far_misses, announcements, far_announcements, .. } =
            machine.total();
        let counts = [remote_misses, far_misses, announcements, far_announcements];
        assert_eq!(counts, expected, "row {row}");
    }
    // 2 hits, a miss of memory, 3 near misses, a near announcement, 3 far ones, and 4 pages.
    let time = machine.total().time_ns(&machine.params().costs);
    assert_eq!(time, 2.0 + 100.0 + 3.0 * 10.0 + 1_000.0 + 3.0 * 40.0 + 4.0 * 10_000.0);
}

/// A sum adds every count.
#[test]
fn every_count_is_added() {
    let counts = |unit| Counts {
        accesses: unit,
        hits: 2 * unit,
        cold_misses: 3 * unit,
        capacity_misses: 4 * unit,
        coherence_misses: 5 * unit,
        remote_misses: 6 * unit,
        announcements: 7 * unit,
        invalidations_sent: 8 * unit,
        invalidations_received: 9 * unit,
        updates_sent: 10 * unit,
        updates_received: 11 * unit,
        needless_updates: 12 * unit,
        write_backs: 13 * unit,
        page_misses: 14 * unit,
        cold_page_misses: 15 * unit,
        sub_hits: 16 * unit,
        sub_misses: 17 * unit,
        far_misses: 18 * unit,
        far_announcements: 19 * unit,
    };
    assert_eq!([counts(1), counts(3)].into_iter().sum::<Counts>(), counts(4));
}

/// An access that the machine cannot replay is refused with its place in the trace, and changes
/// nothing.
#[test]
fn errors_name_the_access() {
    let mut machine = machine(roomy(2, Protocol::Invalidate));
    let good = on_line(0, Read, 0);
    machine.access(good).expect("the access is in order");
    let before = machine.total();
    let error = |machine: &mut Machine, access| {
        machine.access(access).expect_err("the access is refused").to_string()
    };
    let worker = error(&mut machine, Access { worker: 2, ..good });
    assert!(worker.starts_with("access 1 of the trace is by worker 2, but the machine has 2"));
    for (address, bytes) in [(1024, 1), (1023, 2), (u64::MAX, 4)] {
        let beyond = error(&mut machine, Access { address, bytes, ..good });
        assert!(
            beyond.starts_with(&format!(
                "access 1 of the trace touches {bytes} bytes from {address} "
            )),
            "{beyond}"
        );
    }
    assert_eq!(machine.total(), before);
    machine.access(Access { address: 1023, bytes: 1, ..good }).expect("the last byte is there");
}

/// Parameters that no machine can have are refused by name.
#[test]
fn impossible_machines_are_refused() {
    let good = roomy(2, Protocol::Invalidate);
    let no_places = Geometry { sets: 0, ways: 4 };
    let with = |blocks, block_bytes, part_bytes| {
        let sub_cache = Some(SubCacheParams { blocks, block_bytes, part_bytes });
        MachineParams { sub_cache, ..good }
    };
    let cases = [
        (MachineParams { workers: 0, ..good }, 1024, "`workers` is 0"),
        (MachineParams { workers: 65, ..good }, 1024, "`workers` is 65"),
        (MachineParams { line_bytes: 0, ..good }, 1024, "`line_bytes` is 0"),
        (MachineParams { line_bytes: 48, ..good }, 1024, "`line_bytes` is 48"),
        (MachineParams { page_bytes: 8, ..good }, 1024, "`page_bytes` is 8"),
        (MachineParams { page_bytes: 96, ..good }, 1024, "`page_bytes` is 96"),
        (MachineParams { pages: no_places, ..good }, 1024, "`pages` is 0 sets of 4 ways"),
        (MachineParams { cache: Some(no_places), ..good }, 1024, "`cache` is 0 sets of 4 ways"),
        (MachineParams { ring_workers: 0, ..good }, 1024, "`ring_workers` is 0"),
        (with(no_places, 64, 8), 1024, "`sub_cache` is 0 sets of 4 ways"),
        (with(good.pages, 64, 32), 1024, "`part_bytes` is 32"),
        (with(good.pages, 64, 0), 1024, "`part_bytes` is 0"),
        (with(good.pages, 512, 8), 1024, "`block_bytes` is 512"),
        (good, 1 << 40, "`memory_bytes` is 1099511627776"),
    ];
    for (params, memory_bytes, expected) in cases {
        let error = Machine::new(params, memory_bytes).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    Machine::new(MachineParams { workers: 64, ..good }, 1024).expect("64 workers are fine");
}

/// The presets are valid, and have the sizes of their sources.
#[test]
fn presets_have_the_sizes_of_their_sources() {
    let ksr2 = MachineParams::ksr2();
    assert_eq!(ksr2.pages.places() * u64::from(ksr2.page_bytes), 32 << 20);
    let server = MachineParams::server();
    let cache = server.cache.expect("a server's cache holds lines");
    assert_eq!(cache.places() * u64::from(server.line_bytes), 2 << 20);
    assert_eq!(server.pages.places() * u64::from(server.page_bytes), 8 << 20);
    for params in [ksr2, server] {
        Machine::new(params, 1 << 20).expect("the preset is a machine");
    }
}
