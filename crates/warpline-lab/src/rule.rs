//! The rules of claims: where a number has to be, and how noise is told from a difference. `claim`
//! tests by them, and texts print them beside the verdicts (LAB-B).
//!
//! Where a number is sampled, the bounds are held against its value in each round, because a change
//! in the speed of the machine hits both sides of a ratio. A value keeps a bound if it does so in
//! more rounds than chance would explain (a sign test at [`CHANCE`], one-sided): five rounds of
//! five, eight of nine. So noise alone seldom gets a verdict, and fewer than five rounds never do.
//!
//! # References
//!
//! W. J. Conover, *Practical Nonparametric Statistics*, 1999, section 3.4: the sign test.

use std::fmt;

use statrs::distribution::{Binomial, DiscreteCDF};

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

/// The rule of a test: where a number has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// Greater than this.
    Above(f64),
    /// This or less.
    AtMost(f64),
    /// Between these, or one of them.
    Within(f64, f64),
}

impl Bounds {
    /// What a ratio of rates has to be: beyond what is [`LEVEL`].
    pub const FASTER: Self = Self::Above(1.0 + LEVEL);

    fn low_holds(self, number: f64) -> bool {
        match self {
            Self::Above(low) => number > low,
            Self::AtMost(_) => true,
            Self::Within(low, _) => number >= low,
        }
    }

    fn high_holds(self, number: f64) -> bool {
        match self {
            Self::Above(_) => true,
            Self::AtMost(high) | Self::Within(_, high) => number <= high,
        }
    }

    /// Whether a number without noise keeps both ends.
    pub(crate) fn judge(self, number: f64) -> Outcome {
        (self.low_holds(number) && self.high_holds(number)).into()
    }

    /// Whether a number that was sampled once per round keeps both ends.
    pub(crate) fn judge_rounds(self, samples: &[f64]) -> Outcome {
        let count = |holds: &dyn Fn(f64) -> bool| samples.iter().filter(|&&n| holds(n)).count();
        let low = || sign_test(count(&|n| self.low_holds(n)), samples.len());
        let high = || sign_test(count(&|n| self.high_holds(n)), samples.len());
        match self {
            Self::Above(_) => low(),
            Self::AtMost(_) => high(),
            Self::Within(..) => match (low(), high()) {
                (Outcome::Fails, _) | (_, Outcome::Fails) => Outcome::Fails,
                (Outcome::Holds, Outcome::Holds) => Outcome::Holds,
                _ => Outcome::Open,
            },
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Above(low) => write!(f, "above {}", Short(low)),
            Self::AtMost(high) => write!(f, "at most {}", Short(high)),
            Self::Within(low, high) => write!(f, "from {} to {}", Short(low), Short(high)),
        }
    }
}

/// A number with three decimals at most.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", (self.0 * 1e3).round() / 1e3)
    }
}

/// What `holds` of `rounds` rounds tell, if chance explains an outcome with probability [`CHANCE`]
/// at most.
fn sign_test(holds: usize, rounds: usize) -> Outcome {
    let more_than_chance = |count: usize| {
        let coins = Binomial::new(0.5, rounds as u64);
        // The probability that this many of the coins or more show heads.
        coins.is_ok_and(|coins| count > 0 && coins.sf(count as u64 - 1) <= CHANCE)
    };
    if more_than_chance(holds) {
        Outcome::Holds
    } else if more_than_chance(rounds - holds) {
        Outcome::Fails
    } else {
        Outcome::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A verdict takes more rounds than chance explains; noise alone does not get one (LAB-B).
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
            let judged = Bounds::Above(1.0).judge_rounds(&high(rounds, of));
            assert_eq!(judged, outcome, "{rounds} of {of}");
        }
    }

    /// A range has two ends, for samples and for numbers without noise: beyond either is a failure.
    #[test]
    fn a_range_has_both_ends() {
        let (up_to_60_percent, at_most) = (Bounds::Within(1.0, 1.6), Bounds::AtMost(1.6));
        for (found, in_range, below) in [
            (0.5, Outcome::Fails, Outcome::Holds),
            (1.0, Outcome::Holds, Outcome::Holds),
            (1.6, Outcome::Holds, Outcome::Holds),
            (36.0, Outcome::Fails, Outcome::Fails),
            (f64::NAN, Outcome::Fails, Outcome::Fails),
        ] {
            assert_eq!(up_to_60_percent.judge(found), in_range, "{found}");
            assert_eq!(at_most.judge(found), below, "{found}");
            assert_eq!(up_to_60_percent.judge_rounds(&[found; 5]), in_range, "{found}");
        }
        let across_the_upper_end = [1.1, 1.2, 1.3, 2.0, 2.0];
        assert_eq!(up_to_60_percent.judge_rounds(&across_the_upper_end), Outcome::Open);
        assert_eq!(up_to_60_percent.to_string(), "from 1 to 1.6");
        assert_eq!(Bounds::Above(1.0 / 0.9).to_string(), "above 1.111");
    }
}
