//! Runs on ranks that talk over MPI: `mpirun` starts the command at each rank, and the report that
//! rank 0 prints has the results.
//!
//! The laboratory itself needs no MPI. [`Settings::over_mpi`](crate::Settings::over_mpi) names the
//! command, where it was built with MPI.

use std::path::Path;

use serde_json::Value;
use warpline_models::catalog::ModelParams;
use warpline_net::mpirun;

use crate::{Ranks, executor::Outcome};

/// A run of a model that Warpline ships.
pub(crate) struct Run<'a> {
    /// The command.
    pub(crate) program: &'a Path,
    pub(crate) params: &'a ModelParams,
    pub(crate) seed: u64,
    pub(crate) end: f64,
}

impl Run<'_> {
    /// Runs it on these ranks.
    ///
    /// # Errors
    ///
    /// Why there is no result: what the command or `mpirun` says.
    pub(crate) fn on(&self, ranks: &Ranks) -> Result<Outcome, String> {
        let Self { program, params, seed, end } = self;
        let mut command = mpirun(ranks.count, program);
        command.args(["run", params.name(), "--format=json", "--quiet"]);
        command.args([format!("--end={end}"), format!("--seed={seed}")]);
        command.args(ranks.flags()).args(params.flags());
        let output = command.output().map_err(|error| format!("mpirun does not start: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("its report cannot be read: {error}"))?;
        outcome(&report).ok_or_else(|| "its report lacks numbers".to_owned())
    }
}

/// The results in a report.
fn outcome(report: &Value) -> Option<Outcome> {
    let counter = |name: &str| report["counters"][name].as_u64().unwrap_or(0);
    Some(Outcome {
        committed: report["committed_events"].as_u64()?,
        digest: report["digest"].as_str()?.parse().ok()?,
        rate: report["events_per_second"].as_f64()?,
        efficiency: report["efficiency"].as_f64()?,
        null_messages: counter("null_messages"),
        deadlocks: counter("deadlocks"),
        gvt_rounds: report["gvt_rounds"].as_u64().unwrap_or(0),
        turns: 0,
        local_share: None,
        // Neither LPs nor pages move between ranks.
        moved_lps: 0,
        realigned: 0,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warpline::settings::{Aggregation, SynchronizationKind};

    use super::*;
    use crate::{Conservative, RankEngine};

    #[test]
    fn a_report_without_numbers_is_no_result() {
        let mut report = json!({
            "committed_events": 7,
            "digest": "80a9ae5edc7fb57b",
            "events_per_second": 2.5,
            "efficiency": 0.5,
            "counters": { "null_messages": 3 },
        });
        let found = outcome(&report).expect("it is complete");
        assert_eq!((found.committed, found.rate, found.null_messages), (7, 2.5, 3));
        report["digest"] = json!("no digest");
        assert_eq!(outcome(&report), None);
    }

    /// Windows refuse what only edges read.
    #[test]
    fn flags_are_those_that_the_engine_reads() {
        let flags = |synchronization| {
            let aggregation = Aggregation::Bytes(64);
            let conservative =
                Conservative { aggregation, ..Conservative::new(1, synchronization) };
            let engine = RankEngine::Conservative(conservative);
            Ranks { count: 2, engine, network: None }.flags().join(" ")
        };
        let null_messages = flags(SynchronizationKind::NullMessages);
        assert!(null_messages.contains("--edge-capacity=64 --aggregation=64"), "{null_messages}");
        assert!(!flags(SynchronizationKind::Windows).contains("edge"));
    }
}
