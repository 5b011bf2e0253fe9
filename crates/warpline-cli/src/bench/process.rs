//! Runs a workload in a separate process, or in several that `mpirun` starts.

use std::process::Command;

use serde_json::Value;
use warpline::settings::EngineKind;
use warpline_net::mpirun;

use super::{Variant, Workload};
use crate::{failure::Failure, timewarp_args::Policies};

/// Runs a workload to virtual time `end`, and returns its JSON report.
pub(super) fn report(
    workload: Workload,
    variant: Variant,
    end: f64,
    policies: &Policies,
) -> Result<Value, Failure> {
    let params = workload.params();
    let model = params.name();
    let cannot =
        |what: String| Failure::Run(format!("the separate process for {model} failed: {what}"));
    let program = std::env::current_exe().map_err(|error| cannot(error.to_string()))?;
    let mut command = match variant {
        Variant::Ranks { ranks, .. } => mpirun(ranks, program),
        _ => Command::new(program),
    };
    command.args(["run", model, "--format=json", "--quiet", &format!("--end={end}")]);
    let engine = match variant {
        Variant::Parallel { engine, workers } => Some((engine, workers)),
        Variant::Ranks { engine, ranks, aggregation, .. } => {
            // A run of one rank sends nothing, and refuses the flag.
            command.args((ranks > 1).then(|| format!("--aggregation={aggregation}")));
            Some((engine, 1))
        }
        Variant::Sequential(_) => {
            command.arg(format!("--engine={}", EngineKind::Sequential));
            None
        }
        Variant::Bare(_) => None,
    };
    if let Some((engine, workers)) = engine {
        command.args([format!("--engine={engine}"), format!("--workers={workers}")]);
        // This process knows whether they are too many.
        command.arg("--oversubscribe");
        let is_read = |flag: &String| engine == EngineKind::TimeWarp || flag.starts_with("--pin");
        command.args(policies.flags().into_iter().filter(is_read));
    }
    command.args(params.flags());
    let output = command.output().map_err(|error| cannot(error.to_string()))?;
    if !output.status.success() {
        return Err(cannot(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| cannot(format!("{error} in its report")))
}
