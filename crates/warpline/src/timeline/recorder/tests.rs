//! What a recorder keeps when its room is full, and how batches and waits follow each other.

use super::*;

const SLICE: u64 = 1 << SLICE_BITS;

fn recorder(room: usize) -> Recorder {
    Recorder::new(Clock::start(), (0, 0), room)
}

/// A batch with a rollback in it, begun at that time.
fn write_batch(recorder: &mut Recorder, at: u64) {
    recorder.open(at, Phase::Batch, NO_LP, f64::NAN);
    recorder.open(at + 1, Phase::Rollback(Cause::Straggler), 3, 0.5);
    recorder.now = at + 1;
    recorder.cancels(7);
    recorder.annihilated(8, LpId::new(3), 0.5);
    recorder.close_one(at + 2, 1, f64::NAN);
    recorder.close_one(at + 3, 64, 1.0);
}

/// How many spans there are. Checks that they nest, and that only whole slices are left out.
fn count(recorder: &Recorder) -> u64 {
    let mut depth = 0;
    for record in &recorder.records {
        if depth == 0 {
            assert!(keeps(recorder.level, record.at), "{record:?} at level {}", recorder.level);
        }
        match record.kind {
            Kind::Begin(_) => depth += 1,
            Kind::End => depth -= 1,
            _ => {}
        }
    }
    assert_eq!(depth, recorder.depth, "SPAN-A");
    assert!(recorder.records.len() <= recorder.room);
    recorder.records.iter().filter(|record| record.counts()).count() as u64
}

/// SPAN-C: what does not fit goes slice by slice, and is counted.
#[test]
fn long_runs_are_thinned() {
    let mut recorder = recorder(2_000);
    for number in 0..6_400 {
        write_batch(&mut recorder, number * SLICE / 64);
        assert_eq!(count(&recorder) + recorder.left_out, 3 * (number + 1), "SPAN-C");
    }
    // 100 slices, and room for four of them; half of it is free again when it was full.
    let mut slices: Vec<_> = recorder.records.iter().map(|one| one.at / SLICE).collect();
    slices.dedup();
    assert_eq!((slices, recorder.level), (vec![0, 64], 6));
}

/// SPAN-C: where a slice takes more than the room, its end goes, and later slices are there.
#[test]
fn dense_slices_are_cut() {
    let mut recorder = recorder(300);
    for number in 0..6_400 {
        write_batch(&mut recorder, number * SLICE / 64);
        assert_eq!(count(&recorder) + recorder.left_out, 3 * (number + 1), "SPAN-C");
        assert!(number < 16 || recorder.records.len() > 100, "{number}");
    }
    assert!(recorder.level < 10, "{}", recorder.level);
}

/// SPAN-C: a group that takes more than the room goes as a whole, and others stay.
#[test]
fn a_group_that_does_not_fit_goes() {
    let mut recorder = recorder(100);
    recorder.open(0, Phase::Cancelback, NO_LP, f64::NAN);
    for number in 0..500 {
        recorder.open(number, Phase::Rollback(Cause::Horizon), 3, 0.5);
        recorder.close_one(number, 1, f64::NAN);
    }
    assert!(recorder.leaves_out());
    recorder.close_one(500, 500, f64::NAN);
    assert_eq!((count(&recorder), recorder.left_out), (0, 501), "SPAN-C");
    write_batch(&mut recorder, 501);
    assert_eq!((count(&recorder), recorder.left_out), (3, 501), "SPAN-C");
}

/// A proposed batch that comes to nothing is part of the wait, and one that handles events, or
/// rolls back, ends it.
#[test]
fn batches_end_waits() {
    let mut recorder = recorder(100);
    recorder.propose_batch();
    assert!(recorder.end_batch(0, f64::NAN));
    recorder.wait(Activity::NoEvents);
    recorder.propose_batch();
    assert!(recorder.end_batch(0, f64::NAN) && recorder.is_waiting());
    let stamp = recorder.propose_batch();
    assert!(!recorder.end_batch(5, 1.0) && !recorder.is_waiting());
    recorder.wait(Activity::NoEvents);
    recorder.propose_batch();
    recorder.begin_rollback(Cause::Straggler, LpId::new(0), 0.5);
    recorder.end(1, f64::NAN);
    recorder.end_batch(0, f64::NAN);
    recorder.close();
    let begins = recorder.records.iter().filter_map(|record| match record.kind {
        Kind::Begin(phase) => Some((phase, record.at)),
        _ => None,
    });
    let begins: Vec<_> = begins.collect();
    let wait = Phase::Waiting(Activity::NoEvents);
    let rollback = Phase::Rollback(Cause::Straggler);
    let phases: Vec<_> = begins.iter().map(|begin| begin.0).collect();
    assert_eq!(phases, [wait, Phase::Batch, wait, Phase::Batch, rollback]);
    assert_eq!((stamp.worker(), stamp.begin()), (0, begins[1].1), "the batch can be found");
    assert_eq!(count(&recorder), 5);
}
