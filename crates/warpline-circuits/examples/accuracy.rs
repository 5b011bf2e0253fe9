//! How exact and how fast the simulation of a circuit is.
//!
//! ```text
//! cargo run --release -p warpline-circuits --example accuracy -- chain:21 [OPTION=VALUE ...]
//! ```
//!
//! The circuit is a generator's (`chain:21`), a `.bench` file or a SPICE deck. Options:
//! `vectors=10`, `period=SECONDS`, `seed=1`, `tolerance=fast|default|fine`, `lookahead=SECONDS`,
//! `group=SUBCIRCUITS`, `capacitances=explicit|full`, `nets=outputs|gates|all` (whose crossings),
//! `write=FILE` (crossings, as CSV), `reference=FILE` (crossings by another simulator, to be
//! compared with), `last=SECONDS` (compare the last crossings of periods of this length only), and
//! `engine=NAME workers=N` (to be timed).
//!
//! A delay error is the difference of two crossings by the delay from the input edge before them.

use std::{collections::BTreeMap, error::Error, fmt::Write as _, fs, path::Path, time::Instant};

use warpline::{
    Auto, Conservative, Engine, Simulation, Speculative, TimeWarp, settings::SynchronizationKind,
};
use warpline_circuits::{
    bare,
    circuit::NetId,
    generate::Generator,
    model::{CircuitModel, CircuitOutput, Options, Tolerance},
    netlist,
    process::Capacitances,
    stimuli::Stimuli,
    workload::Workload,
};

#[path = "../tests/compare/mod.rs"]
mod compare;
#[path = "../tests/common/traces.rs"]
mod traces;

use traces::Crossings;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let circuit = arguments.next().ok_or("which circuit? for example chain:21")?;
    let options: BTreeMap<String, String> = arguments
        .map(|argument| match argument.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(format!("{argument} is not OPTION=VALUE")),
        })
        .collect::<Result<_, _>>()?;
    let option = |name: &str| options.get(name).map(String::as_str);
    let mut stimuli = Stimuli::default();
    stimuli.vectors = option("vectors").map_or(Ok(stimuli.vectors), str::parse)?;
    stimuli.period = option("period").map(str::parse).transpose()?;
    stimuli.seed = option("seed").map_or(Ok(stimuli.seed), str::parse)?;
    let capacitances = match option("capacitances") {
        Some("full") => Capacitances::Full,
        _ => Capacitances::Explicit,
    };
    let simulated = Options {
        tolerance: match option("tolerance") {
            Some("fast") => Tolerance::Fast,
            Some("fine") => Tolerance::Fine,
            _ => Tolerance::Default,
        },
        lookahead: option("lookahead").map(str::parse).transpose()?,
        group: option("group").map(str::parse).transpose()?,
    };
    let workload = workload(&circuit, &stimuli, capacitances)?;
    let nets = match option("nets") {
        Some("all") => (1..workload.circuit.nets.len() as u32).map(NetId).collect(),
        Some("gates") => workload.settled[0].values.iter().map(|value| value.0).collect(),
        _ => workload.outputs.clone(),
    };
    let workers = option("workers").map_or(Ok(1), str::parse)?;
    let engine = engine(option("engine").unwrap_or("sequential"), workers)?;
    let (mut text, crossings) = simulate(&workload, simulated, engine, nets)?;
    if let Some(path) = option("write") {
        fs::write(path, to_csv(&crossings))?;
    }
    if let Some(path) = option("reference") {
        let mut reference = compare::from_csv(&fs::read_to_string(path)?)?;
        let mut crossings = crossings;
        if let Some(period) = option("last").map(str::parse).transpose()? {
            crossings = compare::last_of_periods(&crossings, period);
            reference = compare::last_of_periods(&reference, period);
        }
        let result = compare::compare(&workload.circuit, &crossings, &reference);
        writeln!(text, "{result}")?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}

fn workload(
    circuit: &str,
    stimuli: &Stimuli,
    capacitances: Capacitances,
) -> Result<Workload, Box<dyn Error>> {
    if !Path::new(circuit).exists() {
        return Ok(circuit.parse::<Generator>()?.workload(stimuli, capacitances)?);
    }
    Ok(netlist::read(Path::new(circuit))?.workload(stimuli, capacitances)?)
}

fn engine(name: &str, workers: usize) -> Result<Engine, String> {
    let null_messages = SynchronizationKind::NullMessages.into();
    Ok(match name {
        "sequential" => Engine::default(),
        "conservative" => Conservative { workers, ..Conservative::default() }.into(),
        "null-messages" => {
            Conservative { workers, synchronization: null_messages, ..Conservative::default() }
                .into()
        }
        "timewarp" => TimeWarp { workers, ..TimeWarp::default() }.into(),
        "speculative" => Speculative { workers, ..Speculative::default() }.into(),
        "auto" => Auto { workers, ..Auto::default() }.into(),
        _ => return Err(format!("there is no engine {name}")),
    })
}

/// Simulates with the bare loop and with an engine.
fn simulate(
    workload: &Workload,
    options: Options,
    engine: Engine,
    nets: Vec<NetId>,
) -> Result<(String, Crossings), Box<dyn Error>> {
    let circuit = &workload.circuit;
    let mut text = String::new();
    let started = Instant::now();
    let model = CircuitModel::new(circuit, options)?;
    writeln!(text, "operating point {:?}", started.elapsed())?;
    let started = Instant::now();
    let bare = bare::run(&model, circuit.end);
    let of_bare = started.elapsed();
    let model = model.into_any();
    let started = Instant::now();
    let report = Simulation::new(model).end(circuit.end).engine(engine).run()?;
    let of_engine = started.elapsed();
    let output: &CircuitOutput = report.output.get().ok_or("not of a circuit")?;
    writeln!(text, "{output:?}")?;
    writeln!(text, "engine events {}, digest {}", report.committed_events, report.digest)?;
    let steps = output.tally.steps as f64;
    let each = of_engine.as_secs_f64() / steps * 1e6;
    let ratio = of_engine.as_secs_f64() / of_bare.as_secs_f64();
    writeln!(text, "bare {of_bare:?}, engine {of_engine:?} ({each:.3} us/step), ratio {ratio:.2}")?;
    if bare.tally.steps != output.tally.steps || bare.tally.crossings != output.tally.crossings {
        writeln!(text, "DIFFERENT {bare:?}")?;
    }
    let mut watched = nets.clone();
    watched.extend(workload.settled.iter().flat_map(|s| s.values.iter().map(|value| value.0)));
    let mut traces = traces::traces(circuit, options, &watched);
    let wrong = compare::wrong_values(workload, &traces);
    let values: usize = workload.settled.iter().map(|settled| settled.values.len()).sum();
    writeln!(text, "{wrong} of {values} settled values wrong")?;
    traces.retain(|net, _| nets.contains(net));
    Ok((text, traces::crossings(circuit, &traces)))
}

/// Rows of `net,time,direction`.
fn to_csv(crossings: &Crossings) -> String {
    let mut text = "net,time,direction\n".to_owned();
    for (net, times) in crossings {
        for crossing in times {
            let direction = if crossing.is_rise { "rise" } else { "fall" };
            text += &format!("{net},{:.6e},{direction}\n", crossing.time);
        }
    }
    text
}
