//! The timing of MOS circuits: netlists from files or generated, simulated at the level of
//! transistors.
//!
//! An LP is a subcircuit, a channel-connected component; virtual time is in seconds. The crate
//! `warpline-circuits` has the method. Here are the parameters of the command, and the files that a
//! run writes.
//!
//! # References
//!
//! Wen and Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995.

use std::{
    fmt,
    hint::black_box,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};
use warpline::{AnyModel, ConfigError, Figure, Results, files::Files};
pub use warpline_circuits::generate::Generator;
use warpline_circuits::{
    bare,
    circuit::{Circuit, NetId},
    model::{CircuitModel, CircuitOutput, Options, Tolerance},
    netlist::{self, Netlist},
    output::{Outputs, Plot, Points, Recorder, RecordingMark},
    process::Capacitances,
    stimuli::Stimuli,
    workload::Workload as CircuitWorkload,
};

use crate::catalog::{
    Domain, Load, Measured, Parameters, Prepared, Recorded, Recording, Refusal, RunSetup, TimeUnit,
    Workload,
};

/// The circuit that is generated if none is given.
const BUILT_IN: Generator = Generator::Multiplier(16);

/// The parameters of a circuit's simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CircuitParams {
    /// Netlist: a SPICE deck (.cir, .sp, .spice) or ISCAS gates (.bench)
    #[arg(long, value_name = "FILE", conflicts_with = "generate")]
    pub netlist: Option<PathBuf>,
    /// Circuit that is generated: chain:N, adder:N, multiplier:N, ring:N or regfile:WORDSxBITS
    /// [default without a netlist: multiplier:16]
    #[arg(long, value_name = "KIND:SIZE")]
    pub generate: Option<Generator>,
    /// Random vectors that are applied to the inputs of gates (with flip-flops: clock cycles)
    /// [default: 10]
    #[arg(long, value_name = "N")]
    pub vectors: Option<usize>,
    /// Time from one vector to the next: 10n, 2.5e-8 (s) [default: 10n, with flip-flops 12n]
    #[arg(long, value_name = "TIME")]
    pub period: Option<Seconds>,
    /// How exact the simulation is
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = tolerances())]
    pub tolerance: Tolerance,
    /// Time after which other subcircuits hear of a change: auto, or a time
    #[arg(long, value_name = "auto|TIME", default_value_t)]
    pub lookahead: Lookahead,
    /// Capacitances of the built-in cells: explicit (all to ground) or full (in the transistors)
    #[arg(long, value_name = "NAME", default_value = "explicit", value_parser = capacitances())]
    pub capacitances: Capacitances,
    /// VCD file of waveforms, as GTKWave reads it
    #[arg(long, value_name = "FILE")]
    pub vcd: Option<PathBuf>,
    /// Binary raw file of waveforms, as ngspice writes it
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,
    /// Time between the points of the raw file, or `samples` for a point at each sample of a net
    /// [default: the deck's .tran, or 1000 points]
    #[arg(long, value_name = "TIME|samples", requires = "raw")]
    pub raw_step: Option<RawStep>,
    /// Table of the crossings of the voltage half way between the rails (CSV)
    #[arg(long, value_name = "FILE")]
    pub crossings: Option<PathBuf>,
    /// Plot of the first nets that are written (.svg or .png); needs a build with `plots`
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plot: Vec<PathBuf>,
    /// Nets that are written: names with commas between [default: the deck's .save, or all]
    #[arg(long, value_name = "NETS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub save: Vec<String>,
}

/// The most points in a raw file, if they are a step apart.
const POINTS_MAX: f64 = 1e9;
/// The most nets in a plot.
const PLOTTED_MAX: usize = 16;

impl CircuitParams {
    /// The circuit with its stimuli.
    ///
    /// # Errors
    ///
    /// What is wrong with the netlist or with a parameter.
    pub fn workload(&self, seed: u64) -> Result<CircuitWorkload, Refusal> {
        self.workload_with_remark(seed).map(|(workload, _)| workload)
    }

    /// The same, with what is to be said of its deck.
    fn workload_with_remark(
        &self,
        seed: u64,
    ) -> Result<(CircuitWorkload, Option<String>), Refusal> {
        let mut remark = None;
        let period = self.period.map(|Seconds(period)| period);
        let vectors = self.vectors.unwrap_or(Stimuli::default().vectors);
        let stimuli = Stimuli { vectors, period, seed };
        let mut workload = match &self.netlist {
            Some(path) => {
                let netlist = netlist::read(path)?;
                if let Netlist::Deck(deck) = &netlist {
                    self.refuse_stimuli()?;
                    remark.clone_from(&deck.remark);
                }
                netlist.workload(&stimuli, self.capacitances)?
            }
            None => self.generate.unwrap_or(BUILT_IN).workload(&stimuli, self.capacitances)?,
        };
        if let Some(RawStep(Points::Every(step))) = self.raw_step {
            let least = workload.circuit.end / POINTS_MAX;
            let allowed = format!("{least:e} or more, for a run as long as this one");
            ConfigError::check(step >= least, "raw-step", Seconds(step), &allowed)?;
        }
        if !self.save.is_empty() {
            workload.circuit.saved = self
                .save
                .iter()
                .map(|name| net(&workload.circuit, name))
                .collect::<Result<_, _>>()?;
        }
        Ok((workload, remark))
    }

    /// A deck has sources and devices of its own.
    fn refuse_stimuli(&self) -> Result<(), ConfigError> {
        const ALLOWED: &str = "left out: a SPICE deck has its own sources and devices";
        let vectors = self.vectors.unwrap_or_default();
        ConfigError::check(self.vectors.is_none(), "vectors", vectors, ALLOWED)?;
        let period = self.period.map_or_else(String::new, |period| period.to_string());
        ConfigError::check(self.period.is_none(), "period", period, ALLOWED)?;
        let is_explicit = self.capacitances == Capacitances::Explicit;
        ConfigError::check(is_explicit, "capacitances", "full", ALLOWED)
    }

    fn options(&self) -> Options {
        Options { tolerance: self.tolerance, lookahead: self.lookahead.0, ..Options::default() }
    }

    /// What is to be written of a run, if anything is.
    fn outputs(&self, workload: &CircuitWorkload, model: &CircuitModel) -> Option<Outputs> {
        let circuit = &workload.circuit;
        let plot = (!self.plot.is_empty()).then(|| {
            let asked = if circuit.saved.is_empty() { &workload.outputs } else { &circuit.saved };
            let nets = asked.iter().copied().take(PLOTTED_MAX).collect();
            Plot { nets, files: self.plot.clone() }
        });
        (self.files().has_outputs() || !circuit.measures.is_empty()).then(|| {
            let none = Outputs::none(circuit, model.longest_step());
            Outputs {
                vcd: self.vcd.clone(),
                raw: self.raw.clone(),
                points: self.raw_step.map_or(none.points, |RawStep(points)| points),
                crossings: self.crossings.clone(),
                plot,
                ..none
            }
        })
    }
}

/// The net with this name.
fn net(circuit: &Circuit, name: &str) -> Result<NetId, ConfigError> {
    let wanted = name.trim().to_lowercase();
    let wanted =
        wanted.strip_prefix("v(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(&wanted);
    let found = circuit.nets.iter().position(|net| net == wanted);
    let index = found.ok_or_else(|| {
        let some: Vec<_> = circuit.nets.iter().skip(1).take(8).map(String::as_str).collect();
        let allowed = format!("a net of the circuit, such as {}", some.join(", "));
        ConfigError::new("save", name, allowed)
    })?;
    Ok(NetId(index as u32))
}

impl Parameters for CircuitParams {
    const MODEL: &'static str = "circuit";
    const ABOUT: &'static str = "The timing of a MOS circuit, at the level of transistors";
    // The built-in circuit's, with the default stimuli.
    const END: f64 = 100e-9;
    const TIME: Option<TimeUnit> = Some(TimeUnit::SECOND);

    fn model(self) -> Result<AnyModel, ConfigError> {
        let refused = |error: &dyn fmt::Display| {
            let name = self.netlist.as_deref().unwrap_or_else(|| Path::new("the circuit"));
            ConfigError::new(
                "netlist",
                name.display(),
                format!("a circuit that can be simulated: {error}"),
            )
        };
        let workload = self.workload(1).map_err(|error| refused(&error))?;
        let model = CircuitModel::new(&workload.circuit, self.options());
        Ok(model.map_err(|error| refused(&error))?.into_any())
    }

    fn prepare(self, run: &RunSetup) -> Result<Prepared, Refusal> {
        let (workload, remark) = self.workload_with_remark(run.seed)?;
        let circuit = &workload.circuit;
        let mut model = CircuitModel::new(circuit, self.options())?;
        if run.pictures {
            model = model.draw(circuit, &workload.outputs, run.end.unwrap_or(circuit.end));
        }
        let mut recording = None;
        let outputs = self.outputs(&workload, &model);
        if let Some(outputs) = outputs.as_ref().filter(|_| !run.records) {
            model = model.watch(outputs.nets(circuit), Box::new(|_| {}));
        } else if let Some(outputs) = outputs {
            workload.files_of(self.files()).check()?;
            let open = if run.resumes { Recorder::reopen } else { Recorder::create };
            let recorder = open(circuit, &outputs)?;
            let nets: Vec<_> = recorder.nets().collect();
            let waves = Waves(Arc::new(Mutex::new(Some(recorder))));
            let sink = Arc::downgrade(&waves.0);
            model = model.watch(
                nets,
                Box::new(move |sample| {
                    let Some(recorder) = sink.upgrade() else { return };
                    Waves(recorder).with(|recorder| {
                        // An error is kept until the end, and the run goes on.
                        let _ = recorder.record(&sample);
                    });
                }),
            );
            recording = Some(Box::new(waves) as Box<dyn Recording>);
        }
        let end = circuit.end;
        let included = workload.included;
        let notes = remark.into_iter().collect();
        Ok(Prepared { model: model.into_any(), end, recording, included, notes })
    }

    fn files(&self) -> Files {
        let files = Files::default()
            .reading("netlist", self.netlist.as_deref())
            .writing("vcd", self.vcd.as_deref())
            .writing("raw", self.raw.as_deref())
            .writing("crossings", self.crossings.as_deref());
        self.plot.iter().fold(files, |files, path| files.writing("plot", Some(path)))
    }

    fn end_in_words() -> String {
        "the deck's .tran, or after the last vector".to_owned()
    }

    fn results() -> Vec<Figure> {
        CircuitOutput::default().figures()
    }

    fn workloads() -> Vec<Workload> {
        vec![Workload {
            name: "W6",
            title: "circuit: 16 x 16 multiplier, 10 random vectors",
            params: Self::default().into(),
            end: Self::END,
            bare: Load::Loop(bare_loop),
        }]
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("netlist", "", "a file *.cir, *.sp, *.spice, *.net, *.ckt or *.bench"),
                Domain::new(
                    "generate",
                    "",
                    "chain, adder, multiplier, ring or regfile, with a size",
                ),
                Domain::new("vectors", "", "1 or more"),
                Domain::new("period", "s", "longer than its edges"),
                Domain::new("tolerance", "", "one of these words"),
                Domain::new("lookahead", "s", "auto, or greater than 0"),
                Domain::new("capacitances", "", "one of these words"),
                Domain::new("vcd", "", "a file that can be written"),
                Domain::new("raw", "", "a file that can be written"),
                Domain::new("raw-step", "s", "samples, or greater than 0"),
                Domain::new("crossings", "", "a file that can be written"),
                Domain::new("plot", "", "files *.svg or *.png that can be written"),
                Domain::new("save", "", "nets of the circuit"),
            ]
        }
    }
}

/// The built-in circuit, simulated without an engine.
fn bare_loop(end: f64) -> Duration {
    static MODEL: OnceLock<CircuitModel> = OnceLock::new();
    let model = MODEL.get_or_init(|| {
        let stimuli = Stimuli::default();
        let workload = BUILT_IN.workload(&stimuli, Capacitances::default());
        let circuit = workload.expect("the built-in circuit is sound").circuit;
        CircuitModel::new(&circuit, Options::default()).expect("and can be simulated")
    });
    let started = Instant::now();
    black_box(bare::run(model, end));
    started.elapsed()
}

/// The files of a run, which belong to its caller; its output handler borrows them.
#[derive(Debug)]
struct Waves(Arc<Mutex<Option<Recorder>>>);

impl Waves {
    fn recorder(&self) -> MutexGuard<'_, Option<Recorder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Default>(&self, act: impl FnOnce(&mut Recorder) -> T) -> T {
        self.recorder().as_mut().map(act).unwrap_or_default()
    }
}

impl Recording for Waves {
    fn finish(&self, reached: f64) -> Recorded {
        let Some(recorder) = self.recorder().take() else { return Recorded::default() };
        let (recording, errors) = match recorder.finish(reached) {
            Ok(recording) => (recording, Vec::new()),
            Err(unwritten) => (unwritten.recording, unwritten.errors),
        };
        let measures = recording.measures.into_iter().map(|measure| Measured {
            name: measure.name,
            value: measure.value,
            unit: "s",
        });
        Recorded {
            files: recording.files,
            measures: measures.collect(),
            failures: errors.iter().map(ToString::to_string).collect(),
        }
    }

    fn mark(&self) -> Result<Vec<u8>, Refusal> {
        let mark = self.recorder().as_mut().map(Recorder::mark).transpose()?;
        Ok(postcard::to_allocvec(&mark)?)
    }

    fn go_on(&self, mark: &[u8]) -> Result<(), Refusal> {
        let mark: Option<RecordingMark> = postcard::from_bytes(mark)?;
        if let (Some(recorder), Some(mark)) = (&mut *self.recorder(), mark) {
            recorder.go_on(mark)?;
        }
        Ok(())
    }
}

/// A time in seconds, with the suffixes of SPICE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = warpline_circuits::spice::number(text);
        let seconds = seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite());
        seconds.map(Self).ok_or_else(|| "expected a time above 0, such as 10n or 1e-8".to_owned())
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e}", self.0)
    }
}

/// At which times a raw file has points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RawStep(pub Points);

impl FromStr for RawStep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "samples" {
            return Ok(Self(Points::Samples));
        }
        text.parse()
            .map(|Seconds(step)| Self(Points::Every(step)))
            .map_err(|_| "expected `samples`, or a time above 0, such as 10p or 1e-11".to_owned())
    }
}

impl TryFrom<String> for RawStep {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RawStep> for String {
    fn from(RawStep(points): RawStep) -> Self {
        match points {
            Points::Samples => "samples".to_owned(),
            Points::Every(step) => Seconds(step).to_string(),
        }
    }
}

/// The time after which other subcircuits hear of a change (s); none derives it from the circuit's
/// fastest gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lookahead(pub Option<f64>);

impl FromStr for Lookahead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(None));
        }
        text.parse().map(|Seconds(seconds)| Self(Some(seconds)))
    }
}

impl fmt::Display for Lookahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(seconds) => Seconds(seconds).fmt(f),
        }
    }
}

/// The names of tolerances.
fn tolerances() -> impl TypedValueParser<Value = Tolerance> {
    PossibleValuesParser::new(["fast", "default", "fine"]).map(|name| match name.as_str() {
        "fast" => Tolerance::Fast,
        "fine" => Tolerance::Fine,
        _ => Tolerance::Default,
    })
}

/// The names of capacitances.
fn capacitances() -> impl TypedValueParser<Value = Capacitances> {
    PossibleValuesParser::new(["explicit", "full"]).map(|name| match name.as_str() {
        "full" => Capacitances::Full,
        _ => Capacitances::Explicit,
    })
}
