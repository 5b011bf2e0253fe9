//! What a paper claims, held against the samples by a rule that stands in the text (LAB-B).
//!
//! Curves are compared point by point: at each place on the x axis the median, over the rounds, of the
//! ratio of the two rates within a round. Ratios closer to 1 than [`LEVEL`] are level.

use std::fmt;

use crate::sampling::{Point, median};

/// Rates that differ by less than this fraction are level.
pub const LEVEL: f64 = 0.02;

/// Whether a claim was found to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At every point.
    Yes,
    /// At so many of so many points.
    Partly(usize, usize),
    /// At no point.
    No,
    /// There is no point that could tell.
    Unknown,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.pad("yes"),
            Self::Partly(holds, of) => write!(f, "in part: at {holds} of {of} points"),
            Self::No => f.pad("no"),
            Self::Unknown => f.pad("cannot be told: no points to compare"),
        }
    }
}

/// A claim of a paper and what was found.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The claim, as a statement about the data.
    pub text: String,
    /// Where it was tested: the place, what was found there, and whether it is as claimed.
    pub tests: Vec<(String, f64, bool)>,
}

impl Claim {
    /// A claim that is yet to be tested.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tests: Vec::new() }
    }

    /// Tests the claim at one place: the number found there, and whether it is as claimed.
    #[must_use]
    pub fn test(mut self, place: impl Into<String>, found: f64, holds: bool) -> Self {
        self.tests.push((place.into(), found, holds));
        self
    }

    /// The curve `upper` lies above `lower` at every place that is `wanted`.
    #[must_use]
    pub fn above(
        text: impl Into<String>,
        points: &[Point],
        [upper, lower]: [&str; 2],
        wanted: impl Fn(f64) -> bool,
    ) -> Self {
        let places = points.iter().filter(|p| p.curve == upper && wanted(p.x)).map(|p| p.x);
        places.fold(Self::new(text), |claim, x| match ratio(points, [upper, lower], x) {
            Some(ratio) => {
                claim.test(format!("{upper} by {lower} at {x}"), ratio, ratio > 1.0 + LEVEL)
            }
            None => claim,
        })
    }

    /// Whether the claim is true here.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let holds = self.tests.iter().filter(|(.., holds)| *holds).count();
        match (holds, self.tests.len()) {
            (_, 0) => Verdict::Unknown,
            (0, _) => Verdict::No,
            (n, all) if n == all => Verdict::Yes,
            (n, all) => Verdict::Partly(n, all),
        }
    }

    /// Whether a figure with these claims agrees with its paper, as a sentence.
    #[must_use]
    pub fn summary(claims: &[Self]) -> String {
        let verdicts: Vec<_> = claims.iter().map(Self::verdict).collect();
        let count = |verdict| verdicts.iter().filter(|&&other| other == verdict).count();
        let (yes, no, unknown) = (count(Verdict::Yes), count(Verdict::No), count(Verdict::Unknown));
        let told = verdicts.len() - unknown;
        match told {
            0 => "Nothing can be told.".to_owned(),
            told if yes == told => format!("Agrees with the paper ({yes} of {told} claims)."),
            told if no == told => format!("Disagrees with the paper (0 of {told} claims)."),
            told => format!("Agrees with the paper in part ({yes} of {told} claims hold fully)."),
        }
    }
}

/// The median over the rounds of the ratio of two points' rates.
pub(crate) fn ratio_of(upper: &Point, lower: &Point) -> Option<f64> {
    let ratios = upper.rates().into_iter().zip(lower.rates()).map(|(a, b)| a / b);
    Some(median(ratios)).filter(|ratio| ratio.is_finite())
}

/// The same of two curves at the same place.
pub(crate) fn ratio(points: &[Point], [upper, lower]: [&str; 2], x: f64) -> Option<f64> {
    let point = |curve| points.iter().find(|point| point.curve == curve && point.x == x);
    ratio_of(point(upper)?, point(lower)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::testing::point;

    /// Ratios are taken within rounds, and near 1 nothing is above anything.
    #[test]
    fn curves_are_compared_round_by_round() {
        let points = [
            point("a", 1.0, &[2.0, 40.0, 8.0]),
            point("b", 1.0, &[1.0, 20.0, 4.0]),
            point("a", 2.0, &[1.01, 1.0, 1.01]),
            point("b", 2.0, &[1.0, 1.0, 1.0]),
            point("a", 3.0, &[]),
            point("b", 3.0, &[1.0]),
        ];
        assert_eq!(ratio(&points, ["a", "b"], 1.0), Some(2.0));
        let verdict = |wanted: fn(f64) -> bool| {
            Claim::above("a above b", &points, ["a", "b"], wanted).verdict()
        };
        assert_eq!(verdict(|_| true), Verdict::Partly(1, 2));
        assert_eq!(verdict(|x| x == 1.0), Verdict::Yes);
        assert_eq!(verdict(|x| x == 2.0), Verdict::No);
        assert_eq!(verdict(|x| x == 3.0), Verdict::Unknown);
    }

    #[test]
    fn summaries_count_what_could_be_told() {
        let yes = || Claim::new("a").test("here", 1.0, true);
        let no = || Claim::new("b").test("here", 1.0, false);
        let unknown = || Claim::new("c");
        assert!(Claim::summary(&[yes(), unknown()]).starts_with("Agrees with the paper (1 of 1"));
        assert!(Claim::summary(&[no()]).starts_with("Disagrees"));
        assert!(
            Claim::summary(&[yes(), no()]).starts_with("Agrees with the paper in part (1 of 2")
        );
        assert!(Claim::summary(&[unknown()]).starts_with("Nothing"));
    }
}
