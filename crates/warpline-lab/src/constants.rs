//! Numbers that go into a figure, and where each of them is from.
//!
//! Models of machines and the figures that use them list their [`Constant`]s, print the list
//! ([`told`]), and give their claims the [`Basis`] that follows from it ([`basis`]).
//!
//! # Invariants
//!
//! - **CONST-A.** What was estimated or fitted decides no "yes": the basis of a list with such a
//!   number is one that gets other verdicts.

use std::fmt;

use crate::Basis;

/// Where a number is from, the most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provenance {
    /// Measured or counted here: how.
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
            Self::Measured(told) => ("measured here", told),
            Self::Published(told) => ("published", told),
            Self::Paper(told) => ("from the paper", told),
            Self::Estimated(told) => ("estimated", told),
            Self::Fitted(told) => ("fitted", told),
        };
        write!(f, "{kind}: {told}")
    }
}

/// A number of a model, with its name, its unit and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// What it is.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// Where it is from.
    pub from: Provenance,
}

impl Constant {
    /// A number with where it is from.
    #[must_use]
    pub const fn new(name: &'static str, value: f64, unit: &'static str, from: Provenance) -> Self {
        Self { name, value, unit, from }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit, from } = self;
        let space = if unit.is_empty() { "" } else { " " };
        write!(f, "{name}: {value}{space}{unit} ({from})")
    }
}

/// The list for the text of a figure, a remark for each constant.
pub(crate) fn told(constants: &[Constant]) -> impl Iterator<Item = String> {
    constants.iter().map(|constant| format!("Constant. {constant}."))
}

/// What the outcome of a claim rests on that is computed from these numbers (CONST-A): `why` names
/// the worst of them.
#[must_use]
pub fn basis(constants: &[Constant], why: &'static str) -> Basis {
    match constants.iter().map(|constant| constant.from).max() {
        Some(Provenance::Fitted(_)) => Basis::Fitted(why),
        Some(Provenance::Estimated(_)) => Basis::Estimated(why),
        Some(Provenance::Paper(_)) => Basis::Input(why),
        _ => Basis::Found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worst number decides, and what was estimated or fitted gives no evidence (CONST-A).
    #[test]
    fn the_worst_number_is_the_basis() {
        let of = |froms: &[Provenance]| {
            let constants: Vec<_> =
                froms.iter().map(|&from| Constant::new("n", 1.5, "ns", from)).collect();
            basis(&constants, "n")
        };
        use Provenance::{Estimated, Fitted, Measured, Paper, Published};
        assert_eq!(of(&[]), Basis::Found);
        assert_eq!(of(&[Measured("a"), Published("b")]), Basis::Found);
        assert_eq!(of(&[Measured("z"), Paper("b")]), Basis::Input("n"));
        assert_eq!(of(&[Estimated("a"), Paper("z")]), Basis::Estimated("n"));
        assert_eq!(of(&[Fitted("a"), Estimated("z")]), Basis::Fitted("n"));
    }

    #[test]
    fn a_constant_says_where_it_is_from() {
        let constant = Constant::new("a miss", 70.0, "ns", Provenance::Estimated("a round number"));
        assert_eq!(constant.to_string(), "a miss: 70 ns (estimated: a round number)");
        let [line] = told(&[constant]).collect::<Vec<_>>().try_into().expect("one line");
        assert_eq!(line, "Constant. a miss: 70 ns (estimated: a round number).");
    }
}
