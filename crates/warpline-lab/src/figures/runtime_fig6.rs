//! Figure 6 of the portable-runtime paper: running time by degree of aggregation and by edge
//! capacity, and null messages by edge capacity.

use warpline::settings::{Aggregation, SynchronizationKind};

use super::runtime_fig5::{describe, engine, model};
use crate::{
    Axis, Bounds, Claim, Conservative, Executor, Figure, Findings, Lab, LabError, Point, Setup,
    claim::ratios,
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

/// Bytes of messages that are sent together; the first stands for no aggregation.
const THRESHOLDS: [usize; 8] = [1, 64, 256, 1024, 2048, 4096, 16_384, 65_536];
const CAPACITIES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 256, 1024];
const EAGER: &str = "null messages";
const ON_DEMAND: &str = "null messages on demand";
/// The threshold that the paper found best.
const BEST: f64 = 2048.0;
/// The factor of a run that takes longer: the rates are not level.
const LONGER: Bounds = Bounds::FASTER;
/// The cost of a small edge capacity in the paper, with both ends.
const UP_TO_60_PERCENT: Bounds = Bounds::Within(1.0, 1.6);

impl RuntimeFig6 {
    /// By degree of aggregation.
    pub const AGGREGATION: Self = Self {
        name: "runtime-fig6a",
        title: "Null messages between two ranks: rate by degree of message aggregation",
        half: Half::Aggregation,
    };
    /// By edge capacity.
    pub const CAPACITY: Self = Self {
        name: "runtime-fig6b",
        title: "Null messages: rate and null messages per event by edge capacity",
        half: Half::Capacity,
    };

    fn places(&self) -> Vec<f64> {
        let places: &[usize] = match self.half {
            Half::Aggregation => &THRESHOLDS,
            Half::Capacity => &CAPACITIES,
        };
        places.iter().map(|&place| place as f64).collect()
    }

    fn executor(
        &self,
        place: f64,
        synchronization: SynchronizationKind,
        workers: usize,
    ) -> Executor {
        let place = place as usize;
        Executor::Conservative(match self.half {
            Half::Aggregation => {
                let aggregation =
                    if place == 1 { Aggregation::Off } else { Aggregation::Bytes(place) };
                Conservative { ranks: 2, aggregation, ..engine(1, synchronization) }
            }
            Half::Capacity => {
                Conservative { edge_capacity: place, ..engine(workers, synchronization) }
            }
        })
    }

    fn points(&self, lab: &Lab<'_>, end: f64) -> Vec<Point> {
        let curves = [
            (EAGER, SynchronizationKind::NullMessages),
            (ON_DEMAND, SynchronizationKind::NullMessagesOnDemand),
        ];
        let workers = lab.settings.most_workers();
        let point = |(curve, synchronization), place| {
            let executor = self.executor(place, synchronization, workers);
            Point::new(curve, place, Setup { model: model(), end, executor })
        };
        let of_curve = |curve| self.places().into_iter().map(move |place| (curve, place));
        curves.into_iter().flat_map(of_curve).map(|(curve, place)| point(curve, place)).collect()
    }

    fn claims(&self, points: &[Point]) -> Vec<Claim> {
        let [least, most] = [self.places()[0], self.places()[self.places().len() - 1]];
        match self.half {
            Half::Aggregation => vec![
                takes(
                    "without aggregation it takes more than three times as long",
                    points,
                    [least, BEST],
                    Bounds::Above(3.0),
                ),
                takes("and it takes longer without", points, [least, BEST], LONGER),
                takes("with far too much of it, longer, too", points, [most, BEST], LONGER),
            ],
            Half::Capacity => vec![
                fewer(points, [most, least]),
                takes("the smallest edge capacity costs time", points, [least, most], LONGER),
                takes("and up to 60 % of it", points, [least, most], UP_TO_60_PERCENT),
            ],
        }
    }
}

/// The point of a curve at a place.
fn at<'p>(points: &'p [Point], curve: &str, place: f64) -> Option<&'p Point> {
    points.iter().find(|point| point.curve == curve && point.x == place)
}

/// The claim that a run takes longer at one place than at another, by the wanted factor.
fn takes(text: &str, points: &[Point], [slow, fast]: [f64; 2], wanted: Bounds) -> Claim {
    [EAGER, ON_DEMAND].into_iter().fold(Claim::of_paper(text), |claim, curve| {
        match at(points, curve, fast).zip(at(points, curve, slow)) {
            Some((fast, slow)) => {
                let place = format!("{curve}, time at {} / time at {}", slow.x, fast.x);
                claim.test_rounds(place, &ratios(fast, slow), wanted)
            }
            None => claim,
        }
    })
}

fn nulls_per_event(point: &Point) -> f64 {
    point.median(|sample| sample.null_messages as f64) / point.committed as f64
}

/// The claim that a greater edge capacity takes fewer null messages.
fn fewer(points: &[Point], [great, small]: [f64; 2]) -> Claim {
    let claim = Claim::of_paper("a greater edge capacity takes fewer null messages");
    match at(points, EAGER, great).zip(at(points, EAGER, small)) {
        Some((great, small)) => {
            let place = format!("null messages per event less at {} than at {}", great.x, small.x);
            let less = nulls_per_event(small) - nulls_per_event(great);
            claim.test(place, less, Bounds::Above(0.0))
        }
        None => claim,
    }
}

/// The null messages per event of a curve, for the text.
fn null_messages(points: &[Point], curve: &str) -> String {
    let of_curve = points.iter().filter(|point| point.curve == curve);
    let told: Vec<_> =
        of_curve.map(|point| format!("{:.2} at {}", nulls_per_event(point), point.x)).collect();
    format!("{curve}, null messages per event: {}.", told.join(", "))
}

impl Figure for RuntimeFig6 {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(300.0);
        let points = lab.sample(self.points(lab, end))?;
        let x = match self.half {
            Half::Aggregation => "bytes of messages that are sent together",
            Half::Capacity => "edge capacity, in events",
        };
        let mut findings = Findings::of_rates(
            self.title,
            Axis::new(x).with_ticks(self.places()).logarithmic(),
            &points,
        );
        findings.remarks.extend([EAGER, ON_DEMAND].map(|curve| null_messages(&points, curve)));
        Ok(Findings {
            paper: "Wen and Yelick 1995, figure 6: without aggregation the running time of the \
                    circuit with small subcircuits rose by more than a factor of 3; it was least \
                    at about 2 KiB, and rose again beyond. A larger edge capacity let more run at \
                    the same time and took fewer null messages; a small one cost up to 60 %.",
            setup: format!(
                "{}, up to virtual time {end}, {}; {} rounds.",
                describe(),
                match self.half {
                    Half::Aggregation => "on two ranks of one worker each, as threads".to_owned(),
                    Half::Capacity => format!("{} workers", lab.settings.most_workers()),
                },
                lab.settings.samples
            ),
            claims: self.claims(&points),
            ..findings
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Verdict, figures::testing::point};

    fn with_nulls(curve: &str, x: f64, rate: f64, null_messages: u64) -> Point {
        let point = point(curve, x, &[rate; 5]);
        let nulls = |sample: &Sample| Sample { null_messages, ..*sample };
        Point { committed: 100, samples: point.samples.iter().map(nulls).collect(), ..point }
    }

    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |figure: &RuntimeFig6, rates: [f64; 3], nulls: [u64; 2]| {
            let [least, most] = [figure.places()[0], figure.places()[figure.places().len() - 1]];
            let points: Vec<_> = [EAGER, ON_DEMAND]
                .into_iter()
                .flat_map(|curve| {
                    [
                        with_nulls(curve, least, rates[0], nulls[0]),
                        with_nulls(curve, BEST, rates[1], 0),
                        with_nulls(curve, most, rates[2], nulls[1]),
                    ]
                })
                .collect();
            figure.claims(&points).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts(&RuntimeFig6::AGGREGATION, [1.0, 4.0, 3.0], [0; 2]), [yes; 3]);
        assert_eq!(verdicts(&RuntimeFig6::AGGREGATION, [4.0, 3.0, 4.0], [0; 2]), [no; 3]);
        assert_eq!(verdicts(&RuntimeFig6::CAPACITY, [1.0, 1.0, 1.5], [200, 100]), [yes; 3]);
        assert_eq!(verdicts(&RuntimeFig6::CAPACITY, [2.0, 1.0, 1.0], [100, 200]), [no; 3]);
        // "Up to 60 %" has an upper end, too.
        let far_more = verdicts(&RuntimeFig6::CAPACITY, [1.0, 1.0, 36.0], [200, 100]);
        assert_eq!(far_more, [yes, yes, no]);
    }
}
