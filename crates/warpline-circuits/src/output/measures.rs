//! `.measure`: the time from one crossing to another, found while the samples come; the recorder
//! calls it.

use serde::{Deserialize, Serialize};

use super::slots::Slots;
use crate::{
    circuit::{Circuit, Crossing, Direction},
    waveform::{Cubic, Detector, Edge},
};

/// The result of a `.measure`.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Seconds from the trigger to the target, less than 0 if the target comes first; or why there
    /// is no result.
    pub value: Result<f64, String>,
}

/// What is measured, and how far it has come.
#[derive(Debug)]
pub(super) struct Measures {
    names: Vec<String>,
    /// The trigger and the target of each measure.
    probes: Vec<[Probe; 2]>,
    /// The measures that follow each net: an index, and 0 for the trigger or 1 for the target.
    of_slot: Vec<Vec<(usize, usize)>>,
}

/// How far a probe has come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ProbeMark {
    detector: Option<Detector>,
    count: u64,
    found: Option<f64>,
}

/// Waits for a crossing.
#[derive(Debug)]
struct Probe {
    crossing: Crossing,
    net: String,
    detector: Option<Detector>,
    /// Crossings that counted.
    count: u64,
    found: Option<f64>,
}

impl Measures {
    pub(super) fn new(circuit: &Circuit, slots: &Slots) -> Self {
        let mut of_slot = vec![Vec::new(); slots.recorded.len()];
        let mut probes = Vec::new();
        for (index, measure) in circuit.measures.iter().enumerate() {
            probes.push([measure.trigger, measure.target].map(Probe::new));
            for (end, probe) in probes[index].iter_mut().enumerate() {
                if let Some(slot) = slots.of(probe.crossing.net) {
                    of_slot[slot].push((index, end));
                    probe.net.clone_from(&slots.recorded[slot].name);
                }
            }
        }
        let names = circuit.measures.iter().map(|measure| measure.name.clone()).collect();
        Self { names, probes, of_slot }
    }

    /// A net has its first voltage (V).
    pub(super) fn begin(&mut self, slot: usize, value: f64) {
        for &(measure, end) in &self.of_slot[slot] {
            let probe = &mut self.probes[measure][end];
            probe.detector = Some(Detector::new(probe.crossing.threshold, value));
        }
    }

    /// A net's waveform goes on.
    pub(super) fn follow(&mut self, slot: usize, piece: &Cubic) {
        for &(measure, end) in &self.of_slot[slot] {
            self.probes[measure][end].follow(piece);
        }
    }

    /// What is measured, in words that differ where it differs.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |(name, probes): (&String, &[Probe; 2])| {
            let [trigger, target] = probes.each_ref().map(|probe| (&probe.net, probe.crossing));
            format!("{name}: {trigger:?} to {target:?}")
        };
        self.names.iter().zip(&self.probes).map(text).collect()
    }

    pub(super) fn marks(&self) -> Vec<[ProbeMark; 2]> {
        let mark = |probe: &Probe| {
            let Probe { detector, count, found, .. } = *probe;
            ProbeMark { detector, count, found }
        };
        self.probes.iter().map(|probes| probes.each_ref().map(mark)).collect()
    }

    /// Goes on from marks of the same measures.
    pub(super) fn go_on(&mut self, marks: &[[ProbeMark; 2]]) {
        for (probe, mark) in self.probes.iter_mut().flatten().zip(marks.as_flattened()) {
            let ProbeMark { detector, count, found } = *mark;
            (probe.detector, probe.count, probe.found) = (detector, count, found);
        }
    }

    /// The results, in the order of the deck.
    pub(super) fn results(&self) -> Vec<Measured> {
        let result = |(name, [trigger, target]): (&String, &[Probe; 2])| {
            let value = match (trigger.found, target.found) {
                (Some(from), Some(to)) => Ok(to - from),
                (None, _) => Err(format!("trigger: {}", trigger.reason())),
                (_, None) => Err(format!("target: {}", target.reason())),
            };
            Measured { name: name.clone(), value }
        };
        self.names.iter().zip(&self.probes).map(result).collect()
    }
}

impl Probe {
    const fn new(crossing: Crossing) -> Self {
        Self { crossing, net: String::new(), detector: None, count: 0, found: None }
    }

    fn follow(&mut self, piece: &Cubic) {
        let Some(detector) = &mut self.detector else { return };
        let Crossing { direction, ordinal, after, .. } = self.crossing;
        let (count, found) = (&mut self.count, &mut self.found);
        detector.follow(piece, |time, edge| {
            let counts = match direction {
                Direction::Rise => edge == Edge::Rise,
                Direction::Fall => edge == Edge::Fall,
                Direction::Cross => true,
            };
            if counts && time >= after {
                *count += 1;
                if ordinal.is_none_or(|ordinal| u64::from(ordinal) == *count) {
                    *found = Some(time);
                }
            }
        });
    }

    /// Why it has found nothing.
    fn reason(&self) -> String {
        let Crossing { threshold, direction, ordinal, after, .. } = self.crossing;
        if self.detector.is_none() {
            return "its net is not simulated".to_owned();
        }
        let what = match direction {
            Direction::Rise => "rises through",
            Direction::Fall => "falls through",
            Direction::Cross => "crosses",
        };
        let (net, count) = (&self.net, self.count);
        let times = if count == 1 { "time" } else { "times" };
        let wanted = ordinal.map_or("the last".to_owned(), |ordinal| format!("number {ordinal}"));
        let from = if after > 0.0 { format!(" from {after:e} s on") } else { String::new() };
        format!("v({net}) {what} {threshold} V {count} {times}{from}, and {wanted} is asked for")
    }
}
