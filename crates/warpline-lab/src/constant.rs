//! The constants of an experiment, and where each is from.
//!
//! Models of machines list theirs, figures list all of their own in their
//! [`Findings`](crate::Findings), and `text` prints the list. A claim that is computed from such a
//! list has the [`Basis`] that follows from it: [`Constant::basis`].
//!
//! # Invariants
//!
//! - **CONST-A.** What was estimated or fitted decides no "yes". A claim of a figure with such a
//!   constant has a basis that gets other verdicts ([`grounded`]), unless its figure says why the
//!   constant cannot decide it. A constant that was tried with several values is none of them.

use std::fmt;

use crate::{Basis, Claim};

/// Where a constant is from, the most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provenance {
    /// A length, a grid of places or a threshold, which is no property of any system: why.
    Ours(&'static str),
    /// Measured or counted here, in this run of the laboratory or for a document: how.
    Measured(&'static str),
    /// Published by others about the same hardware or program: where.
    Published(&'static str),
    /// Nobody has measured it, but every claim is tested with several values: what it follows.
    Varied(&'static str),
    /// The paper whose claims are judged says so: where. An input.
    Paper(&'static str),
    /// Nobody has measured it: what it follows.
    Estimated(&'static str),
    /// Chosen so that a result of the paper comes out: which one.
    Fitted(&'static str),
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, detail) = match self {
            Self::Ours(detail) => ("ours", detail),
            Self::Measured(detail) => ("measured here", detail),
            Self::Published(detail) => ("published", detail),
            Self::Varied(detail) => ("estimated, with several values", detail),
            Self::Paper(detail) => ("from the paper", detail),
            Self::Estimated(detail) => ("estimated", detail),
            Self::Fitted(detail) => ("fitted", detail),
        };
        write!(f, "{kind}: {detail}")
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
    /// One with its value and its unit in words.
    pub fn new(what: impl Into<String>, from: Provenance) -> Self {
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

    /// One that was estimated, for this reason, and with several values of which every claim is
    /// tested.
    pub fn varied(what: impl Into<String>, why: &'static str) -> Self {
        Self::new(what, Provenance::Varied(why))
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

/// The claims of a figure, with what they rest on (CONST-A): the worst constant that was estimated
/// or fitted, where a claim says nothing else.
pub(crate) fn grounded(claims: Vec<Claim>, constants: &[Constant]) -> Vec<Claim> {
    let basis = match constants.iter().map(|constant| constant.from).max() {
        Some(Provenance::Fitted(why)) => Basis::Fitted(why),
        Some(Provenance::Estimated(why)) => Basis::Estimated(why),
        // A figure that somebody adds may have none.
        _ => return claims,
    };
    let ground = |claim: Claim| match claim.basis {
        Basis::Found => claim.with_basis(basis),
        _ => claim,
    };
    claims.into_iter().map(ground).collect()
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
    use crate::{Bounds, Verdict};

    /// The worst constant decides, and what was estimated or fitted gives no evidence (CONST-A).
    #[test]
    fn the_worst_constant_is_the_basis() {
        let of = |froms: &[Provenance]| {
            let constants: Vec<_> = froms.iter().map(|&from| Constant::new("n", from)).collect();
            Constant::basis(&constants, "n")
        };
        use Provenance::{Estimated, Fitted, Measured, Ours, Paper, Published, Varied};
        assert_eq!(of(&[]), Basis::Found);
        assert_eq!(of(&[Measured("a"), Published("b"), Ours("z"), Varied("c")]), Basis::Found);
        assert_eq!(of(&[Measured("z"), Paper("b")]), Basis::Input("n"));
        assert_eq!(of(&[Estimated("a"), Paper("z")]), Basis::Estimated("n"));
        assert_eq!(of(&[Fitted("a"), Estimated("z")]), Basis::Fitted("n"));
    }

    /// A claim that says nothing of its basis gets no "yes" beside an estimate, and one that does
    /// keeps it (CONST-A).
    #[test]
    fn estimates_decide_no_yes() {
        let verdicts = |constant: Constant| {
            let claims = [Basis::Found, Basis::Independent("it is a count")].map(|basis| {
                Claim::own("a").with_basis(basis).test("here", 2.0, Bounds::Above(1.0))
            });
            let paper = Constant::paper("64 LPs", "section 4");
            let claims = grounded(claims.into(), &[constant, paper]);
            claims.iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        let yes = Verdict::Yes;
        assert_eq!(verdicts(Constant::ours("a grid", "round")), [yes, yes]);
        assert_eq!(verdicts(Constant::varied("a size", "not given")), [yes, yes]);
        assert_eq!(verdicts(Constant::estimated("a size", "a")), [Verdict::Estimated, yes]);
        let fitted = Constant::number("a miss", 1.0, "ns", Provenance::Fitted("a decline"));
        assert_eq!(verdicts(fitted), [Verdict::Fitted, yes]);
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
