//! The effect of pools on other machines, which the buffer paper leaves open (section 8): runs of
//! more and more workers, replayed on the KSR-2 and on a server of today, with a protocol that
//! invalidates other copies and with one that updates them.
//!
//! The memory for buffers grows with the number of workers. If a pool lets buffers migrate to all
//! workers, each worker touches all of the memory in the end; if it keeps them between two workers,
//! it does not.

use rayon::prelude::*;
use warpline::settings::PoolKind;
use warpline_models::phold::PholdParams;

use super::{ADAPTIVE, MIB, PARTITIONED, RECEIVER, SENDER, computed};
use crate::{
    Axis, Basis, Bounds, Claim, Constant, Curve, Dot, Figure, Findings, Lab, LabError, Plot,
    Settings, Source, Table,
    machine::{MachineParams, Protocol, Replacement},
    memory_system::{BufferRun, Fetch},
    replay::{Replayed, replay},
};

/// The numbers of workers.
const WORKERS: [usize; 4] = [2, 8, 32, 64];
/// LPs and events of PHOLD, for each worker.
const LPS: usize = 32;
const POPULATION: usize = 128;
/// Bytes of event buffers, for each worker.
const MEMORY: u64 = MIB;
/// The virtual time at which runs end; by then every buffer was used about ten times.
const END: f64 = 400.0;
/// The machines.
const MACHINES: [Architecture; 6] = [
    Architecture { name: "server", params: MachineParams::server, protocol: Protocol::Invalidate },
    Architecture { name: "server", params: MachineParams::server, protocol: Protocol::Update },
    Architecture { name: "KSR-2", params: MachineParams::ksr2, protocol: Protocol::Invalidate },
    Architecture { name: "KSR-2", params: MachineParams::ksr2, protocol: Protocol::Update },
    Architecture { name: RANDOM, params: random_server, protocol: Protocol::Invalidate },
    Architecture { name: RANDOM, params: random_server, protocol: Protocol::Update },
];
/// The name of the server whose caches evict lines at random.
const RANDOM: &str = "server, random replacement";
/// Why the KSR-2's times are no evidence where page misses are a part of them.
const PAGE_MISS_IS_FITTED: &str = "the 0.4 ms of a page miss are fitted to the paper's figures 4 \
                                   and 5, which give no time for it";
/// Why the server's times are none either.
const SERVER_IS_ESTIMATED: &str =
    "the server's times are round numbers, and that of a page walk is an estimate";
/// Why counts on a server are evidence.
const COUNTED: Basis = Basis::Independent(
    "counts do not depend on times, and are tested with two rules of replacement",
);
/// Indices of machines; counts on a server are of both, which differ in the rule of replacement.
const SERVER: usize = 0;
const KSR2: usize = 2;
const SERVERS: [usize; 2] = [SERVER, 4];
const UPDATING_SERVERS: [usize; 2] = [1, 5];

fn random_server() -> MachineParams {
    MachineParams { replacement: Replacement::Random(1), ..MachineParams::server() }
}

struct Architecture {
    name: &'static str,
    params: fn() -> MachineParams,
    protocol: Protocol,
}

impl Architecture {
    fn params(&self, workers: usize) -> MachineParams {
        MachineParams { workers: workers as u32, protocol: self.protocol, ..(self.params)() }
    }

    const fn protocol(&self) -> &'static str {
        match self.protocol {
            Protocol::Invalidate => "invalidate",
            Protocol::Update => "update",
        }
    }
}

/// The counts of a run on each of [`MACHINES`].
struct Run {
    pool: PoolKind,
    workers: usize,
    replayed: Vec<Replayed>,
}

impl Run {
    /// A count of one machine per committed event.
    fn per_event(&self, machine: usize, count: impl Fn(&Replayed) -> f64) -> f64 {
        let replayed = &self.replayed[machine];
        count(replayed) / replayed.committed.max(1) as f64
    }

    fn nanoseconds(&self, machine: usize) -> f64 {
        let costs = MACHINES[machine].params(self.workers).costs;
        self.per_event(machine, |replayed| replayed.total.time_ns(&costs))
    }

    /// The part of the time that page misses take.
    fn paging(&self, machine: usize) -> f64 {
        let price = MACHINES[machine].params(self.workers).costs.page_miss_ns;
        self.per_event(machine, |replayed| replayed.total.page_misses as f64 * price)
            / self.nanoseconds(machine)
    }

    fn row(&self, machine: usize) -> Vec<String> {
        let Architecture { name, .. } = MACHINES[machine];
        let per_event = |count: fn(&Replayed) -> u64| {
            format!("{:.4}", self.per_event(machine, |replayed| count(replayed) as f64))
        };
        vec![
            self.pool.to_string(),
            name.to_owned(),
            MACHINES[machine].protocol().to_owned(),
            self.workers.to_string(),
            per_event(|replayed| replayed.total.line_accesses()),
            per_event(|replayed| replayed.total.misses()),
            per_event(|replayed| replayed.total.invalidations_received),
            per_event(|replayed| replayed.total.updates_received),
            per_event(|replayed| replayed.total.needless_updates),
            per_event(|replayed| replayed.total.page_misses),
            format!("{:.1}", self.nanoseconds(machine)),
            format!("{:.4}", self.paging(machine)),
        ]
    }
}

const HEADER: [&str; 12] = [
    "pool",
    "machine",
    "protocol",
    "workers",
    "lines touched per event",
    "misses per event",
    "invalidations per event",
    "updates per event",
    "needless updates per event",
    "page misses per event",
    "ns per event",
    "part of it for page misses",
];

/// The experiment: a curve per pool, on several machines.
#[derive(Debug)]
pub struct Architectures;

impl Figure for Architectures {
    fn name(&self) -> &'static str {
        "architectures"
    }

    fn title(&self) -> &'static str {
        "Buffer pools on other machines: waiting for memory, by workers"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let replayed = |(pool, workers)| {
            let machines = MACHINES.each_ref().map(|machine| machine.params(workers));
            let replayed = replay(&run(lab.settings, pool, workers), &machines)?;
            Ok(Run { pool, workers, replayed })
        };
        let runs: Result<Vec<_>, LabError> = computed::each_pool(&WORKERS).map(replayed).collect();
        let runs = runs?;
        let rows = runs.iter().flat_map(|run| (0..MACHINES.len()).map(|machine| run.row(machine)));
        let table = Table { header: HEADER.map(str::to_owned).into(), rows: rows.collect() };
        let plot = Plot {
            title: "PHOLD, 32 LPs and 128 events for each worker, on a server".to_owned(),
            x: Axis::new("workers").logarithmic().with_ticks(WORKERS.map(|n| n as f64)),
            y: Axis::new("waiting for event buffers, ns per event"),
            curves: curves(&runs, |run| run.nanoseconds(SERVER)),
        };
        let claims = claims(&runs);
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, sections 3.3 and 8: how the pools do on other \
                    machines is left open. Under an update protocol, needless updates are expected \
                    to be most with sender pools and fewest with partitioned ones.",
            setup: format!(
                "PHOLD with {LPS} LPs, {POPULATION} events of {} bytes and {} MiB of event buffers \
                 for each worker; every access to a buffer is replayed through private caches and \
                 page maps (`warpline_lab::machine`): of a server of 2023 and of the KSR-2, with \
                 an invalidate and an update protocol. First touches count. The times are sums of \
                 the costs of the accesses, without queues and overlap. On the KSR-2 \
                 {PAGE_MISS_IS_FITTED}.",
                lab.settings.payload,
                MEMORY / MIB
            ),
            source: Source::Computed,
            claims,
            constants: constants(),
            remarks: Vec::new(),
        })
    }
}

/// The numbers of both machines, and those of the runs.
fn constants() -> Vec<Constant> {
    let most = WORKERS[WORKERS.len() - 1];
    let of = |machine: usize| {
        let Architecture { name, .. } = MACHINES[machine];
        let constants = MACHINES[machine].params(most).constants();
        constants.into_iter().map(move |constant| constant.of(name))
    };
    let runs = Constant::ours(
        format!("{LPS} LPs, {POPULATION} events and {} MiB for each worker", MEMORY / MIB),
        "so that memory grows with the workers",
    );
    [SERVER, KSR2].into_iter().flat_map(of).chain([runs]).collect()
}

fn run(settings: &Settings, pool: PoolKind, workers: usize) -> BufferRun {
    BufferRun {
        model: PholdParams {
            lps: workers * LPS,
            population: workers * POPULATION,
            payload: settings.payload,
            ..PholdParams::default()
        },
        end: settings.shortened(END),
        seed: settings.seed,
        workers,
        pool: pool.into(),
        memory: workers as u64 * MEMORY,
        fetch: Fetch::Exclusive,
        // Each machine of the replay has its own.
        replacement: Replacement::Lru,
    }
}

fn curves(runs: &[Run], number: impl Fn(&Run) -> f64) -> Vec<Curve> {
    let dot = |run: &Run| {
        let (x, y) = (run.workers as f64, number(run));
        Dot { x, y, low: y, high: y, hollow: false }
    };
    let of = |pool| runs.iter().filter(move |run| run.pool == pool).map(dot).collect();
    PoolKind::ALL.iter().map(|&pool| Curve::new(pool.name(), of(pool))).collect()
}

/// The paper's claims are about update protocols; the rest carries its results over to a server,
/// and is ours.
fn claims(runs: &[Run]) -> Vec<Claim> {
    let higher = |claim: Claim, names, machines: [usize; 2], count: fn(&Replayed) -> u64| {
        let claim = claim.with_basis(COUNTED);
        let on = |machine: usize| {
            let count = |run: &Run| run.per_event(machine, |replayed| count(replayed) as f64);
            let curves = curves(runs, count);
            computed::test_higher(claim.clone(), &curves, names, |workers| workers > 2.0)
        };
        let [first, second] = machines;
        on(first).tested_too(MACHINES[second].name, on(second))
    };
    let pages = |replayed: &Replayed| replayed.total.page_misses;
    let misses = |replayed: &Replayed| replayed.total.misses();
    let needless = |replayed: &Replayed| replayed.total.needless_updates;
    let paging = |claim, machine, wanted| test_paging(claim, runs, machine, wanted);
    let server = MachineParams::server().constants();
    vec![
        higher(
            Claim::of_paper(
                "where writes update, sender pools get more needless updates than receiver pools",
            ),
            [SENDER, RECEIVER],
            UPDATING_SERVERS,
            needless,
        ),
        higher(
            Claim::of_paper("and receiver pools more than partitioned ones"),
            [RECEIVER, PARTITIONED],
            UPDATING_SERVERS,
            needless,
        ),
        higher(
            Claim::own("on a server, receiver pools miss more lines than sender pools"),
            [RECEIVER, SENDER],
            SERVERS,
            misses,
        ),
        higher(
            Claim::own("on a server, sender pools miss more lines than partitioned ones"),
            [SENDER, PARTITIONED],
            SERVERS,
            misses,
        ),
        higher(
            Claim::own("on a server, sender pools miss more pages than adaptive ones"),
            [SENDER, ADAPTIVE],
            SERVERS,
            pages,
        ),
        paging(
            Claim::own("page misses take most of the KSR-2's time")
                .with_basis(Basis::Fitted(PAGE_MISS_IS_FITTED)),
            KSR2,
            Bounds::Above(0.5),
        ),
        paging(
            Claim::own("page misses take little of a server's time")
                .with_basis(Constant::basis(&server, SERVER_IS_ESTIMATED)),
            SERVER,
            Bounds::AtMost(0.1),
        ),
    ]
}

/// Tests the part of the time that page misses take, where it is greatest.
fn test_paging(claim: Claim, runs: &[Run], machine: usize, wanted: Bounds) -> Claim {
    let most = WORKERS[WORKERS.len() - 1];
    match runs.iter().find(|run| run.pool == PoolKind::Sender && run.workers == most) {
        Some(run) => {
            let place = format!("part of the time, sender pool, {most} workers");
            claim.test(place, run.paging(machine), wanted)
        }
        None => claim,
    }
}
