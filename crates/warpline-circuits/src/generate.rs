//! Generated circuits, for users and tests without a netlist: chains, adders, multipliers, rings
//! and register files.
//!
//! Called by the command (`--generate KIND:SIZE`) and by tests.

use std::{fmt, str::FromStr};

use crate::{
    error::{NetlistError, Place, quoted},
    process::Capacitances,
    stimuli::Stimuli,
    workload::Workload,
};

mod arithmetic;
mod regfile;

/// A circuit that can be generated; it is written as `KIND:SIZE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Generator {
    /// `chain:N`, N inverters in a row.
    Chain(usize),
    /// `adder:N`, a ripple-carry adder of two numbers of N bits and a carry.
    Adder(usize),
    /// `multiplier:N`, an array multiplier of two numbers of N bits.
    Multiplier(usize),
    /// `ring:N`, an oscillator of N inverters.
    Ring(usize),
    /// `regfile:WORDSxBITS`, a register file with a port to write and a port to read.
    RegisterFile {
        /// The number of words.
        words: usize,
        /// The bits of a word.
        bits: usize,
    },
}

impl Generator {
    /// Generates the circuit.
    ///
    /// # Errors
    ///
    /// Stimuli that are out of range.
    pub fn workload(
        self,
        stimuli: &Stimuli,
        capacitances: Capacitances,
    ) -> Result<Workload, NetlistError> {
        stimuli.check()?;
        let gates = match self {
            Self::Chain(length) => arithmetic::chain(length),
            Self::Adder(bits) => arithmetic::adder(bits),
            Self::Multiplier(bits) => arithmetic::multiplier(bits),
            Self::Ring(length) => arithmetic::ring(length),
            Self::RegisterFile { words, bits } => {
                return Ok(regfile::workload(words, bits, stimuli, capacitances));
            }
        };
        let mut workload = Workload::of_gates(&gates, stimuli, capacitances)?;
        workload.circuit.title = self.to_string();
        if matches!(self, Self::Ring(_)) {
            // Without it, the ring would rest where all its nets have the same voltage.
            workload.circuit.initial = vec![(workload.outputs[0], 0.0)];
        }
        Ok(workload)
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain(length) => write!(f, "chain:{length}"),
            Self::Adder(bits) => write!(f, "adder:{bits}"),
            Self::Multiplier(bits) => write!(f, "multiplier:{bits}"),
            Self::Ring(length) => write!(f, "ring:{length}"),
            Self::RegisterFile { words, bits } => write!(f, "regfile:{words}x{bits}"),
        }
    }
}

impl From<Generator> for String {
    fn from(generator: Generator) -> Self {
        generator.to_string()
    }
}

impl TryFrom<String> for Generator {
    type Error = NetlistError;

    fn try_from(text: String) -> Result<Self, NetlistError> {
        text.parse()
    }
}

impl FromStr for Generator {
    type Err = NetlistError;

    fn from_str(text: &str) -> Result<Self, NetlistError> {
        let refused = |what: String, remedy: &str| {
            Err(NetlistError::new(&Place::file("--generate"), what, remedy))
        };
        let Some((kind, size)) = text.split_once(':') else {
            let remedy = "write KIND:SIZE, as in chain:21 or regfile:16x32";
            return refused(format!("{} has no size", quoted(text)), remedy);
        };
        let (generator, (least, most)): (fn(usize) -> Self, _) = match kind {
            "chain" => (Self::Chain, (1, 1_000_000)),
            "adder" => (Self::Adder, (1, 10_000)),
            "multiplier" => (Self::Multiplier, (2, 256)),
            "ring" => (Self::Ring, (3, 1_000_001)),
            "regfile" => return register_file(text, size),
            _ => {
                let remedy = "use chain, adder, multiplier, ring or regfile";
                return refused(format!("there is no generator {}", quoted(kind)), remedy);
            }
        };
        let is_right = |size: &usize| {
            (least..=most).contains(size) && (kind != "ring" || !size.is_multiple_of(2))
        };
        match size.parse().ok().filter(is_right) {
            Some(size) => Ok(generator(size)),
            None => {
                let odd = if kind == "ring" { "an odd" } else { "a" };
                let remedy = format!("give {odd} number from {least} to {most}");
                refused(format!("{} has no size that can be generated", quoted(text)), &remedy)
            }
        }
    }
}

fn register_file(text: &str, size: &str) -> Result<Generator, NetlistError> {
    const CELLS_MAX: usize = 1 << 18;
    let parse = || {
        let (words, bits) = size.split_once('x')?;
        let (words, bits): (usize, usize) = (words.parse().ok()?, bits.parse().ok()?);
        let is_right = words > 0 && bits > 0 && words.checked_mul(bits)? <= CELLS_MAX;
        is_right.then_some(Generator::RegisterFile { words, bits })
    };
    parse().ok_or_else(|| {
        let what = format!("{} has no size that can be generated", quoted(text));
        let remedy = format!("write regfile:WORDSxBITS with at most {CELLS_MAX} cells");
        NetlistError::new(&Place::file("--generate"), what, remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_is_written_as_it_is_read() {
        for text in ["chain:21", "adder:8", "multiplier:16", "ring:5", "regfile:16x32"] {
            assert_eq!(
                text.parse::<Generator>().map(|generator| generator.to_string()),
                Ok(text.into())
            );
        }
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused() {
        let refused = |text: &str| text.parse::<Generator>().expect_err(text).to_string();
        assert_eq!(
            refused("ring:4"),
            "--generate: `ring:4` has no size that can be generated; give an odd number from 3 to \
             1000001"
        );
        assert_eq!(
            refused("chain"),
            "--generate: `chain` has no size; write KIND:SIZE, as in chain:21 or regfile:16x32"
        );
        assert_eq!(
            refused("tree:3"),
            "--generate: there is no generator `tree`; use chain, adder, multiplier, ring or \
             regfile"
        );
        for text in [
            "chain:0",
            "chain:-1",
            "adder:",
            "regfile:4",
            "regfile:0x4",
            "regfile:9999999999x9999999999",
        ] {
            assert!(refused(text).contains("has no size that can be generated"), "{text}");
        }
    }
}
