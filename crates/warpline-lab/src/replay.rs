//! Traced runs for a machine that is not available: Time Warp runs here, and every access to its
//! event buffers is replayed through a [`Machine`]. Figures 1, 2, 5, 6 and `architectures` use it.
//!
//! The workers take turns on one thread, one event each. So the trace interleaves them as fairly as
//! processors of the same speed would, and is the same on every machine. GVT is computed when a
//! worker has run out of buffers, as in the paper, so all of the memory is used in turn. Only those
//! bytes of a buffer are touched that the message fills. Receivers change a buffer's pointers and
//! flags when they read it; [`Fetch`] says how they get it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpline::{
    AnyModel, ConfigError, Only, Simulation, TimeWarp,
    settings::{FlowControl, Instrumentation, Pool, PoolKind},
    trace::{BufferAccess, BufferAction, BufferTrace},
};
use warpline_models::{
    catalog::ModelParams,
    phold::{LARGE_BYTES, Phold, PholdParams},
};

use crate::{
    GVT_WHEN_SHORT, LabError,
    machine::{Access, AccessKind, Costs, Counts, Machine, MachineParams},
    memory_system::{BufferRun, Fetch, MemoryCosts, MemorySystem, SendTime},
};

/// The bytes that the engine writes into a buffer beside the message, rounded up.
const HEADER: u32 = 8;
/// The largest messages of figures 1 and 2.
const BUFFER_BYTES_MAX: usize = 8192;

/// A machine on which traced runs are replayed.
#[derive(Debug)]
pub struct Replay {
    name: &'static str,
    params: fn() -> MachineParams,
}

impl Replay {
    /// The machine of the paper.
    pub const KSR2: Self = Self { name: "a KSR-2", params: MachineParams::ksr2 };
}

impl MemorySystem for Replay {
    fn costs(&self, run: &BufferRun) -> Result<MemoryCosts, LabError> {
        let (workers, replacement) = (run.workers as u32, run.replacement);
        let params = MachineParams { workers, replacement, ..(self.params)() };
        Ok(replay(run, &[params])?[0].costs(&run.pool, &params))
    }

    fn describe(&self) -> String {
        format!(
            "The workers of a run of Time Warp take turns event by event, and every access to its \
             buffers is replayed through the caches and page maps of {} (`warpline_lab::machine`). \
             The first touch of a line or page does not count. Buffers have the whole cache of a \
             worker; on the real machine they share it with the rest of the program.",
            self.name
        )
    }
}

/// The counts of a replayed run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Replayed {
    /// The counts of all workers.
    pub total: Counts,
    /// The number of messages to other workers.
    pub remote_sends: u64,
    /// The counts of writing these messages.
    pub remote_fills: Counts,
    /// The number of messages that were read.
    pub receives: u64,
    /// The counts of reading these messages, and of the first change of their buffers.
    pub reads: Counts,
    /// The number of events that the run committed.
    pub committed: u64,
}

impl Replayed {
    fn costs(&self, pool: &Pool, params: &MachineParams) -> MemoryCosts {
        let (prices, lines) = (&params.costs, &self.remote_fills);
        let lines_per_send = lines.line_accesses() as f64 / self.remote_sends.max(1) as f64;
        // A lock that others use, too, and its unlock. Both times are the paper's own numbers.
        let lock = prices.lock.near_ns + prices.lock.alone_ns;
        // A line that missed is written after that.
        let copied = lines.sub_hits as f64 * prices.sub_hit_ns
            + (lines.sub_misses + lines.misses()) as f64 * prices.hit_ns;
        let copy = copied / self.remote_sends.max(1) as f64;
        let known = (lines.line_accesses() - lines.cold_misses).max(1) as f64;
        let waiting = waiting_ns(lines, prices);
        let remote_send = SendTime {
            lock: if matches!(pool, Pool::Receiver { .. }) { lock / 1e3 } else { 0.0 },
            caching: waiting / known * lines_per_send / 1e3,
            copy: copy / 1e3,
            // The queue of the receiver has a lock of its own.
            rest: lock / 1e3,
        };
        let total = &self.total;
        MemoryCosts {
            sub_misses: total.sub_misses as f64,
            far_misses: total.far_misses as f64,
            receive: waiting_ns(&self.reads, prices) / self.receives.max(1) as f64 / 1e3,
            cache_misses: (total.misses() - total.cold_misses) as f64,
            page_misses: (total.page_misses - total.cold_page_misses) as f64,
            remote_send,
        }
    }
}

/// The time that a worker waits for caches of other workers, but for lines that it never had.
fn waiting_ns(counts: &Counts, prices: &Costs) -> f64 {
    let misses = counts.misses() - counts.cold_misses;
    let far = counts.far_misses.min(misses);
    (misses - far) as f64 * prices.remote_miss_ns
        + (counts.announcements - counts.far_announcements) as f64 * prices.announcement_ns
        + (far + counts.far_announcements) as f64 * prices.far_miss_ns
}

/// Replays a trace through several machines at once.
struct Player {
    machines: Vec<(Machine, Replayed)>,
    /// The bytes of a buffer that a message fills, header included.
    filled: u32,
    fetch: Fetch,
    failed: Option<String>,
}

impl Player {
    fn play(&mut self, access: BufferAccess) {
        let BufferAccess { worker, action, address, bytes } = access;
        let bytes = bytes.min(self.filled);
        let is_remote = matches!(action, BufferAction::Fill { to } if to != worker);
        let is_read = action == BufferAction::Read;
        let write = Access { worker, kind: AccessKind::Write, address, bytes };
        let read = Access { kind: AccessKind::Read, ..write };
        let accesses: &[Access] = match self.fetch {
            Fetch::Shared if is_read => &[read, Access { bytes: bytes.min(HEADER), ..write }],
            _ => &[write],
        };
        for (machine, counts) in &mut self.machines {
            let before = *machine.counts(worker);
            if let Err(error) = machine.replay(accesses.iter().copied()) {
                self.failed.get_or_insert_with(|| error.to_string());
            }
            let caused = *machine.counts(worker) - before;
            if is_remote {
                counts.remote_sends += 1;
                counts.remote_fills += caused;
            }
            if is_read {
                counts.receives += 1;
                counts.reads += caused;
            }
        }
    }
}

/// Runs PHOLD and replays it on each of the machines.
///
/// # Errors
///
/// When the run fails, or a machine cannot replay it.
pub fn replay(run: &BufferRun, machines: &[MachineParams]) -> Result<Vec<Replayed>, LabError> {
    let simulation = Simulation::new(model(&run.model)?)
        .engine(TimeWarp { workers: run.workers, ..TimeWarp::default() });
    let bytes = simulation.buffer_bytes();
    let buffers = run.memory / bytes.max(1);
    let machine = |&params| Ok((Machine::new(params, buffers * bytes)?, Replayed::default()));
    let machines = machines.iter().map(machine).collect::<Result<_, LabError>>()?;
    let filled = HEADER + run.model.payload as u32;
    let player = Arc::new(Mutex::new(Player { machines, filled, fetch: run.fetch, failed: None }));
    let sink = Arc::clone(&player);
    let engine = TimeWarp {
        workers: run.workers,
        instrumentation: Instrumentation {
            trace: Some(BufferTrace::new(move |access| lock(&sink).play(access))),
            ..Instrumentation::IN_TURN
        },
        batch: 1,
        gvt_interval: GVT_WHEN_SHORT,
        flow_control: FlowControl::OFF,
        pool: run.pool.clone(),
        ..TimeWarp::default()
    };
    let simulation = simulation.engine(engine).seed(run.seed).end(run.end);
    let event_bytes = simulation.event_bytes();
    let failed = |source| LabError::Run {
        what: format!("{} pool, {} workers, a trace", kind(&run.pool), run.workers),
        source: Box::new(source),
    };
    let report = simulation.memory(buffers * event_bytes).run().map_err(failed)?;
    let mut player = lock(&player);
    if let Some(reason) = player.failed.take() {
        return Err(LabError::Trace { reason });
    }
    let committed = report.committed_events;
    let replayed = |(machine, counts): &(Machine, Replayed)| Replayed {
        total: machine.total(),
        committed,
        ..*counts
    };
    Ok(player.machines.iter().map(replayed).collect())
}

/// PHOLD with messages that lie in their buffers as a whole.
fn model(params: &PholdParams) -> Result<AnyModel, ConfigError> {
    if params.payload <= LARGE_BYTES {
        return ModelParams::from(params.clone()).model();
    }
    let model = Phold::<BUFFER_BYTES_MAX>::new(params.clone())?;
    Ok(Only::<TimeWarp, _>::new(model).into())
}

/// The name of a pool, for errors.
fn kind(pool: &Pool) -> PoolKind {
    pool.clone().into()
}

/// Locks the player. A replay that panicked has left it as it was.
fn lock(player: &Mutex<Player>) -> MutexGuard<'_, Player> {
    player.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use warpline_models::phold::PholdParams;

    use super::*;
    use crate::machine::{Protocol, Replacement};

    fn run(pool: impl Into<Pool>, memory: u64) -> BufferRun {
        let model =
            PholdParams { lps: 64, population: 128, payload: 1000, ..PholdParams::default() };
        let (pool, fetch, replacement) = (pool.into(), Fetch::Exclusive, Replacement::Lru);
        BufferRun { model, end: 1_000.0, seed: 1, workers: 8, pool, memory, fetch, replacement }
    }

    fn replayed(run: &BufferRun, params: MachineParams) -> Replayed {
        replay(run, &[params]).expect("a sound run")[0]
    }

    /// The buffer paper, 3.1 and 3.2: the receiver of a message misses all of its lines, whatever
    /// the pool. With a receiver pool the sender misses them as well when it writes: two
    /// rounds. With a sender pool it has them, but for buffers that have just come through the
    /// global pool: one round.
    #[test]
    fn receiver_pools_have_two_rounds_of_misses_and_sender_pools_one() {
        let rounds = |pool| {
            let counts = replayed(&run(pool, 4 << 20), MachineParams::ksr2());
            let (lines, misses) =
                (counts.remote_fills.line_accesses(), counts.remote_fills.misses());
            let cold = counts.remote_fills.cold_misses;
            assert!(counts.remote_sends > 1_000, "{counts:?}");
            (misses - cold) as f64 / (lines - cold) as f64
        };
        let of = [PoolKind::Receiver, PoolKind::Sender, PoolKind::Partitioned].map(rounds);
        let ok = of[0] > 0.95 && of[1] < 0.35 && of[2] < 0.15;
        assert!(ok, "misses by lines while a message is written: {of:?}");
    }

    /// Section 3.4: receivers prefetch buffers for writing. Otherwise each message from another
    /// worker has a write that must be announced; the lines that miss are the same.
    #[test]
    fn what_is_fetched_for_writing_is_not_announced() {
        let run = run(PoolKind::Sender, 4 << 20);
        let exclusive = replayed(&run, MachineParams::ksr2());
        let shared = replayed(&BufferRun { fetch: Fetch::Shared, ..run }, MachineParams::ksr2());
        assert_eq!(exclusive.reads.announcements, 0);
        let announced = shared.reads.announcements as f64 / shared.remote_sends as f64;
        assert!((0.9..=1.1).contains(&announced), "{announced} announcements by message");
        assert_eq!(shared.reads.far_misses, 0, "all are on one ring");
        assert!(shared.receives == exclusive.receives && shared.receives > shared.remote_sends);
        let (shared, exclusive) = (shared.reads.misses(), exclusive.reads.misses());
        assert!(shared.abs_diff(exclusive) * 50 < exclusive, "{shared} and {exclusive} misses");
    }

    /// Section 5: page misses of sender and receiver pools grow past the knee, those of partitioned
    /// ones do not. A machine of a sixteenth of the size shows it as well.
    #[test]
    fn page_misses_grow_past_the_knee_but_for_partitioned_pools() {
        let mut small = MachineParams::ksr2();
        small.page_bytes = 4 << 10;
        small.pages.sets = 32;
        let knee = u64::from(small.page_bytes) * small.pages.places();
        let misses = |pool, memory| {
            let counts = replayed(&run(pool, memory), small).total;
            (counts.page_misses - counts.cold_page_misses) as f64 / counts.accesses as f64
        };
        for (pool, grows) in
            [(PoolKind::Receiver, true), (PoolKind::Sender, true), (PoolKind::Partitioned, false)]
        {
            let (before, after) = (misses(pool, knee * 3 / 4), misses(pool, 2 * knee));
            assert!(before < 0.01, "{pool}: {before} page misses per access before the knee");
            assert_eq!(after > 0.05, grows, "{pool}: {after} page misses per access past it");
        }
    }

    /// Section 3.3: where writes update other copies, most needless updates go to sender pools, and
    /// the fewest to partitioned ones.
    #[test]
    fn update_protocols_suit_partitioned_pools() {
        let params = MachineParams { protocol: Protocol::Update, ..MachineParams::ksr2() };
        let needless = |pool| {
            let counts = replayed(&run(pool, 4 << 20), params);
            counts.total.needless_updates as f64 / counts.remote_sends as f64
        };
        let [receiver, sender, partitioned] =
            [PoolKind::Receiver, PoolKind::Sender, PoolKind::Partitioned].map(needless);
        assert!(partitioned < receiver / 4.0, "{partitioned} {receiver}");
        assert!(receiver < sender, "{receiver} {sender}");
    }
}
