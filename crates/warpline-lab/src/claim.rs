//! What a paper claims, held against the samples by a rule that stands in the text (LAB-B).
//!
//! A claim is tested at places, each a comparison of two points: their ratio within each round,
//! because a change in the speed of the machine hits both. A ratio is beyond a threshold when it is
//! so in more rounds than chance would explain (a sign test at [`CHANCE`], one-sided): five rounds
//! of five, eight of nine. So noise alone seldom gets a verdict, and fewer than five rounds never
//! do.
//!
//! # References
//!
//! W. J. Conover, *Practical Nonparametric Statistics*, 1999, section 3.4: the sign test.

use std::fmt;

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::sampling::{Point, median};

/// Rates that differ by less than this fraction are level.
pub const LEVEL: f64 = 0.02;
/// The probability with which noise alone may look like a difference.
pub const CHANCE: f64 = 0.05;

/// What was found at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is as claimed.
    Holds,
    /// It is not.
    Fails,
    /// The samples do not tell.
    Open,
}

impl From<bool> for Outcome {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

/// A place where a claim was tested.
#[derive(Clone, Debug)]
pub struct Test {
    /// What was compared, and where.
    pub place: String,
    /// The number found: for samples, the median over the rounds.
    pub found: f64,
    /// Whether that is as claimed.
    pub outcome: Outcome,
}

/// Whether a claim was found to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At every place.
    Yes,
    /// At so many of so many places.
    Partly(usize, usize),
    /// At no place.
    No,
    /// The samples tell at no place.
    Unknown,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.pad("yes"),
            Self::Partly(holds, of) => write!(f, "in part: at {holds} of {of} places"),
            Self::No => f.pad("no"),
            Self::Unknown => f.pad("cannot be told from these samples"),
        }
    }
}

/// A claim of a paper and what was found.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The claim, as a statement about the data.
    pub text: String,
    /// Where it was tested.
    pub tests: Vec<Test>,
}

impl Claim {
    /// A claim that is yet to be tested.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tests: Vec::new() }
    }

    /// Tests the claim at one place: the number found there, and whether that is as claimed.
    #[must_use]
    pub fn test(mut self, place: impl Into<String>, found: f64, outcome: Outcome) -> Self {
        self.tests.push(Test { place: place.into(), found, outcome });
        self
    }

    /// Tests at one place that a ratio, which was sampled once per round, is above a threshold;
    /// without samples, nothing.
    #[must_use]
    pub fn test_above(self, place: impl Into<String>, ratios: &[f64], threshold: f64) -> Self {
        if ratios.is_empty() {
            return self;
        }
        self.test(place, median(ratios.iter().copied()), above(ratios, threshold))
    }

    /// The curve `upper` lies above `lower` at every place that is `wanted`.
    #[must_use]
    pub fn above(
        text: impl Into<String>,
        points: &[Point],
        [upper, lower]: [&str; 2],
        wanted: impl Fn(f64) -> bool,
    ) -> Self {
        let of_upper = points.iter().filter(|point| point.curve == upper && wanted(point.x));
        of_upper.fold(Self::new(text), |claim, point| {
            let other = points.iter().find(|other| other.curve == lower && other.x == point.x);
            let ratios = other.map(|other| ratios(point, other)).unwrap_or_default();
            claim.test_above(format!("{upper} / {lower} at {}", point.x), &ratios, 1.0 + LEVEL)
        })
    }

    /// Whether the claim is true here.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let count = |wanted| self.tests.iter().filter(|test| test.outcome == wanted).count();
        match (count(Outcome::Holds), count(Outcome::Fails), self.tests.len()) {
            (0, 0, _) => Verdict::Unknown,
            (0, ..) => Verdict::No,
            (n, _, all) if n == all => Verdict::Yes,
            (n, _, all) => Verdict::Partly(n, all),
        }
    }

    /// Whether a figure with these claims agrees with its paper, as a sentence.
    #[must_use]
    pub fn summary(claims: &[Self]) -> String {
        let verdicts: Vec<_> = claims.iter().map(Self::verdict).collect();
        let count = |verdict| verdicts.iter().filter(|&&other| other == verdict).count();
        let (yes, no) = (count(Verdict::Yes), count(Verdict::No));
        let (unknown, all) = (count(Verdict::Unknown), verdicts.len());
        match all {
            all if unknown == all => {
                "The samples do not tell whether the paper is right.".to_owned()
            }
            all if yes == all => format!("Agrees with the paper: all {all} claims hold."),
            all if no == all => format!("Disagrees with the paper: none of {all} claims holds."),
            all => {
                let partly = all - yes - no - unknown;
                let counts = [(yes, "held"), (partly, "held in part"), (no, "not held")];
                let told =
                    counts.into_iter().chain([(unknown, "not to be told from these samples")]);
                let told: Vec<_> = told
                    .filter(|(count, _)| *count > 0)
                    .map(|(count, what)| format!("{count} {what}"))
                    .collect();
                format!("Claims of the paper, {all} in all: {}.", told.join(", "))
            }
        }
    }
}

/// The ratio of two points' rates within each round.
pub(crate) fn ratios(upper: &Point, lower: &Point) -> Vec<f64> {
    let pairs = upper.rates().into_iter().zip(lower.rates());
    pairs.map(|(a, b)| a / b).filter(|ratio| ratio.is_finite()).collect()
}

/// Whether a number that was sampled once per round is above a threshold.
fn above(samples: &[f64], threshold: f64) -> Outcome {
    let more_than_chance = |rounds: usize| {
        let coins = Binomial::new(0.5, samples.len() as u64);
        // The probability that so many of the coins or more show heads.
        coins.is_ok_and(|coins| rounds > 0 && coins.sf(rounds as u64 - 1) <= CHANCE)
    };
    let higher = samples.iter().filter(|&&sample| sample > threshold).count();
    if more_than_chance(higher) {
        Outcome::Holds
    } else if more_than_chance(samples.len() - higher) {
        Outcome::Fails
    } else {
        Outcome::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::testing::point;

    /// A verdict takes more rounds than chance explains; noise alone does not get one.
    #[test]
    fn noise_gets_no_verdict() {
        let high = |high: usize, of: usize| -> Vec<f64> {
            (0..of).map(|n| if n < high { 1.5 } else { 0.5 }).collect()
        };
        for (rounds, of, outcome) in [
            (9, 9, Outcome::Holds),
            (8, 9, Outcome::Holds),
            (7, 9, Outcome::Open),
            (4, 9, Outcome::Open),
            (1, 9, Outcome::Fails),
            (5, 5, Outcome::Holds),
            (0, 5, Outcome::Fails),
            (4, 4, Outcome::Open),
            (0, 1, Outcome::Open),
        ] {
            assert_eq!(above(&high(rounds, of), 1.0), outcome, "{rounds} of {of}");
        }
    }

    /// Ratios are taken within rounds, and what is level is not above.
    #[test]
    fn curves_are_compared_round_by_round() {
        let drifting = [1.0, 20.0, 4.0, 9.0, 2.0];
        let points = [
            point("a", 1.0, &drifting.map(|rate| 1.1 * rate)),
            point("b", 1.0, &drifting),
            point("a", 2.0, &drifting.map(|rate| 1.01 * rate)),
            point("b", 2.0, &drifting),
            point("a", 3.0, &[]),
            point("b", 3.0, &drifting),
            point("a", 4.0, &[9.0, 9.0, 9.0, 9.0, 9.0]),
            point("b", 4.0, &drifting),
        ];
        let verdict = |wanted: fn(f64) -> bool| {
            Claim::above("a above b", &points, ["a", "b"], wanted).verdict()
        };
        assert_eq!(verdict(|_| true), Verdict::Partly(1, 3));
        assert_eq!(verdict(|x| x == 1.0), Verdict::Yes);
        assert_eq!(verdict(|x| x == 2.0), Verdict::No);
        assert_eq!(verdict(|x| x == 3.0), Verdict::Unknown);
        assert_eq!(verdict(|x| x == 4.0), Verdict::Unknown);
        let claim = Claim::above("a above b", &points, ["a", "b"], |x| x == 1.0);
        assert!((claim.tests[0].found - 1.1).abs() < 1e-9, "{claim:?}");
    }

    #[test]
    fn summaries_count_verdicts() {
        let claim = |outcome| Claim::new("a").test("here", 1.0, outcome);
        let [yes, no, open] = [Outcome::Holds, Outcome::Fails, Outcome::Open];
        let summary = |outcomes: &[Outcome]| {
            let claims: Vec<_> = outcomes.iter().map(|&outcome| claim(outcome)).collect();
            Claim::summary(&claims)
        };
        assert!(summary(&[yes, yes]).starts_with("Agrees with the paper"));
        assert!(summary(&[no]).starts_with("Disagrees"));
        assert!(summary(&[open, open]).starts_with("The samples do not tell"));
        let mixed = summary(&[yes, yes, yes, no, no, open]);
        assert!(
            mixed.ends_with("6 in all: 3 held, 2 not held, 1 not to be told from these samples."),
            "{mixed}"
        );
    }
}
