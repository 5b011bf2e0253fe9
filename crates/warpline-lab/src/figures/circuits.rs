//! The circuits of the runtime paper's figures: about its C2670 and its register file.

use warpline::settings::SynchronizationKind;
use warpline_models::{
    catalog::ModelParams,
    circuit::{CircuitParams, Generator},
};

use crate::{
    Conservative, Constant, Executor, Lab, Point, Provenance, RankEngine, Ranks, Setup, Workload,
};

/// As large as the paper's C2670, which is not free.
const MULTIPLIER: Generator = Generator::Multiplier(16);
const REGISTER_FILE: Generator = Generator::RegisterFile { words: 16, bits: 32 };
/// The time that is simulated (s): ten vectors; the register file's are as long.
const END: f64 = 100e-9;

/// A circuit with its stimuli.
#[derive(Clone, Debug)]
pub(super) struct Circuit {
    pub(super) name: String,
    pub(super) params: ModelParams,
}

/// The circuit with many small subcircuits, and the one with a few large ones.
#[derive(Clone, Debug)]
pub(super) struct Circuits {
    pub(super) small_parts: Circuit,
    pub(super) large_parts: Circuit,
    /// The time that is simulated (s).
    pub(super) end: f64,
}

impl Circuits {
    pub(super) fn of(lab: &Lab<'_>) -> Self {
        let generated = |generator: Generator| Circuit {
            name: generator.to_string(),
            params: CircuitParams { generate: Some(generator), ..CircuitParams::default() }.into(),
        };
        let small_parts = match &lab.settings.netlist {
            None => generated(MULTIPLIER),
            Some(file) => Circuit {
                name: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                params: CircuitParams { netlist: Some(file.clone()), ..CircuitParams::default() }
                    .into(),
            },
        };
        let large_parts = generated(REGISTER_FILE);
        Self { small_parts, large_parts, end: lab.settings.shortened(END) }
    }

    pub(super) fn all(&self) -> [&Circuit; 2] {
        [&self.small_parts, &self.large_parts]
    }

    /// A point of a curve of one of them.
    pub(super) fn point(
        &self,
        circuit: &Circuit,
        curve: String,
        x: f64,
        executor: Executor,
    ) -> Point {
        let model = Workload::Shipped(circuit.params.clone());
        Point::new(curve, x, Setup { model, end: self.end, executor })
    }

    /// The constants of all figures with circuits. What the circuits differ in from the paper's is
    /// claims of `runtime-fig5`.
    pub(super) fn constants(&self) -> Vec<Constant> {
        let Self { small_parts, large_parts, .. } = self;
        let small = if small_parts.name == MULTIPLIER.to_string() {
            Constant::ours(
                format!("`{}`, for the paper's C2670", small_parts.name),
                "as large, and anybody has it; `--netlist` gives another one",
            )
        } else {
            Constant::new(format!("`{}`", small_parts.name), Provenance::Published("a netlist"))
        };
        let large = Constant::ours(
            format!("`{}`, for the paper's", large_parts.name),
            "of as many transistors; the paper does not say how many words and bits it has",
        );
        [small, large].into_iter().chain(self.conditions()).collect()
    }

    /// Those of them that do not depend on the circuits.
    pub(super) fn conditions(&self) -> [Constant; 2] {
        [
            Constant::ours(format!("up to {:.0} ns", self.end * 1e9), "ten vectors"),
            Constant::ours(
                "a message takes at least a quarter of a gate's delay",
                "the lookahead of this model (docs/circuits.md)",
            ),
        ]
    }

    /// Which they are, and how long they are simulated, for the text.
    pub(super) fn describe(&self) -> String {
        let Self { small_parts, large_parts, end } = self;
        format!(
            "Circuits `{}` and `{}`, up to {:.0} ns",
            small_parts.name,
            large_parts.name,
            end * 1e9
        )
    }
}

/// Null messages or windows on ranks of one worker each.
pub(super) fn on_ranks(count: usize, conservative: Conservative) -> Executor {
    let engine = RankEngine::Conservative(Conservative { workers: 1, ..conservative });
    Executor::Ranks(Ranks { count, engine, network: None })
}

/// Null messages with the engine's other defaults.
pub(super) fn null_messages(workers: usize) -> Conservative {
    Conservative::new(workers, SynchronizationKind::NullMessages)
}

/// How ranks talk, for the text.
pub(super) fn transport(lab: &Lab<'_>) -> &'static str {
    match lab.settings.over_mpi {
        Some(_) => "Ranks are processes that `mpirun` starts, one worker each, and talk over MPI.",
        None => {
            "This build has no MPI: ranks are threads of one process, which send each other bytes. \
             Build with `--features mpi` for processes."
        }
    }
}
