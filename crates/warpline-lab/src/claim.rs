//! Claims and their verdicts: a statement about the data, held against what was found by a
//! [rule](Bounds) that the text prints beside it (LAB-B).
//!
//! Figures make [`Claim`]s, the paper's and our own, and test each at one or more places: a number
//! and the [`Bounds`] that it should keep. Texts count the two kinds of claims apart, because only
//! the paper's say whether it was right. A claim that could not fail is not counted as confirmed:
//! its [`Basis`] says which parameter was fitted to the paper's result, which of the paper's own
//! numbers went in, which estimate may decide it, or of what it is only a bound.

use std::fmt;

use crate::{
    rule::{Bounds, Outcome},
    sampling::{Point, median},
};

/// A place where a claim was tested.
#[derive(Clone, Debug)]
pub struct Test {
    /// What was compared, and where.
    pub place: String,
    /// The number found: for samples, the median over the rounds.
    pub found: f64,
    /// The rule: where the number has to be.
    pub wanted: Bounds,
    /// Whether that is as claimed.
    pub outcome: Outcome,
}

/// Whose claim it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The paper's.
    Paper,
    /// Ours: about a pool, an algorithm or a machine that the paper does not have.
    Own,
}

/// What the outcome of a claim rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// What was found here: it can come out either way.
    Found,
    /// The same, although an estimated or fitted constant is in the figure's list: why that cannot
    /// decide it.
    Independent(&'static str),
    /// A parameter that was fitted to the paper's result: which one, and to what.
    Fitted(&'static str),
    /// One of the paper's own numbers: which one.
    Input(&'static str),
    /// Numbers that were estimated and not measured, and that may decide it: which ones.
    Estimated(&'static str),
    /// A bound, of what: it can refute the claim, and not confirm it.
    Bound(&'static str),
}

/// Whether a claim was found to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At every place.
    Yes,
    /// At the first number of places, of the second number.
    Partly(usize, usize),
    /// At no place.
    No,
    /// The samples tell at no place, or there is no place to test.
    Unknown,
    /// At every place, because a parameter was fitted to that: it confirms nothing.
    Fitted,
    /// At every place, because the paper's number went in: it confirms nothing.
    Input,
    /// At every place, but an estimate may decide that: it confirms nothing.
    Estimated,
    /// At every place, but what was found is a bound: the claim may be true.
    Possible,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.pad("yes"),
            Self::Partly(holds, of) => write!(f, "in part: at {holds} of {of} places"),
            Self::No => f.pad("no"),
            Self::Unknown => f.pad("cannot be told"),
            Self::Fitted => f.pad("fitted"),
            Self::Input => f.pad("an input"),
            Self::Estimated => f.pad("estimated"),
            Self::Possible => f.pad("possible"),
        }
    }
}

/// A claim and what was found.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The claim, as a statement about the data.
    pub text: String,
    /// Whose it is.
    pub origin: Origin,
    /// What its outcome rests on.
    pub basis: Basis,
    /// Where it was tested.
    pub tests: Vec<Test>,
}

impl Claim {
    /// A claim of the paper that is yet to be tested.
    pub fn of_paper(text: impl Into<String>) -> Self {
        let (origin, basis) = (Origin::Paper, Basis::Found);
        Self { text: text.into(), origin, basis, tests: Vec::new() }
    }

    /// A claim of our own that is yet to be tested.
    pub fn own(text: impl Into<String>) -> Self {
        Self { origin: Origin::Own, ..Self::of_paper(text) }
    }

    /// The same claim with an outcome that rests on something else than what was found.
    #[must_use]
    pub fn with_basis(self, basis: Basis) -> Self {
        Self { basis, ..self }
    }

    /// Tests the claim at one place, by a number without noise.
    #[must_use]
    pub fn test(mut self, place: impl Into<String>, found: f64, wanted: Bounds) -> Self {
        let outcome = wanted.judge(found);
        self.tests.push(Test { place: place.into(), found, wanted, outcome });
        self
    }

    /// Tests the claim at one place, by a number that was sampled once per round; without samples,
    /// not at all.
    #[must_use]
    pub fn test_rounds(
        mut self,
        place: impl Into<String>,
        samples: &[f64],
        wanted: Bounds,
    ) -> Self {
        if !samples.is_empty() {
            let found = median(samples.iter().copied());
            let outcome = wanted.judge_rounds(samples);
            self.tests.push(Test { place: place.into(), found, wanted, outcome });
        }
        self
    }

    /// Tests that the curve `upper` is [`Bounds::FASTER`] than `lower` at every place that is
    /// `wanted`.
    #[must_use]
    pub fn test_faster(
        self,
        points: &[Point],
        [upper, lower]: [&str; 2],
        wanted: impl Fn(f64) -> bool,
    ) -> Self {
        let of_upper = points.iter().filter(|point| point.curve == upper && wanted(point.x));
        of_upper.fold(self, |claim, point| {
            let other = points.iter().find(|other| other.curve == lower && other.x == point.x);
            let ratios = other.map(|other| ratios(point, other)).unwrap_or_default();
            claim.test_rounds(format!("{upper} / {lower} at {}", point.x), &ratios, Bounds::FASTER)
        })
    }

    /// Adds the places of the same claim where something else was different, which `what` names.
    #[must_use]
    pub fn tested_too(mut self, what: &str, other: Self) -> Self {
        debug_assert_eq!(self.text, other.text, "another claim");
        let tests = other.tests.into_iter();
        self.tests.extend(tests.map(|test| {
            let place = format!("{what}, {}", test.place);
            Test { place, ..test }
        }));
        self
    }

    /// Each claim with the places of the same one among `others`, where something else was
    /// different, which `what` names.
    pub(crate) fn all_tested_too(claims: Vec<Self>, what: &str, others: Vec<Self>) -> Vec<Self> {
        debug_assert_eq!(claims.len(), others.len(), "other claims");
        let pairs = claims.into_iter().zip(others);
        pairs.map(|(claim, other)| claim.tested_too(what, other)).collect()
    }

    /// The rule, if there is a place and all have the same one.
    pub(crate) fn rule(&self) -> Option<Bounds> {
        let first = self.tests.first()?.wanted;
        self.tests.iter().all(|test| test.wanted == first).then_some(first)
    }

    /// Whether the claim is true here.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let count = |wanted| self.tests.iter().filter(|test| test.outcome == wanted).count();
        match (count(Outcome::Holds), count(Outcome::Fails), self.tests.len()) {
            (0, 0, _) => Verdict::Unknown,
            (0, ..) => Verdict::No,
            (n, _, all) if n == all => match self.basis {
                Basis::Found | Basis::Independent(_) => Verdict::Yes,
                Basis::Fitted(_) => Verdict::Fitted,
                Basis::Input(_) => Verdict::Input,
                Basis::Estimated(_) => Verdict::Estimated,
                Basis::Bound(_) => Verdict::Possible,
            },
            (n, _, all) => Verdict::Partly(n, all),
        }
    }

    /// How the claims of a figure came out: a sentence about the paper's, and one about our own.
    #[must_use]
    pub fn summary(claims: &[Self]) -> String {
        let verdicts = |origin| -> Vec<_> {
            let of = claims.iter().filter(|claim| claim.origin == origin);
            of.map(Self::verdict).collect()
        };
        let (paper, own) = (verdicts(Origin::Paper), verdicts(Origin::Own));
        let mut sentences = Vec::new();
        if !paper.is_empty() {
            sentences.push(of_paper(&paper));
        }
        if !own.is_empty() {
            sentences.push(counts("Claims of our own", &own));
        }
        sentences.join(" ")
    }
}

/// How the paper's claims came out: whether it was right, if they all say the same.
fn of_paper(verdicts: &[Verdict]) -> String {
    let all = verdicts.len();
    let all_are = |verdict| verdicts.iter().all(|&other| other == verdict);
    if all_are(Verdict::Yes) {
        match all {
            1 => "Agrees with the paper: its claim holds.".to_owned(),
            all => format!("Agrees with the paper: all {all} claims hold."),
        }
    } else if all_are(Verdict::No) {
        match all {
            1 => "Disagrees with the paper: its claim does not hold.".to_owned(),
            all => format!("Disagrees with the paper: none of {all} claims holds."),
        }
    } else if all_are(Verdict::Unknown) {
        "The samples do not tell whether the paper is right.".to_owned()
    } else {
        counts("Claims of the paper", verdicts)
    }
}

/// How many claims got which verdict.
fn counts(what: &str, verdicts: &[Verdict]) -> String {
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|&v| wanted(v)).count();
    let parts: Vec<_> = [
        (count(|v| *v == Verdict::Yes), "held"),
        (count(|v| matches!(v, Verdict::Partly(..))), "held in part"),
        (count(|v| *v == Verdict::No), "not held"),
        (count(|v| *v == Verdict::Unknown), "not to be told"),
        (count(|v| *v == Verdict::Fitted), "fitted"),
        (count(|v| *v == Verdict::Input), "an input"),
        (count(|v| *v == Verdict::Estimated), "estimated"),
        (count(|v| *v == Verdict::Possible), "possible"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, verdict)| format!("{count} {verdict}"))
    .collect();
    format!("{what}, {} in all: {}.", verdicts.len(), parts.join(", "))
}

/// The ratio of two points' rates within each round.
pub(crate) fn ratios(upper: &Point, lower: &Point) -> Vec<f64> {
    let pairs = upper.rates().into_iter().zip(lower.rates());
    pairs.map(|(a, b)| a / b).filter(|ratio| ratio.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::testing::point;

    const YES: [f64; 5] = [1.5; 5];

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
        let claim = |wanted: fn(f64) -> bool| {
            Claim::of_paper("a above b").test_faster(&points, ["a", "b"], wanted)
        };
        assert_eq!(claim(|_| true).verdict(), Verdict::Partly(1, 3));
        assert_eq!(claim(|x| x == 1.0).verdict(), Verdict::Yes);
        assert_eq!(claim(|x| x == 2.0).verdict(), Verdict::No);
        assert_eq!(claim(|x| x == 3.0).verdict(), Verdict::Unknown);
        assert_eq!(claim(|x| x == 4.0).verdict(), Verdict::Unknown);
        let found = claim(|x| x == 1.0).tests[0].found;
        assert!((found - 1.1).abs() < 1e-9, "{found}");
    }

    /// A claim that holds because of a fitted parameter, or because the paper's number went in, is
    /// not a confirmation; one that fails all the same is a failure.
    #[test]
    fn what_was_put_in_is_not_confirmed() {
        let claim = |basis, samples: &[f64]| {
            let claim = Claim::of_paper("a").with_basis(basis);
            claim.test_rounds("here", samples, Bounds::Above(1.0)).verdict()
        };
        let (fitted, input) = (Basis::Fitted("the time of a miss"), Basis::Input("the lock"));
        let estimated = Basis::Estimated("the time of a page walk");
        let bound = Basis::Bound("the longest chain");
        assert_eq!(claim(Basis::Found, &YES), Verdict::Yes);
        assert_eq!(claim(Basis::Independent("it is a count"), &YES), Verdict::Yes);
        assert_eq!(claim(fitted, &YES), Verdict::Fitted);
        assert_eq!(claim(input, &YES), Verdict::Input);
        assert_eq!(claim(estimated, &YES), Verdict::Estimated);
        assert_eq!(claim(bound, &YES), Verdict::Possible);
        for basis in [fitted, input, estimated, bound] {
            assert_eq!(claim(basis, &[0.5; 5]), Verdict::No);
        }
    }

    #[test]
    fn summaries_count_verdicts() {
        const NO: [f64; 5] = [0.5; 5];
        const OPEN: [f64; 1] = [1.5];
        let tested =
            |claim: Claim, samples: &[f64]| claim.test_rounds("here", samples, Bounds::Above(1.0));
        let summary = |outcomes: &[&[f64]]| {
            let claims: Vec<_> =
                outcomes.iter().map(|samples| tested(Claim::of_paper("a"), samples)).collect();
            Claim::summary(&claims)
        };
        assert!(summary(&[&YES, &YES]).starts_with("Agrees with the paper"));
        assert!(summary(&[&NO]).starts_with("Disagrees"));
        assert!(summary(&[&OPEN, &OPEN]).starts_with("The samples do not tell"));
        assert_eq!(
            summary(&[&YES, &YES, &YES, &NO, &NO, &OPEN]),
            "Claims of the paper, 6 in all: 3 held, 2 not held, 1 not to be told."
        );
        let mixed = [
            tested(Claim::of_paper("a"), &YES),
            tested(Claim::of_paper("b").with_basis(Basis::Input("c")), &YES),
            tested(Claim::own("d"), &NO),
        ];
        assert_eq!(
            Claim::summary(&mixed),
            "Claims of the paper, 2 in all: 1 held, 1 an input. Claims of our own, 1 in all: 1 not \
             held."
        );
        assert_eq!(
            Claim::summary(&mixed[..1]),
            "Agrees with the paper: its claim holds.",
            "our own claims say nothing about the paper"
        );
    }
}
