//! Global virtual time under the model checker, which runs every order that the memory model
//! allows.
//!
//! The module is compiled a second time here, with loom's atomics. A mailbox is one slot that a
//! push fills and a drain empties, with the orderings of the real inbox.
//!
//! # Mutations of `gvt.rs`, each red
//!
//! - GVT-1: the decrement in `report` Release, Acquire or Relaxed: a result of one worker's notes.
//! - GVT-1: the report stored after the decrement: the same.
//! - GVT-2: the store of `completed` Relaxed, or its load in `adopt`: "different results".
//! - GVT-2: `completed` stored before the result: "different results".
//! - GVT-3: no fence in `sent`, or AcqRel, or after the flag: "mail with key 3 below GVT".
//! - GVT-3: no fence in `notice`, or Acquire, or AcqRel: "mail with key 3 below GVT".
//! - GVT-4: the exchange in `start` Relaxed: "a report before the last result was seen".
//! - GVT-4: the fence in `notice` before the flag: "a report before the last result was seen".
//! - `sent` forgets SendMin, or `report` does: "mail with key 3 below GVT".
//! - `report` does not reset SendMin: "at rest, GVT is exact".
//! - `adopt` resets SendMin: "mail with key 3 below GVT".
//! - `report` leaves out the first worker's report, or takes the greatest: the same.
//! - `report` makes a result while a report is missing: "a result without this worker's report".
//! - `notice` does not compare rounds: "a report before the last result was seen".
//! - `start` while a round is running: "at rest, GVT is exact".
//!
//! And of the steps of `Worker` here, which are those of the engine:
//!
//! - `adopt` before `notice`: "a report before the last result was seen".
//! - the mail drained before `notice`: "GVT is beyond" or "mail with key 3 below GVT".
//! - `sent` before the push, or not at all: "mail with key 3 below GVT".
//!
//! The load of `completed` in `start` may be Relaxed, and is: a worker that notices the round
//! cannot see an older value of it than `start` did, and loads it again with Acquire.

#![cfg(not(miri))]

#[allow(dead_code, reason = "the tests need a part of it")]
#[path = "../src/timewarp/gvt.rs"]
mod gvt;

/// The atomics that the module finds under this name.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

use loom::{model::Builder, sync::Arc, thread};

use crate::{
    gvt::{Bound, Gvt, Outcome, Participant},
    sync::{AtomicU64, Ordering},
};

/// All three words are the same, so that a result that is put together of two shows.
const fn bound(key: u64) -> Bound {
    Bound([key; 3])
}

/// The state that two workers share.
struct World {
    gvt: Gvt,
    /// The mail of each worker: the key of an event, or 0.
    mail: [AtomicU64; 2],
}

struct Worker {
    me: usize,
    world: Arc<World>,
    participant: Participant,
    pending: Vec<u64>,
    gvt: Bound,
    /// The reports of this worker, and the results of the rounds.
    reports: Vec<Bound>,
    results: Vec<Outcome>,
}

impl Worker {
    fn new(world: &Arc<World>, me: usize, pending: &[u64]) -> Self {
        Self {
            me,
            world: Arc::clone(world),
            participant: Participant::new(me),
            pending: pending.to_vec(),
            gvt: Bound::ZERO,
            reports: Vec::new(),
            results: Vec::new(),
        }
    }

    fn least(&self) -> Bound {
        self.pending.iter().map(|&key| bound(key)).min().unwrap_or(Bound::NEVER)
    }

    /// The first half of a turn: up to the report.
    fn file(&mut self) {
        let must_report = self.participant.notice(&self.world.gvt);
        if let Some(outcome) = self.participant.adopt(&self.world.gvt) {
            let Bound([a, b, c]) = outcome.gvt;
            assert!(a == b && b == c, "a result put together of two: {outcome:?}");
            assert!(self.gvt <= outcome.gvt, "GVT decreased to {outcome:?}");
            assert!(outcome.gvt <= self.least(), "GVT is beyond a pending event: {outcome:?}");
            self.gvt = outcome.gvt;
            self.results.push(outcome);
        }
        // Ordering: as in `Inbox::drain`.
        let mail = &self.world.mail[self.me];
        if mail.load(Ordering::Relaxed) != 0 {
            let key = mail.swap(0, Ordering::Acquire);
            assert!(bound(key) >= self.gvt, "mail with key {key} below GVT {:?}", self.gvt);
            self.pending.push(key);
        }
        if must_report {
            self.reports.push(self.least());
            let notes = 1 << self.me;
            self.participant.report(&self.world.gvt, self.least(), notes);
        }
    }

    /// The second half: handles the least event, which sends another, one later, to the other
    /// worker.
    fn handle(&mut self) {
        let Some(key) = self.pending.iter().copied().min() else { return };
        self.pending.retain(|&other| other != key);
        // Ordering: as in `Inbox::push`.
        self.world.mail[1 - self.me].store(key + 1, Ordering::Release);
        self.participant.sent(&self.world.gvt, bound(key + 1));
    }

    /// No event is handled any more: the round that runs ends, and another one.
    fn come_to_rest(workers: &mut [Self; 2]) {
        for _ in 0..4 {
            for worker in &mut *workers {
                worker.file();
            }
            workers[0].world.gvt.start();
        }
        let [a, b] = workers;
        assert_eq!(a.results, b.results, "the workers have seen different results");
        assert!(a.results.iter().all(|outcome| outcome.notes == 3), "{:?}", a.results);
        let all = a.reports.iter().zip(&b.reports).zip(&a.results);
        for ((a, b), outcome) in all {
            assert!(outcome.gvt <= *a.min(b), "GVT {outcome:?} of {a:?} and {b:?}");
            assert!(outcome.gvt > Bound::ZERO, "a result without a report");
        }
        assert_eq!(a.gvt, a.least().min(b.least()), "at rest, GVT is exact");
    }
}

fn check(code: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(code);
}

/// Two workers with an event each, at once; in the end they come to rest.
fn check_both(
    [first, second]: [u64; 2],
    starts_at_once: bool,
    first_does: fn(&mut Worker),
    second_does: fn(&mut Worker),
) {
    check(move || {
        let mail = [AtomicU64::new(0), AtomicU64::new(0)];
        let world = Arc::new(World { gvt: Gvt::new(2, false), mail });
        let mut first = Worker::new(&world, 0, &[first]);
        let mut second = Worker::new(&world, 1, &[second]);
        if starts_at_once {
            world.gvt.start();
        }
        let thread = thread::spawn(move || {
            first_does(&mut first);
            first
        });
        second_does(&mut second);
        let first = thread.join().expect("no panic");
        Worker::come_to_rest(&mut [first, second]);
    });
}

/// One message in flight while a round begins: the sender or the receiver counts it.
#[test]
fn a_message_in_flight_is_counted() {
    let send = |sender: &mut Worker| {
        sender.file();
        sender.handle();
        sender.file();
    };
    check_both([2, 7], false, send, |receiver| {
        receiver.world.gvt.start();
        receiver.file();
        receiver.file();
    });
}

/// The sender has seen the flag and not reported yet: its mail is in its report.
#[test]
fn what_is_sent_in_a_round_is_in_the_report() {
    let send = |sender: &mut Worker| {
        sender.handle();
        sender.file();
    };
    check_both([2, 7], true, send, |receiver| {
        receiver.file();
        receiver.file();
    });
}

/// The sender starts the round right after it has sent: its mail is in the receiver's report.
#[test]
fn what_was_sent_before_a_round_is_found() {
    let send = |sender: &mut Worker| {
        sender.handle();
        sender.world.gvt.start();
        sender.file();
    };
    check_both([2, 7], false, send, |receiver| {
        receiver.file();
        receiver.file();
    });
}

/// A round ends and the next one begins while a worker is elsewhere; both send.
#[test]
fn rounds_follow_each_other() {
    let first = |worker: &mut Worker| {
        worker.file();
        worker.handle();
        worker.file();
        worker.file();
    };
    check_both([2, 4], true, first, |second| {
        second.file();
        second.world.gvt.start();
        second.handle();
        second.file();
    });
}
