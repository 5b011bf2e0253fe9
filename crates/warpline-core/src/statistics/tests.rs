//! The laws of statistics: parts add up to the whole (STAT-A), and the whole without its first part
//! is the second one (STAT-B); and what they are is what they are by definition.
//!
//! Mutations that turn these tests red: `merge` of tallies without the distance of their means;
//! `since` that leaves out the same; a level that is not closed; a level that begins anew at 0; the
//! last bin of a histogram with one bin less; `middle` without the step down; a series that is not
//! filled up to its end.

use std::fmt;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{Context, EventKey, Io, LpId, Results, Shape, Stream};

/// A context that undoes nothing, at a time.
struct At(f64);

fn time(time: f64) -> VirtualTime {
    VirtualTime::new(time).expect("a time")
}

impl Context<()> for At {
    fn now(&self) -> VirtualTime {
        time(self.0)
    }

    fn event_key(&self) -> Option<&EventKey> {
        None
    }

    fn me(&self) -> LpId {
        LpId::new(0)
    }

    fn lp_count(&self) -> usize {
        1
    }

    fn rng(&self) -> &Stream {
        unimplemented!("nothing is drawn")
    }

    fn send(&mut self, _: LpId, _: f64, (): ()) {}

    fn send_at(&mut self, _: LpId, _: f64, (): ()) {}

    fn send_io(&mut self, _: Io, _: LpId, _: f64, (): ()) {}

    fn fail(&mut self, why: fmt::Arguments<'_>) {
        panic!("{why}");
    }
}

/// Everything at once, as a model has it.
#[derive(Clone, Debug, Default, crate::Statistics)]
#[statistic(crate = crate, time = "h")]
struct All {
    /// Those who came. In a whole life.
    ///
    /// Not in reports.
    #[statistic(unit = "people")]
    came: Counter,
    /// How much each had.
    #[statistic(unit = "coins")]
    had: Tally,
    /// How many are here
    #[statistic(unit = "people")]
    here: Level,
    spread: TrackedHistogram,
    parts: TrackedQuantiles,
    #[statistic(unit = "coins")]
    flow: TrackedSeries,
    /// One of two.
    pair: [Tracked<Tally>; 2],
}

fn all() -> All {
    let (spread, flow) = (TrackedHistogram::new(-8.0, 8.0, 16), TrackedSeries::new(2.5));
    All { spread, flow, ..All::default() }
}

impl All {
    fn observe(&mut self, number: f64, at: f64) {
        let cx = &mut At(at);
        self.came.increment();
        self.had.add(number);
        self.flow.add_since(time(self.here.at), self.here.value(), cx);
        self.here.set(number.abs().floor(), time(at));
        self.spread.add(number, cx);
        self.parts.add(number, cx);
        self.pair[usize::from(number > 0.0)].write(cx).add(number);
    }
}

fn close_to(one: f64, other: f64) -> bool {
    one == other
        || (one - other).abs() <= 1e-9 * (1.0 + one.abs())
        || one.is_nan() && other.is_nan()
}

fn check_alike(one: &All, other: &All, extremes: bool) {
    for (one, other) in one.figures().iter().zip(other.figures()) {
        assert_eq!((&one.name, &one.unit), (&other.name, &other.unit));
        let is_extreme = one.name.ends_with("_min") || one.name.ends_with("_max");
        if extremes || !is_extreme {
            // The root of a rounded difference of squares has half of their digits.
            let is_rough = one.name.ends_with("_sd") && (one.value - other.value).abs() < 1e-4;
            assert!(is_rough || close_to(one.value, other.value), "{one:?}, {other:?}");
        }
    }
    assert_eq!(one.spread, other.spread);
    assert_eq!(one.parts, other.parts);
    assert_eq!(one.flow.sums().len(), other.flow.sums().len());
    let mut sums = one.flow.sums().iter().zip(other.flow.sums());
    assert!(sums.all(|(one, other)| close_to(*one, *other)));
}

/// What happens: a number, and how long after the one before.
fn observations() -> impl Strategy<Value = Vec<(f64, f64)>> {
    vec((prop_oneof![-9.0..9.0, Just(0.0), -1e-3..1e3f64], 0.0..2.0f64), 0..40)
}

fn observed(start: (All, f64), what: &[(f64, f64)]) -> (All, f64) {
    what.iter().fold(start, |(mut all, at), (number, step)| {
        all.observe(*number, at + step);
        (all, at + step)
    })
}

proptest! {
    /// What two LPs observe is merged to what both have observed, in any order.
    #[test]
    fn parts_add_up(one in observations(), two in observations()) {
        let of = |what: &[(f64, f64)]| observed((all(), 0.0), what).0.until(time(100.0));
        let (first, second) = (of(&one), of(&two));
        let merged: All = [first.clone(), second.clone()].into_iter().sum();
        let backwards: All = [second.clone(), first.clone()].into_iter().sum();
        check_alike(&merged, &backwards, true);
        let numbers: Vec<f64> = one.iter().chain(&two).map(|(number, _)| *number).collect();
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
        prop_assert_eq!(merged.came.count(), numbers.len() as u64);
        prop_assert!(numbers.is_empty() || close_to(merged.came.rate(), n / 100.0));
        prop_assert!(numbers.is_empty() || close_to(merged.had.mean(), mean));
        prop_assert!(n < 2.0 || close_to(merged.had.variance(), squares / (n - 1.0)));
        prop_assert!(numbers.is_empty()
            || merged.had.max() == numbers.iter().copied().fold(-f64::INFINITY, f64::max));
        prop_assert_eq!(merged.spread.count(), numbers.len() as u64);
        // A level of two LPs is their average.
        prop_assert!(close_to(merged.here.mean(), (first.here.mean() + second.here.mean()) / 2.0));
    }

    /// A run and what it was at an earlier time give what was observed in between; and so does one
    /// that begins anew there.
    #[test]
    fn a_whole_without_its_beginning(one in observations(), two in observations()) {
        let (before, at) = observed((all(), 0.0), &one);
        let warm_up = at + 0.5;
        let (whole, end) = observed((before.clone(), warm_up), &two);
        let end = end + 1.0;
        let since = whole.clone().until(time(end)).since(&before.clone().until(time(warm_up)));
        let mut anew = before;
        anew.reset(time(warm_up));
        // A series of the whole begins at 0, and one that begins anew there.
        prop_assert_eq!(anew.flow.start(), warm_up);
        anew.flow = since.flow.clone();
        let mut anew = observed((anew, warm_up), &two).0;
        anew.flow = TrackedSeries::default();
        let mut since = since;
        since.flow = TrackedSeries::default();
        check_alike(&anew.until(time(end)), &since, false);
    }

    /// A rate over time is divided among steps, wherever their borders are rounded to.
    #[test]
    fn rates_fill_steps(
        width in prop_oneof![Just(0.1), Just(0.3), Just(1.0 / 49.0), 0.01..3.0f64],
        start in prop_oneof![Just(0.0), Just(20.0), 0.0..1e3f64],
        from in 0.0..10.0f64,
        steps in 0.0..60.0f64,
    ) {
        let mut series = TrackedSeries::new(width);
        series.reset(time(start));
        let (since, now) = (start + from, start + from + steps * width);
        series.add_since(time(since), 2.0, &mut At(now));
        let sum: f64 = series.sums().iter().sum();
        prop_assert!((sum - 2.0 * (now - since)).abs() < 1e-9 * (1.0 + now), "{sum}");
        let most = 2.0 * width + 1e-9 * (1.0 + now);
        prop_assert!(series.sums().iter().all(|sum| *sum <= most), "{:?}", series.sums());
    }

    /// Quantiles are right to 1 % of the number that is the quantile.
    #[test]
    fn quantiles_are_close(
        numbers in vec(prop_oneof![-1e9..1e9f64, -1e-9..1e-9f64, Just(0.0)], 1..200),
        part in 0.0..1.0f64,
    ) {
        let mut quantiles = TrackedQuantiles::default();
        numbers.iter().for_each(|number| quantiles.add(*number, &mut At(0.0)));
        let mut sorted = numbers;
        sorted.sort_by(f64::total_cmp);
        let right = sorted[(part * (sorted.len() - 1) as f64) as usize];
        let found = quantiles.quantile(part);
        prop_assert!((found - right).abs() <= 0.010_000_1 * right.abs(), "{found}, not {right}");
    }
}

/// By hand: what reports say.
#[test]
fn figures_by_hand() {
    let (mut all, _) = observed((all(), 0.0), &[(3.0, 1.0), (-1.5, 1.0), (0.5, 2.0)]);
    all.close(time(8.0));
    let figures = all.figures();
    let of = |name: &str| {
        let figure = figures.iter().find(|figure| figure.name == name);
        let figure = figure.unwrap_or_else(|| panic!("no {name}"));
        (figure.value, figure.unit.to_string(), figure.meaning.to_string())
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(of("came"), (3.0, text("people"), text("Those who came. In a whole life")));
    assert_eq!(of("came_rate").0, 0.375);
    assert_eq!(of("came_rate").1, "people/h");
    assert_eq!(of("had_mean").0, 2.0 / 3.0);
    assert_eq!(of("had_mean").2, "How much each had: mean");
    // 0 for 1 h, 3 for 1 h, 1 for 2 h, 0 for 4 h.
    assert_eq!(of("here_mean"), (0.625, text("people"), text("How many are here: mean over time")));
    assert_eq!(of("here_max").0, 3.0);
    assert_eq!(of("pair_0_count").0, 1.0);
    assert_eq!(of("pair_1_mean").0, 1.75);
    assert_eq!(of("spread_outside").0, 0.0);
    assert!((of("parts_p50").0 - 0.5).abs() < 0.005);
    // The same figures, in the same order, of a default one: `info` shows them.
    let names = |figures: &[Figure]| -> Vec<_> {
        figures.iter().map(|figure| figure.name.clone()).collect()
    };
    assert_eq!(names(&All::default().figures()), names(&figures));
    let [bars, steps] = &all.pictures()[..] else { panic!("two pictures") };
    let Shape::Bars { values, labels, axis } = &bars.shape else { panic!("bars") };
    assert_eq!((values.len(), &*labels[0], &**axis), (16, "-8", "spread"));
    assert_eq!((values[6], values[8], values[11]), (1.0, 1.0, 1.0));
    let Shape::Steps { values, width, .. } = &steps.shape else { panic!("steps") };
    // 3 for 1 h, and 1 for half an hour; 1 for an hour and a half; nothing.
    assert_eq!((&values[..], *width), (&[3.5, 1.5, 0.0, 0.0][..], 2.5));
    assert_eq!((&*steps.title, &*steps.unit), ("flow", "coins"));
}

/// As numbers and back, a statistic is what it was; and all of them are 0 before anything.
#[test]
fn statistics_are_numbers() {
    let (All { came, had, here, .. }, at) = observed((all(), 0.0), &[(3.0, 1.0), (-1.5, 2.0)]);
    assert_eq!(Counter::from(<[f64; 2]>::from(came)), came);
    assert_eq!(Tally::from(<[f64; 5]>::from(had)), had);
    assert_eq!(Level::from(<[f64; 6]>::from(here)), here);
    assert_eq!(<[f64; 5]>::from(had), [2.0, 0.75, 10.125, -1.5, 3.0]);
    assert_eq!(<[f64; 6]>::from(here), [1.0, at, 6.0, 0.0, 3.0, 0.0]);
    assert_eq!(<[f64; 2]>::from(Counter::default()), [0.0; 2]);
    assert_eq!(<[f64; 5]>::from(Tally::default()), [0.0; 5]);
    assert_eq!(<[f64; 6]>::from(Level::default()), [0.0; 6]);
    assert_eq!(Tally::from([0.0; 5]), Tally::default());
}

/// A constant, because each observation would compute it anew.
#[test]
fn the_step_of_bins_is_a_logarithm() {
    assert_eq!(super::quantiles::STEP, libm::log((1.0 + 0.01) / (1.0 - 0.01)));
}

/// Where there is nothing, no number is made up.
#[test]
fn nothing_is_nan() {
    let nothing = All::default().until(time(0.0));
    for figure in nothing.figures() {
        let is_count = figure.unit.is_empty() && figure.name.ends_with("count");
        let is_level = figure.name == "here_min" || figure.name == "here_max";
        let is_zero = is_count || is_level || figure.name == "came";
        assert_eq!(figure.value.is_nan(), !is_zero, "{figure:?}");
    }
    let mut ends = TrackedQuantiles::default();
    for number in [f64::INFINITY, -f64::INFINITY, f64::MIN_POSITIVE, f64::NAN, 5e-324, f64::MAX] {
        ends.add(number, &mut At(0.0));
    }
    assert!(ends.quantile(1.0).is_nan());
    assert_eq!(ends.quantile(0.0), -f64::INFINITY);
    assert_eq!(ends.quantile(0.8), f64::INFINITY);
}

/// What the review of these types has found.
#[test]
fn small_mistakes_of_the_past() {
    let huge = || {
        let mut tally = Tally::default();
        tally.add(1e160);
        tally.add(1e160);
        tally
    };
    let merged = [huge()].into_iter().fold(Tally::default(), |mut all, one| {
        all.merge(&one);
        all
    });
    assert_eq!((merged.mean(), merged.standard_deviation()), (1e160, 0.0));
    // A level of no time keeps what it is.
    let mut levels = Level::default();
    levels.merge(&Level::from(5.0).until(time(0.0)));
    assert_eq!((levels.value(), levels.min(), levels.max()), (5.0, 5.0, 5.0));
    // A counter that its model has set back.
    let mut later = Counter::default();
    later.increment();
    let mut earlier = Counter::default();
    earlier.add(7);
    assert_eq!(later.since(&earlier).count(), 0);
    let mut histogram = TrackedHistogram::new(0.0, 1.0, 2);
    histogram.add(0.7, &mut At(0.0));
    assert_eq!(TrackedHistogram::new(0.0, 1.0, 2).since(&histogram).count(), 0);
    // Bins that are close together have other names.
    let histogram = TrackedHistogram::new(1000.0, 1001.0, 10);
    let mut findings = Findings::default();
    histogram.tell(&Label::new("waits", "h", "how long"), &mut findings);
    let Shape::Bars { labels, .. } = &findings.pictures[0].shape else { panic!("bars") };
    assert_eq!((&*labels[0], &*labels[1], &*labels[9]), ("1000", "1000.1", "1000.9"));
}

/// A struct may have parameters, and its comments any form.
#[test]
fn derived_statistics_of_any_shape() {
    /** How long they wait:
     * at a desk.
     *
     * More of it.
     */
    #[derive(Clone, Debug, Default, crate::Statistics)]
    #[statistic(crate = crate)]
    struct Whole<I, const N: usize>
    where
        [Tally; N]: Default,
    {
        /** How long they wait
         * at a desk.
         *
         * More of it.
         */
        first: I,
        #[doc = "Each.\n\nNot this."]
        each: [Tally; N],
    }
    let whole: Whole<Counter, 2> = [Whole::default(), Whole::default()].into_iter().sum();
    let figures = whole.figures();
    assert_eq!(figures[0].meaning, "How long they wait at a desk");
    assert_eq!((&*figures[2].name, &*figures[2].meaning), ("each_0_mean", "Each: mean"));
}

/// Steps that nobody could store are a mistake of the model.
#[test]
#[should_panic = "make them longer"]
fn a_series_has_an_end() {
    TrackedSeries::new(1e-9).add(1.0, &mut At(1.0));
}
