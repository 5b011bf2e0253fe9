//! The data of a site: words, some of which are statistics; and what was observed at several.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use warpline::{
    Figure, State, VirtualTime,
    state::{Moves, UndoLog, heap_block},
    statistics::{Findings, Label, Statistics},
};

use crate::{
    model::{Finish, States},
    statistics::{Observed, Statistic},
};

/// A site, or what was observed at one or several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Site {
    words: Box<[u64]>,
    #[serde(serialize_with = "write_statistics", deserialize_with = "read_statistics")]
    statistics: Arc<[Statistic]>,
    /// Once the observation is over.
    closed: Option<Box<Closed>>,
}

/// What was observed up to an end.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Closed {
    observed: Vec<Observed>,
    end: f64,
    /// The words of the sites, one's after the other's.
    states: States,
    /// What the world has computed of all that.
    #[serde(skip)]
    figures: Vec<Figure>,
}

fn write_statistics<S: Serializer>(all: &Arc<[Statistic]>, to: S) -> Result<S::Ok, S::Error> {
    all.serialize(to)
}

fn read_statistics<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[Statistic]>, D::Error> {
    Vec::deserialize(from).map(Into::into)
}

impl Site {
    pub(super) fn new(words: &[u64], statistics: Arc<[Statistic]>) -> Self {
        Self { words: words.into(), statistics, closed: None }
    }

    /// The words, which processes change.
    #[inline]
    pub(super) fn words(&mut self) -> *mut u64 {
        self.words.as_mut_ptr()
    }

    /// Adds what `finish` computes of all sites, and takes their states out.
    pub(super) fn complete(&mut self, finish: Option<&Finish>) -> States {
        let Some(closed) = &mut self.closed else { return States::new() };
        if let Some(finish) = finish {
            closed.figures = finish.figures(&closed.states, closed.end);
        }
        std::mem::take(&mut closed.states)
    }
}

impl State for Site {
    const HAS_PLAIN: bool = true;

    #[inline]
    fn save_plain(&self, log: &mut UndoLog) {
        log.push_plain((self.words.len(), false), |to, _| to.copy_from_slice(&self.words));
    }

    #[inline]
    fn restore_plain(&mut self, point: u64, log: &mut UndoLog) {
        let count = self.words.len();
        log.take_plain(point, |from, _| self.words.copy_from_slice(&from[..count]));
    }

    #[inline]
    fn undo_to(&mut self, _: u64, _: &mut UndoLog) -> usize {
        0
    }

    fn rebase(&mut self, _: &Moves) {}

    fn heap_bytes(&self) -> usize {
        heap_block(size_of_val(&*self.words))
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, &dyn fmt::Debug)) {
        visit("words", &self.words);
    }
}

impl Statistics for Site {
    fn reset(&mut self, now: VirtualTime) {
        for statistic in &*self.statistics {
            Observed::reset(statistic, &mut self.words, now);
        }
    }

    fn close(&mut self, end: VirtualTime) {
        let read = |statistic| Observed::read(statistic, &self.words).until(end);
        self.closed = Some(Box::new(Closed {
            observed: self.statistics.iter().map(read).collect(),
            end: end.get(),
            states: self.words.to_vec(),
            figures: Vec::new(),
        }));
    }

    fn merge(&mut self, other: &Self) {
        match (&mut self.closed, &other.closed) {
            (Some(all), Some(one)) => {
                for (all, one) in all.observed.iter_mut().zip(&one.observed) {
                    all.merge(one);
                }
                all.states.extend_from_slice(&one.states);
            }
            _ => *self = other.clone(),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let mut later = self.clone();
        if let (Some(later), Some(earlier)) = (&mut later.closed, &earlier.closed) {
            let pairs = later.observed.iter().zip(&earlier.observed);
            later.observed = pairs.map(|(later, earlier)| later.since(earlier)).collect();
        }
        later
    }

    fn tell(&self, _: &Label<'_>, to: &mut Findings) {
        let Some(closed) = &self.closed else { return };
        for (statistic, observed) in self.statistics.iter().zip(&closed.observed) {
            observed.tell(statistic, to);
        }
        to.figures.extend(closed.figures.iter().cloned());
    }
}
