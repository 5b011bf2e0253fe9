//! The settings and the schedule of a simulated run, as a seed decides.

use warpline_core::VirtualTime;

use crate::{
    CheckpointInterval, PendingKind, StateSaving, StateSavingKind,
    settings::{FlowControl, MailQueue, Numa, Pool, PoolKind, Settings, TimeWarp},
    simulated::Dice,
};

/// The pool that a seed is run with.
pub(super) fn pool(seed: u64) -> PoolKind {
    PoolKind::ALL[(seed % PoolKind::ALL.len() as u64) as usize]
}

pub(super) fn settings(dice: &mut Dice, seed: u64) -> Settings<TimeWarp> {
    let saving = dice.pick(&[StateSavingKind::Copy, StateSavingKind::Reverse]);
    let every = [1, 2, 3, 4, 9].map(CheckpointInterval::Every);
    let window = dice.pick(&[f64::INFINITY, f64::INFINITY, 0.0, 0.7, 3.0]);
    let time_barrier = dice.pick(&[None, None, None, VirtualTime::new(2.0).ok()]);
    let [free1, free2] = dice.pick(&[[0.1, 0.2], [0.0, 0.0], [0.5, 0.9], [0.9, 0.1]]);
    let throttle = dice.one_in(2);
    let defaults = FlowControl::default();
    let flow_control = FlowControl { free1, free2, throttle, time_barrier, ..defaults };
    let engine = TimeWarp {
        workers: dice.pick(&[1, 2, 2, 3, 3, 4, 5, 8]),
        batch: 1 + dice.0.below(16) as usize,
        window,
        saving: match (saving, dice.pick(&[every[0], every[1], every[2], every[3], every[4]])) {
            (StateSavingKind::Copy, interval) => StateSaving::Copy { interval },
            (other, _) => other.into(),
        },
        gvt_interval: 1 + dice.0.below(64) as usize,
        flow_control,
        pin: false,
        ..TimeWarp::default()
    };
    let end = if dice.one_in(3) { dice.pick(&[0.0, 2.5, 6.0]) } else { f64::INFINITY };
    let engine = TimeWarp { pending: dice.pick(PendingKind::ALL), ..engine };
    Settings { seed, end, engine, ..Settings::default() }
}

/// The settings with which workers have the [policy](super::super::policy) `Plain`.
pub(super) fn plain(engine: TimeWarp) -> TimeWarp {
    let pool = if engine.pool.is_on_the_fly() { Pool::PARTITIONED } else { engine.pool };
    let numa = Numa { mail: MailQueue::default(), ..engine.numa };
    let saving = match engine.saving {
        StateSaving::Auto => StateSaving::Auto,
        _ => StateSaving::COPY,
    };
    TimeWarp { saving, pool, numa, ..engine }
}

/// How the scheduler treats the workers.
pub(super) struct Schedule {
    /// One of this many steps sends a worker to sleep, for up to `nap_max` steps.
    pub(super) naps: u64,
    pub(super) nap_max: u64,
    /// One of this many turns is taken in one go.
    pub(super) whole: u64,
    /// One of this many steps requests GVT from outside.
    pub(super) rounds: u64,
    /// After this many steps the run is told to stop.
    pub(super) stop: Option<u64>,
    /// From this step on, workers want sparse copies, with this interval.
    pub(super) sparse: Option<(u64, u32)>,
    /// One of this many steps is followed by a look at every event and every buffer.
    pub(super) census: u64,
}

pub(super) fn schedule(dice: &mut Dice) -> Schedule {
    Schedule {
        naps: dice.pick(&[4, 10, 50, 500]),
        nap_max: dice.pick(&[5, 60, 400]),
        whole: dice.pick(&[1, 2, 10]),
        rounds: dice.pick(&[3, 10, 50, 1_000_000]),
        stop: dice.one_in(6).then(|| dice.0.below(400)),
        sparse: None,
        census: dice.pick(&[7, 40, 1_000]),
    }
}
