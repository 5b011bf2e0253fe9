//! What a workload takes of memory: the peak of a process of its own.

use std::process::Command;

use serde_json::{Value, json};
use warpline::Engine;

use super::{BenchArgs, Variant, Workload};
use crate::{failure::Failure, report::parameters};

/// The peak resident size of a process that only runs one workload on one engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) workload: Workload,
    pub(super) variant: Variant,
    /// `None` where the system does not tell.
    pub(super) bytes: Option<u64>,
}

impl Memory {
    pub(super) fn to_json(self) -> Value {
        json!({
            "workload": self.workload.name(),
            "variant": self.variant.name(),
            "pending_events": self.workload.population(),
            "peak_resident_bytes": self.bytes,
        })
    }
}

/// Measures every workload: on the sequential engine, and on the parallel ones with most workers.
pub(super) fn measure(args: &BenchArgs) -> Result<Vec<Memory>, Failure> {
    let mut all = Vec::new();
    for workload in args.workloads() {
        let engines = args.variants(workload);
        let is_engine = |variant: &&Variant| match variant {
            Variant::Sequential(kind) => *kind == warpline::PendingKind::default(),
            Variant::Conservative { workers } => args.workers().last() == Some(workers),
            Variant::TimeWarp { workers, busy } => !busy && args.workers().last() == Some(workers),
            Variant::Bare(_) => false,
        };
        for &variant in engines.iter().filter(is_engine) {
            let bytes = resident_bytes(workload, variant, args)?;
            all.push(Memory { workload, variant, bytes });
        }
    }
    Ok(all)
}

fn resident_bytes(
    workload: Workload,
    variant: Variant,
    args: &BenchArgs,
) -> Result<Option<u64>, Failure> {
    let params = workload.params();
    let model = params.name();
    let cannot = |what: String| Failure::Run(format!("memory cannot be measured: {what}"));
    let program = std::env::current_exe().map_err(|error| cannot(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["run", model, "--format=json", "--quiet"]);
    // Half the time shows the peak: there is the same number of events at any time.
    command.arg(format!("--end={}", workload.end() / 2.0));
    let engine = match variant {
        Variant::TimeWarp { workers, .. } => Some((Engine::TimeWarp, workers)),
        Variant::Conservative { workers } => Some((Engine::Conservative, workers)),
        Variant::Sequential(_) | Variant::Bare(_) => None,
    };
    if let Some((engine, workers)) = engine {
        command.args([format!("--engine={engine}"), format!("--workers={workers}")]);
        command.args(args.policies.flags());
    }
    if let Value::Object(params) = parameters(&params) {
        for (key, value) in params.iter().filter(|(_, value)| !value.is_null()) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            command.arg(format!("--{key}={value}"));
        }
    }
    let output = command.output().map_err(|error| cannot(error.to_string()))?;
    if !output.status.success() {
        return Err(cannot(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| cannot(format!("{error} in the report of {model}")))?;
    Ok(report["peak_resident_bytes"].as_u64())
}
