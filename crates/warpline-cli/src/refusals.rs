//! What several runs, or a run in steps, cannot have beside their report.

use warpline_models::catalog::ModelParams;

use crate::{args::RunArgs, failure::Failure};

/// Refuses a trace of several runs.
pub(crate) fn refuse_trace(args: &RunArgs, several: &str) -> Result<(), Failure> {
    if args.trace.is_none() {
        return Ok(());
    }
    Err(Failure::Configuration(format!(
        "--trace shows one run, and is not written with {several}: leave one of them out"
    )))
}

/// Refuses files for several runs: a recording holds one. `several` says what was asked for.
pub(crate) fn refuse_files(params: &ModelParams, several: &str) -> Result<(), Failure> {
    if !params.files().has_outputs() {
        return Ok(());
    }
    Err(Failure::Configuration(format!(
        "files are written of one run, and not with {several}: leave the files out, or run once"
    )))
}
