//! The fixed nets as samples, so that writers treat them like all others; the recorder merges them
//! with the samples of the simulation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::{OutputError, slots::Recorded};
use crate::circuit::{Sample, Waveform};

/// How far the samples of fixed nets were taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FixedMark {
    samples: Vec<Sample>,
    next: Vec<Reverse<(u64, usize)>>,
}

/// The samples of the fixed nets, in the order of their times.
#[derive(Debug)]
pub(super) struct FixedNets {
    nets: Vec<FixedNet>,
    /// The time of each net's next sample, as bits (times are not negative), and the net.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// The most time between two samples while the voltage changes.
    longest_step: f64,
}

#[derive(Debug)]
struct FixedNet {
    slot: usize,
    sample: Sample,
    waveform: Waveform,
}

impl FixedNets {
    /// The fixed nets among these.
    pub(super) fn new(recorded: &[Recorded], longest_step: f64) -> Self {
        let net = |(slot, recorded): (usize, &Recorded)| {
            let waveform = recorded.fixed.clone()?;
            let (value, slope) = (waveform.at(0.0), waveform.slope_after(0.0));
            let sample = Sample { time: 0.0, net: recorded.net, value, slope };
            Some(FixedNet { slot, sample, waveform })
        };
        let nets = recorded.iter().enumerate().filter_map(net).collect::<Vec<_>>();
        let next = (0..nets.len()).map(|index| Reverse((0.0_f64.to_bits(), index))).collect();
        Self { nets, next, longest_step }
    }

    pub(super) fn mark(&self) -> FixedMark {
        let samples = self.nets.iter().map(|net| net.sample).collect();
        FixedMark { samples, next: self.next.clone().into_vec() }
    }

    /// Goes on from a mark of the same nets.
    pub(super) fn go_on(&mut self, mark: FixedMark) -> Result<(), OutputError> {
        let FixedMark { samples, next } = mark;
        let has_all = samples.len() == self.nets.len();
        if !has_all || next.iter().any(|Reverse((_, index))| *index >= samples.len()) {
            return Err(OutputError::Other("it has other fixed nets"));
        }
        for (net, sample) in self.nets.iter_mut().zip(samples) {
            net.sample = sample;
        }
        self.next = next.into();
        Ok(())
    }

    /// Takes the samples of the next net that has some up to a time (s), and its slot: one, or two
    /// at a corner.
    pub(super) fn pop_up_to(&mut self, time: f64) -> Option<(usize, [Option<Sample>; 2])> {
        let Reverse((bits, index)) = *self.next.peek()?;
        let now = f64::from_bits(bits);
        if now > time {
            return None;
        }
        self.next.pop();
        let net = &mut self.nets[index];
        let line = net.waveform.line(now);
        let after = Sample { time: now, value: line.at(now), slope: line.slope(), ..net.sample };
        let is_corner = now > 0.0 && line.from == now;
        let before = is_corner.then(|| {
            let line = net.waveform.line(net.sample.time);
            Sample { time: now, value: line.last, slope: line.slope(), ..net.sample }
        });
        net.sample = after;
        let step = if after.slope == 0.0 { f64::INFINITY } else { self.longest_step };
        let next = line.to.min(now + step);
        if next.is_finite() {
            self.next.push(Reverse((next.max(now.next_up()).to_bits(), index)));
        }
        Some((net.slot, [before, Some(after)]))
    }

    /// The samples that the fixed nets would have at a time (s) at which all before it were taken.
    pub(super) fn at(&self, time: f64) -> impl Iterator<Item = (usize, Sample)> {
        self.nets.iter().map(move |net| {
            let line = net.waveform.line(net.sample.time);
            (net.slot, Sample { time, value: line.at(time), slope: line.slope(), ..net.sample })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{circuit::NetId, waveform::Cubic};

    proptest! {
        /// Between samples the voltage is that of the source, samples are in order, and no two are
        /// further apart than the longest step while it changes.
        #[test]
        fn samples_are_those_of_the_sources(
            waveforms in vec(vec((0.0..5.0, 0.0..3.0), 0..5), 1..4),
            longest_step in 0.3..9.0,
        ) {
            let recorded = waveforms.iter().enumerate().map(|(n, points)| {
                let mut points: Vec<(f64, f64)> = points.clone();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let fixed = Some(Waveform::PiecewiseLinear(points));
                Recorded { net: NetId(n as u32), name: String::new(), fixed }
            }).collect::<Vec<_>>();
            let mut fixed = FixedNets::new(&recorded, longest_step);
            let (mut last, mut now) = (vec![None; recorded.len()], 0.0);
            while let Some((slot, samples)) = fixed.pop_up_to(6.0) {
                for sample in samples.into_iter().flatten() {
                    prop_assert!(sample.time >= now);
                    now = sample.time;
                    let waveform = recorded[slot].fixed.as_ref().unwrap();
                    if let Some(before) = last[slot].replace(sample) {
                        let piece = Cubic::between(&before, &sample);
                        let middle = f64::midpoint(piece.from, piece.to);
                        if piece.to > piece.from {
                            prop_assert!((piece.at(middle) - waveform.at(middle)).abs() < 1e-9);
                        }
                        let is_short = piece.to - piece.from <= longest_step * 1.000_001;
                        prop_assert!(is_short || before.slope == 0.0);
                    } else {
                        prop_assert_eq!((sample.time, sample.value), (0.0, waveform.at(0.0)));
                    }
                }
            }
            prop_assert!(last.iter().all(Option::is_some));
            for (slot, sample) in fixed.at(6.0) {
                let waveform = recorded[slot].fixed.as_ref().unwrap();
                prop_assert_eq!(sample.value, waveform.at(6.0));
            }
        }
    }
}
