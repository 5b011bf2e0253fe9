//! The transistor: the conductance that its current is equivalent to at one point.
//!
//! Made by the [partition](crate::partition) from cards; called for each transistor in each step of
//! [`subcircuit`](crate::subcircuit). Another device model takes the place of [`Mos`] if it gives
//! the current between two terminals: the current divided by their voltage is all that is asked.
//!
//! # Invariants
//!
//! - **CHORD-A.** A conductance is finite and not negative, for all finite voltages. So the matrix
//!   of a subcircuit is symmetric and positive definite.
//! - **CHORD-B.** The conductance times the voltage between drain and source is the level-1
//!   current.
//!
//! # References
//!
//! Shichman and Hodges, *Modeling and Simulation of Insulated-Gate Field-Effect Transistor
//! Switching Circuits*, IEEE JSSC 3(3), 1968. Lin, Kuh, Marek-Sadowska, *Stepwise Equivalent
//! Conductance Circuit Simulation Technique*, IEEE TCAD 12(5), 1993: the current as a conductance.

use crate::circuit::{Channel, MosCard};

/// The least surface potential (V): the threshold's slope has it as a divisor.
const PHI_MIN: f64 = 1e-3;

/// A level-1 transistor, ready to be evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mos {
    /// 1 for an N channel, -1 for a P channel, whose voltages are negated.
    sign: f64,
    bulk: f64,
    /// Threshold without bulk bias, of the negated voltages for a P channel.
    threshold: f64,
    gamma: f64,
    phi: f64,
    sqrt_phi: f64,
    lambda: f64,
    /// Transconductance times width by length (A/V²).
    beta: f64,
}

impl Mos {
    /// A transistor of this width and effective length (m), whose bulk is at this voltage.
    #[must_use]
    pub(crate) fn new(card: &MosCard, width: f64, effective_length: f64, bulk: f64) -> Self {
        let sign = match card.channel {
            Channel::N => 1.0,
            Channel::P => -1.0,
        };
        let phi = card.phi.max(PHI_MIN);
        Self {
            sign,
            bulk,
            threshold: sign * card.vto,
            gamma: card.gamma,
            phi,
            sqrt_phi: phi.sqrt(),
            lambda: card.lambda,
            beta: card.kp * width / effective_length,
        }
    }

    /// The conductance (S) between drain and source, which are at `a` and `b` in either order.
    #[inline]
    #[must_use]
    pub(crate) fn conductance(&self, gate: f64, a: f64, b: f64) -> f64 {
        let a = self.sign * (a - self.bulk);
        let b = self.sign * (b - self.bulk);
        let low = a.min(b);
        let across = (a - b).abs();
        let overdrive = self.sign * (gate - self.bulk) - low - self.threshold_at(low);
        if overdrive <= 0.0 {
            return 0.0;
        }
        let beta = self.beta * (1.0 + self.lambda * across);
        if overdrive <= across {
            0.5 * beta * overdrive * overdrive / across
        } else {
            beta * (overdrive - 0.5 * across)
        }
    }

    /// The threshold where the source is at `source` relative to the bulk.
    #[inline]
    fn threshold_at(&self, source: f64) -> f64 {
        if source == 0.0 {
            // The usual case: the source is at the same rail as the bulk.
            return self.threshold;
        }
        let root = if source > 0.0 {
            (self.phi + source).sqrt()
        } else {
            (self.sqrt_phi + 0.5 * source / self.sqrt_phi).max(0.0)
        };
        self.threshold + self.gamma * (root - self.sqrt_phi)
    }

    /// The numbers that make two transistors equal.
    pub(crate) fn words(&self) -> [u64; 7] {
        let Self { sign, bulk, threshold, gamma, phi, sqrt_phi: _, lambda, beta } = *self;
        [sign, bulk, threshold, gamma, phi, lambda, beta].map(f64::to_bits)
    }

    /// The current (A) of the transistor that is fully on, with `swing` at its gate and across it.
    pub(crate) fn on_current(&self, swing: f64) -> f64 {
        let overdrive = (swing - self.threshold).max(0.0);
        0.5 * self.beta * overdrive * overdrive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Capacitances, cards};
    use proptest::prelude::*;

    /// The level-1 current from drain to source of an N channel, written as the textbooks have it.
    fn current(card: &MosCard, gate: f64, drain: f64, source: f64) -> f64 {
        let bias = if source >= 0.0 {
            (card.phi + source).sqrt()
        } else {
            (card.phi.sqrt() + source / (2.0 * card.phi.sqrt())).max(0.0)
        };
        let threshold = card.vto.abs() + card.gamma * (bias - card.phi.sqrt());
        let (vds, vgst) = (drain - source, gate - source - threshold);
        let beta = 2.0 * card.kp * (1.0 + card.lambda * vds);
        match () {
            () if vgst <= 0.0 => 0.0,
            () if vgst <= vds => beta / 2.0 * vgst * vgst,
            () => beta * vds * (vgst - vds / 2.0),
        }
    }

    proptest! {
        /// CHORD-A and CHORD-B, for both channels and both directions.
        #[test]
        fn current_is_that_of_level_1(
            gate in -0.5..4.0_f64,
            low in -0.3..3.6_f64,
            across in 0.0..3.0_f64,
        ) {
            let [n, p] = cards(Capacitances::Explicit);
            let high = low + across;
            let mos = Mos::new(&n, 2e-6, 1e-6, 0.0);
            let conductance = mos.conductance(gate, high, low);
            prop_assert!(conductance >= 0.0 && conductance.is_finite(), "CHORD-A");
            prop_assert_eq!(conductance, mos.conductance(gate, low, high));
            let expected = current(&n, gate, high, low);
            prop_assert!((conductance * across - expected).abs() < 1e-12, "CHORD-B");
            // A P channel is an N channel seen from its bulk downwards.
            let mos = Mos::new(&p, 2e-6, 1e-6, 3.3);
            let conductance = mos.conductance(3.3 - gate, 3.3 - high, 3.3 - low);
            let expected = current(&p, gate, high, low);
            prop_assert!((conductance * across - expected).abs() < 1e-12, "CHORD-B");
        }
    }
}
