//! List scheduling: how long a number of workers takes for the events.
//!
//! Any worker handles any event. A worker that is free takes, of the events that can be handled,
//! the one with the least key. R. L. Graham, "Bounds on multiprocessing timing anomalies" (1969):
//! without latency that takes at most the work by the workers and the longest chain together, as
//! long as all events are in the window.
//!
//! [`Profiler`](super::Profiler) lets a schedule run whenever the window is full. The schedule goes
//! on until the older half of the window is done, so that it looks at least half a window ahead.
//!
//! # Invariants
//!
//! - **SCHEDULE-A.** `now` never decreases, and no event starts before what it follows is done.
//! - **SCHEDULE-B.** At most `workers` events are being handled at one time.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::window::{NONE, Window};

/// In `Schedule::waits`: the event is done.
const DONE: u8 = u8::MAX;

/// Numbers of events, the least first.
type Numbers = BinaryHeap<Reverse<u64>>;
/// Times and numbers of events, the earliest first.
type Times = BinaryHeap<Reverse<(u64, u64)>>;

/// The schedule of one number of workers.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) workers: usize,
    latency: u64,
    now: u64,
    /// The first event that is not known yet.
    known: u64,
    /// Events that can be handled.
    ready: Numbers,
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
    /// A schedule for events of windows with this number of places.
    pub(super) fn new(workers: usize, latency: u64, places: usize) -> Self {
        Self {
            workers,
            latency,
            now: 0,
            known: 0,
            ready: Numbers::new(),
            arriving: Times::new(),
            running: Times::new(),
            times: vec![0; places],
            waits: vec![0; places],
            length: 0,
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
            // With nothing to do, the last messages are on their way to events to come.
            let next = done.into_iter().chain(arrival).min().unwrap_or(arrived);
            debug_assert!(next >= self.now, "SCHEDULE-A");
            self.now = next;
            self.finish(window, &mut goal);
            self.arrive();
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
        for (other, latency) in [(node.before, 0), (node.cause, self.latency)] {
            if other == NONE {
                continue;
            }
            let place = window.place(other);
            match self.waits[place] {
                DONE => time = time.max(self.times[place].saturating_add(latency)),
                _ => waits += 1,
            }
        }
        let place = window.place(number);
        self.times[place] = time;
        self.waits[place] = waits;
        if waits == 0 {
            self.queue(number, time);
        }
    }

    /// Lets free workers start events.
    fn start(&mut self, window: &Window) {
        while self.running.len() < self.workers {
            let Some(Reverse(number)) = self.ready.pop() else { return };
            let place = window.place(number);
            debug_assert!(self.times[place] <= self.now, "SCHEDULE-A");
            let done = self.now.saturating_add(window.node(number).cost);
            self.times[place] = done;
            self.running.push(Reverse((done, number)));
        }
        debug_assert!(self.running.len() <= self.workers, "SCHEDULE-B");
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
                goal.left -= 1;
                goal.done = done;
            }
            let node = window.node(number);
            self.release(window, node.after, done);
            let mut effect = node.effect;
            while effect != NONE {
                self.release(window, effect, done.saturating_add(self.latency));
                effect = window.node(effect).sibling;
            }
        }
    }

    /// What `number` follows is done, as far as it concerns it at `time`.
    fn release(&mut self, window: &Window, number: u64, time: u64) {
        if number == NONE {
            return;
        }
        let place = window.place(number);
        self.times[place] = self.times[place].max(time);
        self.waits[place] -= 1;
        if self.waits[place] == 0 {
            self.queue(number, self.times[place]);
        }
    }

    /// An event that waits for no other can be handled from `time` on.
    fn queue(&mut self, number: u64, time: u64) {
        if time <= self.now {
            self.ready.push(Reverse(number));
        } else {
            self.arriving.push(Reverse((time, number)));
        }
    }

    /// Takes note of the messages that have arrived.
    fn arrive(&mut self) {
        while let Some(&Reverse((time, number))) = self.arriving.peek()
            && time <= self.now
        {
            self.arriving.pop();
            self.ready.push(Reverse(number));
        }
    }
}
