//! The process of the built-in cells: cards, sizes and capacitances.
//!
//! Read by the `builder` of circuits. It is the textbook process of 0.5 µm and
//! 3.3 V in Razavi, "Design of Analog CMOS Integrated Circuits", table 2.1. An inverter in a chain
//! has a delay of 47 ps.

use crate::circuit::{Channel, MosCard};

/// The supply (V).
pub const SUPPLY: f64 = 3.3;

/// Length of the channels (m).
pub(crate) const LENGTH: f64 = 0.5e-6;
/// Width of an N channel (m); a P channel is twice as wide, and stacks are not scaled.
pub(crate) const WIDTH_N: f64 = 1.2e-6;
/// Width of a P channel (m).
pub(crate) const WIDTH_P: f64 = 2.0 * WIDTH_N;

/// Capacitance of the wires of a net (F).
pub(crate) const WIRE: f64 = 5e-15;
/// Capacitance of a drain or a source per width (F/m), where capacitances are explicit.
pub(crate) const DIFFUSION: f64 = 0.8e-9;
/// How far a drain or a source extends from the gate (m), for its area and its perimeter.
pub(crate) const EXTENSION: f64 = 1.25e-6;

/// Permittivity of silicon dioxide (F/m).
pub const OXIDE_PERMITTIVITY: f64 = 3.9 * 8.854_214_871e-12;
/// Thickness of the gate oxide (m).
const OXIDE_THICKNESS: f64 = 9e-9;
/// Gate capacitance per area (F/m²).
pub(crate) const OXIDE: f64 = OXIDE_PERMITTIVITY / OXIDE_THICKNESS;

/// Where the capacitances of the built-in cells are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capacitances {
    /// In capacitors to ground, so that every simulator solves the same equations.
    #[default]
    Explicit,
    /// In the transistors, and capacitors only for wires: as a layout has them.
    Full,
}

/// The two cards, N first.
pub(crate) fn cards(capacitances: Capacitances) -> [MosCard; 2] {
    let n = MosCard {
        name: "n1".to_owned(),
        channel: Channel::N,
        vto: 0.7,
        kp: 350e-4 * OXIDE,
        gamma: 0.45,
        phi: 0.9,
        lambda: 0.1,
        oxide: OXIDE,
        lateral_diffusion: 0.0,
        cgso: 0.4e-9,
        cgdo: 0.4e-9,
        cgbo: 0.0,
        cj: 0.56e-3,
        mj: 0.45,
        cjsw: 0.35e-11,
        mjsw: 0.2,
        pb: 0.9,
    };
    let p = MosCard {
        name: "p1".to_owned(),
        channel: Channel::P,
        vto: -0.8,
        kp: 100e-4 * OXIDE,
        gamma: 0.4,
        phi: 0.8,
        lambda: 0.2,
        cgso: 0.3e-9,
        cgdo: 0.3e-9,
        cj: 0.94e-3,
        mj: 0.5,
        cjsw: 0.32e-11,
        mjsw: 0.3,
        ..n.clone()
    };
    [n, p].map(|card| match capacitances {
        Capacitances::Full => card,
        Capacitances::Explicit => {
            MosCard { oxide: 0.0, cgso: 0.0, cgdo: 0.0, cj: 0.0, cjsw: 0.0, ..card }
        }
    })
}
