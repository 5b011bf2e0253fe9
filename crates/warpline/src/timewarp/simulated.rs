//! The whole engine on one thread, under a scheduler that a seed decides.
//!
//! The workers of a run are step functions here: the scheduler picks the worker that takes the next
//! step, starves some for long, stalls others in the middle of a round of GVT, and looks at
//! everything from outside in between. The model, the settings and the schedule are drawn from one
//! seed, so every failure names the number that repeats it; `SIMULATED_SEED=1234 cargo test
//! simulated` runs that one.
//!
//! The oracle is the sequential engine: same digest, same outputs in the same order, same error.
//!
//! # Mutations of the engine, each found
//!
//! The number is the first seed that finds it, where that is above 1000.
//!
//! - `Participant::sent` forgets SendMin: "TW-C: ... in the mail".
//! - `file` takes the least key before the mail: "TW-C: ... pending".
//! - `file` does not flush before the report: "TW-C: ... in open mail".
//! - `least` forgets the LPs that wait: "TW-C: ... waiting".
//! - `take_back` leaves anti-messages out of SendMin: "TW-C: ... in the mail" (1999).
//! - `request_gvt_if_due`: an idle worker does not request GVT: "the run hangs".
//! - `is_next` compares the times of a straggler, not the keys: "HIST-A".
//! - `undo` spares the event at `to` itself: "TW-B: ... is handled, but the buffer is ... waiting".
//! - `unsend` leaves out the last event that was sent: "TW-B: events were lost or doubled".
//! - `find` looks for the key, not the event: "ARENA-B: ... waiting".
//! - `annihilate` does not look among what waits with an LP: "ARENA-B: ... waiting".
//! - `undo_cut_off` undoes another event with the same key, too: an error of another event (9206).
//! - `Event::cmp` leaves out the receiver: the pending set counts below zero (28 547).
//! - `restore` leaves the random stream as it is: "ran differently".
//! - `coast_forward` handles one event too few: "an I/O event was handled speculatively".
//! - `handle_io` without SAVE-B: "ran differently".
//! - `may_drop` always says yes: "SAVE-A".
//! - `undo_writes` does not undo tracked fields: "an I/O event was handled speculatively".
//! - `drop_front` also collects the event at GVT: "TW-B: lost".
//! - `drop_front` does not free buffers: "ARENA-A: buffers were lost or doubled".
//! - `IoStage::deliver` goes by the fastest worker: "outputs: ..." in another order.
//! - `deliver_outputs` also takes what is beyond GVT: "TW-B: lost".
//! - `meet_gvt` comes before the mail: "blocking: ...", an I/O event that never was (17 586).
//! - `cut_off` reports a failure at once: an error that the sequential run does not have.
//! - `FirstFailure::note` keeps whichever failure came first: the place of another event (8355).
//! - `relieve` leaves the worker starved: "said that it is starved, and does not try again".
//! - `relieve` gives up at once: "53 buffers are enough, 49 are needed".
//! - `cancel_back` goes below GVT, where a time is too small to add: "TW-C: ... pending" (1951).
//! - `may_handle` forgets the event at GVT (FLOW-A): "the run hangs".
//! - `forget_sent` does nothing: "HIST-B".
//!
//! Of the code for several ranks:
//!
//! - `read_events` leaves the events that cross the cut out: "TW-C: ... waiting".
//! - `count` does not wait for the messages of the old color: "GVT decreased".
//! - `least` forgets the backlog: "TW-C: ... in the backlog".
//! - `file_anti_message` goes by the key, not the serial number: a wrong state, "LP 4 after 4
//!   events".
//!
//! Of the loop over events with the policy `Plain` (all but the second are also found by
//! `warpline-models/tests/timewarp_policies.rs`):
//!
//! - `handle` notes no `undo_from`: "UNDO-A: a front of 0".
//! - `drop_front` takes the event at GVT, too: "... is not final".
//! - `accept` sends to the worker after the right one: "TW-B".
//! - `deliver` does not note one send in eight: "TW-B: events were lost or doubled".
//!
//! Of bottom halves:
//!
//! - `take_in` does not exchange the halves: "TW-C: ... in the mail" (122), "HALF-A" (287).
//! - `file_mail` does not fill the bottom half: "TW-B: events were lost or doubled".
//! - `exchange_halves` does not claim buffers: "ARENA-B: ... waiting".
//! - `pass_on` loses the notice of an anti-message: "TW-C: ... in the mail" (31), "HALF-A" (70).
//!
//! Of on-the-fly fossil collection:
//!
//! - `set_horizon` goes beyond GVT: "FOSSIL-A" (14).
//! - `set_horizon` forgets records that may be coasted over: "ARENA-B: ... a buffer of 0".
//! - `drop_front` frees a buffer that was returned: "ARENA-B: ... a buffer of".
//! - `take_in` sets no horizon: "ARENA-B: ... a buffer of" (13 782).
//!
//! Of the change to sparse copies:
//!
//! - `prepares_to_change` undoes nothing: "CHOICE-A" (37).
//! - `adopt` lets LPs leave after the change: "SAVE-A", and lost undo entries (4994).
//! - `change_to_sparse_copies` leaves `next` as it was: "SAVE-A" (27 147).
//! - `become_sparse` (1338) or `add_lp` (22) lets the next record have no copy: "SAVE-A".
//!
//! Not found by 3000 seeds: `may_handle` tries the event at GVT again and again. It hung where
//! receivers took less than was sent. Not found, for the results are the same: anything that only
//! costs time, such as a worker that is held back although all others wait for it.

mod census;
mod cutting;
mod drawing;
mod errors;
mod net;
mod recorded;

use std::{ops::Range, sync::Arc};

use warpline_core::{CommitDigest, LpId, Model, Stream};
use warpline_net::Transport;

use self::{
    cutting::Cuts,
    drawing::{Schedule, plain, pool, schedule, settings},
    errors::check_error,
    net::Net,
};
use super::{
    all_workers, choosing::Choice, gvt::Bound, load::Meter, remote::Exchanged,
    shared::TimeWarpShared, turn::End, worker::TimeWarpWorker,
};
use crate::{
    pending::PendingSet,
    run::{FailureOrder, Ranks},
    settings::{
        Aggregation, Balance, MailQueue, Pool, PoolKind, Sequential, Settings, StateSaving,
        TimeWarp,
    },
    simulated::{
        Dice, Truth,
        model::{Log, Toy},
        named, on_all_cores, seeds, toy,
    },
};

/// The seeds of runs on one rank; the numbers above those are run on several ranks. Of each kind, a
/// test runs the first ones, unless `SIMULATED_SEEDS` says how many.
const SEEDS: u64 = 50_000;
const SEEDS_OF_RANKS: u64 = 3_000;
/// These come after the two above.
const SEEDS_OF_PLAIN: u64 = 8_000;
const PLAIN: Range<u64> = SEEDS + SEEDS_OF_RANKS..SEEDS + SEEDS_OF_RANKS + SEEDS_OF_PLAIN;
/// A run in which GVT does not move for this many steps hangs.
const STEPS_MAX: u64 = 40_000;

/// Seeds that have failed once, and why.
const REGRESSIONS: &[u64] = &[
    // The order of events left out the receiver. Of two canceled ones, sent under one key and in
    // one buffer to different LPs, the pending set handed out one and forgot the other.
    28_547, 49_600,
];

/// Where a worker is in its turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Asleep,
    Notice,
    File(bool),
    Handle,
    Ended(End),
}

/// One run, all of it decided by the seed. Gives the number of events that were rolled back.
fn simulate(seed: u64, pool: PoolKind, ranks: usize) -> u64 {
    let mut dice = Dice(Stream::for_lp(seed, LpId::new(0)));
    let mut settings = settings(&mut dice, seed);
    // Other dice, so that a seed draws the same models whatever moves.
    let mut other_dice = Dice(Stream::for_lp(seed, LpId::new(2)));
    let shares = [0.05, 0.3, 1.0].map(Balance::Randomly);
    let balances = [Balance::Off, Balance::On, shares[0], shares[1], shares[2]];
    settings.engine.balance = other_dice.pick(&balances);
    settings.engine.numa.mail = other_dice.pick(MailQueue::ALL);
    settings.engine.pool = match pool {
        PoolKind::Receiver => Pool::Receiver { local_pool: seed.is_multiple_of(3) },
        other => other.into(),
    };
    if pool == PoolKind::Partitioned && other_dice.one_in(2) {
        settings.engine.pool = Pool::ON_THE_FLY;
    }
    if settings.engine.saving == StateSaving::COPY && other_dice.one_in(2) {
        settings.engine.saving = StateSaving::Auto;
    }
    if ranks > 1 {
        settings.engine.workers = settings.engine.workers.min(3);
        settings.engine.balance = Balance::Off;
    }
    let toy = toy(&mut dice, settings.engine.saving != StateSaving::Reverse);
    let mut schedule = schedule(&mut dice);
    schedule.sparse =
        other_dice.one_in(2).then(|| (other_dice.0.below(600), other_dice.pick(&[1, 2, 3, 9])));
    let truth = Truth::new(&toy, settings.with(Sequential { pending: settings.engine.pending }));
    let buffer = TimeWarpShared::<Toy>::buffer_bytes(&settings.engine);
    let buffers = dice.one_in(3).then(|| 1 + dice.0.below(60));
    settings.memory = buffers.map(|buffers| buffers * buffer);
    if PLAIN.contains(&seed) {
        // One in four has a timeline all the same.
        settings.memory = None;
        settings.engine = plain(settings.engine);
    }
    let cuts = other_dice.one_in(2).then(|| cutting::draw(&mut other_dice, settings.end));
    let cuts = cuts.filter(|_| truth.result.is_ok()).unwrap_or_default();
    let rolled_back = simulate_on(ranks, &toy, &settings, (&mut dice, &schedule), &truth, cuts);
    assert_eq!(Arc::strong_count(&toy.token), 1, "messages that were never dropped");
    rolled_back
}

fn simulate_on(
    ranks: usize,
    toy: &Toy,
    settings: &Settings<TimeWarp>,
    (dice, schedule): (&mut Dice, &Schedule),
    truth: &Truth,
    cuts: Cuts,
) -> u64 {
    let (workers, mut patience) = (settings.engine.workers, 1);
    let mut settings = settings.clone();
    if ranks > 1 {
        patience = dice.pick(&[1, 2, 5]);
        let aggregations = [Aggregation::Off, Aggregation::Adaptive, Aggregation::Bytes(150)];
        settings.engine.aggregation = dice.pick(&aggregations);
    }
    let net = Net::new(ranks, workers + 1, patience, Stream::for_lp(settings.seed, LpId::new(1)));
    let ends = net.ends();
    let views: Vec<_> = ends.iter().map(|end| Ranks::of(end as &dyn Transport)).collect();
    let (wires, timeline) =
        (toy.wires().filter(|_| ranks > 1), recorded::timeline(&settings, ranks));
    let shared = |(view, from): (&Ranks<'_>, _)| {
        let settings = cuts.until_leaving(&settings);
        let shared =
            TimeWarpShared::new(toy, &settings, view, wires, from).expect("valid settings");
        TimeWarpShared { timeline: timeline.clone(), ..shared }
    };
    let parts = cuts.begin(ranks, toy, &settings).into_iter();
    let mut shared: Vec<_> = views.iter().zip(parts).map(shared).collect();
    let of_rank =
        |(shared, view)| (0..workers).map(move |me| TimeWarpWorker::new(toy, shared, me, view));
    let all = ranks * workers;
    let mut run = Run {
        shared: &shared,
        views: &views,
        net: &net,
        workers: shared.iter().zip(&views).flat_map(of_rank).collect(),
        phases: vec![Phase::Asleep; all],
        naps: vec![0; all],
        starved: vec![false; all],
        gvt: vec![Bound::ZERO; all],
    };
    for worker in &mut run.workers {
        if worker.log.saving.choice.is_some() {
            worker.log.saving.choice = Some(Choice::by_seed(None));
        }
        if settings.engine.balance == Balance::On {
            // A run repeats itself only if nothing in it depends on a clock.
            worker.optional.moves.hasten(settings.seed);
            worker.optional.meter = Meter::new(false);
        }
    }
    run.run(dice, schedule);
    let log = run.check(toy, truth);
    recorded::check(&shared, &mut run.workers);
    let rolled_back = run.workers.iter().map(|worker| worker.statistics.rolled_back).sum();
    let log = log.filter(|_| cuts.leave.is_some());
    let left = run.into_workers().filter(|_| log.is_some()).map(cutting::Leaving::of).collect();
    if let Some(log) = log {
        cutting::go_on(toy, &settings, &mut shared, left, log, truth);
    }
    rolled_back
}

/// A run under way. The workers of all ranks are in one row.
struct Run<'r> {
    shared: &'r [TimeWarpShared<Toy>],
    views: &'r [Ranks<'r>],
    net: &'r Net,
    workers: Vec<TimeWarpWorker<'r, Toy>>,
    phases: Vec<Phase>,
    /// Until which step a worker sleeps.
    naps: Vec<u64>,
    /// Whether a worker was starved when it reported, as far as its steps were taken one by one.
    starved: Vec<bool>,
    gvt: Vec<Bound>,
}

impl<'r> Run<'r> {
    fn into_workers(self) -> impl Iterator<Item = TimeWarpWorker<'r, Toy>> {
        self.workers.into_iter()
    }
}

impl Run<'_> {
    fn run(&mut self, dice: &mut Dice, schedule: &Schedule) {
        let mut moved = 0;
        for step in 0.. {
            if step - moved > STEPS_MAX * (self.shared.len() as u64).pow(3) {
                self.fail_as_hung();
            }
            let running = |me: &usize| !matches!(self.phases[*me], Phase::Ended(_));
            let running: Vec<usize> = (0..self.workers.len()).filter(running).collect();
            if running.is_empty() {
                return;
            }
            let awake: Vec<_> =
                running.iter().copied().filter(|&me| self.naps[me] <= step).collect();
            let me = dice.pick(if awake.is_empty() { &running } else { &awake });
            if schedule.stop.is_some_and(|stop| stop <= step) {
                let last = self.shared.len() - 1;
                self.workers[last * self.shared[last].workers()].flow.stop();
            }
            if dice.one_in(schedule.rounds) {
                self.workers[me].shared.request_gvt();
            }
            if let Some((from, every)) = schedule.sparse
                && from <= step
            {
                let choice = &mut self.workers[me].log.saving.choice;
                *choice = choice.take().map(|_| Choice::by_seed(Some(every)));
            }
            self.step(me, dice.one_in(schedule.whole));
            let in_round = self.phases[me] == Phase::File(true);
            if dice.one_in(if in_round { 2 } else { schedule.naps }) {
                self.naps[me] = step + 1 + dice.0.below(schedule.nap_max);
            }
            assert!(self.gvt[me] <= self.workers[me].clock.gvt, "GVT decreased at {me}");
            if self.gvt[me] < self.workers[me].clock.gvt {
                (self.gvt[me], moved) = (self.workers[me].clock.gvt, step);
            }
            if !self.shared.iter().any(|shared| shared.failure.is_known()) {
                // What a worker has not taken over is nowhere yet.
                let is_whole =
                    self.shared[0].cut.is_none() || !self.phases.contains(&Phase::Asleep);
                self.take_census(dice.one_in(schedule.census) && is_whole);
            }
        }
    }

    /// Checks the invariants of GVT, and with `places` where every event and every buffer is.
    fn take_census(&mut self, places: bool) {
        let gvt = census::newest(&self.workers);
        let each = self.shared[0].workers();
        for (shared, workers) in self.shared.iter().zip(self.workers.chunks_mut(each)) {
            census::check_gvt(shared, workers, gvt);
            if places {
                census::check_network(shared, self.net, gvt);
                census::check_notices(shared, workers);
                census::check_places(shared, workers, gvt);
            }
        }
    }

    fn step(&mut self, me: usize, whole: bool) {
        let worker = &mut self.workers[me];
        if whole {
            self.starved[me] = false;
        }
        let next = match self.phases[me] {
            Phase::Asleep => worker.start(|| false).map_or_else(Phase::Ended, |()| Phase::Notice),
            Phase::Notice if whole => worker.turn().map_or_else(Phase::Ended, |_| Phase::Notice),
            Phase::Notice => {
                let rounds = worker.sender.gvt.rounds();
                let next = worker.notice_gvt().map_or_else(Phase::Ended, Phase::File);
                let relieved = self.starved[me] && worker.sender.gvt.rounds() > rounds;
                let waits = relieved && matches!(next, Phase::File(_)) && worker.flow.is_starved();
                let waits = waits && worker.end_if_closed().is_ok();
                assert!(!waits, "{me} said that it is starved, and does not try again");
                next
            }
            Phase::File(must_report) => {
                let next = worker.file(must_report).map_or_else(Phase::Ended, |()| Phase::Handle);
                if must_report {
                    self.starved[me] = worker.flow.is_starved();
                }
                next
            }
            Phase::Handle => {
                worker.handle_batch();
                Phase::Notice
            }
            Phase::Ended(_) => unreachable!("an ended worker takes no step"),
        };
        if let Phase::Ended(_) = next {
            worker.return_kept_mail();
            worker.send_mail(false);
            if worker.shared.is_abandoned() {
                self.views[me / worker.shared.workers()].alert();
            }
        }
        self.phases[me] = next;
    }

    fn fail_as_hung(&mut self) -> ! {
        let each = self.shared[0].workers();
        for (number, (worker, phase)) in self.workers.iter_mut().zip(&self.phases).enumerate() {
            let least = worker.sender.pending.peek().copied();
            eprintln!(
                "worker {} of rank {} is at {phase:?}: GVT {:?}, {:?}\n  least pending {least:?}\n\
                 \x20 waiting {:?}\n  {:?}",
                worker.me,
                number / each,
                worker.clock.gvt,
                worker.flow,
                worker.aside.waiting,
                worker.sender.remote
            );
        }
        let rounds: Vec<_> = self.shared.iter().map(|shared| &shared.gvt).collect();
        panic!("the run hangs; GVT rounds: {rounds:?}\n{:?}", self.net);
    }

    /// Rank 0 writes what the workers of all ranks have left, as when a run ends.
    fn finish_outputs(&self, toy: &Toy) {
        let all = self.shared.iter().zip(self.views);
        for (shared, ranks) in all.clone().skip(1).chain(all.take(1)) {
            all_workers::finish_outputs(toy, shared, ranks);
        }
    }

    /// Returns what was noted, if the run has left a cut.
    fn check(&mut self, toy: &Toy, truth: &Truth) -> Option<Log> {
        self.finish_outputs(toy);
        let mut log = std::mem::take(&mut *toy.log.lock().expect("no panic in here"));
        // Rank 0 writes those of all.
        assert!(log.outputs.iter().map(|output| output.0).is_sorted(), "{:?}", log.outputs);
        let failures = self.shared.iter().filter_map(|shared| shared.failure.take());
        if let Some(failure) = failures.min_by_key(|failure| failure.0) {
            let (order, error) = *failure;
            // Another rank may have committed and delivered later outputs by then.
            let ranks = self.shared.len();
            log.outputs.retain(|output| ranks == 1 || FailureOrder::Event(output.0) < order);
            check_error(error, toy, &log, truth, &self.shared[0]);
            return None;
        }
        self.take_census(true);
        if let Some(Exchanged { sent, received, .. }) = census::exchanged(&self.workers) {
            assert_eq!(sent, received, "remote events were lost or doubled");
        }
        census::check_states(&self.workers, &truth.log.states);
        assert!(truth.log.outputs.starts_with(&log.outputs), "outputs: {:?}", log.outputs);
        assert!(truth.log.blocking.starts_with(&log.blocking), "blocking: {:?}", log.blocking);
        let total =
            |of: fn(&TimeWarpWorker<'_, Toy>) -> u64| self.workers.iter().map(of).sum::<u64>();
        let committed = total(|worker| worker.statistics.committed);
        let processed = total(|worker| worker.statistics.processed);
        let rolled_back = total(|worker| worker.statistics.rolled_back);
        assert_eq!(committed, processed - rolled_back, "handled events were lost or doubled");
        let lps = self.workers.iter().flat_map(|worker| &worker.lps);
        let worked: i32 = lps.map(|lp| lp.work.events()).sum();
        let measured = self.shared[0].settings.engine.balance == Balance::On;
        assert!(measured || worked as u64 == committed, "an LP has worked {worked} of {committed}");
        let is_interrupted = self.phases.contains(&Phase::Ended(End::Interrupted));
        if is_interrupted {
            let all = self.phases.iter().all(|phase| *phase == Phase::Ended(End::Interrupted));
            assert!(all, "only some were interrupted: {:?}", self.phases);
        }
        if is_interrupted || self.shared[0].settings.leaves_cut {
            return Some(log);
        }
        let mut digest = CommitDigest::default();
        for lp in self.workers.iter().flat_map(|worker| &worker.lps) {
            digest.add_lp(lp.id, lp.core.digest, &lp.core.rng, lp.core.sent);
        }
        let Ok((expected, events, _)) = &truth.result else {
            panic!("finished, but the sequential run ended with {:?}", truth.result);
        };
        let before = self.shared.iter().map(|it| it.committed_before);
        assert_eq!((&digest, before.fold(committed, u64::wrapping_add)), (expected, *events));
        assert_eq!(log.outputs, truth.log.outputs);
        assert_eq!(log.blocking, truth.log.blocking);
        None
    }
}

/// One run, on as many ranks as the seed says.
fn simulate_seed(seed: u64) -> u64 {
    let has_ranks = (SEEDS..SEEDS + SEEDS_OF_RANKS).contains(&seed);
    let ranks = if has_ranks { 2 + (seed % 3 / 2) as usize } else { 1 };
    simulate(seed, pool(seed), ranks)
}

/// Runs the first `own` of these seeds, or as many as `SIMULATED_SEEDS` says.
fn run_seeds(all: Range<u64>, own: u64) {
    let runs = seeds(own).min(all.end - all.start);
    if let Some(rolled_back) = on_all_cores(all, runs, |seed| named(seed, simulate_seed)) {
        assert!(rolled_back > runs, "the schedules do not lead to rollbacks: {rolled_back}");
    }
}

#[test]
fn simulated_runs_agree_with_the_sequential_engine() {
    run_seeds(0..SEEDS, 12_000);
}

#[test]
fn simulated_ranks_agree_with_the_sequential_engine() {
    run_seeds(SEEDS..SEEDS + SEEDS_OF_RANKS, 800);
}

#[test]
fn simulated_plain_runs_agree_with_the_sequential_engine() {
    run_seeds(PLAIN, 2_000);
}

#[test]
fn regression_seeds() {
    for &seed in REGRESSIONS {
        for &pool in PoolKind::ALL {
            simulate(seed, pool, 1);
        }
    }
}
