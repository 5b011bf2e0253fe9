//! Profiles of random graphs of events, against the simplest way to find the same.

use proptest::{collection::vec, prelude::*, sample::Index};
use warpline_core::VirtualTime;

use super::*;
use crate::settings::Cost;

/// An event, the event before it at its LP, and the event of another LP that sent it.
#[derive(Clone, Debug)]
struct Event {
    key: EventKey,
    to: LpId,
    sent: Range<u64>,
    cost: u64,
    before: Option<usize>,
    cause: Option<usize>,
}

/// A random history: each event is one of those that are pending, and sends some.
fn history() -> impl Strategy<Value = Vec<Event>> {
    let event = (any::<Index>(), vec(any::<Index>(), 0..3), 1..9_u64);
    (1..6_usize, vec(event, 1..120)).prop_map(|(lps, choices)| {
        // What is pending: the sender, its number for the event, the receiver, the cause.
        let start = |lp| (lp, 0, lp, None);
        let mut pending: Vec<(usize, u64, usize, Option<usize>)> = (0..lps).map(start).collect();
        let (mut next, mut last) = (vec![1; lps], vec![None; lps]);
        let mut events: Vec<Event> = Vec::new();
        for (choice, receivers, cost) in choices {
            if pending.is_empty() {
                break;
            }
            let (sender, sequence, to, cause) = pending.swap_remove(choice.index(pending.len()));
            let number = events.len();
            let time = VirtualTime::new(number as f64).expect("a time");
            let first = next[to];
            for receiver in receivers {
                pending.push((to, next[to], receiver.index(lps), Some(number)));
                next[to] += 1;
            }
            events.push(Event {
                key: EventKey::new(time, 0, LpId::from_index(sender), sequence),
                to: LpId::from_index(to),
                sent: first..next[to],
                cost,
                before: last[to].replace(number),
                cause: cause.filter(|_| sender != to),
            });
        }
        events
    })
}

/// When each event is done at the earliest.
fn earliest(events: &[Event], latency: u64) -> Vec<u64> {
    let mut done: Vec<u64> = Vec::new();
    for event in events {
        let before = event.before.map_or(0, |before| done[before]);
        let arrival = event.cause.map_or(0, |cause| done[cause] + latency);
        done.push(before.max(arrival) + event.cost);
    }
    done
}

/// When the last event is done that this number of workers handle, the least ready one first; with
/// a number of LPs, each worker has its share of them.
fn naive(events: &[Event], workers: usize, latency: u64, lps: Option<usize>) -> u64 {
    let worker = |number: usize| lps.map(|lps| events[number].to.index() * workers / lps);
    // Where any worker handles any event, nothing is near but the LP itself.
    let latency = |from: usize, to: usize| match worker(from) {
        Some(one) if Some(one) == worker(to) => 0,
        _ if workers == 1 => 0,
        _ => latency,
    };
    let most = if lps.is_some() { 1 } else { workers };
    let mut done: Vec<Option<u64>> = vec![None; events.len()];
    let mut now = 0;
    while done.contains(&None) {
        let is_past = |time: Option<u64>, latency| time.is_some_and(|time| time + latency <= now);
        for (number, event) in events.iter().enumerate() {
            let is_busy = |other: &usize| done[*other].is_some_and(|time| time > now);
            let team = (0..events.len()).filter(|&other| worker(other) == worker(number));
            let busy = team.filter(is_busy).count();
            let is_ready = event.before.is_none_or(|before| is_past(done[before], 0))
                && event.cause.is_none_or(|cause| is_past(done[cause], latency(cause, number)));
            if busy < most && done[number].is_none() && is_ready {
                done[number] = Some(now + event.cost);
            }
        }
        now += 1;
    }
    done.into_iter().flatten().max().unwrap_or(0)
}

/// The longest chain, and the lengths of schedules with the events' own costs.
fn profile(events: &[Event], latency: u64, places: usize) -> Profiler {
    let mut profiler = Profiler::with_window(Profile { cost: Cost::Events, latency }, places);
    profiler.prepare(LPS);
    for event in events {
        profiler.note(&event.key, event.to, &event.sent, event.cost);
    }
    profiler.schedule(profiler.window.end);
    profiler
}

/// At least as many as any of these histories has.
const LPS: usize = 6;
/// Enough for any of these histories.
const LARGE: usize = 256;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The longest chain and all schedules are those that the simplest way finds.
    #[test]
    fn agrees_with_the_simplest_way(events in history(), latency in 0..30_u64) {
        let profiler = profile(&events, latency, LARGE);
        let done = earliest(&events, latency);
        prop_assert_eq!(Some(profiler.chain.length), done.into_iter().max());
        let work: u64 = events.iter().map(|event| event.cost).sum();
        prop_assert_eq!(profiler.chain.work, work);
        for [free, placed] in &profiler.schedules {
            let workers = free.workers;
            prop_assert_eq!(free.length, naive(&events, workers, latency, None), "{}", workers);
            let naive = naive(&events, workers, latency, Some(LPS));
            prop_assert_eq!(placed.length, naive, "{} workers, placed", workers);
        }
    }
}

proptest! {
    /// WINDOW-A and WINDOW-B: a schedule that sees few events at a time is one that can be, and one
    /// worker is never idle.
    #[test]
    fn small_windows_are_sound(
        events in history(),
        latency in prop_oneof![Just(0), 0..30_u64],
        places in 1..6_u32,
    ) {
        let profiler = profile(&events, latency, 1 << places);
        let Chain { length, work, .. } = profiler.chain;
        let chain = earliest(&events, 0).into_iter().max().unwrap_or(0);
        for [free, placed] in &profiler.schedules {
            let share = work.div_ceil(free.workers as u64);
            let chain_of_all = if free.workers == 1 { chain } else { length };
            prop_assert!(free.length >= share.max(chain_of_all), "{}", free.workers);
            prop_assert!(placed.length >= share.max(chain), "{}", placed.workers);
        }
        let [free, placed] = &profiler.schedules[0];
        if latency == 0 {
            prop_assert_eq!((free.length, placed.length), (work, work));
        }
    }

    /// Graham's bound: without latency, at most the work by the workers and the longest chain.
    #[test]
    fn schedules_keep_the_bound(events in history()) {
        let profiler = profile(&events, 0, LARGE);
        let Chain { length, work, .. } = profiler.chain;
        for [free, _] in &profiler.schedules {
            let workers = free.workers as u64;
            prop_assert!(free.length * workers <= work + length * workers);
        }
    }
}

/// Latencies that no time can be added to make no profile panic.
#[test]
fn endless_latencies_end() {
    let key = |sender, sequence| EventKey::new(VirtualTime::ZERO, 0, LpId::new(sender), sequence);
    let settings = Profile { cost: Cost::Events, latency: u64::MAX };
    let mut profiler = Profiler::with_window(settings, 4);
    profiler.prepare(2);
    profiler.note(&key(0, 0), LpId::new(0), &(1..21), 1);
    for sent in 1..21 {
        profiler.note(&key(0, sent), LpId::new(1), &(0..0), 1);
    }
    let result = profiler.result();
    assert_eq!((result.events, result.work, result.length), (21, 21, u64::MAX));
}
