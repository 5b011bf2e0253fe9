//! The constants of an experiment, and where each is from.
//!
//! Models of machines list theirs, figures list all of their own in their
//! [`Findings`](crate::Findings), and `text` prints the list. A claim that is computed from such a
//! list has the [`Basis`] that follows from it: [`Constant::basis`].
//!
//! # Invariants
//!
//! - **CONST-A.** What was estimated or fitted decides no "yes": the basis of a list with such a
//!   constant is one that gets other verdicts.

use std::fmt;

use crate::Basis;

/// Where a constant is from, the most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provenance {
    /// A length, a grid of places or a threshold, which is no property of any system: why.
    Ours(&'static str),
    /// Measured or counted here, in this run of the laboratory or for a document: how.
    Measured(&'static str),
    /// Published by others about the same hardware or program: where.
    Published(&'static str),
    /// The paper whose claims are judged says so: where. An input.
    Paper(&'static str),
    /// Nobody has measured it: what it follows.
    Estimated(&'static str),
    /// Chosen so that a result of the paper comes out: which one.
    Fitted(&'static str),
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, told) = match self {
            Self::Ours(told) => ("ours", told),
            Self::Measured(told) => ("measured here", told),
            Self::Published(told) => ("published", told),
            Self::Paper(told) => ("from the paper", told),
            Self::Estimated(told) => ("estimated", told),
            Self::Fitted(told) => ("fitted", told),
        };
        write!(f, "{kind}: {told}")
    }
}

/// A constant of an experiment, or several that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// What it is, with its value and unit.
    pub what: String,
    /// Where it is from.
    pub from: Provenance,
}

impl Constant {
    fn new(what: impl Into<String>, from: Provenance) -> Self {
        Self { what: what.into(), from }
    }

    /// A number with its name and its unit, which is empty for a plain number.
    #[must_use]
    pub fn number(name: &str, value: f64, unit: &str, from: Provenance) -> Self {
        let space = if unit.is_empty() { "" } else { " " };
        Self::new(format!("{name}: {value}{space}{unit}"), from)
    }

    /// One that the paper gives, in this section.
    pub fn paper(what: impl Into<String>, section: &'static str) -> Self {
        Self::new(what, Provenance::Paper(section))
    }

    /// One that was estimated, for this reason.
    pub fn estimated(what: impl Into<String>, why: &'static str) -> Self {
        Self::new(what, Provenance::Estimated(why))
    }

    /// A length, a grid or a threshold, for this reason.
    pub fn ours(what: impl Into<String>, why: &'static str) -> Self {
        Self::new(what, Provenance::Ours(why))
    }

    /// The same in a list of several machines: whose it is.
    #[must_use]
    pub fn of(self, machine: &str) -> Self {
        Self::new(format!("{machine}, {}", self.what), self.from)
    }

    /// What the outcome of a claim rests on that is computed from these constants (CONST-A): `why`
    /// names the worst of them.
    #[must_use]
    pub fn basis(constants: &[Self], why: &'static str) -> Basis {
        match constants.iter().map(|constant| constant.from).max() {
            Some(Provenance::Fitted(_)) => Basis::Fitted(why),
            Some(Provenance::Estimated(_)) => Basis::Estimated(why),
            Some(Provenance::Paper(_)) => Basis::Input(why),
            _ => Basis::Found,
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, from } = self;
        write!(f, "{what} ({from})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worst constant decides, and what was estimated or fitted gives no evidence (CONST-A).
    #[test]
    fn the_worst_constant_is_the_basis() {
        let of = |froms: &[Provenance]| {
            let constants: Vec<_> = froms.iter().map(|&from| Constant::new("n", from)).collect();
            Constant::basis(&constants, "n")
        };
        use Provenance::{Estimated, Fitted, Measured, Ours, Paper, Published};
        assert_eq!(of(&[]), Basis::Found);
        assert_eq!(of(&[Measured("a"), Published("b"), Ours("z")]), Basis::Found);
        assert_eq!(of(&[Measured("z"), Paper("b")]), Basis::Input("n"));
        assert_eq!(of(&[Estimated("a"), Paper("z")]), Basis::Estimated("n"));
        assert_eq!(of(&[Fitted("a"), Estimated("z")]), Basis::Fitted("n"));
    }

    #[test]
    fn a_constant_says_where_it_is_from() {
        let from = Provenance::Estimated("a round number");
        let miss = Constant::number("a miss", 70.0, "ns", from);
        assert_eq!(miss.to_string(), "a miss: 70 ns (estimated: a round number)");
        assert_eq!(miss.of("server").what, "server, a miss: 70 ns");
        assert_eq!(Constant::number("a part", 0.5, "", from).what, "a part: 0.5");
        let paper = Constant::paper("64 LPs", "section 4");
        assert_eq!(paper.to_string(), "64 LPs (from the paper: section 4)");
    }
}
