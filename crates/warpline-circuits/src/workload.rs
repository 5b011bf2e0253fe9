//! A circuit with stimuli, and the voltages at which its nets have to settle.
//!
//! Made from netlists of gates here, and by the [generators](crate::generate); the command
//! simulates the circuit, and tests compare what comes out with the Boolean values.

use std::path::PathBuf;

use warpline::files::Files;

use crate::{
    builder::Builder,
    cells,
    circuit::{Circuit, NetId},
    error::NetlistError,
    logic::{Evaluation, Gates},
    process::Capacitances,
    stimuli::{self, Stimuli},
};

/// A circuit with stimuli, and what is known about its simulation beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The circuit with its stimuli.
    pub circuit: Circuit,
    /// The nets that are of interest outside.
    pub outputs: Vec<NetId>,
    /// The Boolean values at which nets settle, by time.
    pub settled: Vec<Settled>,
    /// The files that its netlist includes.
    pub included: Vec<PathBuf>,
}

/// Boolean values that nets have at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// When (s): before the next vector or the next rising edge of the clock begins.
    pub time: f64,
    /// The values: of all outputs of gates that the stimuli decide.
    pub values: Vec<(NetId, bool)>,
}

impl Workload {
    /// These files, and those that its netlist includes.
    #[must_use]
    pub fn files_of(&self, files: Files) -> Files {
        self.included.iter().fold(files, |files, path| files.reading("netlist", Some(path)))
    }

    /// The circuit of a netlist of gates in the built-in cells, with random stimuli.
    ///
    /// # Errors
    ///
    /// Stimuli that are out of range.
    pub fn of_gates(
        gates: &Gates,
        stimuli: &Stimuli,
        capacitances: Capacitances,
    ) -> Result<Self, NetlistError> {
        stimuli.check()?;
        let names = gates.names.iter().map(String::as_str);
        let (mut builder, nets) = Builder::new(&gates.title, capacitances, names);
        let period = stimuli.period(gates.is_clocked());
        let clock = gates.is_clocked().then(|| {
            let clock = builder.wire("clk");
            builder.source(clock, stimuli::clock(period));
            clock
        });
        for gate in &gates.gates {
            cells::gate(&mut builder, gate, &nets, clock);
        }
        let bits = stimuli.bits(gates.inputs.len());
        for (index, &input) in gates.inputs.iter().enumerate() {
            let waveform = stimuli::waveform(bits.iter().map(|vector| vector[index]), period);
            builder.source(nets[input], waveform);
        }
        Ok(Self {
            circuit: builder.finish(stimuli.vectors as f64 * period),
            outputs: gates.outputs.iter().map(|&output| nets[output]).collect(),
            settled: settled(gates, &nets, &bits, period),
            included: Vec::new(),
        })
    }
}

fn settled(gates: &Gates, nets: &[NetId], bits: &[Vec<bool>], period: f64) -> Vec<Settled> {
    let mut evaluation = Evaluation::new(gates);
    let fraction = if gates.is_clocked() { stimuli::CLOCK_RISE } else { 1.0 };
    let mut settled = Vec::with_capacity(bits.len());
    for (number, vector) in bits.iter().enumerate() {
        let values = evaluation.settle(vector);
        let decided = |gate: &crate::logic::Gate| Some((nets[gate.output], values[gate.output]?));
        settled.push(Settled {
            time: (number as f64 + fraction) * period,
            values: gates.gates.iter().filter_map(decided).collect(),
        });
        evaluation.clock();
    }
    settled
}
