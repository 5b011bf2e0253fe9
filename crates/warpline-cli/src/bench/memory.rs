//! The memory of a workload: the peak resident size of a separate process.

use serde_json::{Value, json};

use super::{BenchArgs, Variant, Workload, process};
use crate::failure::Failure;

/// The peak resident size of a process that only runs one workload on one engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) workload: Workload,
    pub(super) variant: Variant,
    /// `None` where the system does not report it.
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
            Variant::Sequential(kind) => *kind == warpline::pending::PendingKind::default(),
            Variant::Parallel { workers, .. } => args.workers().last() == Some(workers),
            Variant::Ranks { .. } | Variant::Bare(_) => false,
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
    // Half the time shows the peak: there is the same number of events at any time.
    let report = process::report(workload, variant, workload.end() / 2.0, &args.policies)?;
    Ok(report["peak_resident_bytes"].as_u64())
}
