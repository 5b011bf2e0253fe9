//! `warpline circuit export`: a circuit with its stimuli as a flat SPICE deck, so that another
//! simulator can run exactly what `warpline run circuit` runs.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use warpline_circuits::export::{self, Accuracy};
use warpline_models::{
    catalog::Parameters,
    circuit::{CircuitParams, Seconds},
};

use crate::failure::Failure;

/// The flags of `circuit`.
#[derive(Debug, Args)]
pub(crate) struct CircuitArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a circuit with its stimuli as a flat SPICE deck, for `ngspice -b -r OUT.raw DECK.cir`
    #[command(args_override_self = true)]
    Export(Box<ExportArgs>),
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// Netlist to read [default: the generated circuit]
    #[arg(value_name = "NETLIST", conflicts_with_all = ["netlist", "generate"])]
    file: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Circuit")]
    circuit: CircuitParams,
    /// Seed of the random vectors
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The deck that is written
    #[arg(long, value_name = "OUT.cir")]
    spice: PathBuf,
    /// The greatest step that the deck allows [default: the simulator's choice]
    #[arg(long, value_name = "TIME")]
    max_step: Option<Seconds>,
    /// The relative tolerance that the deck asks for [default: the simulator's]
    #[arg(long, value_name = "X")]
    reltol: Option<f64>,
}

/// Writes the deck.
pub(crate) fn execute(args: &CircuitArgs) -> Result<(), Failure> {
    let Action::Export(export) = &args.action;
    let circuit = CircuitParams {
        netlist: export.file.clone().or_else(|| export.circuit.netlist.clone()),
        ..export.circuit.clone()
    };
    let workload =
        circuit.workload(export.seed).map_err(|error| Failure::Configuration(error.to_string()))?;
    let files = workload.files_of(circuit.files()).writing("spice", Some(&export.spice));
    files.check()?;
    let max_step = export.max_step.map(|Seconds(step)| step);
    let accuracy = Accuracy { max_step, tolerance: export.reltol };
    let path = export.spice.display();
    let failed = |error| Failure::Run(format!("{path} could not be written: {error}"));
    let mut out = BufWriter::new(File::create(&export.spice).map_err(failed)?);
    export::write(&workload.circuit, &accuracy, &mut out).map_err(failed)?;
    out.flush().map_err(failed)
}
