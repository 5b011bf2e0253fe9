//! Writes a circuit as a flat SPICE deck, for ngspice and for this crate.
//!
//! Called by the command (`warpline circuit export`). `ngspice -b -r OUT.raw DECK.cir` runs the
//! deck with the same cards, the same stimuli and the same initial voltages.
//!
//! # Invariants
//!
//! - **EXPORT-A.** Reading the deck gives the same circuit, but for the order of nets and cards;
//!   and exactly the circuit if it was itself read from an exported deck.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use crate::{
    circuit::{Channel, Circuit, Crossing, Direction, MosCard, Pulse, Waveform},
    process::OXIDE_PERMITTIVITY,
};

/// The shortest width of a pulse (s): SPICE reads a width of 0 as the length of the run.
const WIDTH_MIN: f64 = 1e-15;
/// Points of a piecewise linear source on a line.
const POINTS_PER_LINE: usize = 4;

/// How exactly the simulator that reads the deck works; `None` is its own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// The greatest step of time (s).
    pub max_step: Option<f64>,
    /// The relative tolerance (`reltol`).
    pub tolerance: Option<f64>,
}

/// Writes the deck.
///
/// # Errors
///
/// What the writer returns.
pub fn write(circuit: &Circuit, accuracy: &Accuracy, out: &mut impl Write) -> io::Result<()> {
    let title = circuit.title.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(out, "{}", if title.is_empty() { "*" } else { &title })?;
    let writer = &mut Writer { circuit, nets: net_names(circuit), devices: Taken::new(), out };
    writer.models()?;
    writer.sources()?;
    writer.transistors()?;
    writer.two_ends()?;
    writer.controls(accuracy)?;
    writeln!(writer.out, ".end")
}

struct Writer<'a, W> {
    circuit: &'a Circuit,
    /// The names of the nets in the deck.
    nets: Vec<String>,
    /// The names of devices so far.
    devices: Taken,
    out: &'a mut W,
}

impl<W: Write> Writer<'_, W> {
    /// The name of a device in the deck: legal, new, and with the letter of its kind first.
    fn device(&mut self, letter: char, name: &str) -> String {
        let legal = legal(name);
        let legal = if legal.starts_with(letter) { legal } else { format!("{letter}.{legal}") };
        unique(legal, &mut self.devices)
    }

    fn models(&mut self) -> io::Result<()> {
        for card in &self.circuit.cards {
            let kind = match card.channel {
                Channel::N => "nmos",
                Channel::P => "pmos",
            };
            write!(self.out, ".model {} {kind} level=1", legal(&card.name))?;
            for (name, value) in [
                ("vto", card.vto),
                ("kp", card.kp),
                ("gamma", card.gamma),
                ("phi", card.phi),
                ("lambda", card.lambda),
                ("ld", card.lateral_diffusion),
                ("cgso", card.cgso),
                ("cgdo", card.cgdo),
                ("cgbo", card.cgbo),
                ("cj", card.cj),
                ("mj", card.mj),
                ("cjsw", card.cjsw),
                ("mjsw", card.mjsw),
                ("pb", card.pb),
            ] {
                write!(self.out, " {name}={value:e}")?;
            }
            match oxide_thickness(card) {
                Some(thickness) => writeln!(self.out, " tox={thickness:e}")?,
                None => writeln!(self.out)?,
            }
        }
        Ok(())
    }

    fn sources(&mut self) -> io::Result<()> {
        for source in &self.circuit.sources {
            let name = self.device('v', &source.name);
            write!(self.out, "{name} {} 0 ", self.nets[source.net.index()])?;
            match &source.waveform {
                Waveform::Constant(voltage) => writeln!(self.out, "dc {voltage:e}")?,
                Waveform::Pulse(pulse) => self.pulse(pulse)?,
                Waveform::PiecewiseLinear(points) => {
                    write!(self.out, "pwl(")?;
                    for (number, (time, voltage)) in points.iter().enumerate() {
                        if number > 0 && number % POINTS_PER_LINE == 0 {
                            write!(self.out, "\n+")?;
                        }
                        write!(self.out, " {time:e} {voltage:e}")?;
                    }
                    writeln!(self.out, ")")?;
                }
            }
        }
        Ok(())
    }

    fn pulse(&mut self, pulse: &Pulse) -> io::Result<()> {
        let Pulse { low, high, delay, rise, fall, width, period } = pulse;
        let width = width.max(WIDTH_MIN);
        write!(self.out, "pulse({low:e} {high:e} {delay:e} {rise:e} {fall:e} {width:e}")?;
        if period.is_finite() {
            write!(self.out, " {period:e}")?;
        }
        writeln!(self.out, ")")
    }

    fn transistors(&mut self) -> io::Result<()> {
        for mos in &self.circuit.transistors {
            let name = self.device('m', &mos.name);
            write!(self.out, "{name}")?;
            for net in [mos.drain, mos.gate, mos.source, mos.bulk] {
                write!(self.out, " {}", self.nets[net.index()])?;
            }
            let card = legal(&self.circuit.cards[mos.card].name);
            write!(self.out, " {card} w={:e} l={:e}", mos.width, mos.length)?;
            let ([ad, a_s], [pd, ps]) = (mos.junction_areas, mos.junction_perimeters);
            for (name, value) in [("ad", ad), ("as", a_s), ("pd", pd), ("ps", ps)] {
                if value != 0.0 {
                    write!(self.out, " {name}={value:e}")?;
                }
            }
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn two_ends(&mut self) -> io::Result<()> {
        for resistor in &self.circuit.resistors {
            let name = self.device('r', &resistor.name);
            let [a, b] = resistor.ends.map(|end| &self.nets[end.index()]);
            writeln!(self.out, "{name} {a} {b} {:e}", resistor.resistance)?;
        }
        for capacitor in &self.circuit.capacitors {
            let name = self.device('c', &capacitor.name);
            let [a, b] = [capacitor.net, capacitor.reference].map(|end| &self.nets[end.index()]);
            writeln!(self.out, "{name} {a} {b} {:e}", capacitor.capacitance)?;
        }
        Ok(())
    }

    fn controls(&mut self, accuracy: &Accuracy) -> io::Result<()> {
        let Circuit { initial, measures, saved, end, print_step, .. } = self.circuit;
        for (net, voltage) in initial {
            writeln!(self.out, ".ic v({})={voltage:e}", self.nets[net.index()])?;
        }
        for net in saved {
            writeln!(self.out, ".save v({})", self.nets[net.index()])?;
        }
        if let Some(tolerance) = accuracy.tolerance {
            writeln!(self.out, ".option reltol={tolerance:e}")?;
        }
        write!(self.out, ".tran {print_step:e} {end:e}")?;
        match accuracy.max_step {
            Some(max_step) => writeln!(self.out, " 0 {max_step:e}")?,
            None => writeln!(self.out)?,
        }
        for measure in measures {
            let trigger = self.crossing(&measure.trigger);
            let target = self.crossing(&measure.target);
            writeln!(self.out, ".measure tran {} trig {trigger} targ {target}", measure.name)?;
        }
        Ok(())
    }

    fn crossing(&self, crossing: &Crossing) -> String {
        let Crossing { net, threshold, direction, ordinal, after } = crossing;
        let direction = match direction {
            Direction::Rise => "rise",
            Direction::Fall => "fall",
            Direction::Cross => "cross",
        };
        let ordinal = ordinal.map_or("last".to_owned(), |ordinal| ordinal.to_string());
        let net = &self.nets[net.index()];
        format!("v({net}) val={threshold:e} {direction}={ordinal} td={after:e}")
    }
}

/// The thickness from which the capacitance of the oxide follows; `None` without an oxide. If the
/// capacitance came from a thickness, it comes out again to the last bit.
fn oxide_thickness(card: &MosCard) -> Option<f64> {
    (card.oxide > 0.0).then(|| OXIDE_PERMITTIVITY / card.oxide)
}

/// The names of the nets in the deck, by net: their own ones where they are legal.
fn net_names(circuit: &Circuit) -> Vec<String> {
    let mut taken = Taken::from([("0".to_owned(), 0), ("gnd".to_owned(), 0)]);
    let others = circuit.nets.iter().skip(1).map(|name| unique(legal(name), &mut taken));
    std::iter::once("0".to_owned()).chain(others).collect()
}

/// The name without characters that have a meaning in a deck.
fn legal(name: &str) -> String {
    let special = |c: char| c.is_whitespace() || c.is_control() || "(),={}'\";".contains(c);
    let clean: String = name.chars().map(|c| if special(c) { '_' } else { c }).collect();
    let clean = clean.to_ascii_lowercase().replace("//", "__");
    match clean.strip_prefix('$') {
        Some(rest) => format!("_{rest}"),
        None if clean.is_empty() => "_".to_owned(),
        None => clean,
    }
}

/// Names, each with the number of times that it was asked for.
type Taken = HashMap<String, usize>;

/// The name, with a number at its end if it is taken.
fn unique(name: String, taken: &mut Taken) -> String {
    let mut candidate = name.clone();
    while taken.contains_key(&candidate) {
        // The count goes on where it ended, so that many equal names take no quadratic time.
        let count = taken.entry(name.clone()).or_insert(0);
        *count += 1;
        candidate = format!("{name}_{count}");
    }
    taken.insert(candidate.clone(), 0);
    candidate
}
