//! What stages have found out about widths, for those that follow.
//!
//! Kept by who carries out stages, [`auto`](crate::auto) or this engine alone.

use super::WidthControl;

/// What a stage has found out about widths, for the next one.
#[derive(Clone, Debug)]
pub(crate) struct FoundWidth {
    pub(in crate::speculative) workers: usize,
    pub(in crate::speculative) base: f64,
    pub(in crate::speculative) control: WidthControl,
}

impl FoundWidth {
    /// A base width for this number of workers; with the control, if that is for as many.
    pub(in crate::speculative) fn resume(self, workers: usize) -> (f64, Option<WidthControl>) {
        debug_assert!(self.base > 0.0, "windows of no width: {self:?}");
        if self.workers == workers {
            (self.base, Some(self.control.resumed()))
        } else {
            let level = self.control.level;
            let half = if level & 1 == 1 { 1.5 } else { 1.0 };
            (self.base * half * 2_f64.powi(level >> 1), None)
        }
    }
}

/// What the stages of a run have found out about widths, by the number of their candidate.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundWidths(Vec<(usize, FoundWidth)>);

impl FoundWidths {
    /// What a stage of a candidate begins with: what its last stage has found, or any other one.
    pub(crate) fn take(&mut self, candidate: usize) -> Option<FoundWidth> {
        let own = self.0.iter().position(|(number, _)| *number == candidate);
        match own {
            Some(place) => Some(self.0.swap_remove(place).1),
            None => self.0.first().map(|(_, width)| width.clone()),
        }
    }

    /// Keeps what a stage of a candidate has found.
    pub(crate) fn keep(&mut self, candidate: usize, width: Option<FoundWidth>) {
        debug_assert!(
            self.0.iter().all(|(number, _)| *number != candidate),
            "two widths of candidate {candidate}"
        );
        self.0.extend(width.map(|width| (candidate, width)));
    }
}
