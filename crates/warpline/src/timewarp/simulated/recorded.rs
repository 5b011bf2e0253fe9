//! Whether a timeline tells what has happened: its spans and arrows are compared with what the
//! workers have counted.
//!
//! # Mistakes that it has found, with the seed
//!
//! - `identity` knows a canceled event of another rank by its key: "each canceled event has an
//!   arrow" (50 108).
//! - `note_annihilated_remote` does not look at the clock: "each canceled event has an arrow"
//!   (50 620).
//!
//! A mutation that turns this red: `note_canceled` notes nothing.

use super::{Settings, TimeWarp, TimeWarpShared, TimeWarpWorker, Toy};
use crate::timeline::{Cause, Link, Phase, Recording, Span, Timeline, Track};

/// One run in this number has a timeline, which takes time.
const EVERY: u64 = 4;

/// A timeline for some of the runs.
pub(super) fn timeline(settings: &Settings<TimeWarp>, ranks: usize) -> Option<Timeline> {
    let timeline = settings.seed.is_multiple_of(EVERY).then(Timeline::default);
    timeline.inspect(|timeline| timeline.prepare(0..ranks, settings.engine.workers))
}

/// Compares what a timeline tells with what the workers have counted.
pub(super) fn check(shared: &[TimeWarpShared<Toy>], workers: &mut [TimeWarpWorker<'_, Toy>]) {
    let Some(timeline) = &shared[0].timeline else { return };
    workers.iter_mut().for_each(TimeWarpWorker::end_trace);
    let recording = timeline.recording();
    assert_eq!((recording.one_of, recording.left_out), (1, 0), "SPAN-C");
    assert_eq!(recording.tracks.len(), workers.len());
    recording.tracks.iter().for_each(check_nesting);
    for (track, worker) in recording.tracks.iter().zip(&*workers) {
        check_counts(track, worker);
    }
    check_arrows(&recording, workers);
}

/// SPAN-A.
fn check_nesting(track: &Track) {
    let mut open: Vec<usize> = Vec::new();
    for (place, span) in track.spans.iter().enumerate() {
        assert!(span.begin <= span.end, "SPAN-A: {span:?}");
        while open.last() != span.parent.as_ref() {
            let before = open.pop().expect("SPAN-A: a span around it");
            assert!(track.spans[before].end <= span.begin, "SPAN-A: {span:?}");
        }
        if let Some(parent) = span.parent {
            let parent = &track.spans[parent];
            assert!(parent.begin <= span.begin && span.end <= parent.end, "SPAN-A: {span:?}");
        }
        open.push(place);
    }
}

fn check_counts(track: &Track, worker: &TimeWarpWorker<'_, Toy>) {
    let of = |phase: fn(Phase) -> bool| {
        track.spans.iter().filter(move |span| span.phase.is_some_and(phase))
    };
    let events = |phase| of(phase).map(|span| span.events).sum::<u64>();
    let count = |phase| of(phase).count() as u64;
    let statistics = &worker.statistics;
    let handled = events(|phase| matches!(phase, Phase::Batch | Phase::BlockingIo));
    assert_eq!(handled, statistics.processed);
    let undone = events(|phase| matches!(phase, Phase::Rollback(_)));
    assert_eq!(undone, statistics.rolled_back);
    let primary = count(|phase| phase == Phase::Rollback(Cause::Straggler));
    assert_eq!(primary, statistics.primary_rollbacks);
    let secondary =
        count(|phase| matches!(phase, Phase::Rollback(Cause::AntiMessage | Cause::Horizon)));
    assert_eq!(secondary, statistics.secondary_rollbacks);
    let annihilated = track.spans.iter().filter(|span| ends_canceled(span)).count() as u64;
    assert_eq!(annihilated, statistics.annihilated);
    assert_eq!(events(|phase| phase == Phase::Cancelback), statistics.cancelbacks);
    // A worker that leaves a run that has failed may have seen one more result.
    let rounds = worker.sender.gvt.rounds();
    assert!([0, 1].contains(&(rounds - count(|phase| phase == Phase::Gvt))), "{rounds} rounds");
}

/// Whether a canceled event has come to its end there.
fn ends_canceled(span: &Span) -> bool {
    matches!(span.phase, None | Some(Phase::Rollback(Cause::AntiMessage)))
}

/// SPAN-B; and each canceled event has an arrow, as has each straggler.
fn check_arrows(recording: &Recording, workers: &[TimeWarpWorker<'_, Toy>]) {
    let span = |(track, span): (usize, usize)| &recording.tracks[track].spans[span];
    let (mut canceled, mut stragglers) = (0, 0);
    for arrow in &recording.arrows {
        let (from, to) = (span(arrow.from), span(arrow.to));
        assert!(from.begin <= to.begin, "SPAN-B: {from:?} to {to:?}");
        match arrow.link {
            Link::Cancellation => {
                assert!(ends_canceled(to), "SPAN-B: {to:?}");
                let waits = matches!(from.phase, Some(Phase::Waiting(_)));
                assert!(!waits, "nothing is canceled while a worker waits: {from:?}");
                canceled += 1;
            }
            Link::Straggler => {
                assert_eq!(to.phase, Some(Phase::Rollback(Cause::Straggler)));
                stragglers += 1;
            }
        }
    }
    let annihilated: u64 = workers.iter().map(|worker| worker.statistics.annihilated).sum();
    assert_eq!(canceled, annihilated, "SPAN-B: each canceled event has an arrow");
    let primary: u64 = workers.iter().map(|worker| worker.statistics.primary_rollbacks).sum();
    assert_eq!(stragglers, primary, "SPAN-B: each straggler has an arrow");
}
