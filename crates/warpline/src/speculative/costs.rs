//! Where the time of a worker goes: nanoseconds by part of the engine, measured with `--costs`.
//!
//! A worker is in one part at any time, and looks at the clock when it goes from one to another:
//! some ten times per window, and never per event. The timeline of the run, if any, is told
//! of the same parts.

use std::time::{Duration, Instant};

use crate::{
    monitor::Activity,
    timeline::{Gauge, LentRecorder, Phase},
};

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
    Resize,
}

impl Part {
    /// Every part, each at the place of its number.
    const ALL: [Self; 5] =
        [Self::Handling, Self::Settling, Self::Committing, Self::Waiting, Self::Resize];

    const fn phase(self) -> Phase {
        match self {
            Self::Handling => Phase::Window,
            Self::Settling => Phase::Settling,
            Self::Committing => Phase::Commit,
            Self::Waiting => Phase::Waiting(Activity::AtWindowEnd),
            Self::Resize => Phase::Resize,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Handling => "handling",
            Self::Settling => "settling",
            Self::Committing => "committing",
            Self::Waiting => "waiting",
            Self::Resize => "resizes",
        }
    }
}

const _: () = {
    let mut index = 0;
    while index < Part::ALL.len() {
        assert!(Part::ALL[index] as usize == index, "costs have the name of another part");
        index += 1;
    }
};

/// Where the time of one worker went.
#[derive(Debug)]
pub(super) struct Costs {
    part: Part,
    /// When the worker came to the part that it is in; nothing is measured if that is not known.
    since: Option<Instant>,
    spent: [Duration; Part::ALL.len()],
    /// If what the worker does is recorded.
    recorder: Option<LentRecorder>,
}

impl Costs {
    pub(super) fn new(on: bool) -> Self {
        let (since, spent) = (on.then(Instant::now), [Duration::ZERO; Part::ALL.len()]);
        Self { part: Part::Resize, since, spent, recorder: None }
    }

    /// Whether anybody wants to know.
    #[inline]
    pub(super) const fn are_noted(&self) -> bool {
        self.since.is_some() || self.recorder.is_some()
    }

    /// Goes to a part; returns the one that the worker was in. `events` are those that it was
    /// about, and `rollbacks` those of single LPs since the start.
    #[cold]
    pub(super) fn enter(&mut self, part: Part, events: u64, rollbacks: u64) -> Part {
        debug_assert!(self.are_noted(), "events are counted for nobody");
        let old = std::mem::replace(&mut self.part, part);
        self.spend(old);
        if let Some(recorder) = &mut self.recorder {
            recorder.count = rollbacks;
            recorder.change(events, f64::NAN, part.phase());
        }
        old
    }

    /// The part that the worker is in.
    pub(super) const fn part(&self) -> Part {
        self.part
    }

    /// Records what the worker does from now on, if there is something to record it with.
    pub(super) fn record(&mut self, recorder: Option<LentRecorder>) {
        self.recorder = recorder;
        self.recorder.iter_mut().for_each(|recorder| recorder.begin(Phase::Start));
    }

    /// The worker ends, in a part with these numbers.
    pub(super) fn end(&mut self, events: u64, rollbacks: u64) {
        self.spend(self.part);
        if let Some(mut recorder) = self.recorder.take() {
            recorder.count = rollbacks;
            recorder.end_last(events, f64::NAN);
        }
    }

    fn spend(&mut self, part: Part) {
        if let Some(since) = &mut self.since {
            let time = Instant::now();
            self.spent[part as usize] += time - std::mem::replace(since, time);
        }
    }

    /// Records the numbers of a worker that commits a window: the end of the window, and what it
    /// has executed and committed.
    #[inline]
    pub(super) fn record_commit(&mut self, end: f64, executed: u64, committed: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.sample(Gauge::VirtualTime, end);
            recorder.sample_efficiency(executed, executed.saturating_sub(committed));
        }
    }

    /// Nanoseconds per committed event, by part, of all workers; nothing if nothing was measured.
    pub(super) fn table<'c>(
        all: impl Iterator<Item = &'c Self>,
        committed: u64,
    ) -> Vec<(&'static str, f64)> {
        let mut sums = [Duration::ZERO; Part::ALL.len()];
        for costs in all.filter(|costs| costs.since.is_some()) {
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
        let outer = costs.enter(Part::Handling, 0, 0);
        assert_eq!(outer, Part::Resize);
        let before = Instant::now();
        let outer = costs.enter(Part::Settling, 0, 0);
        while before.elapsed() < Duration::from_millis(1) {}
        assert_eq!(costs.enter(outer, 0, 0), Part::Settling);
        let settling = costs.spent[Part::Settling as usize];
        assert!(settling >= Duration::from_millis(1));
        let table = Costs::table([&costs].into_iter(), 1_000);
        assert_eq!(table[1].0, "settling");
        let ratio = table[1].1 / (settling.as_secs_f64() * 1e6);
        assert!((ratio - 1.0).abs() < 1e-9, "up to rounding: {ratio}");
        assert!(Costs::table([&Costs::new(false)].into_iter(), 1).is_empty());
    }
}
