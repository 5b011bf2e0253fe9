//! Runs that begin with a cut of the sequential engine, or leave one to it.

use warpline_core::Model;

use super::super::{
    event::Event, saving::Lp, shared::TimeWarpShared, turn::End, worker::TimeWarpWorker,
};
use crate::{
    Sequential,
    cut::{LeftEvent, Rest, Whole},
    placement::LpDirectory,
    sequential,
    settings::{Settings, TimeWarp},
    simulated::{
        Dice, Truth,
        model::{Log, Toy},
    },
    sorting,
    watch::Watch,
};

/// When Time Warp begins and when it ends, where another engine is before or after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cuts {
    pub(super) begin: Option<f64>,
    pub(super) leave: Option<f64>,
    /// Whether a rank begins with what a rank has left, where events are with their receivers.
    pub(super) is_as_left: bool,
}

/// Draws them, for a run to this end.
pub(super) fn draw(dice: &mut Dice, end: f64) -> Cuts {
    let begin = dice.pick(&[None, Some(0.0), Some(0.3), Some(1.0), Some(2.5)]);
    let leave = dice.pick(&[None, Some(0.0), Some(0.5), Some(1.0), Some(3.0), Some(9.0)]);
    let begin = begin.map(|begin: f64| begin.min(end));
    let leave = leave.map(|leave: f64| leave.max(begin.unwrap_or(0.0)).min(end));
    Cuts { begin, leave, is_as_left: begin.is_some() && dice.pick(&[false, true]) }
}

impl Cuts {
    /// What the sequential engine leaves to Time Warp: the part of each rank.
    pub(super) fn begin(
        self,
        ranks: usize,
        toy: &Toy,
        settings: &Settings<TimeWarp>,
    ) -> Vec<Option<Whole<Toy>>> {
        let Some(end) = self.begin else { return (0..ranks).map(|_| None).collect() };
        let directory = directory(ranks, toy, settings);
        let settings = settings.with(Sequential::default());
        let settings = Settings { end, memory: None, leaves_cut: true, ..settings };
        let report = sequential::run(toy, &settings, &mut Watch::default(), None);
        let whole = report.expect("the whole run goes well, too").output.cut();
        whole.divide(&directory, ranks, !self.is_as_left).into_iter().map(Some).collect()
    }

    pub(super) fn until_leaving(self, settings: &Settings<TimeWarp>) -> Settings<TimeWarp> {
        let end = self.leave.unwrap_or(settings.end);
        Settings { end, leaves_cut: self.leave.is_some(), ..settings.clone() }
    }
}

/// What a worker leaves.
pub(super) struct Leaving {
    lps: Vec<Lp<<Toy as Model>::Lp>>,
    left: Vec<Event>,
    backlog: Vec<LeftEvent<Toy>>,
    log_end: u64,
}

impl Leaving {
    pub(super) fn of(mut worker: TimeWarpWorker<'_, Toy>) -> Self {
        let left = worker.take_pending(End::Finished);
        let backlog = worker.take_backlog(End::Finished);
        Self { left, backlog, log_end: worker.sender.undo_log.back(), lps: worker.lps }
    }
}

fn directory(ranks: usize, toy: &Toy, settings: &Settings<TimeWarp>) -> LpDirectory {
    let TimeWarp { workers, placement, .. } = &settings.engine;
    LpDirectory::new(toy, toy.lp_count(), placement, workers * ranks, 0..*workers).expect("valid")
}

/// What the workers of one rank have left.
fn part(shared: &mut TimeWarpShared<Toy>, workers: Vec<Leaving>) -> Whole<Toy> {
    let (mut lps, mut left, mut log_end) = (Vec::new(), shared.all_mail(), 0);
    let mut backlog = Vec::new();
    for worker in workers {
        lps.extend(worker.lps);
        left.extend(worker.left);
        backlog.extend(worker.backlog);
        log_end = log_end.max(worker.log_end);
    }
    let numbers: Vec<_> = lps.iter().map(|lp| lp.id).collect();
    sorting::arrange(&mut lps, sorting::order_of_lps(&numbers));
    shared.cut(lps, (left, backlog), log_end)
}

/// The sequential engine goes on from what all workers have left, to the end of the whole run.
pub(super) fn go_on(
    toy: &Toy,
    settings: &Settings<TimeWarp>,
    shared: &mut [TimeWarpShared<Toy>],
    mut workers: Vec<Leaving>,
    mut log: Log,
    truth: &Truth,
) {
    let directory = directory(shared.len(), toy, settings);
    let each = settings.engine.workers;
    let of_rank = |shared| part(shared, workers.drain(..each).collect());
    let parts = shared.iter_mut().map(of_rank).collect();
    let whole = Whole::unite(&directory, parts).expect("each rank has its LPs");
    let before = whole.0.committed();
    let settings = settings.with(Sequential::default());
    let settings = Settings { memory: None, ..settings };
    let report = sequential::run(toy, &settings, &mut Watch::default(), Some(whole));
    let report = report.expect("the whole run goes well, too").map(Rest::output);
    let (digest, events, _) = truth.result.as_ref().expect("it goes well");
    let committed = before + report.totals.committed_events;
    assert_eq!((&report.totals.digest, committed), (digest, *events), "after a cut");
    let mut after = std::mem::take(&mut *toy.log.lock().expect("no panic in here"));
    log.outputs.append(&mut after.outputs);
    log.blocking.append(&mut after.blocking);
    assert_eq!(log.outputs, truth.log.outputs, "after a cut");
    assert_eq!(log.blocking, truth.log.blocking, "after a cut");
}
