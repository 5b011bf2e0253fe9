//! Figure 6 of the portable-runtime paper: running time by degree of aggregation and by edge
//! capacity, and null messages by edge capacity.

use warpline::settings::Aggregation;

use super::circuits::{Circuit, Circuits, null_messages, on_ranks, transport};
use crate::{
    Axis, Bounds, Claim, Conservative, Constant, Executor, Figure, Findings, Lab, LabError, Point,
    claim::ratios, sampling::median,
};

/// One half of the figure.
#[derive(Debug)]
pub struct RuntimeFig6 {
    name: &'static str,
    title: &'static str,
    half: Half,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Half {
    Aggregation,
    Capacity,
}

/// Ranks of the upper half: as many as the cores of a small machine.
const RANKS: usize = 2;
/// Bytes of messages that are sent together; the first stands for no aggregation.
const THRESHOLDS: [usize; 8] = [1, 64, 256, 1024, 2048, 4096, 16_384, 65_536];
const CAPACITIES: [usize; 9] = [1, 2, 4, 8, 16, 64, 256, 4096, 65_536];
/// The threshold that the paper found best.
const BEST: f64 = 2048.0;
/// A capacity that is neither too small nor too large: the engine's default.
const ENOUGH: f64 = 64.0;
/// The factor of a run that takes longer: the rates are not level.
pub(super) const LONGER: Bounds = Bounds::FASTER;
/// The cost of a small edge capacity in the paper, with both ends.
const UP_TO_60_PERCENT: Bounds = Bounds::Within(1.0, 1.6);
/// What a setting that need not be tuned may lose.
const AT_MOST_5_PERCENT: Bounds = Bounds::AtMost(1.05);

impl RuntimeFig6 {
    /// By degree of aggregation.
    pub const AGGREGATION: Self = Self {
        name: "runtime-fig6a",
        title: "Circuits, null messages between two ranks: rate by degree of message aggregation",
        half: Half::Aggregation,
    };
    /// By edge capacity.
    pub const CAPACITY: Self = Self {
        name: "runtime-fig6b",
        title: "Circuits, null messages: rate and null messages per event by edge capacity",
        half: Half::Capacity,
    };

    fn places(&self) -> Vec<f64> {
        let places: &[usize] = match self.half {
            Half::Aggregation => &THRESHOLDS,
            Half::Capacity => &CAPACITIES,
        };
        places.iter().map(|&place| place as f64).collect()
    }

    fn executor(&self, place: f64, workers: usize) -> Executor {
        let place = place as usize;
        match self.half {
            Half::Aggregation => {
                let aggregation =
                    if place == 1 { Aggregation::Off } else { Aggregation::Bytes(place) };
                on_ranks(RANKS, Conservative { aggregation, ..null_messages(1) })
            }
            Half::Capacity => Executor::Conservative(Conservative {
                edge_capacity: place,
                ..null_messages(workers)
            }),
        }
    }

    fn points(&self, lab: &Lab<'_>, circuits: &Circuits) -> Vec<Point> {
        let workers = lab.settings.most_workers();
        let of_circuit = |circuit| self.places().into_iter().map(move |place| (circuit, place));
        let points = circuits.all().into_iter().flat_map(of_circuit);
        let point = |(circuit, place): (&Circuit, f64)| {
            circuits.point(circuit, circuit.name.clone(), place, self.executor(place, workers))
        };
        points.map(point).collect()
    }

    fn constants(&self, circuits: &Circuits) -> Vec<Constant> {
        let mut constants = circuits.constants();
        constants.extend(match self.half {
            Half::Aggregation => [
                Constant::paper("the best threshold is about 2 KiB", "section 5, figure 6"),
                Constant::ours(format!("thresholds of {THRESHOLDS:?} bytes"), "powers of two"),
            ],
            Half::Capacity => [
                Constant::paper("a small capacity costs up to 60 %", "section 5, figure 6"),
                Constant::ours(
                    format!("capacities of {CAPACITIES:?}; {ENOUGH} is neither small nor large"),
                    "the engine's default, which a claim of ours compares with all others",
                ),
            ],
        });
        constants
    }

    /// `curves` are the circuit with small subcircuits and that with large ones.
    fn claims(&self, curves: [&str; 2], points: &[Point]) -> Vec<Claim> {
        let [least, most] = [self.places()[0], self.places()[self.places().len() - 1]];
        let [small, large] = curves;
        match self.half {
            Half::Aggregation => vec![
                takes(
                    "without aggregation the circuit with small subcircuits takes more than three \
                     times as long",
                    ([small].as_slice(), points),
                    [least, BEST],
                    Bounds::Above(3.0),
                ),
                takes("it takes longer without", (&curves, points), [least, BEST], LONGER),
                matters_more(
                    "aggregation matters more with small subcircuits than with large ones",
                    (curves, points),
                    [least, BEST],
                ),
                takes(
                    "with far too much of it, longer, too",
                    (&curves, points),
                    [most, BEST],
                    LONGER,
                ),
            ],
            Half::Capacity => vec![
                fewer((&curves, points), [most, least]),
                takes(
                    "a capacity that is too small costs time",
                    (&curves, points),
                    [least, ENOUGH],
                    LONGER,
                ),
                takes(
                    "up to 60 % with large subcircuits",
                    ([large].as_slice(), points),
                    [least, ENOUGH],
                    UP_TO_60_PERCENT,
                ),
                matters_more(
                    "it matters more with few large subcircuits than with many small ones",
                    ([large, small], points),
                    [least, ENOUGH],
                ),
                takes(
                    "a capacity that is too large costs time, too, on a machine with little memory",
                    ([small].as_slice(), points),
                    [most, ENOUGH],
                    LONGER,
                ),
                no_deadlocks((&curves, points)),
                self.needs_no_tuning(&curves, points),
            ],
        }
    }

    /// Our own claim about the engine's default capacity.
    fn needs_no_tuning(&self, curves: &[&str], points: &[Point]) -> Claim {
        let text = format!("a capacity of {ENOUGH}, the default, loses at most 5 % to any other");
        let others = self.places().into_iter().filter(|&place| place != ENOUGH);
        others.fold(Claim::own(text), |claim, other| {
            test(claim, (curves, points), [ENOUGH, other], AT_MOST_5_PERCENT)
        })
    }
}

/// The point of a curve at a place.
fn at<'p>(points: &'p [Point], curve: &str, place: f64) -> Option<&'p Point> {
    points.iter().find(|point| point.curve == curve && point.x == place)
}

/// How much longer a run takes at one place than at another, in each round.
fn factors(points: &[Point], curve: &str, [slow, fast]: [f64; 2]) -> Vec<f64> {
    let both = at(points, curve, fast).zip(at(points, curve, slow));
    both.map(|(fast, slow)| ratios(fast, slow)).unwrap_or_default()
}

/// The claim of the paper that a run takes longer at one place than at another, by the wanted
/// factor.
pub(super) fn takes(
    text: &str,
    of: (&[&str], &[Point]),
    places: [f64; 2],
    wanted: Bounds,
) -> Claim {
    test(Claim::of_paper(text), of, places, wanted)
}

/// Tests for some curves how much longer a run takes at one place than at another.
fn test(
    claim: Claim,
    (curves, points): (&[&str], &[Point]),
    places: [f64; 2],
    wanted: Bounds,
) -> Claim {
    curves.iter().fold(claim, |claim, curve| {
        let place = format!("{curve}, time at {} / time at {}", places[0], places[1]);
        claim.test_rounds(place, &factors(points, curve, places), wanted)
    })
}

/// The claim of the paper that one place costs the first of two circuits more time than the second.
pub(super) fn matters_more(
    text: &str,
    (curves, points): ([&str; 2], &[Point]),
    places: [f64; 2],
) -> Claim {
    let [more, less] = curves.map(|curve| factors(points, curve, places));
    let by: Vec<_> = more.iter().zip(&less).map(|(more, less)| more / less).collect();
    let [more, less] = curves;
    let place = format!("time at {} / time at {}: {more} by {less}", places[0], places[1]);
    Claim::of_paper(text).test_rounds(place, &by, LONGER)
}

fn nulls_per_event(point: &Point) -> Vec<f64> {
    let committed = point.committed as f64;
    point.samples.iter().map(|sample| sample.null_messages as f64 / committed).collect()
}

/// The claim that a greater edge capacity takes fewer null messages.
fn fewer((curves, points): (&[&str], &[Point]), [great, small]: [f64; 2]) -> Claim {
    let claim = Claim::of_paper("a greater edge capacity takes fewer null messages");
    curves.iter().fold(claim, |claim, curve| {
        let nulls = |place| at(points, curve, place).map(nulls_per_event).unwrap_or_default();
        let less: Vec<_> =
            nulls(small).iter().zip(nulls(great)).map(|(small, great)| small - great).collect();
        let place = format!("{curve}, null messages per event less at {great} than at {small}");
        claim.test_rounds(place, &less, Bounds::Above(0.0))
    })
}

/// The claim that enough null messages are sent to eliminate deadlocks, of those that a capacity
/// causes as well.
fn no_deadlocks((curves, points): (&[&str], &[Point])) -> Claim {
    let claim = Claim::of_paper("null messages eliminate deadlocks");
    curves.iter().fold(claim, |claim, curve| {
        let of_curve = points.iter().filter(|point| point.curve == *curve);
        of_curve.fold(claim, |claim, point| {
            let deadlocks: Vec<_> =
                point.samples.iter().map(|sample| sample.deadlocks as f64).collect();
            let place = format!("{curve}, deadlocks at {}", point.x);
            claim.test_rounds(place, &deadlocks, Bounds::AtMost(0.0))
        })
    })
}

/// The null messages per event of a curve, for the text.
fn nulls_remark(points: &[Point], curve: &str) -> String {
    let of_curve = points.iter().filter(|point| point.curve == curve);
    let texts: Vec<_> = of_curve
        .map(|point| {
            let nulls = median(nulls_per_event(point).into_iter());
            format!("{nulls:.2} at {}", point.x)
        })
        .collect();
    format!("{curve}, null messages per event: {}.", texts.join(", "))
}

impl Figure for RuntimeFig6 {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let circuits = Circuits::of(lab);
        let points = lab.sample(self.points(lab, &circuits))?;
        let x = match self.half {
            Half::Aggregation => "bytes of messages that are sent together",
            Half::Capacity => "edge capacity, in events",
        };
        let mut findings = Findings::of_rates(
            self.title,
            Axis::new(x).with_ticks(self.places()).logarithmic(),
            &points,
        );
        let curves = circuits.all().map(|circuit| circuit.name.as_str());
        findings.remarks.extend(curves.map(|curve| nulls_remark(&points, curve)));
        Ok(Findings {
            paper: "Wen and Yelick 1995, figure 6: without aggregation the running time of C2670, \
                    with small subcircuits, rose by more than a factor of 3, and that of the \
                    register file, with large ones, less; it was least at about 2 KiB, and rose \
                    again beyond. A larger edge capacity let more run at the same time and took \
                    fewer null messages; a small one cost the register file up to 60 %, and C2670 \
                    less. Too large a one cost C2670 a factor of 3 on a Paragon, whose nodes had \
                    10 MB of memory.",
            setup: format!(
                "{}, on {}; {} rounds. Rates are events of processes, each of up to 32 \
                 subcircuits.{}",
                circuits.describe(),
                match self.half {
                    Half::Aggregation => format!("{RANKS} ranks"),
                    Half::Capacity => format!("{} workers", lab.settings.most_workers()),
                },
                lab.settings.samples,
                match self.half {
                    Half::Aggregation => format!(" {}", transport(lab)),
                    Half::Capacity => String::new(),
                },
            ),
            claims: self.claims(curves, &points),
            constants: self.constants(&circuits),
            ..findings
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Verdict, figures::testing::point};

    const SMALL: &str = "small";
    const LARGE: &str = "large";

    fn with_nulls(curve: &str, x: f64, rate: f64, null_messages: u64) -> Point {
        let point = point(curve, x, &[rate; 5]);
        let nulls = |sample: &Sample| Sample { null_messages, ..*sample };
        Point { committed: 100, samples: point.samples.iter().map(nulls).collect(), ..point }
    }

    /// The verdicts by the rates at the least place, at the one between and at the greatest, of
    /// both circuits.
    fn verdicts(
        figure: &RuntimeFig6,
        middle: f64,
        rates: [[f64; 3]; 2],
        nulls: [u64; 2],
    ) -> Vec<Verdict> {
        let [least, most] = [figure.places()[0], figure.places()[figure.places().len() - 1]];
        let of_curve = |(curve, rates): (&str, [f64; 3])| {
            [
                with_nulls(curve, least, rates[0], nulls[0]),
                with_nulls(curve, middle, rates[1], 0),
                with_nulls(curve, most, rates[2], nulls[1]),
            ]
        };
        let points: Vec<_> = [SMALL, LARGE].into_iter().zip(rates).flat_map(of_curve).collect();
        figure.claims([SMALL, LARGE], &points).iter().map(Claim::verdict).collect()
    }

    #[test]
    fn claims_about_aggregation_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |rates| verdicts(&RuntimeFig6::AGGREGATION, BEST, rates, [0; 2]);
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts([[1.0, 4.0, 3.0], [1.0, 2.0, 1.9]]), [yes; 4]);
        assert_eq!(verdicts([[4.0, 3.0, 4.0], [3.0, 3.0, 3.0]]), [no; 4]);
    }

    #[test]
    fn claims_about_capacity_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |rates, nulls| verdicts(&RuntimeFig6::CAPACITY, ENOUGH, rates, nulls);
        let [yes, no] = [Verdict::Yes, Verdict::No];
        let like_the_paper = verdicts([[1.0, 1.2, 0.4], [1.0, 1.5, 1.5]], [200, 100]);
        assert_eq!(like_the_paper, [yes; 7]);
        let unlike = verdicts([[2.0, 1.0, 2.0], [3.0, 1.0, 2.0]], [100, 200]);
        assert_eq!(unlike, [no, no, no, no, no, yes, no]);
        // "Up to 60 %" has an upper end, too.
        let far_more = verdicts([[1.0, 1.2, 1.2], [1.0, 36.0, 36.0]], [200, 100]);
        assert_eq!(far_more, [yes, yes, no, yes, no, yes, yes]);
    }

    #[test]
    fn a_deadlock_is_told() {
        let mut point = with_nulls(SMALL, 1.0, 1.0, 5);
        assert_eq!(no_deadlocks((&[SMALL], &[point.clone()])).verdict(), Verdict::Yes);
        point.samples.iter_mut().for_each(|sample| sample.deadlocks = 3);
        assert_eq!(no_deadlocks((&[SMALL], &[point])).verdict(), Verdict::No);
    }
}
