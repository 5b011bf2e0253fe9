//! The constants of an experiment, and where each is from. Figures list them in their
//! [`Findings`](crate::Findings), and `text` prints the list.
//!
//! What was estimated or fitted decides no "yes": a claim that it may decide has a
//! [`Basis`](crate::Basis) that says so.

use std::fmt;

/// Where a constant is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The paper gives it.
    Paper,
    /// It was measured on this machine, in this run of the laboratory or for a document.
    Measured,
    /// Neither of them: a guess with a reason.
    Estimated,
    /// It was chosen so that the paper's result comes out.
    Fitted,
    /// A length, a grid of places or a threshold, which is no property of any system.
    Ours,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Paper => "from the paper",
            Self::Measured => "measured here",
            Self::Estimated => "estimated",
            Self::Fitted => "fitted",
            Self::Ours => "ours",
        })
    }
}

/// A constant of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// What it is, with its value and unit.
    pub what: String,
    /// Where it is from.
    pub from: Provenance,
    /// The section of the paper, how it was measured, or the reason.
    pub why: &'static str,
}

impl Constant {
    fn new(what: impl Into<String>, from: Provenance, why: &'static str) -> Self {
        Self { what: what.into(), from, why }
    }

    /// One that the paper gives, in this section.
    pub fn paper(what: impl Into<String>, section: &'static str) -> Self {
        Self::new(what, Provenance::Paper, section)
    }

    /// One that was measured, in this way.
    pub fn measured(what: impl Into<String>, how: &'static str) -> Self {
        Self::new(what, Provenance::Measured, how)
    }

    /// One that was estimated, for this reason.
    pub fn estimated(what: impl Into<String>, why: &'static str) -> Self {
        Self::new(what, Provenance::Estimated, why)
    }

    /// One that was fitted, to this.
    pub fn fitted(what: impl Into<String>, to: &'static str) -> Self {
        Self::new(what, Provenance::Fitted, to)
    }

    /// A length, a grid or a threshold, for this reason.
    pub fn ours(what: impl Into<String>, why: &'static str) -> Self {
        Self::new(what, Provenance::Ours, why)
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, from, why } = self;
        write!(f, "{what}: *{from}*, {why}")
    }
}
