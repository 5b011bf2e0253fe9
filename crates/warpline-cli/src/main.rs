//! The `warpline` command: Warpline's own models, its benchmark and its laboratory.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use warpline::nodes::NodeAllocator;
use warpline_cli::Application;

/// What a worker allocates lies on its NUMA node, with `--memory-placement`.
#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

fn main() -> ExitCode {
    Application::warpline().main()
}
