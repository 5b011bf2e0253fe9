//! The settings of a run that is cut into intervals.

/// The sequential engine, which also finds the result of each of a number of equal intervals of
/// virtual time: the report's [`intervals`](crate::Report::intervals). It is for runs with an end,
/// of models whose summaries can be subtracted ([`Model::difference`](crate::Model::difference)).
///
/// It commits the same events. At the end of an interval all LPs are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Intervals {
    /// How many intervals, 1 or more.
    pub count: usize,
}

impl Intervals {
    /// How many intervals there are by default: enough for fifty batches of five, with which
    /// [`warm_up`](crate::warm_up) finds where the beginning of a run ends.
    pub const COUNT: usize = 250;
}

impl Default for Intervals {
    fn default() -> Self {
        Self { count: Self::COUNT }
    }
}
