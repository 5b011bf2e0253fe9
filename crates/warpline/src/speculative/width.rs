//! The width of windows: found by trying, and reduced when too much work is wasted.
//!
//! The first worker has the [`WidthControl`], and asks it after each window. It measures what a
//! committed event costs at a width, waste included, and climbs: by steps of several half octaves
//! first, then by smaller ones; and when no neighbor is better it stays, and probes now and then.
//!
//! A width is a *level*: level `l` is the base width times 2^(l/2), or times 1.5 * 2^((l-1)/2) if
//! `l` is odd. Slots are the base width times 2^d, and a window has a whole number of them.

use super::regrid::Reason;
use crate::scheduling;

/// The most slots that a window may have.
const SLOTS_MAX: u64 = 24;
/// Windows after a change that are not measured, because the next ones are opened already, and
/// caches and lists have to fill. Large windows are too few for more than that.
const SKIP: u32 = 3;
const SKIP_LARGE: u32 = 1;
/// Half octaves of the first steps.
const STEP_FIRST: i32 = 4;
/// The same if windows have many events: they are measured for long, and a regrid takes long.
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
/// A search begins at the width at which a window of a worker has this number of events, or half as
/// many as the worker has LPs, if the width in force is this number of levels away from it.
const EVENTS_FIRST: i64 = 64;
const FAR: i32 = 4;
const WINDOWS_ENOUGH: i64 = 256;
/// Windows in a row that have fewer events than this are sparse.
const SPARSE_WINDOWS: i64 = 64;
/// The most sparse windows before they become wider.
const SPARSE_MAX: i64 = WINDOWS_ENOUGH;
/// The most events of a stretch that are handled one by one.
const STRETCH_MAX: u64 = 1 << 20;
/// After this number of storms in a row, events are handled one by one for a while.
const STORMS_MAX: u32 = 6;

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

/// What a leg has found out about widths, for the next one.
#[derive(Clone, Debug)]
pub(crate) struct FoundWidth {
    pub(super) workers: usize,
    pub(super) base: f64,
    pub(super) control: WidthControl,
}

impl FoundWidth {
    /// A base width for this number of workers; with the control, if that is for as many.
    pub(super) fn resume(self, workers: usize) -> (f64, Option<WidthControl>) {
        if self.workers == workers {
            (self.base, Some(self.control.resumed()))
        } else {
            let level = self.control.level;
            let half = if level & 1 == 1 { 1.5 } else { 1.0 };
            (self.base * half * 2_f64.powi(level >> 1), None)
        }
    }
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
    /// The least cost of the measurements at this level, and their number.
    best: f64,
    measurements: u32,
    /// Measurements since the search ended, and after how many a neighbor is probed.
    settled_for: u32,
    probe_after: u32,
    /// Measurements in a row that were far from the settled cost.
    odd: u32,
    /// Whether a search begins: see [`EVENTS_FIRST`].
    is_first: bool,
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
    stretch: u64,
    /// The most slots that windows should have: short lists in slots cost more than a new grid.
    slots_most: u64,
    tiles: i64,
    lps: i64,
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
    pub(super) const fn new(is_fixed: bool, tiles: usize, lps: usize, events_max: u64) -> Self {
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
            best: f64::INFINITY,
            measurements: 0,
            settled_for: 0,
            probe_after: 12,
            odd: 0,
            is_first: !is_fixed,
            sparse_after: SPARSE_WINDOWS,
            is_large: false,
            cap_until: 0,
            cap_credit: 0,
            paid_at: 0,
            since_storm: 0,
            storms: 0,
            first_storm_level: 0,
            stretch: 0,
            slots_most: SLOTS_MAX,
            tiles: tiles as i64,
            lps: lps as i64,
            events_max: events_max as i64,
        }
    }

    /// The same control, after the run was with another engine for a while.
    const fn resumed(self) -> Self {
        Self { skip: SKIP, began: None, ..self }
    }

    /// How many slots windows have on the grid, or `None` if another grid is needed.
    fn slots(&self) -> Option<u64> {
        slots_of(self.level, self.exponent, self.slots_most)
    }

    /// Chooses a grid for the level, and returns the number of slots of its windows.
    pub(super) fn choose_grid(&mut self) -> u64 {
        // What is measured across a regrid is not what windows cost.
        self.began = None;
        self.slots().unwrap_or_else(|| {
            self.exponent = (self.level >> 1) - 1;
            2 + u64::from(self.level & 1 == 1)
        })
    }

    fn go_to(&mut self, level: i32) {
        if level != self.level {
            self.level = level;
            self.skip = if self.is_large { SKIP_LARGE } else { SKIP };
        }
        (self.best, self.measurements, self.began) = (f64::INFINITY, 0, None);
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
        if self.skip > 0 {
            self.skip -= 1;
        } else if let Some(began) = &mut self.began {
            began.windows += 1;
            let began = *began;
            self.look(began, standing, replayed, clock);
        } else {
            self.begin(standing, replayed, clock());
        }
        self.slots()
    }

    const fn begin(&mut self, standing: i64, replayed: u64, at: f64) {
        self.began = Some(Beginning { at, standing, replayed, windows: 0 });
    }

    fn look(&mut self, began: Beginning, standing: i64, replayed: u64, clock: impl Fn() -> f64) {
        let windows = began.windows;
        let events = standing - began.standing;
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
        let mut least = scheduling::limit(EVENTS_LEAST as u64) as i64;
        if self.step == 1 {
            least *= EVENTS_FINE;
        }
        least = least.max(EVENTS_PER_LP * self.lps);
        let is_short = events < least && windows < WINDOWS_ENOUGH;
        if is_short || windows < 4 && events < 10 * EVENTS_LEAST {
            return;
        }
        let now = clock();
        let cost = (now - began.at) / events.max(1) as f64;
        let waste = (replayed - began.replayed) as f64 / events.max(1) as f64;
        self.slots_most = (events / (windows * self.tiles * 8)).clamp(3, SLOTS_MAX as i64) as u64;
        self.is_large = events > LARGE * windows;
        if self.is_large {
            self.step = self.step.min(STEP_FIRST_LARGE);
        }
        self.limit(events, windows, standing);
        if std::mem::take(&mut self.is_first) {
            let levels = self.levels_to_first(events as f64 / windows as f64);
            if levels.abs() >= FAR {
                (self.base, self.mode) = ((self.level + levels).min(self.cap), Mode::Base);
                return self.go_to(self.base);
            }
        }
        self.begin(standing, replayed, now);
        self.measurements += if events >= 10 * EVENTS_LEAST { 3 } else { 1 };
        if self.is_fixed {
            self.approach(waste);
        } else {
            self.best = self.best.min(cost);
            self.climb(standing);
        }
    }

    /// How many levels windows with this number of events are away from where a search begins.
    fn levels_to_first(&self, events: f64) -> i32 {
        let first = EVENTS_FIRST.max(self.lps / 2) as f64;
        (2.0 * (first / events.max(1.0)).log2()).round() as i32
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
        if waste > 0.25 {
            self.go_to(self.level - 1);
        } else if waste < 0.1 && self.measurements >= 4 && self.level < self.cap.min(0) {
            self.go_to(self.level + 1);
        }
    }

    fn climb(&mut self, standing: i64) {
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
                } else if self.settled_for >= self.probe_after {
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

    /// The open windows were given up, and `lost` executions with them; the newest one would have
    /// had `size` events. Returns how many events are to be handled one by one before the next
    /// window.
    pub(super) fn given_up(&mut self, reason: Reason, lost: u64, standing: i64, size: u64) -> u64 {
        let is_size = reason.has(Reason::SIZE);
        if !is_size && !reason.has(Reason::STORM) {
            return 0;
        }
        let (wide, is_soon) = (self.level, self.since_storm < 64);
        let drop = match (is_size, is_soon) {
            (true, _) => -self.levels_to_first(size as f64),
            (false, true) => 4,
            (false, false) => 2,
        };
        let drop = drop.max(2);
        self.cap = wide - 1;
        self.cap_credit = 16 * lost as i64 + 4096;
        self.cap_until = standing + self.cap_credit;
        self.paid_at = self.cap_until;
        if self.since_storm < 8 {
            self.storms += 1;
        } else {
            (self.storms, self.first_storm_level) = (1, wide);
        }
        self.since_storm = 0;
        self.direction = -1;
        let is_probe = self.mode == Mode::Candidate && self.base < wide && !is_soon;
        self.mode = Mode::Base;
        if self.storms >= STORMS_MAX {
            // Narrower windows do not help. The next stretch is longer.
            self.stretch =
                (4 * lost + scheduling::limit(1024)).max(self.stretch * 2).min(STRETCH_MAX);
            (self.storms, self.since_storm) = (0, 1000);
            (self.cap, self.base) = (self.first_storm_level, self.first_storm_level - 2);
            self.settled_cost = 0.0;
            self.go_to(self.base);
            return self.stretch;
        }
        if is_probe {
            self.failed_steps += 1;
        } else {
            self.step = if is_size { 4 } else { 2 };
            (self.failed_steps, self.settled_cost) = (0, 0.0);
            self.base = wide - drop;
        }
        self.go_to(self.base);
        0
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    /// Each level is a whole number of slots on the grid that is chosen for it, and levels grow.
    #[test]
    fn levels_are_whole_numbers_of_slots() {
        let mut widths = Vec::new();
        for level in -9..9 {
            let mut control = WidthControl::new(false, 1, 1, 1);
            control.go_to(level);
            let slots = control.choose_grid();
            assert_eq!(slots_of(level, control.exponent, SLOTS_MAX), Some(slots));
            widths.push(slots as f64 * 2_f64.powi(control.exponent));
        }
        assert!(widths.is_sorted() && widths[9] == 1.0 && widths[10] == 1.5);
    }

    /// A worker on a model: `density` events in a unit of time, and windows that cost `fixed`
    /// nanoseconds each, `each` for an event, and half as much again for an event in a window
    /// that is `wide`, by its width in a power.
    #[derive(Clone, Copy, Debug)]
    struct Load {
        density: f64,
        fixed: f64,
        each: f64,
        wide: f64,
    }

    impl Load {
        /// Executions that are wasted for each one that stands.
        fn late(&self, width: f64) -> f64 {
            0.5 * (width / self.wide).powi(2)
        }

        /// Nanoseconds of an event in windows of this width.
        fn cost(&self, width: f64) -> f64 {
            self.fixed / (self.density * width) + self.each * (1.0 + self.late(width))
        }

        /// The best width.
        fn best_width(&self) -> f64 {
            let widths = std::iter::successors(Some(1e-9), |width| Some(width * 1.035));
            widths.take(1_200).min_by(|a, b| self.cost(*a).total_cmp(&self.cost(*b))).unwrap_or(1.0)
        }

        fn best(&self) -> f64 {
            self.cost(self.best_width())
        }
    }

    /// A control at work: what it has done so far, and how long that took.
    struct Work {
        control: WidthControl,
        events: f64,
        nanoseconds: Cell<f64>,
        /// The parts by which windows are disturbed, in turn.
        noise: Vec<f64>,
        windows: usize,
    }

    impl Work {
        /// Goes on for that many events of a worker, and returns what one cost in the second half.
        fn go_on(&mut self, load: &Load, events: f64) -> f64 {
            let until = self.events + events;
            let mut half = None;
            let mut slots = self.control.choose_grid();
            while self.events < until {
                let width = slots as f64 * 2_f64.powi(self.control.exponent);
                let count = load.density * width;
                let is_storm = load.late(width) > 3.0;
                if is_storm || count > self.control.events_max as f64 {
                    // Windows are given up as soon as they are seen to be too wide.
                    let (reason, lost) = match is_storm {
                        true => (Reason::STORM, 1_024),
                        false => (Reason::SIZE, self.control.events_max as u64 / 8),
                    };
                    let lost_time = lost as f64 * load.each;
                    self.nanoseconds.update(|nanoseconds| nanoseconds + lost_time);
                    self.control.given_up(reason, lost, self.events as i64, count as u64);
                    slots = self.control.choose_grid();
                    continue;
                }
                if self.events > until - events / 2.0 {
                    half.get_or_insert((self.events, self.nanoseconds.get()));
                }
                let disturbed = 1.0 + self.noise[self.windows % self.noise.len()];
                self.windows += 1;
                self.events += count;
                let cost = count * load.cost(width) * disturbed;
                self.nanoseconds.update(|nanoseconds| nanoseconds + cost);
                let found = self.control.decide(self.events as i64, 0, || self.nanoseconds.get());
                slots = found.unwrap_or_else(|| self.control.choose_grid());
            }
            let (from, at) = half.unwrap_or_default();
            (self.nanoseconds.get() - at) / (self.events - from)
        }
    }

    fn loads() -> impl Strategy<Value = Load> {
        let fixed = prop_oneof![Just(500.0), Just(2_000.0), Just(10_000.0)];
        (1_f64..1e4, fixed, 20_f64..100.0, 32_f64..4_000.0).prop_map(
            |(density, fixed, each, events)| Load { density, fixed, each, wide: events / density },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// From any beginning, an event soon costs nearly as little as at the best width; and again
        /// after the model has become a hundred times as busy, or as quiet.
        #[test]
        fn the_width_finds_itself(
            load in loads(),
            lps in 64_usize..8_192,
            start in -12_i32..=12,
            is_busier in any::<bool>(),
            noise in prop::collection::vec(0_f64..0.02, 64),
        ) {
            let enough = |load: &Load| 150.0 * (6_000.0_f64.max(2.0 * lps as f64) + 20.0 * load.density * load.best_width());
            let mut control = WidthControl::new(false, 4, lps, 16 * lps as u64 + 2_048);
            let first = (2.0 * (EVENTS_FIRST as f64 / load.density).log2()).round() as i32;
            control.base = first + start;
            control.go_to(control.base);
            let mut work = Work { control, events: 0.0, nanoseconds: Cell::new(0.0), noise, windows: 0 };
            let found = work.go_on(&load, enough(&load));
            prop_assert!(found < 1.2 * load.best(), "{found} ns, best {} ns", load.best());
            let factor = if is_busier { 100.0 } else { 0.01 };
            let changed = Load { density: load.density * factor, wide: load.wide / factor, ..load };
            let found = work.go_on(&changed, enough(&changed));
            prop_assert!(found < 1.2 * changed.best(), "{found} ns, then best {} ns", changed.best());
        }
    }
}
