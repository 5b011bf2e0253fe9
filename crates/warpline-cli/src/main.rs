//! The `warpline` command: Warpline's own models, its benchmark and its laboratory.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use warpline_cli::Application;

fn main() -> ExitCode {
    Application::warpline().main()
}
