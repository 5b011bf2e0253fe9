//! Crossings of a threshold, found in the waveform of a net as it comes.

use serde::{Deserialize, Serialize};

use super::Cubic;

/// The direction of a crossing that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Edge {
    /// Upwards.
    Rise,
    /// Downwards.
    Fall,
}

/// Follows the waveform of one net, and finds where it goes from one side of a threshold to the
/// other.
///
/// A waveform that only touches the threshold does not cross it, so rises and falls alternate. One
/// that stays at the threshold for a while crosses it where it leaves, if it leaves to the other
/// side.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Detector {
    threshold: f64,
    /// Whether the waveform was last above the threshold; `None` if it was never off the
    /// threshold.
    is_above: Option<bool>,
}

impl Detector {
    /// For a waveform that begins with `value` (V).
    #[must_use]
    pub fn new(threshold: f64, value: f64) -> Self {
        let is_above = (value != threshold).then_some(value > threshold);
        Self { threshold, is_above }
    }

    /// The side on which the waveform was last: above or not; `None` if it was never off the
    /// threshold.
    #[must_use]
    pub const fn is_above(&self) -> Option<bool> {
        self.is_above
    }

    /// Follows the waveform over its next piece, and calls `found` with the time (s) and the
    /// direction of each crossing, in order: three at most.
    pub fn follow(&mut self, piece: &Cubic, mut found: impl FnMut(f64, Edge)) {
        let (low, high) = piece.bounds();
        let (is_above, is_below) = (low > self.threshold, high < self.threshold);
        if (is_above && self.is_above == Some(true)) || (is_below && self.is_above == Some(false)) {
            return;
        }
        let mut from = 0.0;
        for to in piece.turns().into_iter().flatten().chain([1.0]) {
            self.follow_part(piece, from, to, &mut found);
            from = to;
        }
    }

    /// Follows a part of a piece in which the voltage does not turn.
    fn follow_part(
        &mut self,
        piece: &Cubic,
        from: f64,
        to: f64,
        found: &mut impl FnMut(f64, Edge),
    ) {
        let (first, last) = (piece.at_part(from), piece.at_part(to));
        // Where it turns, its value is computed, and may be beyond the threshold by rounding alone.
        let margin = if to < 1.0 { piece.rounding() } else { 0.0 };
        if (last - self.threshold).abs() <= margin {
            return;
        }
        let (was, is) = (self.is_above, last > self.threshold);
        self.is_above = Some(is);
        if was.is_none_or(|was| was == is) {
            return;
        }
        // It may be beyond the threshold from the beginning: then it left the threshold there.
        let is_beyond = if is { first >= self.threshold } else { first <= self.threshold };
        let part = if is_beyond { from } else { piece.part_at(self.threshold, from, to) };
        found(piece.time_at(part), if is { Edge::Rise } else { Edge::Fall });
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;
    use crate::circuit::{NetId, Sample};

    fn sample(time: f64, value: f64, slope: f64) -> Sample {
        Sample { time, net: NetId(1), value, slope }
    }

    fn found(detector: &mut Detector, piece: &Cubic) -> Vec<(f64, Edge)> {
        let mut all = Vec::new();
        detector.follow(piece, |time, edge| all.push((time, edge)));
        all
    }

    fn crossings(threshold: f64, samples: &[Sample]) -> Vec<(f64, Edge)> {
        let mut detector = Detector::new(threshold, samples[0].value);
        let pieces = samples.windows(2).map(|pair| Cubic::between(&pair[0], &pair[1]));
        pieces.flat_map(|piece| found(&mut detector, &piece)).collect()
    }

    /// Values and slopes that are often equal to each other, or to the threshold.
    fn samples() -> impl Strategy<Value = Vec<Sample>> {
        let value = prop_oneof![select(&[0.0, 1.5, 3.0][..]), -1.0..4.0];
        let slope = prop_oneof![select(&[0.0, 1.0, -1.0][..]), -9.0..9.0];
        vec((select(&[0.0, 0.25, 1.0, 2.0][..]), value, slope), 1..8).prop_map(|steps| {
            let mut time = 0.0;
            let sample = |(step, value, slope)| {
                time += step;
                sample(time, value, slope)
            };
            steps.into_iter().map(sample).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

        /// Both ends have their values and slopes, and a cubic is met everywhere.
        #[test]
        fn cubics_are_exact(
            powers in prop::array::uniform4(-3.0..3.0),
            (from, length) in (-2.0..2.0, 0.1..3.0),
            part in 0.0..1.0,
        ) {
            let [a, b, c, d] = powers;
            let value = |t: f64| a + t * (b + t * (c + t * d));
            let slope = |t: f64| b + t * (2.0 * c + t * 3.0 * d);
            let at = |t: f64| sample(t, value(t), slope(t));
            let piece = Cubic::between(&at(from), &at(from + length));
            prop_assert_eq!(piece.at(from), value(from));
            prop_assert_eq!(piece.at(from + length), value(from + length));
            let time = from + part * length;
            prop_assert!((piece.at(time) - value(time)).abs() < 1e-10);
            let (low, high) = piece.extremes();
            let (least, most) = piece.bounds();
            prop_assert!(low <= value(time) + 1e-10 && value(time) <= high + 1e-10);
            prop_assert!(least <= low + 1e-10 && high <= most + 1e-10);
            let touched = (0..=1000).map(|n| value(from + length * f64::from(n) / 1000.0));
            let (l, h) = touched.fold((9e9, -9e9), |(l, h), v| (v.min(l), v.max(h)));
            prop_assert!((l - low).abs() < 1e-3 && (h - high).abs() < 1e-3);
        }

        /// Crossings alternate, are in order, are at the threshold, and are those of a dense scan:
        /// between two places that are on different sides there is an odd number of them, between
        /// others an even one.
        #[test]
        fn crossings_are_those_of_a_dense_scan(samples in samples()) {
            const THRESHOLD: f64 = 1.5;
            let mut detector = Detector::new(THRESHOLD, samples[0].value);
            let (mut side, mut last) = (detector.is_above(), None);
            for pair in samples.windows(2) {
                let piece = Cubic::between(&pair[0], &pair[1]);
                let found = found(&mut detector, &piece);
                for &(time, edge) in &found {
                    prop_assert!(last.is_none_or(|(then, other)| then <= time && other != edge));
                    last = Some((time, edge));
                    prop_assert!(piece.from <= time && time <= piece.to);
                    prop_assert!(piece.from == piece.to
                        || (piece.at(time) - THRESHOLD).abs() < 1e-12
                        || time == piece.from);
                }
                let length = piece.to - piece.from;
                let mut counted = 0;
                for n in 1..=997 {
                    let time = piece.time_at(f64::from(n) / 997.0);
                    let value = piece.at(time);
                    if (value - THRESHOLD).abs() < 1e-9 && value != THRESHOLD {
                        continue;
                    }
                    let up_to = found.iter().filter(|crossing| crossing.0 <= time).count();
                    if value == THRESHOLD {
                        // It may have come from the other side between two places of the scan.
                        side = side.map(|above| above != ((up_to - counted) % 2 == 1));
                        counted = up_to;
                        continue;
                    }
                    let as_found = side.map(|above| above != ((up_to - counted) % 2 == 1));
                    prop_assert!(length == 0.0
                        || as_found.is_none_or(|above| above == (value > THRESHOLD)),
                        "{up_to} {counted} at {time}");
                    (side, counted) = (Some(value > THRESHOLD), up_to);
                }
                prop_assert!(detector.is_above() == side || side.is_none());
            }
        }

        /// The crossings of falling waveforms are those of rising ones upside down.
        #[test]
        fn upside_down(samples in samples()) {
            let flip = |s: &Sample| Sample { value: 3.0 - s.value, slope: -s.slope, ..*s };
            let flipped = samples.iter().map(flip).collect::<Vec<_>>();
            let (ups, downs) = (crossings(1.5, &samples), crossings(1.5, &flipped));
            prop_assert_eq!(ups.len(), downs.len());
            for (up, down) in ups.iter().zip(downs) {
                prop_assert!(up.1 != down.1 && (up.0 - down.0).abs() < 1e-7);
            }
        }
    }

    /// A sine with ten samples in each period: a cubic misses it by h⁴/384, and so its crossings by
    /// this part of its greatest slope.
    #[test]
    fn crossings_of_a_coarse_sine() {
        let step = std::f64::consts::TAU / 10.0;
        let at = |n: u32| {
            let time = 0.3 + f64::from(n) * step;
            sample(time, libm::sin(time), libm::cos(time))
        };
        let found = crossings(0.0, &(0..1000).map(at).collect::<Vec<_>>());
        assert_eq!(found.len(), 199);
        let bound = step.powi(4) / 384.0;
        for (n, (time, edge)) in (1_u32..).zip(found) {
            let expected = f64::from(n) * std::f64::consts::PI;
            assert!((time - expected).abs() < 1.1 * bound, "{time} {expected}");
            assert_eq!(edge, if n % 2 == 0 { Edge::Rise } else { Edge::Fall });
        }
    }

    #[test]
    fn touching_is_not_crossing() {
        let touch = [(0.0, 0.0, 0.0), (1.0, 1.5, 0.0), (2.0, 0.0, 0.0), (3.0, 1.5, 0.0)];
        let stay = [(4.0, 1.5, 0.0), (5.0, 3.0, 0.0), (6.0, 1.5, 0.0), (7.0, 3.0, 0.0)];
        let all = touch.iter().chain(&stay).map(|&(t, v, s)| sample(t, v, s)).collect::<Vec<_>>();
        assert_eq!(crossings(1.5, &all), [(4.0, Edge::Rise)]);
    }

    #[test]
    fn jumps_cross_at_once() {
        let samples = [(0.0, 0.0), (1.0, 0.0), (1.0, 3.0), (2.0, 3.0), (2.0, 0.0)];
        let samples = samples.map(|(time, value)| sample(time, value, 0.0));
        assert_eq!(crossings(1.5, &samples), [(1.0, Edge::Rise), (2.0, Edge::Fall)]);
    }
}
