//! The invariants of a run, looked up from outside between any two steps of its workers.

use std::collections::BTreeMap;

use warpline_core::LpId;
use warpline_memory::Buffers;

use super::super::{
    event::Event,
    gvt::Bound,
    history::Record,
    moves::{Package, SharedMoves},
    remote::Exchanged,
    shared::{Mail, TimeWarpShared},
    worker::TimeWarpWorker,
};
use super::net::Net;
use crate::{
    StateSaving,
    pending::PendingSet,
    simulated::model::{Note, Toy},
};

type Workers<'w, 'r> = &'w mut [TimeWarpWorker<'r, Toy>];

/// The mail that is on its way to a worker; it stays there. The first worker has what is in bottom
/// halves: that belongs to none (HALF-C).
fn mail(shared: &TimeWarpShared<Toy>, to: usize) -> Vec<Event> {
    match &shared.halves {
        None => delivered(shared, to),
        Some(halves) if to == 0 => halves.all(),
        Some(_) => Vec::new(),
    }
}

/// What is in the inbox of a worker; it stays there.
fn delivered(shared: &TimeWarpShared<Toy>, to: usize) -> Vec<Event> {
    let mut items = Vec::new();
    let blocks: Vec<Mail> = shared.inboxes[to].drain().collect();
    for block in blocks {
        items.extend(block.items.iter().copied());
        shared.inboxes[to].push(block);
    }
    items
}

/// What there is to see of the LPs that are on their way to a worker; they stay there.
fn moving<T>(
    shared: &TimeWarpShared<Toy>,
    to: usize,
    look: impl FnMut(&Package<Toy>) -> T,
) -> Vec<T> {
    let see =
        |moves: &SharedMoves<Toy>| moves.on_the_way(to, |packages| packages.map(look).collect());
    shared.moves.as_ref().map_or_else(Vec::new, see)
}

/// The newest GVT that any worker of any rank knows.
pub(super) fn newest(workers: &[TimeWarpWorker<'_, Toy>]) -> Bound {
    workers.iter().map(|worker| worker.clock.gvt).max().unwrap_or(Bound::ZERO)
}

/// TW-C, on the way between ranks.
pub(super) fn check_network(shared: &TimeWarpShared<Toy>, net: &Net, gvt: Bound) {
    let Some(remote) = &shared.remote else { return };
    for message in net.messages(&remote.wire) {
        let is_above = Bound(message.key.words()) >= gvt;
        assert!(is_above, "TW-C: {message:?} is on its way, GVT is {gvt:?}");
    }
}

/// All messages that workers have exchanged with other ranks, if there are any.
pub(super) fn exchanged(workers: &[TimeWarpWorker<'_, Toy>]) -> Option<Exchanged> {
    workers.iter().filter_map(TimeWarpWorker::exchanged).reduce(Exchanged::add)
}

/// TW-C: no event that can still happen at this rank is below the newest GVT.
pub(super) fn check_gvt(shared: &TimeWarpShared<Toy>, workers: Workers<'_, '_>, gvt: Bound) {
    for (to, worker) in workers.iter_mut().enumerate() {
        let mail = mail(shared, to).into_iter().map(|event| ("in the mail", event));
        let pending = worker.sender.pending.peek().map(|&event| ("pending", event));
        let waiting = worker.aside.waiting.all().map(|&event| ("waiting", event));
        let canceled = worker.aside.canceled.iter().map(|&event| ("canceled", event));
        let open = worker.sender.open.iter().flatten().flat_map(|block| &block.items);
        let open = open.map(|&event| ("in open mail", event));
        let backlog = worker.first_of_backlog().map(|event| ("in the backlog", event));
        let kept = worker.optional.moves.kept().map(|&event| ("kept", event));
        let moving = moving(shared, to, |lp| lp.pending().to_vec());
        let moving = moving.into_iter().flatten().map(|event| ("on its way with its LP", event));
        let all = mail
            .chain(kept)
            .chain(moving)
            .chain(pending)
            .chain(waiting)
            .chain(canceled)
            .chain(open)
            .chain(backlog);
        for (place, event) in all {
            let key = event.key;
            assert!(Bound(key.words()) >= gvt, "TW-C: {key:?} {place} at {to}, GVT is {gvt:?}");
        }
    }
}

/// HALF-A: all that is in bottom halves has a notice.
pub(super) fn check_notices(shared: &TimeWarpShared<Toy>, workers: &[TimeWarpWorker<'_, Toy>]) {
    let Some(halves) = &shared.halves else { return };
    let mut notices = Vec::new();
    for (me, worker) in workers.iter().enumerate() {
        notices.extend(delivered(shared, me));
        notices.extend(worker.optional.moves.kept());
        let open = worker.sender.open.iter().flatten();
        notices.extend(open.flat_map(|block| block.items.iter().copied()));
    }
    for mail in halves.all() {
        assert!(notices.contains(&mail), "HALF-A: nobody knows of {mail:?}");
    }
}

/// Where the events of a rank are. All events have the numbers of their LPs here (MOVE-A).
#[derive(Default)]
struct Places {
    /// The event in each buffer that is in use, and where the event was found.
    events: BTreeMap<u32, (Event, &'static str)>,
    /// Events that are canceled.
    canceled: BTreeMap<u32, Event>,
    /// Handled events whose messages have left their buffers.
    delivered: u64,
    /// Those of them that have left for lack of use: their buffers were given out again.
    given_out: usize,
}

impl Places {
    fn add(&mut self, me: usize, buffers: &Buffers<'_, Note>, event: Event, found: &'static str) {
        assert!(buffers.owns(event.buffer()), "ARENA-B: {event:?} {found} at {me}");
        self.insert(me, event, found);
    }

    fn insert(&mut self, me: usize, event: Event, found: &'static str) {
        if let Some(other) = self.events.insert(event.buffer().get(), (event, found)) {
            panic!("TW-B: at {me} {event:?} is {found}, but the buffer is {other:?}");
        }
    }

    fn cancel(&mut self, event: Event) {
        let before = self.canceled.insert(event.buffer().get(), event);
        assert!(before.is_none(), "TW-B: {event:?} is canceled twice");
    }

    /// Adds the events of the worker `me`: in its mail, delivered or not, and with itself.
    fn add_worker(&mut self, shared: &TimeWarpShared<Toy>, workers: Workers<'_, '_>, me: usize) {
        let mut to_me = mail(shared, me);
        if shared.halves.is_none() {
            let open = workers.iter().filter_map(|from| from.sender.open[me].as_ref());
            to_me.extend(open.flat_map(|block| block.items.iter().copied()));
            to_me.extend(workers[me].optional.moves.kept());
        }
        let worker = &mut workers[me];
        let buffers = &worker.store.buffers;
        let ids: Vec<LpId> = worker.lps.iter().map(|lp| lp.id).collect();
        let named = |event: Event| event.with_to(ids[event.lp().index()]);
        for event in moving(shared, me, |lp| lp.events().copied().collect::<Vec<_>>()).concat() {
            self.add(me, buffers, event, "on its way with its LP");
        }
        self.delivered += moving(shared, me, Package::delivered).iter().sum::<u64>();
        for item in to_me {
            match item.cancels() {
                Some(event) => self.cancel(event),
                None if shared.halves.is_none() => self.add(me, buffers, item, "in the mail"),
                None => {
                    assert!(!buffers.owns(item.buffer()), "HALF-C: {item:?} belongs to {me}");
                    self.insert(me, item, "in a bottom half");
                }
            }
        }
        let pending = &mut worker.sender.pending;
        let all: Vec<Event> = std::iter::from_fn(|| pending.pop()).collect();
        assert!(all.is_sorted(), "the pending set of {me} is out of order");
        assert_eq!(pending.len(), 0, "the pending set of {me} miscounts");
        for event in all {
            pending.insert(event);
            self.add(me, buffers, named(event), "pending");
        }
        for &event in worker.aside.waiting.all() {
            self.add(me, buffers, named(event), "waiting");
        }
        let history = &worker.log.history;
        for at in (history.front()..history.back()).filter(|&at| !history[at].undone) {
            let Record { event, delivered, returned, .. } = history[at];
            let stamp = event.key.words();
            let is_there =
                returned.is_none_or(|ticket| buffers.has_returned(event.buffer(), ticket, stamp));
            if delivered || !is_there {
                self.delivered += 1;
                self.given_out += usize::from(!is_there);
            } else {
                self.add(me, buffers, named(event), "handled");
            }
        }
        for &event in &worker.aside.canceled {
            self.cancel(named(event));
        }
    }

    /// A worker that remembers an event that it has sent finds it where it sent it, unless GVT is
    /// beyond the event.
    fn check_sent(
        &self,
        shared: &TimeWarpShared<Toy>,
        worker: &TimeWarpWorker<'_, Toy>,
        gvt: Bound,
    ) {
        let history = &worker.log.history;
        for at in (history.front()..history.back()).filter(|&at| !history[at].undone) {
            for place in history.sends(at, &worker.sender.sent) {
                let sent = worker.sender.sent.get(place);
                if shared.directory.local(sent.worker).is_none() {
                    continue;
                }
                let place = sent.event.buffer().get();
                let there = self.events.get(&place).map(|(event, _)| *event);
                let gone = Bound(sent.event.key.words()) < gvt;
                assert!(there == Some(sent.event) || gone, "TW-B: lost {:?}", sent.event);
                let canceled = self.canceled.get(&place) == Some(&sent.event);
                assert!(!canceled, "TW-B: {:?} is canceled, but was sent", sent.event);
            }
        }
    }
}

/// TW-B and ARENA-A: every event and every buffer is in exactly one place, and a worker that
/// remembers an event that may yet be canceled finds it there.
pub(super) fn check_places(shared: &TimeWarpShared<Toy>, workers: Workers<'_, '_>, gvt: Bound) {
    let mut places = Places::default();
    for me in 0..workers.len() {
        places.add_worker(shared, workers, me);
        check_chains(&workers[me], gvt);
        if workers[me].log.saving.is_logging() {
            check_writes(&workers[me]);
        }
    }
    for (place, event) in &places.canceled {
        let there = places.events.get(place).map(|(event, _)| event);
        assert_eq!(there, Some(event), "TW-B: to be canceled in buffer {place}, and not there");
    }
    let (mut sent, mut committed, mut free, mut returned) = (0, 0, 0, 0);
    for worker in workers.iter() {
        places.check_sent(shared, worker, gvt);
        sent += worker.lps.iter().map(|lp| lp.core.sent).sum::<u64>();
        sent += moving(shared, worker.me, Package::sent).iter().sum::<u64>();
        committed += worker.statistics.committed;
        free += worker.store.buffers.free_count() + worker.store.buffers.withheld_count();
        free += worker.store.buffers.early_count();
        returned += worker.store.returned;
    }
    let live = places.events.len() as u64 + places.delivered;
    let canceled = places.canceled.len() as u64;
    // Events that were sent to other ranks are not here, and events of theirs are.
    let Exchanged { sent: gone, received: arrived, .. } = exchanged(workers).unwrap_or_default();
    let backlog = workers.iter().map(|worker| worker.backlog()).sum::<usize>() as u64;
    // Before the run, events of other ranks count against what was committed here (`Cut`).
    let here = committed + live + gone.events - gone.anti_messages + backlog;
    assert_eq!(
        sent + canceled + arrived.events - arrived.anti_messages,
        shared.committed_before.wrapping_add(here),
        "TW-B: events were lost or doubled"
    );
    let issued = shared.arena.issued() as usize;
    let spare = shared.arena.available() - (shared.arena.limit_now() as usize - issued);
    // Those of handled events that were returned early are in both.
    let both = returned - places.given_out;
    let found = places.events.len() + free + spare - both;
    assert_eq!(found, issued, "ARENA-A, FOSSIL-B: buffers were lost or doubled");
}

/// LOG-A: what records wrote lies in the undo log in their order, without a gap.
fn check_writes(worker: &TimeWarpWorker<'_, Toy>) {
    let (history, log) = (&worker.log.history, &worker.sender.undo_log);
    let mut from = log.front();
    for at in history.front()..history.back() {
        let begin = history[at].undo_from;
        assert!(at == history.front() || begin > from, "LOG-A: no plain fields before {begin}");
        from = begin;
    }
    assert!(history.len() == 0 || log.count_from(from) > 0, "LOG-A: {log:?} ends too early");
    assert_eq!(history.len() == 0, log.front() == log.back(), "LOG-A: {log:?}");
}

/// HIST-A, HIST-B, HIST-C and SAVE-A. (The worker that an LP came from may have known a newer GVT.)
fn check_chains(worker: &TimeWarpWorker<'_, Toy>, gvt: Bound) {
    let history = &worker.log.history;
    // CHOICE-A: the event at GVT may have been saved in another way, and is not undone.
    let first = match worker.shared.settings.engine.saving {
        StateSaving::Auto => gvt.next(),
        _ => gvt,
    };
    let mut chained = 0;
    for (index, lp) in worker.lps.iter().enumerate() {
        let (mut at, mut needs_copy) = (lp.last, None);
        while history.is_live(at) {
            let record = &history[at];
            if Bound(record.event.key.words()) >= first {
                needs_copy = Some(record);
            }
            if record.copied || worker.log.saving.is_logging() {
                needs_copy = None;
            }
            assert!(record.event.lp().index() == index && !record.undone, "HIST-A: {record:?}");
            let last = !history.is_live(record.prev);
            assert!(last || record.prev < at, "HIST-A: {record:?}");
            let ordered = last || history[record.prev].event.key <= record.event.key;
            assert!(ordered, "HIST-A: {record:?} after {:?}", history[record.prev]);
            (chained, at) = (chained + 1, record.prev);
        }
        assert!(needs_copy.is_none(), "SAVE-A: {needs_copy:?}");
    }
    let live = (history.front()..history.back()).filter(|&at| !history[at].undone);
    assert_eq!(chained, live.count(), "HIST-A: records that are in no chain");
    let back = history.back().checked_sub(1).filter(|&at| history.is_live(at));
    assert!(back.is_none_or(|at| !history[at].undone), "HIST-C: the back of the log is undone");
    let uncommitted: u64 = (history.front()..history.back())
        .filter(|&at| !history[at].undone)
        .map(|at| history.sends(at, &worker.sender.sent))
        .map(|sends| sends.end - sends.start)
        .sum();
    assert_eq!(uncommitted, worker.sender.sent.uncommitted() as u64, "HIST-D");
    let mut end = Some(worker.sender.sent.front());
    for at in history.front()..history.back() {
        let sends = history.sends(at, &worker.sender.sent);
        let follows = end.is_none_or(|end| end == sends.start) && sends.start <= sends.end;
        assert!(follows, "HIST-B: {sends:?} after {end:?}");
        end = Some(sends.end);
    }
    assert!(end.is_none_or(|end| end == worker.sender.sent.back()), "HIST-B: {end:?}");
}

/// At the end no event is canceled, and every state is one that the sequential run had.
pub(super) fn check_states(workers: &[TimeWarpWorker<'_, Toy>], known: &[Vec<(f64, u64)>]) {
    for worker in workers {
        assert_eq!(worker.aside.canceled.len(), 0, "canceled events of {} at the end", worker.me);
        for lp in &worker.lps {
            let (handled, hash) = (lp.state.handled, lp.state.hash);
            let states = known.get(lp.id.index()).map_or(&[(0.0, 0)][..], |states| states);
            let state = states.get(handled).map(|state| state.1);
            assert_eq!(Some(hash), state, "{:?} after {handled} events", lp.id);
            // Of events at GVT's own time some are committed, and others are not.
            let before = |ok: fn(f64, f64) -> bool| {
                states[1..].iter().filter(|state| ok(state.0, worker.clock.gvt.time())).count()
            };
            let all = worker.clock.gvt == Bound::NEVER;
            let (least, most) = (before(|a, b| a < b), before(|a, b| a <= b));
            assert!(all || (least..=most).contains(&handled), "{:?}: not as of GVT", lp.id);
        }
    }
}
