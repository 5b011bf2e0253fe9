//! The handover of an LP under the model checker, which runs every order that the memory model
//! allows.
//!
//! The module of GVT is compiled here with loom's atomics. An inbox, of mail or of LPs that come,
//! is one slot that a push fills and a drain empties, with the orderings of the real one. The steps
//! are those of the engine: the mail of a worker is pushed before an LP leaves it, GVT is told
//! after both, and a worker takes LPs in before it takes its mail.
//!
//! # Mutations, each red
//!
//! - `hand_over` pushes the LP before the mail, or `file` takes the mail first: "MOVE-C".
//! - The push of the LP Relaxed, or its drain: "MOVE-C".
//! - `hand_over` does not tell GVT of the LP's pending event, or before the push: "MOVE-D".
//! - `sent` of `gvt.rs` without its fence: "MOVE-D".

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
    gvt::{Bound, Gvt, Participant},
    sync::{AtomicU64, Ordering},
};

/// The key of the event that the LP has pending, and of the one that it has sent.
const PENDING: u64 = 3;
const SENT: u64 = 9;

const fn bound(key: u64) -> Bound {
    Bound([key; 3])
}

/// A worker has an LP that is to move to another worker.
struct World {
    gvt: Gvt,
    /// What is on its way to the other worker, by key: an event, and the LP.
    mail: AtomicU64,
    lps: AtomicU64,
}

/// One of the two workers, with the events that are pending there.
struct Worker {
    world: Arc<World>,
    participant: Participant,
    gvt: Bound,
    pending: Vec<u64>,
}

impl Worker {
    fn new(world: &Arc<World>, me: usize, pending: &[u64]) -> Self {
        let (world, participant) = (Arc::clone(world), Participant::new(me));
        Self { world, participant, gvt: Bound::ZERO, pending: pending.to_vec() }
    }

    fn least(&self) -> Bound {
        self.pending.iter().map(|&key| bound(key)).min().unwrap_or(Bound::NEVER)
    }

    /// The LP leaves with its pending event, after an event that it has sent to the other worker.
    fn hand_over(&mut self) {
        // Ordering: as in `Inbox::push`, both.
        self.world.mail.store(SENT, Ordering::Release);
        self.participant.sent(&self.world.gvt, bound(SENT));
        self.pending.retain(|&key| key != PENDING);
        self.world.lps.store(PENDING, Ordering::Release);
        self.participant.sent(&self.world.gvt, bound(PENDING));
    }

    /// The first half of a turn, up to the report. `takes`: whether this is the other worker.
    fn file(&mut self, takes: bool) {
        let must_report = self.participant.notice(&self.world.gvt);
        if let Some(outcome) = self.participant.adopt(&self.world.gvt) {
            assert!(outcome.gvt <= self.least(), "GVT is beyond a pending event: {outcome:?}");
            self.gvt = outcome.gvt;
        }
        if takes {
            self.take_in();
        }
        if must_report {
            self.participant.report(&self.world.gvt, self.least(), 0);
        }
    }

    fn take_in(&mut self) {
        let mut drain = |from: fn(&World) -> &AtomicU64| {
            let inbox = from(&self.world);
            // Ordering: as in `Inbox::drain`.
            let key = match inbox.load(Ordering::Relaxed) {
                0 => return false,
                _ => inbox.swap(0, Ordering::Acquire),
            };
            assert!(bound(key) >= self.gvt, "MOVE-D: {key} is below GVT {:?}", self.gvt);
            self.pending.push(key);
            true
        };
        let has_come = drain(|world| &world.lps);
        drain(|world| &world.mail);
        // The LP may be rolled back now, and cancel the event.
        let has_event = self.pending.contains(&SENT);
        assert!(!has_come || has_event, "MOVE-C: the LP has come before the event that it sent");
    }
}

/// A worker hands an LP over while a round of GVT runs, is about to, or has just ended, and the
/// other one takes it in. In the end, GVT is what both have pending.
fn check(starts_at_once: bool) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let (mail, lps) = (AtomicU64::new(0), AtomicU64::new(0));
        let world = Arc::new(World { gvt: Gvt::new(2, false), mail, lps });
        let mut from = Worker::new(&world, 0, &[PENDING, 20]);
        let mut to = Worker::new(&world, 1, &[7]);
        if starts_at_once {
            world.gvt.start();
        }
        let thread = thread::spawn(move || {
            from.file(false);
            from.hand_over();
            from.file(false);
            from
        });
        world.gvt.start();
        to.file(true);
        to.file(true);
        let mut from = thread.join().expect("no panic");
        for _ in 0..4 {
            from.file(false);
            to.file(true);
            world.gvt.start();
        }
        let least = from.least().min(to.least());
        assert_eq!(
            (from.gvt, to.gvt, least),
            (least, least, bound(PENDING)),
            "at rest, it is exact"
        );
    });
}

/// MOVE-C and MOVE-D, where a round begins while the LP leaves.
#[test]
fn an_lp_that_leaves_before_a_round_is_counted() {
    check(false);
}

/// The same where a round runs already.
#[test]
fn an_lp_that_leaves_in_a_round_is_counted() {
    check(true);
}
