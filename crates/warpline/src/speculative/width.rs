//! The width of windows: found by trying, and reduced when too much work is wasted.
//!
//! The first worker has the [`WidthControl`], and asks it after each window. It measures what a
//! committed event costs at a width, waste included, and climbs: by steps of several half octaves
//! first, then by smaller ones; and when no neighbor is better it stays, and probes now and then.
//!
//! A width is a *level*: level `l` is the base width times 2^(l/2), or times 1.5 * 2^((l-1)/2) if
//! `l` is odd. Slots are the base width times 2^d, and a window has a whole number of them.

mod found;
mod given_up;
mod growing;

use crate::scheduling;
pub(crate) use found::{FoundWidth, FoundWidths};
pub(super) use growing::{Counts, events_first, events_first_of};
use growing::{FAR, Growth};

/// The most slots that a window may have.
const SLOTS_MAX: u64 = 24;
/// Windows after a change that are not measured, because the next ones are opened already, and
/// caches and lists have to fill. Large windows are too few for more than that.
const SKIP: u32 = 3;
const SKIP_LARGE: u32 = 1;
/// Half octaves to narrower windows where most events are handled again.
const STEP_WASTED: i32 = 2;
/// Half octaves of the first steps.
const STEP_FIRST: i32 = 4;
/// The same if windows have many events, or long ones: they are measured for long, and a resize
/// takes long.
const STEP_FIRST_LARGE: i32 = 2;
/// Events of a worker in such a window.
const LARGE: i64 = 4_096;
/// A measurement ends after this number of events (for the smallest steps, a multiple of it), or
/// after many windows.
const EVENTS_LEAST: i64 = 2_000;
const EVENTS_FINE: i64 = 3;
/// The same for each LP: the first windows of another width find lists and caches as the last ones
/// have left them.
const EVENTS_PER_LP: i64 = 2;
const WINDOWS_ENOUGH: i64 = 256;
/// Of events that take long, fewer tell as much: this number, in a few windows, or a multiple of
/// these, that took this time in nanoseconds. (256 events of 100 us on 64 LPs: three measurements
/// at the first width were some 60 windows, and two thirds of a run of 1.8 s.)
const EVENTS_LONG: i64 = 128;
const WINDOWS_LONG: i64 = 4;
const LONG: f64 = 5e6;
/// A neighbor is no better as soon as so many more events were handled again than stand. (Windows
/// that are four times as wide, of events of 22 us, took 14 ms each: seven of them are 0.1 s.)
const REPLAYS_MUCH: i64 = 64;
/// By which factor rates have risen on models that were tried, at most: from the first measurement
/// (windows of 64 events copied tables of 130 entries for each), and from the last large step.
const GAIN_OF_LARGE_STEPS: f64 = 8.0;
const GAIN_OF_SMALL_STEPS: f64 = 1.2;
/// Windows in a row that have fewer events than this are sparse.
const SPARSE_WINDOWS: i64 = 64;
/// The most sparse windows before they become wider.
const SPARSE_MAX: i64 = WINDOWS_ENOUGH;

/// A window may have this number of events per LP, and some more, before it counts as too large.
const EVENTS_PER_LP_MAX: u64 = 16;
const EVENTS_MORE: u64 = 2048;
/// With more events than this, only this number per LP: the memory of such windows costs more than
/// anything that is shared in them can gain.
const EVENTS_MANY: u64 = 65_536;
const EVENTS_PER_LP_MANY: u64 = 4;

/// The most events that a window of a worker with that many LPs should have.
pub(super) fn events_max(lps: usize) -> u64 {
    let (lps, more) = (lps as u64, scheduling::limit(EVENTS_MORE));
    (EVENTS_PER_LP_MAX * lps).min(EVENTS_MANY.max(EVENTS_PER_LP_MANY * lps)) + more
}

/// How many slots a window of a level has on the grid with slots of 2^`exponent` base widths, if
/// that is a whole number and not above `most`.
fn slots_of(level: i32, exponent: i32, most: u64) -> Option<u64> {
    let octaves = (level >> 1) - exponent;
    let slots = match (level & 1, octaves) {
        (0, 0..=4) => 1 << octaves,
        (1, 1..=4) => 3 << (octaves - 1),
        _ => return None,
    };
    (slots <= most).then_some(slots)
}

/// What is being measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The level that is the best so far.
    Base,
    /// A neighbor of it.
    Candidate,
    /// The level that was found; neighbors are probed now and then.
    Settled,
}

/// Finds the width of windows.
#[derive(Clone, Debug)]
pub(super) struct WidthControl {
    /// The width is given: it is not searched for, only reduced when too much is wasted.
    is_fixed: bool,
    /// Slots are the base width times 2 to this power.
    pub(super) exponent: i32,
    /// The level in force; the best one so far; and the level that is never exceeded.
    level: i32,
    base: i32,
    cap: i32,
    mode: Mode,
    /// The next step: its direction, and its size in levels.
    direction: i32,
    step: i32,
    failed_steps: u32,
    /// Nanoseconds per standing event: of the base, and when the search ended; 0 if unknown.
    base_cost: f64,
    settled_cost: f64,
    /// The measurement that is under way: windows to skip, and where it began.
    skip: u32,
    began: Option<Beginning>,
    /// Events that stood and were handled again when the level came into force.
    since: Option<(i64, u64)>,
    /// The least cost of the measurements at this level, and their number.
    best: f64,
    measurements: u32,
    /// Measurements since the search ended, and after how many a neighbor is probed.
    settled_for: u32,
    probe_after: u32,
    /// Measurements in a row that were far from the settled cost.
    odd: u32,
    /// Whether a search begins: see [`growing`].
    is_first: bool,
    /// While the first windows of a run grow.
    growing: Option<Growth>,
    sparse_after: i64,
    /// Whether windows have many events.
    is_large: bool,
    /// When that many events are committed, the cap rises; and by how many it rises the next time.
    cap_until: i64,
    cap_credit: i64,
    /// When that many events are committed, the last storm has been paid for.
    paid_at: i64,
    /// Windows since the last storm, storms in a row, and the level at the first of them.
    since_storm: u32,
    storms: u32,
    first_storm_level: i32,
    one_by_one: u64,
    /// The most slots that windows should have: short lists in slots cost more than a new grid.
    slots_most: u64,
    tiles: i64,
    lps: i64,
    /// The events of a window at which a search begins, at most.
    first: usize,
    /// Events of a worker that were pending when the stage began.
    pending: usize,
    events_max: i64,
}

#[derive(Clone, Copy, Debug)]
struct Beginning {
    at: f64,
    standing: i64,
    replayed: u64,
    windows: i64,
}

impl WidthControl {
    /// Control for a worker with this number of tiles and LPs, whose windows should not have more
    /// than `events_max` events.
    pub(super) fn new(is_fixed: bool, tiles: usize, lps: usize, events_max: u64) -> Self {
        Self {
            is_fixed,
            exponent: -1,
            level: 0,
            base: 0,
            cap: i32::MAX / 2,
            mode: Mode::Base,
            direction: 1,
            step: STEP_FIRST,
            failed_steps: 0,
            base_cost: 0.0,
            settled_cost: 0.0,
            skip: SKIP,
            began: None,
            since: None,
            best: f64::INFINITY,
            measurements: 0,
            settled_for: 0,
            probe_after: 12,
            odd: 0,
            is_first: !is_fixed,
            growing: None,
            sparse_after: SPARSE_WINDOWS,
            is_large: false,
            cap_until: 0,
            cap_credit: 0,
            paid_at: 0,
            since_storm: 0,
            storms: 0,
            first_storm_level: 0,
            one_by_one: 0,
            slots_most: SLOTS_MAX,
            tiles: tiles as i64,
            lps: lps as i64,
            first: events_first(lps, 0.0),
            pending: 0,
            events_max: events_max as i64,
        }
    }

    /// The same control, after the run was with another engine for a while.
    const fn resumed(self) -> Self {
        Self { skip: SKIP, began: None, since: None, ..self }
    }

    /// How many slots windows have on the grid, or `None` if another grid is needed.
    fn slots(&self) -> Option<u64> {
        slots_of(self.level, self.exponent, self.slots_most)
    }

    /// Chooses a grid for the level, and returns the number of slots of its windows.
    pub(super) fn choose_grid(&mut self) -> u64 {
        // What is measured across a resize is not what windows cost.
        self.began = None;
        let slots = self.slots().unwrap_or_else(|| {
            self.exponent = (self.level >> 1) - 1;
            2 + u64::from(self.level & 1 == 1)
        });
        debug_assert_eq!(self.slots(), Some(slots), "windows do not fit the grid of {self:?}");
        slots
    }

    /// By which factor what windows commit may rise until their width is found, about.
    pub(super) const fn may_gain(&self) -> f64 {
        match self.mode {
            Mode::Settled => 1.0,
            _ if self.is_fixed => 1.0,
            _ if self.step > 1 => GAIN_OF_LARGE_STEPS,
            _ => GAIN_OF_SMALL_STEPS,
        }
    }

    fn go_to(&mut self, level: i32) {
        if level != self.level {
            self.level = level;
            self.skip = if self.is_large { SKIP_LARGE } else { SKIP };
        }
        (self.best, self.measurements, self.began, self.since) = (f64::INFINITY, 0, None, None);
    }

    /// After a window: how many slots the next windows have, or `None` if another grid is needed.
    /// Workers have committed `standing` events each so far, on average; this one has handled
    /// `replayed` events again. `clock` tells the time in nanoseconds.
    #[inline]
    pub(super) fn decide(
        &mut self,
        standing: i64,
        replayed: u64,
        clock: impl Fn() -> f64,
    ) -> Option<u64> {
        self.since_storm = self.since_storm.saturating_add(1);
        if let Some(level) = scheduling::level() {
            self.go_to(level);
            return self.slots();
        }
        // (The windows before the next ones of this level have another one.)
        let (stood, had_replayed) = *self.since.get_or_insert((standing, replayed));
        let replays = (replayed - had_replayed) as i64;
        if self.mode == Mode::Candidate && replays > standing - stood + REPLAYS_MUCH {
            self.step_failed();
        } else if let Some(growth) = self.growing {
            self.grow(growth, Counts { standing, replayed, at: clock() });
        } else if self.skip > 0 {
            self.skip -= 1;
        } else if let Some(began) = &mut self.began {
            began.windows += 1;
            let began = *began;
            self.look(began, standing, replayed, clock);
        } else {
            self.begin_measuring(standing, replayed, clock());
        }
        self.slots()
    }

    const fn begin_measuring(&mut self, standing: i64, replayed: u64, at: f64) {
        self.began = Some(Beginning { at, standing, replayed, windows: 0 });
    }

    fn look(&mut self, began: Beginning, standing: i64, replayed: u64, clock: impl Fn() -> f64) {
        let windows = began.windows;
        let events = standing - began.standing;
        debug_assert!(events >= 0 && windows > 0, "{events} events in {windows} windows");
        if windows >= self.sparse_after && events < windows {
            // Hardly an event in a window: wider ones, whatever was learned before.
            self.sparse_after = (self.sparse_after * 2).min(SPARSE_MAX);
            self.search_anew(standing);
            self.cap = self.cap.max(self.level + STEP_FIRST);
            self.base = self.base.max(self.level + STEP_FIRST);
            return self.go_to(self.base);
        }
        if events >= 4 * windows {
            self.sparse_after = SPARSE_WINDOWS;
        }
        let replays = (replayed - began.replayed) as i64;
        let wastes = growing::wastes(1, replays, events);
        let mut least = scheduling::limit(EVENTS_LEAST as u64) as i64;
        if self.step == 1 {
            least *= EVENTS_FINE;
        }
        least = least.max(EVENTS_PER_LP * self.lps);
        let is_short = events < least && windows < WINDOWS_ENOUGH;
        // (The clock takes a part of the time of a window of fast events.)
        let may_be_long = windows % WINDOWS_LONG == 0 && (wastes || events >= EVENTS_LONG);
        if is_short && !may_be_long || windows < 4 && events < 10 * EVENTS_LEAST {
            return;
        }
        let now = clock();
        if is_short && now - began.at < LONG {
            return;
        }
        if wastes && is_short {
            // What most of the time goes to is known, and more of it is not to be measured.
            (self.base, self.direction) = (self.level - STEP_WASTED, -1);
            (self.mode, self.is_first) = (Mode::Base, false);
            return self.go_to(self.base);
        }
        let cost = (now - began.at) / events.max(1) as f64;
        let waste = replays as f64 / events.max(1) as f64;
        self.slots_most = (events / (windows * self.tiles * 8)).clamp(3, SLOTS_MAX as i64) as u64;
        self.is_large = events > LARGE * windows;
        let is_long = now - began.at >= growing::LONG_ENOUGH * windows as f64;
        if self.is_large || is_long {
            self.step = self.step.min(STEP_FIRST_LARGE);
        }
        self.limit(events, windows, standing);
        if std::mem::take(&mut self.is_first) {
            if growing::wastes(2 * growing::WASTE, replays, events) {
                // Wider windows would waste more.
                self.direction = -1;
            }
            let levels = self.levels_to_first(events as f64 / windows as f64);
            if levels.abs() >= FAR && !(levels > 0 && is_long) {
                (self.base, self.mode) = ((self.level + levels).min(self.cap), Mode::Base);
                return self.go_to(self.base);
            }
        }
        self.begin_measuring(standing, replayed, now);
        // Who has a core for milliseconds longer or shorter changes little of a long one.
        self.measurements += match is_short {
            true => 2,
            false if events < 10 * EVENTS_LEAST => 1,
            false => 3,
        };
        if self.is_fixed {
            self.approach(waste);
        } else {
            self.best = self.best.min(cost);
            self.climb(standing);
        }
    }

    /// Lowers the cap if windows are large, and raises it after enough work.
    fn limit(&mut self, events: i64, windows: i64, standing: i64) {
        if events > self.events_max / 2 * windows {
            (self.cap, self.cap_until) = (self.level, standing + 16 * events);
        } else if standing > self.cap_until && self.cap < i32::MAX / 2 {
            self.cap += 1;
            self.cap_credit = self.cap_credit.saturating_mul(2);
            self.cap_until = standing.saturating_add(self.cap_credit);
        }
    }

    /// A width is given: goes as near to it as waste allows.
    fn approach(&mut self, waste: f64) {
        debug_assert!(self.is_fixed, "a width that nobody has given: {self:?}");
        if waste > 0.25 {
            self.go_to(self.level - 1);
        } else if waste < 0.1 && self.measurements >= 4 && self.level < self.cap.min(0) {
            self.go_to(self.level + 1);
        }
    }

    fn climb(&mut self, standing: i64) {
        debug_assert!(self.best.is_finite(), "nothing was measured: {self:?}");
        let patience = if self.step == 1 { 9 } else { 3 };
        let is_far = |cost: f64, from: f64| cost > 1.5 * from || cost < from / 1.5;
        match self.mode {
            Mode::Base if self.measurements >= patience => {
                if self.settled_cost > 0.0 && is_far(self.best, self.settled_cost) {
                    return self.search_anew(standing);
                }
                self.base_cost = self.best;
                self.probe();
            }
            Mode::Candidate if self.best > 1.25 * self.base_cost => self.step_failed(),
            Mode::Candidate if self.measurements >= patience => {
                if self.best < self.least_gain() * self.base_cost {
                    (self.base, self.base_cost) = (self.level, self.best);
                    (self.failed_steps, self.probe_after) = (0, 6);
                    self.probe();
                } else {
                    self.step_failed();
                }
            }
            Mode::Settled if self.measurements >= 4 => {
                let cost = self.best;
                (self.measurements, self.best) = (0, f64::INFINITY);
                self.settled_for += 1;
                self.odd = if is_far(cost, self.settled_cost) { self.odd + 1 } else { 0 };
                if self.odd > 1 {
                    self.search_anew(standing);
                } else if self.odd == 0 && self.settled_for >= self.probe_after {
                    // Not if the cost is odd: it would be settled before it is looked at again.
                    (self.base_cost, self.settled_cost, self.failed_steps) = (cost, cost, 1);
                    self.probe();
                }
            }
            _ => {}
        }
    }

    /// The model is not as it was.
    fn search_anew(&mut self, standing: i64) {
        (self.mode, self.direction, self.step) = (Mode::Base, 1, STEP_FIRST);
        (self.odd, self.probe_after, self.settled_cost) = (0, 6, 0.0);
        self.is_first = !self.is_fixed;
        if standing > self.paid_at {
            // What was too wide before may be right by now.
            self.cap = i32::MAX / 2;
        }
    }

    /// A neighbor is better if it costs less than this part of what the base costs. Wide windows
    /// with many events take memory, and trying still wider ones takes long.
    fn least_gain(&self) -> f64 {
        if self.is_large && self.level > self.base { 0.95 } else { 0.98 }
    }

    /// Tries the neighbor of the base that is next.
    fn probe(&mut self) {
        let mut level = (self.base + self.direction * self.step).min(self.cap);
        if level == self.base {
            self.direction = -1;
            level = self.base - self.step;
        }
        self.mode = Mode::Candidate;
        self.go_to(level);
    }

    /// The neighbor is no better.
    fn step_failed(&mut self) {
        debug_assert!(self.step >= 1, "a step of no width: {self:?}");
        self.failed_steps += 1;
        self.direction = -self.direction;
        self.mode = Mode::Base;
        if self.failed_steps >= 2 {
            self.failed_steps = 0;
            if self.step > 1 {
                self.step /= 2;
            } else {
                (self.mode, self.settled_for) = (Mode::Settled, 0);
                self.settled_cost = self.base_cost;
                self.probe_after = (self.probe_after * 2).min(256);
            }
        }
        self.go_to(self.base);
    }
}

#[cfg(test)]
mod tests;
