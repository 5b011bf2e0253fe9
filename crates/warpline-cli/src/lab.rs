//! `warpline lab`: the papers' figures, measured again.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use indicatif::ProgressBar;
use warpline_lab::{Figure, LabError, PLOTS_HINT, Settings, Watch, figures};
use warpline_models::phold::LARGE_BYTES;

use crate::{failure::Failure, interrupt, output::Output, progress, values::one_to};

/// The flags of `lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// Figure to measure
    #[arg(value_name = "FIGURE", value_parser = choices())]
    figure: Choice,
    /// Directory for tables, plots and texts
    #[arg(long, value_name = "DIR", default_value_os_t = Settings::default().output)]
    output: PathBuf,
    /// Short runs, two samples, at most two workers: to see that it works, not to learn something
    #[arg(long)]
    quick: bool,
    /// Numbers of workers, as a list; more than there are cores are marked [default: 1, 2, … up to
    /// the number of cores]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = one_to::<1024>)]
    workers: Vec<usize>,
    /// Rounds, each with one sample of every point [default: 9, or 2 with --quick]
    #[arg(long, value_name = "N", value_parser = one_to::<1000>)]
    samples: Option<usize>,
    /// Bytes that each event of PHOLD carries
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = Settings::default().payload,
        value_parser = one_to::<LARGE_BYTES>
    )]
    payload: usize,
    /// Seed of all random streams
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed)]
    seed: u64,
    /// Netlist that takes the place of the runtime paper's C2670 [default: a generated multiplier]
    #[arg(long, value_name = "FILE")]
    netlist: Option<PathBuf>,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

/// The choices for FIGURE.
#[derive(Clone, Copy, Debug)]
enum Choice {
    List,
    All,
    One(&'static dyn Figure),
}

const ALL: &str = "all";
const LIST: &str = "list";

/// The choices for FIGURE, with their help: the figures by name, `all` and `list`.
fn choices() -> impl TypedValueParser<Value = Choice> {
    let names = figures::ALL.iter().map(|figure| (figure.name(), figure.title()));
    let words = [(ALL, "Every figure, and a page that shows them"), (LIST, "Name the figures")];
    let values = names.chain(words).map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).map(|name| match name.as_str() {
        ALL => Choice::All,
        name => {
            let figure = figures::ALL.iter().find(|figure| figure.name() == name);
            figure.map_or(Choice::List, |&figure| Choice::One(figure))
        }
    })
}

impl LabArgs {
    fn settings(&self) -> Settings {
        let defaults = Settings {
            output: self.output.clone(),
            payload: self.payload,
            seed: self.seed,
            netlist: self.netlist.clone(),
            over_mpi: std::env::current_exe().ok().filter(|_| cfg!(feature = "mpi")),
            ..Settings::default()
        };
        let mut settings = if self.quick { defaults.quick() } else { defaults };
        if !self.workers.is_empty() {
            settings.workers.clone_from(&self.workers);
            settings.workers.sort_unstable();
            settings.workers.dedup();
        }
        settings.samples = self.samples.unwrap_or(settings.samples);
        settings
    }
}

/// Measures the chosen figures, and prints the paths of the files.
pub(crate) fn execute(args: &LabArgs) -> Result<(), Failure> {
    let mut output = Output::open(None)?;
    let figures = match args.figure {
        Choice::List => return output.write(&list()),
        Choice::All => figures::ALL,
        Choice::One(figure) => &[figure],
    };
    if cfg!(debug_assertions) && !args.quick {
        return Err(Failure::Configuration(
            "this is a debug build: build with --release to measure anything, or add --quick to \
             see that it works"
                .to_owned(),
        ));
    }
    let watch = Bar { quiet: args.quiet, bar: ProgressBar::hidden().into() };
    let index = matches!(args.figure, Choice::All);
    match warpline_lab::run(figures, &args.settings(), &watch, index) {
        Ok(files) => {
            if let Some(hint) = PLOTS_HINT {
                eprintln!("{hint}");
            }
            files.iter().try_for_each(|file| output.write(&format!("{}\n", file.display())))
        }
        // The exit status follows from the flag of the interrupt.
        Err(LabError::Interrupted) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn list() -> String {
    let width = figures::ALL.iter().map(|figure| figure.name().len()).max().unwrap_or_default();
    let line = |name: &str, title: &str| format!("{name:<width$}  {title}\n");
    figures::ALL.iter().map(|figure| line(figure.name(), figure.title())).collect()
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Directory { .. } | LabError::Config(_) => {
                Self::Configuration(error.to_string())
            }
            _ => Self::Run(error.to_string()),
        }
    }
}

/// Shows the progress, a bar for each figure, and passes an interrupt on.
struct Bar {
    quiet: bool,
    bar: std::cell::RefCell<ProgressBar>,
}

impl Watch for Bar {
    fn begins(&self, figure: &str, samples: usize) {
        let bar = progress::of_pieces(self.quiet, samples, "measuring");
        bar.set_message(figure.to_owned());
        self.bar.replace(bar).finish_and_clear();
    }

    fn samples(&self, what: &str) {
        let bar = self.bar.borrow();
        bar.set_message(what.to_owned());
        bar.inc(1);
    }

    fn stop(&self) -> &AtomicBool {
        interrupt::flag()
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.get_mut().finish_and_clear();
    }
}
