//! `warpline completions` and `warpline man`: the command line as shells complete it, and as pages
//! for `man`.
//!
//! Both are made from the parser of the command line, so a command for other models has its own,
//! under its own name.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::{failure::Failure, output::Output};

/// The flags of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The flags of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages of all commands and models; without it, the page of the whole
    /// command goes to standard output
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Adds both to a command.
pub(crate) fn add_to(command: Command) -> Command {
    let completions = CompletionsArgs::augment_args(Command::new("completions"))
        .about("Print a script with which a shell completes commands, models and flags");
    let man = ManArgs::augment_args(Command::new("man"))
        .about("Write pages for man: of the command, or of all commands and models");
    command.subcommand(completions).subcommand(man)
}

/// Prints the script for a shell.
pub(crate) fn complete(mut command: Command, args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    Output::open(None)?.write(script)
}

/// Writes the pages.
pub(crate) fn write(command: Command, args: &ManArgs) -> Result<(), Failure> {
    let mut command = command.disable_help_subcommand(true);
    // What is below it has its whole name from here on: `warpline-run-phold`.
    command.build();
    let Some(directory) = &args.directory else {
        let mut text = Vec::new();
        page(&command)
            .render(&mut text)
            .map_err(|error| Failure::Run(format!("the page could not be made: {error}")))?;
        return Output::open(None)?.write(text);
    };
    let written = fs::create_dir_all(directory).and_then(|()| write_all(&command, directory));
    written.map_err(|error| {
        Failure::Configuration(format!("{} cannot be written: {error}", directory.display()))
    })
}

/// Writes the page of a command, and those of all below it that help shows.
fn write_all(command: &Command, directory: &Path) -> io::Result<()> {
    page(command).generate_to(directory)?;
    let mut below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.try_for_each(|below| write_all(below, directory))
}

/// The page of a command.
fn page(command: &Command) -> Man {
    Man::new(command.clone()).source(concat!("Warpline ", env!("CARGO_PKG_VERSION")))
}
