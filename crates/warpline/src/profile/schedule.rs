//! List scheduling: how long a number of workers takes for the events.
//!
//! A worker that is free takes, of the events that it may handle and that can be handled, the one
//! with the least key. Either every worker may handle every event, or each LP is placed on one. R.
//! L. Graham, "Bounds on multiprocessing timing anomalies" (1969): where every worker may handle
//! every event and messages take no time, that takes at most the work by the workers and the
//! longest chain together, as long as all events are in the window.
//!
//! [`Profiler`](super::Profiler) lets a schedule run whenever the window is full. The schedule goes
//! on until the older half of the window is done, so that it looks at least half a window ahead.
//!
//! # Invariants
//!
//! - **SCHEDULE-A.** `now` never decreases, and no event starts before what it follows is done.
//! - **SCHEDULE-B.** At most as many events as there are workers are being handled at one time, and
//!   of a worker with LPs of its own at most one.

use std::{cmp::Reverse, collections::BinaryHeap};

use warpline_core::LpId;

use super::window::{NONE, Window};

/// In `Schedule::waits`: the event is done.
const DONE: u8 = u8::MAX;

/// Numbers of events, the least first.
type Numbers = BinaryHeap<Reverse<u64>>;
/// Times and numbers of events, the earliest first.
type Times = BinaryHeap<Reverse<(u64, u64)>>;

/// Workers that handle the same events.
#[derive(Debug)]
struct Team {
    /// How many of them handle no event now.
    free: usize,
    /// Events that can be handled.
    ready: Numbers,
    /// Whether it is among those that may start an event.
    is_awake: bool,
}

/// The schedule of one number of workers.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) workers: usize,
    latency: u64,
    /// One team of all workers, or a team of each with LPs of its own.
    teams: Vec<Team>,
    /// How many LPs there are.
    lps: usize,
    /// Teams that may start an event.
    awake: Vec<usize>,
    now: u64,
    /// The first event that is not known yet.
    known: u64,
    /// Events whose messages are on their way, and when these arrive.
    arriving: Times,
    /// Events that are being handled, and when they are done.
    running: Times,
    /// By place in the window: the earliest time to start, and after the start the time when the
    /// event is done.
    times: Vec<u64>,
    /// By place in the window: how many events it still waits for, or `DONE`.
    waits: Vec<u8>,
    /// When the last event so far was done.
    pub(super) length: u64,
}

/// The events that a schedule has to do before it pauses.
struct Goal {
    /// All before this one.
    end: u64,
    /// How many of them are not done.
    left: u64,
    /// When the last one was done whose messages have to arrive.
    done: u64,
}

impl Schedule {
    /// A schedule for events of windows with this number of places: any worker handles any event.
    pub(super) fn free(workers: usize, latency: u64, places: usize) -> Self {
        Self {
            workers,
            latency,
            teams: vec![Team { free: workers, ready: Numbers::new(), is_awake: false }],
            lps: 1,
            awake: Vec::new(),
            now: 0,
            known: 0,
            arriving: Times::new(),
            running: Times::new(),
            times: vec![0; places],
            waits: vec![0; places],
            length: 0,
        }
    }

    /// The same, but each worker has LPs of its own: neighbors, and as many as every other worker.
    /// Messages between LPs of a worker take no time.
    pub(super) fn placed(workers: usize, latency: u64, places: usize, lps: usize) -> Self {
        debug_assert!(lps > 0, "a schedule for no LP");
        let team = || Team { free: 1, ready: Numbers::new(), is_awake: false };
        let teams = std::iter::repeat_with(team).take(workers).collect();
        Self { teams, lps, ..Self::free(workers, latency, places) }
    }

    /// The team that handles the events of an LP.
    #[inline]
    fn team(&self, lp: LpId) -> usize {
        match self.teams.len() {
            1 => 0,
            teams => lp.index() * teams / self.lps,
        }
    }

    /// Goes on until the events before `end` are done and their messages have arrived.
    pub(super) fn run(&mut self, window: &Window, end: u64) {
        for number in self.known..window.end {
            self.meet(window, number);
        }
        self.known = window.end;
        let mut goal = self.goal(window, end);
        loop {
            self.start(window);
            let arrived = goal.done.saturating_add(self.latency);
            if goal.left == 0 && self.now >= arrived {
                return;
            }
            let done = self.running.peek().map(|Reverse((time, _))| *time);
            let arrival = self.arriving.peek().map(|Reverse((time, _))| *time);
            let next = done.into_iter().chain(arrival).min();
            assert!(next.is_some() || goal.left == 0, "SCHEDULE-A: an event waits for none");
            // With nothing to do, the last messages are on their way to events to come.
            let next = next.unwrap_or(arrived);
            debug_assert!(next >= self.now, "SCHEDULE-A");
            self.now = next;
            self.finish(window, &mut goal);
            self.arrive(window);
        }
    }

    fn goal(&self, window: &Window, end: u64) -> Goal {
        let mut goal = Goal { end, left: 0, done: 0 };
        for place in (window.first..end).map(|number| window.place(number)) {
            match self.waits[place] {
                DONE => goal.done = goal.done.max(self.times[place]),
                _ => goal.left += 1,
            }
        }
        goal
    }

    /// Takes note of an event that is new in the window.
    fn meet(&mut self, window: &Window, number: u64) {
        let node = window.node(number);
        let (mut time, mut waits) = (0, 0);
        for other in [node.before, node.cause].into_iter().filter(|&other| other != NONE) {
            let place = window.place(other);
            match self.waits[place] {
                DONE => {
                    let latency = self.latency_between(window, other, number);
                    time = time.max(self.times[place].saturating_add(latency));
                }
                _ => waits += 1,
            }
        }
        let place = window.place(number);
        self.times[place] = time;
        self.waits[place] = waits;
        if waits == 0 {
            self.queue(window, number, time);
        }
    }

    /// Lets free workers start events.
    fn start(&mut self, window: &Window) {
        while let Some(awake) = self.awake.pop() {
            let team = &mut self.teams[awake];
            team.is_awake = false;
            while team.free > 0
                && let Some(Reverse(number)) = team.ready.pop()
            {
                let place = window.place(number);
                debug_assert!(self.times[place] <= self.now, "SCHEDULE-A");
                let done = self.now.saturating_add(window.node(number).cost);
                self.times[place] = done;
                team.free -= 1;
                self.running.push(Reverse((done, number)));
            }
        }
        debug_assert!(self.running.len() <= self.workers, "SCHEDULE-B");
    }

    /// A team may start an event.
    fn wake(&mut self, team: usize) {
        if !std::mem::replace(&mut self.teams[team].is_awake, true) {
            self.awake.push(team);
        }
    }

    /// Takes note of the events that are done now.
    fn finish(&mut self, window: &Window, goal: &mut Goal) {
        while let Some(&Reverse((done, number))) = self.running.peek()
            && done <= self.now
        {
            self.running.pop();
            self.waits[window.place(number)] = DONE;
            self.length = done;
            if number < goal.end {
                debug_assert!(goal.left > 0, "SCHEDULE-A: an event is done twice");
                goal.left -= 1;
                goal.done = done;
            }
            let node = window.node(number);
            let team = self.team(node.lp);
            self.teams[team].free += 1;
            self.wake(team);
            if node.after != NONE {
                self.release(window, number, node.after);
            }
            let mut effect = node.effect;
            while effect != NONE {
                self.release(window, number, effect);
                effect = window.node(effect).sibling;
            }
        }
    }

    /// `number` is done, which `next` follows.
    fn release(&mut self, window: &Window, number: u64, next: u64) {
        let latency = self.latency_between(window, number, next);
        let time = self.times[window.place(number)].saturating_add(latency);
        let place = window.place(next);
        self.times[place] = self.times[place].max(time);
        debug_assert!(
            !matches!(self.waits[place], 0 | DONE),
            "SCHEDULE-A: event {next} starts before what it follows is done"
        );
        self.waits[place] -= 1;
        if self.waits[place] == 0 {
            self.queue(window, next, self.times[place]);
        }
    }

    /// The time from the end of `number` until `next`, which follows it, can start.
    fn latency_between(&self, window: &Window, number: u64, next: u64) -> u64 {
        let (from, to) = (window.node(number).lp, window.node(next).lp);
        // Of LPs in one team of several workers it is not known who handles them.
        let is_placed = self.teams.len() == self.workers;
        let is_near = from == to || is_placed && self.team(from) == self.team(to);
        if is_near { 0 } else { self.latency }
    }

    /// An event that waits for no other can be handled from `time` on.
    fn queue(&mut self, window: &Window, number: u64, time: u64) {
        if time <= self.now {
            self.admit(window, number);
        } else {
            self.arriving.push(Reverse((time, number)));
        }
    }

    /// An event can be handled.
    fn admit(&mut self, window: &Window, number: u64) {
        let team = self.team(window.node(number).lp);
        debug_assert!(
            self.times[window.place(number)] <= self.now,
            "SCHEDULE-A: event {number} has not arrived"
        );
        self.teams[team].ready.push(Reverse(number));
        self.wake(team);
    }

    /// Takes note of the messages that have arrived.
    fn arrive(&mut self, window: &Window) {
        while let Some(&Reverse((time, number))) = self.arriving.peek()
            && time <= self.now
        {
            self.arriving.pop();
            self.admit(window, number);
        }
    }
}
