//! Runs in stages that end where a seed decides, for the tests of the engines that hand over.
//!
//! The oracle is the sequential engine: same digest, same outputs in the same order, same error.
//! The workers run on threads of their own, so a stage does not end at the same event each time;
//! but wherever it does, the run has to agree.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use super::{Candidates, Carrier, Chooser, Deciding, Stages};
use crate::{
    RunError,
    event::Buffer,
    monitor::Monitor,
    run::{Outcome, Run},
    settings::Balance,
    simulated::{
        Dice, Truth,
        model::{Note, Toy},
    },
    watch::Watch,
};
use warpline_core::LpId;

/// One run, decided by the dice: after any look at the clock, to any candidate, until it is told to
/// stop after so many stages. Returns the number of stages.
pub(crate) fn play<B: Buffer<Note>>(
    run: &Run<'_, Toy>,
    (candidates, balance): (&Candidates, Balance),
    truth: &Truth,
    dice: Dice,
    stop: Option<u64>,
    carrier: &mut dyn Carrier<Toy, B>,
) -> u64 {
    let (toy, settings) = (run.model, run.settings);
    let chooser = Chooser::Trials;
    let deciding = Mutex::new(Deciding::on(candidates, chooser, balance, 1));
    let candidates = &*candidates.all;
    let stages = Stages::new(run, candidates, &deciding);
    let (stopped, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    let dice = Arc::new(Mutex::new(dice));
    let looks = Arc::clone(&dice);
    let patience = looks.lock().expect("no panic in here").pick(&[1, 2, 5, 20]);
    let monitor = Monitor::default();
    let mut watch =
        Watch { stop: Some(&stopped), monitor: Some(monitor.clone()), ..Watch::default() };
    let current = AtomicUsize::new(0);
    watch.stage_end = Some(Box::new(|progress, _| {
        // Ordering: Relaxed; a number that this thread has written.
        let candidate = &candidates[current.load(Ordering::Relaxed)];
        assert_eq!(monitor.workers().len(), candidate.workers, "another stage than {candidate}");
        // A stage does not end before all LPs are made.
        if progress.committed_events == 0 {
            return false;
        }
        // Ordering: Relaxed; a flag and a count, here and below.
        if stop.is_some_and(|stop| begun.load(Ordering::Relaxed) > stop) {
            stopped.store(true, Ordering::Relaxed);
        }
        let ends =
            begun.load(Ordering::Relaxed) < 60 && looks.lock().expect("no panic").one_in(patience);
        if ends {
            deciding.lock().expect("no panic in here").sharing.end_stage();
        }
        ends
    }));
    let begin_stage = || {
        begun.fetch_add(1, Ordering::Relaxed);
        let next = dice.lock().expect("no panic in here").0.below(candidates.len() as u64) as usize;
        current.store(next, Ordering::Relaxed);
        next
    };
    let outcome = stages.run::<B>(None, &mut watch, &begin_stage, carrier);
    drop(watch);
    let log = std::mem::take(&mut *toy.log.lock().expect("no panic in here"));
    match outcome {
        Ok((stage, _)) if stage.interrupted => {
            assert!(stop.is_some());
            assert!(truth.log.outputs.starts_with(&log.outputs), "{:?}", log.outputs);
        }
        Ok((stage, sums)) => {
            let ids = (0..stage.cut.lps.len()).map(LpId::from_index);
            let Outcome::Done(done) = Outcome::at_end(stage, ids, &settings) else {
                panic!("LPs can be dropped")
            };
            let expected = truth.result.as_ref().expect("the sequential run ended well, too");
            assert_eq!(
                (done.totals.digest, done.totals.committed_events),
                (expected.0, expected.1)
            );
            assert_eq!(sums.committed.iter().sum::<u64>(), expected.1);
            if settings.end == f64::INFINITY {
                assert_eq!(done.last_time, expected.2, "the time of the last event");
            }
            assert_eq!(log.outputs, truth.log.outputs);
            assert_eq!(log.blocking.len(), truth.log.blocking.len());
        }
        Err(failure) => {
            let found = failure.map(|failure| failure.1);
            let error = found.as_ref().map(ToString::to_string);
            let (Some(RunError::Model(found)), Err(RunError::Model(expected))) =
                (found, &truth.result)
            else {
                panic!("{error:?}, but the sequential run ended with {:?}", truth.result);
            };
            let place = |place: &warpline_core::Place| (place.lp, place.event);
            assert_eq!(place(&found.place), place(&expected.place), "{found}");
            assert_eq!(found.fault, expected.fault);
            assert_eq!(log.outputs, truth.log.outputs, "{found}");
        }
    }
    begun.load(Ordering::Relaxed)
}
