//! Statistics in states of words: counters, tallies and levels, as numbers that foreign handlers
//! change.
//!
//! Called by [`model`](super::model), at the end of a run, of an interval and of the warm-up. What
//! the numbers mean is that of `warpline::statistics`, which also merges and reports them.

use serde::{Deserialize, Serialize};
use warpline::{
    Counter, Level, Tally, VirtualTime,
    statistics::{Findings, Label, Statistics},
};

/// A statistic in the state of an LP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    /// Its name in reports.
    pub name: String,
    /// The unit of what it observes, or an empty text.
    pub unit: String,
    /// What it observes, in a few words.
    pub meaning: String,
    /// Which numbers it consists of.
    pub kind: StatisticKind,
    /// The word of the state at which they begin.
    pub word: usize,
}

/// A kind of statistics: numbers of 64 bits, all 0 before anything is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StatisticKind {
    /// The count, and the time: [`Counter`].
    Counter,
    /// The count, the mean, the squared differences, the least and the greatest: [`Tally`].
    Tally,
    /// The value, since when, the area, the least and the greatest, and the time: [`Level`].
    Level,
}

impl StatisticKind {
    /// How many words it takes.
    #[must_use]
    pub const fn words(self) -> usize {
        match self {
            Self::Counter => 2,
            Self::Tally => 5,
            Self::Level => 6,
        }
    }
}

/// One of the statistics of an LP.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Observed {
    Counter(Counter),
    Tally(Tally),
    Level(Level),
}

/// Does the same with each kind.
macro_rules! each {
    ($observed:expr, $one:pat => $do:expr) => {
        match $observed {
            Observed::Counter($one) => $do,
            Observed::Tally($one) => $do,
            Observed::Level($one) => $do,
        }
    };
}

impl Observed {
    /// What the words of a state say.
    pub(crate) fn read(&Statistic { kind, word, .. }: &Statistic, state: &[u64]) -> Self {
        fn numbers<const N: usize>(words: &[u64]) -> [f64; N] {
            std::array::from_fn(|place| f64::from_bits(words[place]))
        }
        let words = &state[word..][..kind.words()];
        match kind {
            StatisticKind::Counter => Self::Counter(numbers(words).into()),
            StatisticKind::Tally => Self::Tally(numbers(words).into()),
            StatisticKind::Level => Self::Level(numbers(words).into()),
        }
    }

    fn write(self, word: usize, state: &mut [u64]) {
        let numbers = match self {
            Self::Counter(counter) => <[f64; 2]>::from(counter).to_vec(),
            Self::Tally(tally) => <[f64; 5]>::from(tally).to_vec(),
            Self::Level(level) => <[f64; 6]>::from(level).to_vec(),
        };
        for (word, number) in state[word..].iter_mut().zip(numbers) {
            *word = number.to_bits();
        }
    }

    /// Lets a statistic in a state begin anew.
    pub(crate) fn reset(statistic: &Statistic, state: &mut [u64], now: VirtualTime) {
        let mut observed = Self::read(statistic, state);
        each!(&mut observed, one => one.reset(now));
        observed.write(statistic.word, state);
    }

    /// The same, closed at the end of a run.
    pub(crate) fn until(self, end: VirtualTime) -> Self {
        match self {
            Self::Counter(one) => Self::Counter(one.until(end)),
            Self::Tally(one) => Self::Tally(one.until(end)),
            Self::Level(one) => Self::Level(one.until(end)),
        }
    }

    /// Adds what another LP has observed with the same statistic.
    pub(crate) fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Counter(one), Self::Counter(other)) => one.merge(other),
            (Self::Tally(one), Self::Tally(other)) => one.merge(other),
            (Self::Level(one), Self::Level(other)) => one.merge(other),
            _ => unreachable!("the statistics of all LPs are of the same kinds"),
        }
    }

    /// What was observed after an earlier time.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        match (self, earlier) {
            (Self::Counter(one), Self::Counter(earlier)) => Self::Counter(one.since(earlier)),
            (Self::Tally(one), Self::Tally(earlier)) => Self::Tally(one.since(earlier)),
            (Self::Level(one), Self::Level(earlier)) => Self::Level(one.since(earlier)),
            _ => unreachable!("the statistics of all times are of the same kinds"),
        }
    }

    /// Tells its figures.
    pub(crate) fn tell(&self, statistic: &Statistic, to: &mut Findings) {
        let Statistic { name, unit, meaning, .. } = statistic;
        let label = Label::new(name.as_str(), unit, meaning);
        each!(self, one => one.tell(&label, to));
    }
}
