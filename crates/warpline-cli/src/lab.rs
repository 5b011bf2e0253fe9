//! `warpline lab`: the papers' figures, measured again. A call from another language does it, too.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    sync::atomic::AtomicBool,
};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use indicatif::ProgressBar;
use warpline::files::Files;
use warpline_lab::{Figure, LabError, PLOTS_HINT, Settings, Watch, figures};
use warpline_models::{circuit::CircuitParams, phold::LARGE_BYTES};
use warpline_net::has_mpirun;

use crate::{
    failure::Failure,
    interrupt,
    output::Output,
    oversubscription,
    progress::{self, Caller, Status},
    values::one_to,
};

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
    /// Measure more workers than four for each core
    #[arg(long)]
    oversubscribe: bool,
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
    /// File for the results of the figure, in the form of those in docs/results
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// File for the verdicts of the figures, in the same form; one that is there keeps those of
    /// other figures
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
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
    let words = [(ALL, "Every figure, and a page that shows them"), (LIST, "Name the figures")];
    let values = all().chain(words).map(|(name, help)| PossibleValue::new(name).help(help));
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
            results: self.results.clone(),
            claims: self.claims.clone(),
            over_mpi: std::env::current_exe().ok().filter(|_| has_mpirun()),
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
        Choice::List => return output.write(list()),
        Choice::All => figures::ALL,
        Choice::One(figure) => &[figure],
    };
    if figures.len() > 1 && args.results.is_some() {
        return Err(Failure::Configuration(
            "a file of results has one figure: leave out --results, or name a figure".to_owned(),
        ));
    }
    let index = matches!(args.figure, Choice::All);
    files(args, figures, index)?.printing_unless(None).check()?;
    refuse_what_would_mislead(args)?;
    interrupt::keep_report();
    let watch = Bar { quiet: args.quiet, bar: ProgressBar::hidden().into() };
    match warpline_lab::run(figures, &args.settings(), &watch, index) {
        Ok(files) => {
            if let Some(hint) = PLOTS_HINT {
                eprintln!("{hint}");
            }
            files.iter().try_for_each(|file| output.write(format!("{}\n", file.display())))
        }
        // The exit status follows from the flag of the interrupt.
        Err(LabError::Interrupted) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Measures the figure of a call, and returns the paths of its files; none if the caller has ended
/// it.
pub(crate) fn called(args: &LabArgs, caller: Caller<'_>) -> Result<Vec<PathBuf>, Failure> {
    let Choice::One(figure) = args.figure else { unreachable!("the call names one figure") };
    files(args, &[figure], false)?.check()?;
    refuse_what_would_mislead(args)?;
    // The program of this process is not the command.
    let settings = Settings { over_mpi: None, ..args.settings() };
    let watch = CallerWatch { caller, all: Cell::new(0), begun: Cell::new(0) };
    match warpline_lab::run(&[figure], &settings, &watch, false) {
        Err(LabError::Interrupted) => Ok(Vec::new()),
        outcome => Ok(outcome?),
    }
}

/// What is read, the netlist and what it includes, and what is written.
fn files(args: &LabArgs, figures: &[&dyn Figure], index: bool) -> Result<Files, Failure> {
    let mut files = Files::default()
        .writing("results", args.results.as_deref())
        .writing("claims", args.claims.as_deref());
    for path in warpline_lab::files(figures, &args.output, index) {
        files = files.writing("output", Some(&path));
    }
    if let Some(path) = &args.netlist {
        files = files.reading("netlist", Some(path));
        let params = CircuitParams { netlist: Some(path.clone()), ..CircuitParams::default() };
        let workload = params.workload(args.seed);
        let workload = workload.map_err(|error| Failure::Configuration(error.to_string()))?;
        files = workload.files_of(files);
    }
    Ok(files)
}

/// Refuses far more workers than cores, and a debug build.
fn refuse_what_would_mislead(args: &LabArgs) -> Result<(), Failure> {
    if !args.oversubscribe {
        let most = args.workers.iter().copied().max().unwrap_or_default();
        oversubscription::refuse_crowd(1, 1, most)?;
    }
    if cfg!(debug_assertions) && !args.quick {
        return Err(Failure::Configuration(
            "this is a debug build: build with --release to measure anything, or add --quick to \
             see that it works"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The figures, with what they show.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    figures::ALL.iter().map(|figure| (figure.name(), figure.title()))
}

fn list() -> String {
    let width = all().map(|(name, _)| name.len()).max().unwrap_or_default();
    all().map(|(name, title)| format!("{name:<width$}  {title}\n")).collect()
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Directory { .. } | LabError::Config(_) | LabError::Results { .. } => {
                Self::Configuration(error.to_string())
            }
            _ => Self::Run(error.to_string()),
        }
    }
}

/// Shows the progress, a bar for each figure, and passes an interrupt on.
struct Bar {
    quiet: bool,
    bar: RefCell<ProgressBar>,
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

/// Tells a caller of the progress, and passes on that it has ended the call.
struct CallerWatch<'a> {
    caller: Caller<'a>,
    all: Cell<usize>,
    begun: Cell<usize>,
}

impl Watch for CallerWatch<'_> {
    fn begins(&self, _: &str, samples: usize) {
        self.all.set(samples);
    }

    fn samples(&self, _: &str) {
        // The sample that begins now is not done.
        let done = self.begun.replace(self.begun.get() + 1);
        (self.caller.show)(Status::Runs { done, all: self.all.get() });
    }

    fn stop(&self) -> &AtomicBool {
        self.caller.stop
    }
}
