//! Where the time of a worker goes: nanoseconds by part of the engine, measured with `--costs`.
//!
//! A worker is in one part at any time, and looks at the clock when it goes from one to another:
//! some ten times per window, and never per event.

use std::time::{Duration, Instant};

/// A part of the work of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// LPs handle the events of a window that is opened, and send others.
    Handling,
    /// Late events, and rollbacks.
    Settling,
    /// A window is committed.
    Committing,
    /// Others have not come as far.
    Waiting,
    /// All begin again.
    Regrid,
}

impl Part {
    /// Every part, each at the place of its number.
    const ALL: [Self; 5] =
        [Self::Handling, Self::Settling, Self::Committing, Self::Waiting, Self::Regrid];

    const fn name(self) -> &'static str {
        match self {
            Self::Handling => "handling",
            Self::Settling => "settling",
            Self::Committing => "committing",
            Self::Waiting => "waiting",
            Self::Regrid => "regrids",
        }
    }
}

/// Where the time of one worker went.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// The part that the worker is in, since when; nothing is measured if there is none.
    now: Option<(Part, Instant)>,
    spent: [Duration; Part::ALL.len()],
}

impl Costs {
    pub(super) fn new(on: bool) -> Self {
        let now = on.then(|| (Part::Regrid, Instant::now()));
        Self { now, spent: [Duration::ZERO; Part::ALL.len()] }
    }

    /// Goes to a part; returns the one that the worker was in.
    #[inline]
    pub(super) fn enter(&mut self, part: Part) -> Part {
        if self.now.is_some() { self.note(part) } else { part }
    }

    #[cold]
    fn note(&mut self, part: Part) -> Part {
        let time = Instant::now();
        let Some((old, since)) = self.now.replace((part, time)) else { return part };
        self.spent[old as usize] += time - since;
        old
    }

    /// Nanoseconds per committed event, by part, of all workers; nothing if nothing was measured.
    pub(super) fn table<'c>(
        all: impl Iterator<Item = &'c Self>,
        committed: u64,
    ) -> Vec<(&'static str, f64)> {
        let mut sums = [Duration::ZERO; Part::ALL.len()];
        for costs in all.filter(|costs| costs.now.is_some()) {
            sums.iter_mut().zip(costs.spent).for_each(|(sum, spent)| *sum += spent);
        }
        if sums.iter().all(Duration::is_zero) {
            return Vec::new();
        }
        let each = |spent: Duration| spent.as_secs_f64() * 1e9 / committed.max(1) as f64;
        Part::ALL.iter().zip(sums).map(|(part, spent)| (part.name(), each(spent))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time between two changes goes to the part in between, and that of inner parts does not
    /// count twice.
    #[test]
    fn time_goes_to_the_part_in_force() {
        let mut costs = Costs::new(true);
        let outer = costs.enter(Part::Handling);
        assert_eq!(outer, Part::Regrid);
        let before = Instant::now();
        let outer = costs.enter(Part::Settling);
        while before.elapsed() < Duration::from_millis(1) {}
        assert_eq!(costs.enter(outer), Part::Settling);
        let settling = costs.spent[Part::Settling as usize];
        assert!(settling >= Duration::from_millis(1));
        let table = Costs::table([&costs].into_iter(), 1_000);
        assert_eq!(table[1].0, "settling");
        let ratio = table[1].1 / (settling.as_secs_f64() * 1e6);
        assert!((ratio - 1.0).abs() < 1e-9, "up to rounding: {ratio}");
        assert!(Costs::table([&Costs::new(false)].into_iter(), 1).is_empty());
    }
}
