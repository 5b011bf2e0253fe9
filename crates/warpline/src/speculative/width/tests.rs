//! The search for widths on models of costs, without a clock.
//!
//! Mutations, each seen red: a change that is noticed between two probes becomes the settled cost;
//! a narrower probe without events lowers the base; a cap outlives the model as it was.

use std::cell::Cell;

use proptest::prelude::*;

use super::{growing::EVENTS_FIRST, *};
use crate::speculative::resize::Reason;

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

/// A search begins with windows of half as many events as LPs, but not with most of what is
/// pending; and what is pending at the start does not make windows narrower later.
#[test]
fn a_search_begins_within_what_is_pending() {
    let first = |lps, copying, pending| events_first_of(events_first(lps, copying), pending);
    assert_eq!(first(10_000, 0.0, 160_000), 5_000, "half as many as LPs");
    assert_eq!(first(10_000, 0.0, 10_000), 1_250, "an eighth of what is pending");
    assert_eq!(first(10_000, 0.0, 1_000), 500, "few events grow by themselves");
    assert_eq!(first(100, 0.0, 1_000_000), EVENTS_FIRST);
    assert_eq!(first(100, 3e-6, 1_000_000), 500, "copies that take long are for many events");
    assert_eq!(first(100, f64::INFINITY, 8_000), 1_000);
    assert_eq!(first(100, f64::INFINITY, 1 << 40), 1 << 16, "a number that can be compared");
    let levels = |pending, events| {
        let mut control = WidthControl::new(false, 1, 10_000, 1_000_000);
        control.pending = pending;
        control.levels_to_first(events)
    };
    assert_eq!(levels(10_000, 1_250.0), 0, "where it begins");
    assert_eq!(levels(10_000, 78.0), 8, "to 1 250 events");
    assert_eq!(levels(10_000, 20_000.0), -4, "to 5 000: more may be pending by now");
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

    /// The best width of those in which no more events are handled again than stand, nor in windows
    /// half as wide again. (Wider windows would cost less where each of them costs much; the search
    /// leaves them at once: `REPLAYS_MUCH`.)
    fn best_width(&self) -> f64 {
        let widths = std::iter::successors(Some(1e-9), |width| Some(width * 1.035));
        let widths = widths.take(1_200).take_while(|width| self.late(1.5 * width) <= 1.0);
        widths.min_by(|a, b| self.cost(*a).total_cmp(&self.cost(*b))).unwrap_or(1.0)
    }

    fn best(&self) -> f64 {
        self.cost(self.best_width())
    }
}

/// A control at work: what it has done so far, and how long that took.
struct Work {
    control: WidthControl,
    events: f64,
    replays: f64,
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
            self.replays += count * load.late(width);
            let (standing, replays) = (self.events as i64, self.replays as u64);
            let found = self.control.decide(standing, replays, || self.nanoseconds.get());
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

/// Lets a control find its width from `start` levels beside the first guess, then once more after
/// the density has changed by a factor. Returns both times what an event cost, and the least.
fn found(load: Load, lps: usize, start: i32, factor: f64, noise: Vec<f64>) -> [(f64, f64); 2] {
    let enough = |load: &Load| {
        let best = load.density * load.best_width();
        150.0 * (6_000.0_f64.max(2.0 * lps as f64) + 20.0 * best)
    };
    let mut control = WidthControl::new(false, 4, lps, 16 * lps as u64 + 2_048);
    let first = (2.0 * (EVENTS_FIRST as f64 / load.density).log2()).round() as i32;
    control.base = first + start;
    control.go_to(control.base);
    let mut work =
        Work { control, events: 0.0, replays: 0.0, nanoseconds: Cell::new(0.0), noise, windows: 0 };
    let changed = Load { density: load.density * factor, wide: load.wide / factor, ..load };
    [load, changed].map(|load| (work.go_on(&load, enough(&load)), load.best()))
}

/// Where an event takes long, a search is over after some hundred events, and not after dozens of
/// thousands; and what it tries on its way costs little. (Red if a measurement always has thousands
/// of events, or goes on where most of them are handled again.)
#[test]
fn slow_events_tell_a_width_soon() {
    for each in [20e3, 100e3, 1e6] {
        let load = Load { density: 200.0, fixed: 2_000.0, each, wide: 0.7 };
        let control = WidthControl::new(false, 1, 32, 2_560);
        let nanoseconds = Cell::new(0.0);
        let mut work =
            Work { control, events: 0.0, replays: 0.0, nanoseconds, noise: vec![0.0], windows: 0 };
        let cost = work.go_on(&load, 6_000.0);
        assert!(cost < 1.1 * load.best(), "{cost} ns, best {} ns", load.best());
        let all = work.nanoseconds.get() / work.events;
        assert!(all < 1.5 * load.best(), "{all} ns from the start, best {} ns", load.best());
    }
}

/// A neighbor in whose windows most events are handled again is left after a few of them. (Red if
/// `REPLAYS_MUCH` is large.)
#[test]
fn a_neighbor_that_wastes_most_is_left_at_once() {
    let mut control = WidthControl::new(false, 1, 32, 2_560);
    control.probe();
    let (neighbor, base) = (control.level, control.base);
    let (mut standing, mut replayed) = (0, 0);
    while control.level == neighbor {
        (standing, replayed) = (standing + 50, replayed + 100);
        control.decide(standing, replayed, || 0.0);
        assert!(standing <= 150, "it has three windows: {control:?}");
    }
    assert_eq!((control.level, control.direction), (base, -1));
}

/// Where the first windows waste a part of what they do, the search goes to narrower ones first; a
/// wider one of an agent model took as long as all that it needed. (Red without the look at waste.)
#[test]
fn a_search_goes_away_from_waste() {
    let first_neighbor = |waste: i64| {
        let mut control = WidthControl::new(false, 1, 1_000, 18_000);
        let (mut standing, mut clock) = (0, 0.0);
        while control.mode == Mode::Base {
            (standing, clock) = (standing + 400, clock + 40e3);
            control.decide(standing, (standing * waste / 100) as u64, || clock);
        }
        control.level.signum()
    };
    assert_eq!((first_neighbor(2), first_neighbor(5)), (1, -1));
}

/// Where nothing is known of widths, windows with a thousand times as many events as were expected
/// become narrower by that, and not by one step after the other. (Red without `is_new`.)
#[test]
fn a_flood_tells_how_narrow_windows_have_to_be() {
    let drop = |is_known: bool| {
        let mut control = WidthControl::new(false, 1, 128, 18_000);
        control.base_cost = if is_known { 100.0 } else { 0.0 };
        control.given_up(Reason::STORM, 1_000, 0, 64 << 10);
        -control.level
    };
    assert_eq!((drop(false), drop(true)), (20, 4));
}

/// Seen red: the change was noticed just before a probe, and became the settled cost.
#[test]
fn a_model_that_becomes_quiet_is_followed() {
    let load = Load {
        density: 2681.299129155258,
        fixed: 10_000.0,
        each: 23.766826676580404,
        wide: 1.468858597416559,
    };
    for (cost, best) in found(load, 798, -7, 0.01, vec![0.0]) {
        assert!(cost < 1.2 * best, "{cost} ns, best {best} ns");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// From any beginning, an event soon costs nearly as little as at the best width; and again
    /// after the model has become a hundred times as busy, or as quiet, if that is noticed: from
    /// half as much again as it has cost before.
    #[test]
    fn the_width_finds_itself(
        load in loads(),
        lps in 64_usize..8_192,
        start in -12_i32..=12,
        is_busier in any::<bool>(),
        noise in prop::collection::vec(0_f64..0.02, 64),
    ) {
        let factor = if is_busier { 100.0 } else { 0.01 };
        let [(cost, best), (after, best_after)] = found(load, lps, start, factor, noise);
        prop_assert!(cost < 1.2 * best, "{cost} ns, best {best} ns");
        let most = (1.2 * best_after).max(1.5 * cost);
        prop_assert!(after < most, "{after} ns after {cost} ns, best {best_after} ns");
    }
}
