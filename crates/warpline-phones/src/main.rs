//! A wireless network: 64 x 32 cells, 50 000 phones that move and call, for three days.
//!
//! This is what to run first of Warpline's:
//!
//! ```sh
//! cargo run --release -p warpline-phones
//! ```
//!
//! It is the whole command, `run` and `sweep` and all that they can do, for one of the models that
//! Warpline ships (`pcs`, from the GTW paper), and so it builds in a fraction of the time. A
//! command for a model of your own is as short: see `crates/warpline-cli/examples/bank.rs`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use warpline_cli::{Application, Demonstration, entry};
use warpline_models::pcs::PcsParams;

/// What it does without arguments.
const THREE_DAYS: Demonstration = Demonstration {
    title: "three days of a wireless network: 64 x 32 cells, 50 000 phones",
    arguments: &["run", "pcs", "--warmup=60", "--end=4320"],
    call: "cargo run --release -p warpline-phones --",
    next: &[
        ("run pcs --mobility high", "phones that move five times as often"),
        ("run pcs --engine timewarp", "on every core, with the same answer"),
        ("run pcs --end 300 --replications 8", "with confidence intervals"),
        ("sweep pcs --end 300 --vary channels=8,10,12", "a row for each"),
        ("run pcs --report run.html", "a page about the run"),
        ("run pcs --help", "everything that can be set"),
    ],
    more: "All models, the benchmark and the papers' figures are in the command `warpline`:\n  \
           cargo install --path crates/warpline-cli   three to five minutes on two cores",
};

fn main() -> ExitCode {
    Application::new(&[entry::<PcsParams>()]).demonstrating(THREE_DAYS).main()
}
